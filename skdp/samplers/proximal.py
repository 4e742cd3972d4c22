"""Samplers by rejection under a tangent: chains of proximal steps, and perfect sampling."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Minorant
from skdp.samplers.base import (
    Certificate,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
    plan_at_once,
)
from skdp.samplers.kernels import AlternatingSampler, TangentStep
from skdp.support.validation import check_real, make_plain

# of the minorant below the potential, for the worst data; no guarantee rests on it
_WIDEST_GAP = 30.0


@dataclass(frozen=True)
class ProximalSampler(AlternatingSampler):
    """Proximal sampler: alternate θ' = θ + √η·ξ with a sample from exp(−U(θ) − |θ − θ'|²/(2η)).

    The inner sample is exact, by rejection. Replacing Σ ℓ by its tangent at any point p gives a
    Gaussian distribution. A proposal from it is accepted with probability exp(−c·Σ D_i), where the
    D_i are the Bregman divergences from p. Proposals are made until one is accepted, so the result
    does not depend on p. The first half step, from the public start 0, is left out: it would add
    noise without adding privacy.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data and a
        smooth loss. Halved for several scores per record, where shorter steps cost less in total.
    min_steps : int
        *Public.* Minimum number of steps.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η, f² = 1 − 2q^T/(1 + q^(T−1)) with
    q = 1/(1 + αη) (Theorem A', *Finitely many steps* in the documentation). The factor f < 1
    grows with T toward the value 1 of an exact sample of the target.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.samplers.proximal import ProximalSampler
    >>> X, y = [[0.5], [-0.5]] * 1000, [1, 0] * 1000
    >>> sampler = ProximalSampler(min_steps=64)
    >>> model = DPLogisticRegression(sampler=sampler, random_state=0).fit(X, y)
    >>> model.n_iter_, model.coef_.round()
    (64, array([[11.]]))
    """

    takes_domain: ClassVar[bool] = True

    def check(self, setting: Setting) -> None:
        super().check(setting)
        c, n = setting.C * setting.prior_precision, setting.n_samples or 0
        if c * n * Minorant.of(setting.loss).gap > _WIDEST_GAP:
            raise IncompatibleSolverError(
                f"{setting.loss!r} is not smooth, and for {n} rows ProximalSampler might never "
                "accept a proposal. Smooth the loss, or use sampler='proximal_bundle'."
            )

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> TangentStep:
        return TangentStep(target, variance, rng)


@dataclass(frozen=True)
class ExactSampler(Sampler):
    """Exact sampler by rejection from N(θ̂, I/α), θ̂ near the mode of the target.

    With a tangent in place of Σ ℓ the target is Gaussian, and a proposal is accepted with
    probability exp(−c·Σ D_i), D_i the Bregman divergences from the point of tangency. For few
    coefficients, or a strong ridge.

    Parameters
    ----------
    max_exponent : float
        *Public.* Largest allowed logarithm of the expected number of proposals for the worst data.

    Notes
    -----
    **Certificate: exact.** The accepted proposal has the target's distribution for any data (*The
    exact inner step* in the documentation, with an infinite step).

    **Cost.** A share 1/√det(I + H/α) of the proposals is accepted, H ≤ c·w·AᵀA a bound of the
    Hessian of c·Σ ℓ at θ̂. On average at most (1 + C·τ/r)^(r/2) proposals are needed. τ is the trace
    of the Hessian of Σ ℓ for the worst data (nominal for non-smooth losses). r is its rank: the
    smaller of n and d, times the directions of a record's gradient. On a ball, for d coefficients,
    the proof needs (1 + C·β)^(d/2), β the largest curvature of Σ ℓ for the worst data. There α may
    be 0: proposals have the ridge 1/r², and an additional rejection corrects for it.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.samplers.proximal import ExactSampler
    >>> X, y = [[0.5], [-0.5]] * 100, [1, 0] * 100
    >>> model = DPLogisticRegression(sampler=ExactSampler(), C=0.05, random_state=0).fit(X, y)
    >>> model.coef_.round(1), model.n_iter_
    (array([[1.5]]), 1)
    """

    certifies: ClassVar[Certificate] = Certificate.EXACT
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1"
    requires: ClassVar[frozenset[Requirement]] = frozenset({Requirement.ROW_COUNT})
    takes_domain: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_exponent: float = 14.0

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_exponent", self.max_exponent, low=0.0)

    def check(self, setting: Setting) -> None:
        super().check(setting)
        exponent = self.exponent(setting)
        if exponent > self.max_exponent:
            raise IncompatibleSolverError(
                f"ExactSampler may need e^{exponent:.3g} proposals on average, and "
                f"max_exponent={self.max_exponent!r} allows e^{self.max_exponent:.3g}. Lower C or "
                "epsilon, or use sampler='proximal'."
            )

    def exponent(self, setting: Setting) -> float:
        """Return log of the worst mean number of proposals; inf for an unknown, needed d."""
        gain, rank = setting.C * setting.worst_trace, setting.worst_rank
        if setting.domain is None:
            return 0.5 * rank * math.log1p(gain / rank)
        if setting.n_features is None:
            return math.inf
        d = setting.n_features * setting.loss.n_scores
        minorant = Minorant.of(setting.loss)
        largest = gain / minorant.curvature_trace * minorant.smoothness
        return 0.5 * d * math.log1p(largest)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        return plan_at_once(setting.C)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        precision = target.prior_precision or _own_precision(target)
        inner = TangentStep(target, 1.0 / precision, rng, precision - target.prior_precision)
        theta = inner.draw(np.zeros(target.shape))
        progress(1, 1)
        return Sample(theta, asdict(inner.effort))


def _own_precision(target: Target) -> float:
    if target.domain is None:
        raise ValueError("A target without a ridge needs a domain.")
    return 1.0 / target.domain.radius**2
