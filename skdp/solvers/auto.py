"""Choice of the solver by public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.losses import GradientDirections, Loss, Minorant, SharedLoss, SquaredLoss
from skdp.privacy import Event, GDPEvent
from skdp.samplers import Progress, Sampler
from skdp.solvers._means import MeansRelease
from skdp.solvers.adassp import AdaSSP
from skdp.solvers.base import (
    Plan,
    PlannedSolver,
    Problem,
    RowCount,
    Solution,
    Solver,
    composed,
    require_delta,
)
from skdp.solvers.noisy_gd import NoisyGD
from skdp.solvers.regularized_exponential import RegularizedExponential

__all__ = ["AutoPlan", "AutoSolver"]

# Above these, sampling takes longer than noisy steps and is no better; no guarantee rests on them.
_MOST_COLUMNS = 256
_MOST_STEPS = 32  # the fewest of a sample
# Regressions, where noisy steps lost up to .01 of R².
_MOST_STEPS_OF_TARGETS = 128
_MOST_STEPS_OF_SCORES = 64
_ENDED_BY_RIDGE = 24_000.0  # n·μ/k: so short a run with such a signal ends at a feature map's ridge
_WIDE = 1024  # columns; above, `NoisyGD` takes no metric
_MOMENTS = 1000.0  # least n·μ for each column; with 400, symmetric targets lost up to .01 of R²


@dataclass(frozen=True, kw_only=True)
class AutoPlan(Plan):
    """The plan of the chosen solver, or of the choice itself; *public.*"""

    count: RowCount  # determines the choice
    mu: float  # Gaussian-DP parameter of all releases but the count
    chosen: _Chosen | None  # None if the choice needs an estimate of the row count


@dataclass(frozen=True)
class _Chosen:
    """The chosen solver with its plan, and means that are released after it."""

    fit: PlannedSolver
    means: MeansRelease | None

    @property
    def event(self) -> Event:
        means = () if self.means is None else (self.means.event,)
        return composed((self.fit.plan.event, *means))

    @property
    def theorem(self) -> str:
        theorem = self.fit.plan.theorem
        if self.means is None:
            return theorem
        return f"{theorem}; then {self.means.name} by the Gaussian mechanism"

    @property
    def exact(self) -> bool:
        return self.fit.plan.exact and (self.means is None or self.means.exact)

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        solution = self.fit.read(design, rng, progress)
        if self.means is None:
            return solution
        return replace(solution, means=self.means.release(design, solution.theta, rng))


@dataclass(frozen=True, kw_only=True)
class AutoSolver(Solver[AutoPlan]):
    """Regularized exponential mechanism for few rows, noisy gradients or moments for others.

    Let x = n·μ/k, with n rows and neighbors that differ in k of them. The exponential mechanism
    takes a number of steps proportional to x, at least 32. It is used if all of these hold:

    - classes: at most 256 columns and 32 steps, which is x up to about 280 for two classes;
    - regression: at most 128 steps, or 64 for several scores per record, and 1024 columns;
    - a smooth or nearly smooth loss;
    - one row per record.

    `AdaSSP` comes first for the squared loss of d coefficients if n·μ is at least 1000·d. It then
    reads the data once, and it does not clip residuals, so that means of skewed targets are right.
    Weights are not supported. Random features and products of columns have directions in which rows
    hardly vary. In these its noise would be too large.

    Otherwise `NoisyGD` is used. In its metric the number of steps does not grow with x, and it
    clips the gradients of a person's rows together. Without a metric its momentum would drive
    intercepts too far, which cost up to 0.05 in log-loss.

    Logistic losses of two classes with x from 100 to 3000 spend 2 % of μ² on three noisy means at
    the solution: of labels, of clipped scores, and of their products. Probabilities follow from
    them.

    Parameters
    ----------
    exact : bool
        *Public.* Whether only `NoisyGD` is used, whose rounding errors are bounded.

    Notes
    -----
    **Guarantee.** All solvers' releases are μ-Gaussian DP with the same μ, which includes the
    means. The choice depends on public facts and, if n is private, on an estimate of n that costs
    1 % of μ²; estimate, solution and means compose adaptively.
    """

    exact: bool = False

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def with_sampler(self, sampler: str | Sampler) -> RegularizedExponential:
        return RegularizedExponential().with_sampler(sampler)

    def plan(self, problem: Problem, epsilon: float, delta: float) -> AutoPlan:
        require_delta(delta, "auto")
        count = RowCount.plan(problem, epsilon, delta)
        mu = count.rest(gdp_mu(epsilon, delta))
        if problem.n_samples is None:
            chosen, event = None, composed((*count.events, GDPEvent(mu)))
            kinds = "noisy steps" if self.exact else "Theorem A' or noisy steps"
            if _takes_moments(problem):
                kinds += ", or the Gaussian mechanism on moments"
            theorem = (
                f"a noisy count, then the solver that it chooses: {kinds}; for two classes of few "
                f"rows then {MeansRelease.name} by the Gaussian mechanism"
            )
            exact = self.exact and NoisyGD().is_exact(problem)
        else:
            chosen = self._chosen(problem.adapted(problem.n_samples, mu), count, mu)
            event, theorem, exact = chosen.event, chosen.theorem, chosen.exact
        return AutoPlan(
            problem=problem,
            event=event,
            theorem=theorem,
            exact=exact,
            count=count,
            mu=mu,
            chosen=chosen,
        )

    def solve(
        self, plan: AutoPlan, design: Design, rng: np.random.Generator, progress: Progress
    ) -> Solution:
        chosen = plan.chosen
        if chosen is None:
            n = plan.count.release(design, rng)
            problem = replace(plan.problem.adapted(n, plan.mu), n_samples=n)
            chosen = self._chosen(problem, plan.count, plan.mu)
        solution, fit = chosen.read(design, rng, progress), chosen.fit
        return replace(solution, loss=fit.plan.problem.loss, solver=_NAMES[type(fit.solver)])

    def _chosen(self, problem: Problem, count: RowCount, mu: float) -> _Chosen:
        means = MeansRelease.plan(problem, count, mu)
        return _Chosen(self.choice(problem, mu if means is None else means.rest(mu)), means)

    def choice(self, problem: Problem, mu: float) -> PlannedSolver:
        """Return the solver for a known number of rows, and its plan.

        Parameters
        ----------
        problem : Problem
            *Public or released.* Its `n_samples` is a number.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        PlannedSolver
            `RegularizedExponential`, `NoisyGD` or `AdaSSP` with default parameters.
        """
        d, persons = problem.n_features or 0, problem.rows_each != 1
        if _takes_moments(problem) and (problem.n_samples or 0) * mu >= _MOMENTS * d:
            return _planned(AdaSSP(), problem, mu)
        if self.exact or d > _WIDE or persons or Minorant.of(problem.loss).gap:
            return _planned(NoisyGD(), problem, mu)
        sampling = RegularizedExponential()
        plan = sampling.plan_at(problem, mu)
        steps = math.inf if plan.schedule is None else plan.schedule.sampler_plan.n_steps
        few = steps <= _MOST_STEPS and d <= _MOST_COLUMNS
        if few or steps <= _most_steps(problem, mu):
            return PlannedSolver(sampling, plan)
        return _planned(NoisyGD(), problem, mu)


def _takes_moments(problem: Problem) -> bool:
    """Whether noisy moments are the best for many records: for squares without weights."""
    loss = problem.loss
    if isinstance(loss, SharedLoss) and loss.largest == 1.0:
        loss = loss.loss
    few = (problem.n_features or 0) <= _WIDE
    return few and isinstance(loss, SquaredLoss) and problem.determines_all


def _most_steps(problem: Problem, mu: float) -> int:
    """Return the most steps of a sample of targets, or of classes in a run that a ridge ends."""
    loss = problem.loss
    if _has_classes(loss) and problem.signal(problem.n_samples or 0, mu) < _ENDED_BY_RIDGE:
        return 0
    return _MOST_STEPS_OF_TARGETS if loss.n_scores == 1 else _MOST_STEPS_OF_SCORES


def _has_classes(loss: Loss) -> bool:
    """Whether gradients have few directions: one of a margin, or one for each rival class."""
    return GradientDirections.of(loss).n_extremes != (2 if loss.n_scores == 1 else 0)


def _planned(solver: NoisyGD | AdaSSP, problem: Problem, mu: float) -> PlannedSolver:
    return PlannedSolver(solver, solver.plan_at(problem, mu))


_NAMES: dict[type[Solver], str] = {
    RegularizedExponential: "regularized_exponential",
    NoisyGD: "noisy_gd",
    AdaSSP: "adassp",
}
