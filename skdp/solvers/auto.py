"""Choice of the solver by public facts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.losses import GradientDirections, Loss, Minorant, SquaredLoss
from skdp.losses.weighted import SharedLoss
from skdp.privacy import Event, GDPEvent
from skdp.samplers import Sampler, SamplerPlan
from skdp.samplers.base import Progress
from skdp.solvers._releases import MeansRelease
from skdp.solvers.adassp import AdaSSP
from skdp.solvers.base import (
    SOLVERS,
    Plan,
    Problem,
    RowCount,
    Solution,
    Solver,
    composed,
    require_delta,
)
from skdp.solvers.noisy_gd import NoisyGD, NoisyGDPlan
from skdp.solvers.regularized_exponential import RegularizedExponential

# Above these, sampling takes longer than noisy steps and is no better (`benchmarks/bench_steps.py
# --rules "T 50" sample`); no guarantee rests on them.
_MOST_COLUMNS = 100
_MOST_STEPS = 32  # sample if the run has at most this many steps
# Of a step of a regression on columns: half its length times the curvature of the worst rows. About
# e² proposals are made then, and no more rows are read than by noisy steps.
_MOST_EXPONENT = 2.0
# Regressions on features, where noisy steps lost up to .01 of R².
_MOST_STEPS_OF_TARGETS = 128
_MOST_STEPS_OF_SCORES = 64
# Quantiles below .25 or above .75 of wide tables: noisy steps lost .06 to .6 of D² at level .9.
_MOST_STEPS_OF_TAILS, _SLOW = 256, 2.0**0.5
_ENDED_BY_RIDGE = 24_000.0  # n·μ/k: so short a run with such a signal ends at a feature map's ridge
_WIDE = 1024  # columns; above, `NoisyGD` takes no metric
_UNCLIPPED = 4.0  # residuals of targets in [−1, 1] at scores in [−3, 3] are no larger
_MOMENTS = 1000.0  # least n·μ for each column; with 400, symmetric targets lost up to .01 of R²


@dataclass(frozen=True, kw_only=True)
class AutoPlan(Plan):
    """The plan of a choice that needs an estimate of the row count; *public.*"""

    solver: AutoSolver
    count: RowCount
    mu: float  # Gaussian-DP parameter of all releases but the count

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        n = self.count.release(design, rng)
        problem = replace(self.problem.adapted(n, self.mu), n_samples=n)
        return self.solver._chosen(problem, self.count, self.mu).read(design, rng, progress)


@dataclass(frozen=True, kw_only=True)
class ChosenPlan(Plan):
    """The plan of the chosen solver, and of means that are released after it; *public.*"""

    fit: Plan
    means: MeansRelease | None

    def on_samples(self, others: tuple[Event, ...], epsilon: float, delta: float) -> ChosenPlan:
        """Return the plan with steps on Poisson samples where they are faster.

        It is then (ε, δ)-DP together with `others`, and no longer Gaussian DP.
        """
        if not isinstance(self.fit, NoisyGDPlan):
            return self
        means = self.means.events if self.means else ()
        fit = self.fit.with_samples((*others, *means), epsilon, delta)
        theorem = self.theorem.replace(self.fit.theorem, fit.theorem)
        return replace(self, fit=fit, event=composed((fit.event, *means)), theorem=theorem)

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        found = self.fit.read(design, rng, progress)
        means = None if self.means is None else self.means.release(design, found.theta, rng)
        name = SOLVERS.name_of(type(self.solver))
        return replace(found, loss=self.problem.loss, solver=name, means=means)


@dataclass(frozen=True, kw_only=True)
class AutoSolver(Solver):
    """Regularized exponential mechanism for few rows, noisy gradients or moments for others.

    Let x = n·μ/k, with n rows and neighbors that differ in k of them. The exponential mechanism
    takes a number of steps proportional to x, at least 32. It is used if all of these hold:

    - classes: at most 100 columns and 32 steps, which is x up to about 280 for two classes;
    - regression: at most 100 columns, 32 steps and about e² proposals in each, which is x up to
      about 200; on features at most 128 steps, or 64 for several scores, and 1024 features;
    - a smooth or nearly smooth loss;
    - one row per record, without weights: the time of a sample grows with rows times the largest
      weight.

    `AdaSSP` comes first for the squared loss of d coefficients if n·μ is at least 1000·d. It then
    reads the data once, and it does not clip residuals, so that means of skewed targets are right.
    Weights are not supported. Random features and products of columns have directions in which rows
    hardly vary. In these its noise would be too large.

    Otherwise `NoisyGD` is used. In its metric the number of steps does not grow with x, and it
    clips the gradients of a person's rows together. Without a metric its momentum would drive
    intercepts too far, which cost up to 0.05 in log-loss.

    For two classes and wide dense rows, or least squares of many dense features, steps of `NoisyGD`
    read Poisson samples where nothing else counts the fit as Gaussian DP: see *Steps on samples* in
    the user guide.

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
    means. With steps on samples they are (ε, δ)-DP, composed numerically with all other releases.
    The choice depends on public facts and, if n is private, on an estimate of n that costs 1 % of
    μ²; estimate, solution and means compose adaptively.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.privacy import Neighboring
    >>> from skdp.solvers import AutoSolver, Problem
    >>> facts = {"loss": LogisticLoss(), "neighboring": Neighboring.REPLACE_ONE, "n_features": 5}
    >>> for n in (1_000, 1_000_000):
    ...     problem = Problem(data_norm=1.0, intercept_scaling=1.0, n_samples=n, **facts)
    ...     plan = AutoSolver().plan(problem, epsilon=1.0, delta=1e-5)
    ...     print(plan.theorem.partition(",")[0])
    proximal sampler after finitely many steps
    noisy full-batch gradient steps
    """

    exact: bool = False

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def with_sampler(self, sampler: str | Sampler) -> RegularizedExponential:
        return RegularizedExponential().with_sampler(sampler)

    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
        require_delta(delta, "auto")
        count = RowCount.plan(problem, epsilon, delta)
        mu = count.rest(gdp_mu(epsilon, delta))
        if problem.n_samples is not None:
            return self._chosen(problem.adapted(problem.n_samples, mu), count, mu)
        kinds = "noisy steps" if self.exact else "Theorem A' or noisy steps"
        if _takes_moments(problem):
            kinds += ", or the Gaussian mechanism on moments"
        theorem = (
            f"a noisy count, then the solver that it chooses: {kinds}; for two classes of few "
            f"rows then {MeansRelease.name} by the Gaussian mechanism"
        )
        return AutoPlan(
            problem=problem,
            event=composed((*count.events, GDPEvent(mu))),
            theorem=theorem,
            exact=self.exact and NoisyGD().is_exact(problem),
            solver=self,
            count=count,
            mu=mu,
        )

    def _chosen(self, problem: Problem, count: RowCount, mu: float) -> ChosenPlan:
        """Return the plan of the chosen solver, and of means after it if they are worth it."""
        means = MeansRelease.plan(problem, count, mu)
        fit = self.choice(problem, mu if means is None else means.rest(mu))
        then = "" if means is None else f"; then {means.name} by the Gaussian mechanism"
        return ChosenPlan(
            problem=fit.problem,
            event=composed((fit.event, *(means.events if means else ()))),
            theorem=fit.theorem + then,
            exact=fit.exact and (means is None or means.exact),
            solver=fit.solver,
            fit=fit,
            means=means,
        )

    @staticmethod
    def limit(problem: Problem) -> Problem:
        """Return the problem of fits to ever more records: moments clip no residuals.

        Parameters
        ----------
        problem : Problem
            *Public* facts about the fit.

        Returns
        -------
        Problem
            With an unclipped loss where such fits release moments.
        """
        if not _takes_moments(problem):
            return problem
        loss, square = problem.loss, SquaredLoss(threshold=_UNCLIPPED)
        shared = replace(loss, loss=square) if isinstance(loss, SharedLoss) else square
        return replace(problem, loss=shared)

    def choice(self, problem: Problem, mu: float) -> Plan:
        """Return the plan of the solver for a known number of rows.

        Parameters
        ----------
        problem : Problem
            *Public or released.* Its `n_samples` is a number.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        Plan
            Of `RegularizedExponential`, `NoisyGD` or `AdaSSP` with default parameters.
        """
        d = problem.n_features or 0
        shared = problem.rows_each != 1 or problem.weighted_rows is not None
        if _takes_moments(problem) and (problem.n_samples or 0) * mu >= _MOMENTS * d:
            return AdaSSP().plan_at(problem, mu)
        if self.exact or d > _WIDE or shared or Minorant.of(problem.loss).gap:
            return NoisyGD().plan_at(problem, mu)
        plan = RegularizedExponential().plan_at(problem, mu)
        run = None if plan.schedule is None else plan.schedule.sampler_plan
        return (
            NoisyGD().plan_at(problem, mu) if run is None or _reads_more(problem, run, mu) else plan
        )


def _reads_more(problem: Problem, run: SamplerPlan, mu: float) -> bool:
    """Whether a sample is expected to read more rows than noisy steps, without being better."""
    is_wide = (problem.n_features or 0) > _MOST_COLUMNS
    if is_wide and GradientDirections.of(problem.loss).slowness > _SLOW:
        return run.n_steps > _MOST_STEPS_OF_TAILS
    if not is_wide and run.n_steps <= _MOST_STEPS:
        exponent = 0.5 * run.step * problem.worst_curvature(problem.n_samples or 0)
        by_columns = not (problem.has_features or _has_classes(problem.loss))
        return by_columns and exponent > _MOST_EXPONENT
    return not problem.has_features or run.n_steps > _most_steps(problem, mu)


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
