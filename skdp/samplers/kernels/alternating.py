"""The proximal (alternating) sampler for any inner step."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar, Protocol

import numpy as np

from skdp.samplers.base import (
    Certificate,
    Effort,
    Progress,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
)
from skdp.support.validation import check_count, check_real, make_plain

__all__ = ["AlternatingSampler", "InnerStep"]


class InnerStep(Protocol):
    """Exact sampler of exp(−c·Σ ℓ − |θ − center|²/(2σ²)); `effort` is the total so far."""

    effort: Effort

    def draw(self, center: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class AlternatingSampler(Sampler):
    """Alternate θ' = θ + √η·ξ with an exact sample from exp(−U(θ) − |θ − θ'|²/(2η)).

    Theorem A' holds for any exact inner step.
    """

    certifies: ClassVar[Certificate] = Certificate.STABLE
    theorem: ClassVar[str] = "proximal sampler after finitely many steps, Theorem A'"
    takes_long_runs: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_exponent: float = 6.0
    min_steps: int = 32

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_exponent", self.max_exponent, low=0.0)
        check_count("min_steps", self.min_steps)

    @abstractmethod
    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> InnerStep:
        """Return a sampler of the inner step.

        Parameters
        ----------
        target : Target
            *Private.*
        variance : float
            *Public.* σ².
        rng : numpy Generator
            *Secret.*

        Returns
        -------
        InnerStep
        """

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        t = setting.flow_time
        T = self.n_steps(0.5 * t * setting.worst_trace, setting.loss.n_scores)
        h = t / T
        arrived = math.exp(-T * math.log1p(h / setting.C))
        f = self.stability(h / setting.C, T)
        spread = min((2 * T - 1) * h, setting.C)  # the ridge's own, in a long run
        return SamplerPlan(n_steps=T, step=h, stability=f, spread=spread, contraction=arrived)

    def n_steps(self, exponent: float, n_scores: int) -> int:
        """Return the number of steps of a run.

        Parameters
        ----------
        exponent : float
            *Public.* Half the trace of the potential's Hessian times the step size, summed over the
            run, for the worst data.
        n_scores : int
            *Public.* Scores per record.

        Returns
        -------
        int
        """
        limit = self.max_exponent if n_scores == 1 else 0.5 * self.max_exponent
        return max(self.min_steps, math.ceil(exponent / limit))

    def stability(self, precision_step: float, n_steps: int) -> float:
        """Return f of Theorem A'.

        Parameters
        ----------
        precision_step : float
            α·η.
        n_steps : int
            T ≥ 1.

        Returns
        -------
        float
            f in (0, 1].
        """
        log_q = -math.log1p(precision_step)
        last = math.exp((n_steps - 1) * log_q)
        # 1 + q^(T−1) − 2q^T, written without the difference of numbers near 1
        numerator = -math.expm1(n_steps * log_q) - last * math.expm1(log_q)
        return math.sqrt(numerator / (1.0 + last))

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        step_size = plan.step / target.temperature
        q = 1.0 / (1.0 + target.prior_precision * step_size)
        inner = self.inner_step(target, q * step_size, rng)
        theta = np.zeros(target.shape)
        for step in range(1, plan.n_steps + 1):
            if step > 1:
                theta = theta + math.sqrt(step_size) * rng.standard_normal(target.shape)
            theta = inner.draw(q * theta)
            progress(step, plan.n_steps)
        return Sample(theta, asdict(inner.effort))
