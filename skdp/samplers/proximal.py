"""The proximal (alternating) sampler with an exact inner step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp._validation import check_count, check_real
from skdp.samplers._inner import first_accepted
from skdp.samplers._tangent import TangentPoint
from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target

__all__ = ["ProximalSampler"]


@dataclass(frozen=True)
class ProximalSampler(Sampler):
    """Alternate θ' = θ + √η·ξ with an exact draw from exp(−U(θ) − |θ − θ'|²/(2η)).

    The draw is by rejection: under the tangent of Σ ℓ at any point p the law is Gaussian, and a
    proposal is accepted with probability exp(−c·Σ D_i), D_i the Bregman divergences from p. It is
    repeated until accepted, so that the law is exact whatever p and the data are. The first half
    step, from the public start 0, is left out: it would add noise and no privacy.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data and a
        loss without kinks. It is halved where a record has several scores: shorter steps are then
        cheaper in all.
    min_steps : int
        *Public.* Fewest steps.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η, with q = 1/(1 + αη),
    f² = 1 − 2q^T/(1 + q^(T−1)): Theorem A' (*Finitely many steps* in the documentation). f < 1
    grows with T towards the value 1 of an exact draw from the target.
    """

    certifies: ClassVar[Certificate] = "stable"
    theorem: ClassVar[str] = "proximal sampler after finitely many steps, Theorem A'"

    max_exponent: float = 6.0
    min_steps: int = 32

    def __post_init__(self) -> None:
        check_real("max_exponent", self.max_exponent, low=0.0)
        check_count("min_steps", self.min_steps)

    def run(self, setting: Setting, tv: float) -> Run:  # noqa: D102
        t = setting.flow_time
        T = self.n_steps(0.5 * t * setting.worst_trace, setting.loss.n_scores)
        h = t / T
        return Run(T, h, self.stability(h / setting.C, T), (2 * T - 1) * h)

    def n_steps(self, exponent: float, n_scores: int) -> int:
        """Return into how many steps a run is cut, for a loss of `n_scores` scores a record.

        ``exponent`` is half the trace of the potential's Hessian times the step size, summed over
        the run, for the worst data.
        """
        limit = self.max_exponent if n_scores == 1 else 0.5 * self.max_exponent
        return max(self.min_steps, math.ceil(exponent / limit))

    def stability(self, precision_step: float, n_steps: int) -> float:
        """Return f of Theorem A'; ``precision_step`` is α·η."""
        log_q = -math.log1p(precision_step)
        last = math.exp((n_steps - 1) * log_q)
        # 1 + q^(T−1) − 2q^T, written without the difference of numbers near 1
        numerator = -math.expm1(n_steps * log_q) - last * math.expm1(log_q)
        return math.sqrt(numerator / (1.0 + last))

    def sample(  # noqa: D102
        self, target: Target, run: Run, rng: np.random.Generator, progress: Progress
    ) -> Draw:
        step_size = run.step / target.temperature
        q = 1.0 / (1.0 + target.prior_precision * step_size)
        tangent = TangentPoint(target, q * step_size, rng)
        theta, n_tries = np.zeros(target.shape), 0
        for step in range(1, run.n_steps + 1):
            if step > 1:
                theta = theta + math.sqrt(step_size) * rng.standard_normal(target.shape)
            theta, tries = first_accepted(target, tangent, q * theta, q * step_size, rng)
            n_tries += tries
            progress(step, run.n_steps)
        return Draw(theta, {"n_tries": n_tries, "n_gradients": tangent.n_gradients})
