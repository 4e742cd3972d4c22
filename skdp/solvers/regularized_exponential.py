"""The regularized exponential mechanism: coefficients drawn from exp(−c·Σ loss − (α/2)·|θ|²)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skdp._validation import check_choice
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.privacy import GDPEvent
from skdp.samplers import SAMPLERS, Progress, ProximalSampler, Sampler, Target
from skdp.solvers._count import RowCount
from skdp.solvers._flow import flow_time, inverse_regularisation, worst_curvature
from skdp.solvers._release import rounded
from skdp.solvers.base import Plan, Problem, Solution, Solver, composed, require_delta

__all__ = ["RegularizedExponential", "RegularizedExponentialPlan", "Schedule"]

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Schedule:
    """Public numbers of one run of the sampler.

    Attributes
    ----------
    n_steps : int
        T.
    step_size : float
        η, in coefficient².
    temperature, prior_precision : float
        c and α of the density.
    """

    n_steps: int
    step_size: float
    temperature: float
    prior_precision: float

    @property
    def noise(self) -> float:
        """Standard deviation that the steps leave in a direction where the loss is flat."""
        return math.sqrt((2 * self.n_steps - 1) * self.step_size)


@dataclass(frozen=True)
class RegularizedExponentialPlan(Plan):
    """A plan whose density costs `density_mu` and whose row count costs something if bought."""

    density_mu: float
    count: RowCount


@dataclass(frozen=True)
class RegularizedExponential(Solver):
    """Draw the coefficients from a strongly log-concave density.

    Parameters
    ----------
    sampler : Sampler
        *Public.* Backend that draws; its stability enters the accounting.

    Notes
    -----
    **Guarantee.** With G the Lipschitz constant of one record's influence on Σ ℓ, an exact draw is
    c·G/√α-Gaussian DP (Gopi, Lee and Liu 2022, Theorem 4.1), and the last state of a stable
    sampler is f·c·G/√α-Gaussian DP with f < 1 after any public number of steps (Theorem A').
    Given C = c/α and f, the target m is met by α = (m/(G·C·f))².
    """

    sampler: Sampler = field(default_factory=ProximalSampler)

    def with_sampler(self, sampler: Any) -> RegularizedExponential:  # noqa: D102
        if isinstance(sampler, str):
            sampler = SAMPLERS[check_choice("sampler", sampler, SAMPLERS)]()
        if not isinstance(sampler, Sampler):
            raise IncompatibleSolverError(
                f"sampler must be one of {list(SAMPLERS)} or a Sampler, got {sampler!r}. "
                "Nothing was spent."
            )
        return replace(self, sampler=sampler)

    def plan(  # noqa: D102
        self, problem: Problem, epsilon: float, delta: float
    ) -> RegularizedExponentialPlan:
        require_delta(delta, "regularized_exponential")
        mu = gdp_mu(epsilon, delta)
        count = RowCount.plan(problem, epsilon, delta)
        density_mu = count.rest(mu)
        event = composed((*count.events, GDPEvent(density_mu)))
        return RegularizedExponentialPlan(problem, event, self.sampler.theorem, density_mu, count)

    def solve(  # noqa: D102
        self,
        plan: RegularizedExponentialPlan,
        design: ClippedDesign,
        y: np.ndarray,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        n = plan.count.release(design, rng)
        schedule = self.schedule(plan.problem, plan.density_mu, n)
        target = Target(
            design,
            y,
            plan.problem.loss,
            plan.problem.row_norm,
            schedule.temperature,
            schedule.prior_precision,
        )
        draw = self.sampler.sample(target, schedule.step_size, schedule.n_steps, rng, progress)
        theta = rounded(draw.theta, schedule.noise)
        return Solution(theta, schedule.n_steps, draw.diagnostics)

    def schedule(self, problem: Problem, mu: float, n: int) -> Schedule:
        """Return the numbers of a run that is `mu`-Gaussian DP, for about `n` rows."""
        G = problem.lipschitz_difference
        t = flow_time(problem, n, G / mu)
        T = self.sampler.n_steps(0.5 * t * worst_curvature(problem, n), problem.loss.n_scores)
        h, C = t / T, inverse_regularisation(problem, t)
        f = self.sampler.stability(h / C, T)
        alpha = (mu / (G * C * f)) ** 2 * (1.0 - _ROUNDING)
        return Schedule(T, h / (alpha * C), alpha * C, alpha)
