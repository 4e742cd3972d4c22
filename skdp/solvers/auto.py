"""The solver that public facts choose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.losses import Minorant
from skdp.privacy import GDPEvent
from skdp.samplers import Progress
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

# Above these, samples take longer than steps do and are no better; no guarantee rests on them.
_MOST_COLUMNS = 1024
_MOST_STEPS = 128
_MOST_STEPS_OF_SCORES = 64  # where a record has several


@dataclass(frozen=True, kw_only=True)
class AutoPlan(Plan):
    """A plan of the solver that is chosen, or of the choice itself; all of it public.

    Parameters
    ----------
    count : RowCount
        The number of rows by which the solver is chosen.
    mu : float
        Gaussian-DP parameter of what the chosen solver releases.
    chosen : PlannedSolver or None
        The solver and its plan; None where the choice waits for an estimate of the row count.
    """

    count: RowCount
    mu: float
    chosen: PlannedSolver | None


@dataclass(frozen=True)
class AutoSolver(Solver):
    """Take the regularized exponential mechanism, or noisy gradient descent for longer runs.

    With x = n·μ/k, n the number of rows and k that in which neighbors differ, a run of the
    exponential mechanism takes a number of steps in proportion to x: some x/9 for the logistic loss
    of two classes. Where it is at most 128, or 64 for a loss of several scores a record, there are
    at most 1024 columns and the loss is smooth or nearly so, that mechanism is taken. Elsewhere it
    is `NoisyGD`, whose number of steps does not grow with x in its metric, and for persons of
    several rows, whose gradients it clips together.

    Notes
    -----
    **Guarantee.** Either solver's release is μ-Gaussian DP with the same μ, and the choice depends
    on public facts, and on an estimate of n which 1 % of μ² has paid for; choice and release
    compose adaptively.
    """

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def with_sampler(self, sampler: Any) -> Solver:
        return RegularizedExponential().with_sampler(sampler)

    def plan(self, problem: Problem, epsilon: float, delta: float) -> AutoPlan:
        require_delta(delta, "auto")
        count = RowCount.plan(problem, epsilon, delta)
        mu = count.rest(gdp_mu(epsilon, delta))
        if problem.n_samples is None:
            chosen, event = None, composed((*count.events, GDPEvent(mu)))
            theorem = "a noisy count, then the solver that it chooses: Theorem A' or noisy steps"
        else:
            chosen = self.choice(problem.adapted(problem.n_samples, mu), mu)
            event, theorem = chosen.plan.event, chosen.plan.theorem
        return AutoPlan(
            problem=problem, event=event, theorem=theorem, count=count, mu=mu, chosen=chosen
        )

    def solve(
        self,
        plan: AutoPlan,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        chosen = plan.chosen
        if chosen is None:
            n = plan.count.release(design, rng)
            problem = replace(plan.problem.adapted(n, plan.mu), n_samples=n)
            chosen = self.choice(problem, plan.mu)
        solution = chosen.read(design, rng, progress)
        loss, name = chosen.plan.problem.loss, _NAMES[type(chosen.solver)]
        return replace(solution, loss=loss, solver=name)

    def choice(self, problem: Problem, mu: float) -> PlannedSolver:
        """Return the solver for a number of rows that is known, and its plan.

        Parameters
        ----------
        problem : Problem
            *Public or released.* Its `n_samples` is a number.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        chosen : PlannedSolver
            `RegularizedExponential` or `NoisyGD` with default parameters.
        """
        many, persons = (problem.n_features or 0) > _MOST_COLUMNS, problem.rows_each != 1
        if many or persons or Minorant.of(problem.loss).gap:
            return _steps(problem, mu)
        sampling = RegularizedExponential()
        plan = sampling.plan_at(problem, mu)
        most = _MOST_STEPS if problem.loss.n_scores == 1 else _MOST_STEPS_OF_SCORES
        if plan.schedule is not None and plan.schedule.sampler_plan.n_steps <= most:
            return PlannedSolver(sampling, plan)
        return _steps(problem, mu)


def _steps(problem: Problem, mu: float) -> PlannedSolver:
    solver = NoisyGD()
    return PlannedSolver(solver, solver.plan_at(problem, mu))


_NAMES: dict[type[Solver], str] = {
    RegularizedExponential: "regularized_exponential",
    NoisyGD: "noisy_gd",
}
