"""Langevin sampler with a public step size and number of steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.exceptions import IncompatibleSolverError
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
from skdp.support.validation import check_count, check_real, make_plain

__all__ = ["LangevinSampler"]

# Covers five floating-point operations, each exact to 2⁻⁵³. Without it a step could be longer than
# the theorem allows.
_STEPS_MARGIN = 1e-12


@dataclass(frozen=True)
class LangevinSampler(Sampler):
    """Langevin sampler: θ' = θ − η·∇U(θ) + √(2η)·ξ from θ = 0, one pass over the data per step.

    On a domain, each step ends with the projection onto it. Running time depends on public numbers
    only. Even after many steps the distribution differs from the target's: in a direction of
    curvature κ the variance is 2/(2 − η·κ) times too large.

    Parameters
    ----------
    max_curvature : float in (0, 2]
        *Public.* Bound on η·(α + β), β ≥ α the largest curvature of U for the worst data.
    min_steps : int
        *Public.* Minimum number of steps.
    max_steps : int
        *Public.* Maximum number of steps; `check` rejects settings that need more.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η ≤ 2/(α + β), with q = 1 − αη,
    f² = (1 − αη/2)·(1 − q^T)/(1 + q^T): Theorem L (*Samplers* in the documentation; Bok, Su and
    Altschuler 2024). The proof needs β = α + c·n·w·R² for both neighbors: a loss with a
    w-Lipschitz gradient, and a public number of rows n.
    """

    certifies: ClassVar[Certificate] = Certificate.STABLE
    theorem: ClassVar[str] = "Langevin sampler after finitely many steps, Theorem L"
    requires: ClassVar[frozenset[Requirement]] = frozenset(
        {Requirement.SMOOTH_LOSS, Requirement.SHARED_ROW_COUNT}
    )
    takes_domain: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_curvature: float = 0.5
    min_steps: int = 32
    max_steps: int = 200_000

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_curvature", self.max_curvature, low=0.0, high=2.0, closed="]")
        check_count("min_steps", self.min_steps)
        check_count("max_steps", self.max_steps)

    def check(self, setting: Setting) -> None:
        super().check(setting)
        n_steps = self.n_steps(setting)
        if n_steps > self.max_steps:
            raise IncompatibleSolverError(
                f"LangevinSampler needs {n_steps} steps, more than max_steps={self.max_steps!r}. "
                "Raise C, or use sampler='proximal'."
            )

    def n_steps(self, setting: Setting) -> int:
        """Return T, the least number of steps that are short enough for the worst data.

        Parameters
        ----------
        setting : Setting
            *Public.*

        Returns
        -------
        int
        """
        largest = 2.0 / setting.C + setting.worst_curvature
        needed = setting.flow_time * largest / self.max_curvature * (1.0 + _STEPS_MARGIN)
        return max(self.min_steps, math.ceil(needed))

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        t, T = setting.flow_time, self.n_steps(setting)
        h = t / T
        return SamplerPlan(
            n_steps=T, step=h, stability=self.stability(h / setting.C, T), spread=2.0 * t
        )

    def stability(self, precision_step: float, n_steps: int) -> float:
        """Return f of Theorem L.

        Parameters
        ----------
        precision_step : float
            α·η ≤ 1.
        n_steps : int
            T ≥ 1.

        Returns
        -------
        float
            f in (0, 1].
        """
        last = (1.0 - precision_step) ** n_steps
        moved = -math.expm1(n_steps * math.log1p(-precision_step)) if precision_step < 1.0 else 1.0
        return math.sqrt((1.0 - 0.5 * precision_step) * moved / (1.0 + last))

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        step_size = plan.step / target.temperature
        theta = np.zeros(target.shape)
        for step in range(1, plan.n_steps + 1):
            noise = math.sqrt(2.0 * step_size) * rng.standard_normal(target.shape)
            theta = theta - step_size * target.gradient(theta) + noise
            if target.domain is not None:
                theta = target.domain.project(theta)
            progress(step, plan.n_steps)
        return Sample(theta, {"n_evaluations": plan.n_steps * target.design.n_samples})
