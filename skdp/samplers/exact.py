"""Perfect sampling by rejection from one Gaussian."""

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
)
from skdp.samplers.kernels.tangent_rejection import TangentStep
from skdp.support.validation import check_real, make_plain

__all__ = ["ExactSampler"]


@dataclass(frozen=True)
class ExactSampler(Sampler):
    """Propose from N(θ̂, I/α), tangent to the target near its mode θ̂, until one is accepted.

    Under a tangent of Σ ℓ the target is Gaussian, and a proposal is accepted with probability
    exp(−c·Σ D_i), D_i the Bregman divergences from the point of tangency. For few coefficients, or
    a strong ridge.

    Parameters
    ----------
    max_exponent : float
        *Public.* Settings whose worst-case expected number of proposals is above e^max_exponent
        are refused.

    Notes
    -----
    **Certificate: exact.** The accepted proposal has the target's distribution, whatever the data
    (*The exact inner step* in the documentation, with an infinite step).
    **Cost.** 1/√det(I + H/α) proposals are accepted, H ≤ c·w·AᵀA a bound of the Hessian of c·Σ ℓ
    at θ̂: at most (1 + C·τ/r)^(r/2) are needed on average, τ the trace that the Hessian of Σ ℓ has
    for the worst data and r its rank, n or d times the directions of a record's gradient, whatever
    is less. Non-smooth losses count with a nominal τ. On a ball, of d coefficients, the proof needs
    (1 + C·β)^(d/2), β the largest curvature of Σ ℓ for the worst data. There α may be 0: proposals
    have the ridge 1/r², and rejecting some makes up for it.
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
                f"ExactSampler needs e^{exponent:.3g} proposals in expectation for the worst data, "
                f"and max_exponent={self.max_exponent!r} allows e^{self.max_exponent:.3g}: lower C "
                "or epsilon, or take sampler='proximal', which takes any."
            )

    def exponent(self, setting: Setting) -> float:
        """Return the logarithm of the number of proposals that the worst data need on average.

        Parameters
        ----------
        setting : Setting
            *Public.*

        Returns
        -------
        float
            *Public.* Inf where the number of features is needed and not known.
        """
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
        return SamplerPlan(
            n_steps=1, step=setting.C, stability=1.0, spread=setting.C, contraction=0.0
        )

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
        raise ValueError("a target without a ridge needs a domain.")
    return 1.0 / target.domain.radius**2
