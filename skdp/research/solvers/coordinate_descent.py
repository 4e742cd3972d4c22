"""Proximal coordinate descent with noise in every step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign, Design, in_memory
from skdp.privacy import GDPEvent
from skdp.samplers.base import Progress
from skdp.solvers.base import (
    Plan,
    Problem,
    RowCount,
    Solution,
    Solver,
    composed,
    require_delta,
    rounded,
)
from skdp.support.types import MatrixLike
from skdp.support.validation import check_count, check_real, check_size, make_plain

_FEWEST_CYCLES = 100  # no guarantee rests on it
_THEOREM = "noisy coordinate steps, cycles composed as Gaussian DP"


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Public numbers of a run."""

    n_cycles: int  # T
    step_size: float  # h
    noise: float  # standard deviation of the noise in each derivative
    l1: float  # weight of |θ|₁
    ridge: float  # weight of |θ|²/2
    average: float  # last share of the cycles, whose mean is released

    def run(
        self,
        problem: Problem,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
    ) -> np.ndarray:
        """Return the released coefficients."""
        rows_in_memory = in_memory(design)
        columns, y = _Columns(rows_in_memory), rows_in_memory.targets
        theta = np.zeros(problem.shape(design.n_features))
        scores, total = rows_in_memory.scores(theta), np.zeros_like(theta)
        n_averaged = max(1, round(self.average * self.n_cycles))
        for cycle in range(1, self.n_cycles + 1):
            for j in rng.permutation(design.n_features):
                rows, column = columns[j]
                derivative = column @ problem.loss.gradient(y[rows], scores[rows])
                new = self._proximal(theta[j], derivative, rng)
                scores[rows] += np.multiply.outer(column, new - theta[j])
                theta[j] = new
            if cycle > self.n_cycles - n_averaged:
                total += theta
            progress(cycle, self.n_cycles)
        return rounded(total / n_averaged, self.step_size * self.noise / math.sqrt(n_averaged))

    def _proximal(
        self, old: np.ndarray, derivative: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the coefficient, or its row of coefficients, after a step."""
        h = self.step_size
        point = old - h * (derivative + rng.normal(scale=self.noise, size=np.shape(derivative)))
        shrunk = np.sign(point) * np.maximum(np.abs(point) - h * self.l1, 0.0)
        return shrunk / (1.0 + h * self.ridge)


@dataclass(frozen=True, kw_only=True)
class CoordinateDescentPlan(Plan):
    """Public numbers of noisy coordinate steps."""

    solver: CoordinateDescent
    count: RowCount  # determines step sizes
    mu: float  # Gaussian-DP parameter of the steps

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        cycles = self.cycles(self.count.release(design, rng))
        return Solution(cycles.run(self.problem, design, rng, progress), cycles.n_cycles)

    def cycles(self, n: int) -> Cycles:
        """Return cycles, noise and penalties of a run on about `n` rows."""
        problem, solver, G = self.problem, self.solver, self.problem.lipschitz_difference
        t = problem.flow_time(n, G / self.mu)
        longest = 2.0 / problem.worst_curvature(n)  # the ridge is in the proximal point
        T = solver.n_cycles or max(_FEWEST_CYCLES, math.ceil(t / longest))
        h = solver.step_size or min(t / T, longest)
        ridge = 1.0 / problem.inverse_regularization(h * T)
        return Cycles(
            n_cycles=T,
            step_size=h,
            noise=G * math.sqrt(T) / self.mu,
            l1=solver.l1_ratio * ridge,
            ridge=(1.0 - solver.l1_ratio) * ridge,
            average=solver.average,
        )


@dataclass(frozen=True)
class CoordinateDescent(Solver):
    r"""Noisy proximal coordinate descent, for a lasso or a ridge.

    It minimizes Σ ℓ(y_i, a_i·θ) + (p·\|θ\|₁ + (1 − p)·\|θ\|²/2)/C, p = `l1_ratio`. A cycle visits
    all columns in random order. A step replaces the coefficient θ_j of one column a by the proximal
    point of θ_j − h·(Σ a·ℓ' + noise) and updates the scores.

    Parameters
    ----------
    l1_ratio : float in [0, 1]
        *Public.* p; 1 is the lasso, whose coefficients may be 0. It has no effect with C="auto".
    n_cycles : int or None
        *Public.* T; None: 100, or more if stability requires it.
    step_size : float or None
        *Public.* h, for the derivative of the *sum* over all rows. None: such that the final
        noise in a score reaches the loss's `noise_scale`.
    average : float in [0, 1]
        *Public.* Last share of the cycles, whose mean is released; 0: the last cycle.

    Notes
    -----
    **Guarantee.** Let the entries of a row be a_j. Given all that was released before, the step of
    column j changes by at most L·\|a_j\| for each record that changes, L the Lipschitz constant of
    ℓ, and \|a_j\| does not depend on what was released. So a cycle with noise N(0, s²) in each
    step is Gaussian DP with μ² = Σ_j (L·\|a_j\| + L·\|a'_j\|)²/s² ≤ G²/s² for two records. This is
    the cost of one gradient of all columns. T cycles are √T·G/s-Gaussian DP (Dong, Roth and Su
    2022, Corollary 2). If each column had sensitivity L·R of its own, a cycle of d columns would
    cost √d times as much.

    References
    ----------
    Mangold, Bellet, Salmon and Tommasi, "Differentially private coordinate descent for composite
    empirical risk minimization", ICML 2022.
    Selvi, Liu and Wiesemann, "Differential privacy via distributionally robust optimization",
    Operations Research, 2024, Section 5.
    """

    l1_ratio: float = 0.0
    n_cycles: int | None = None
    step_size: float | None = None
    average: float = 0.0

    is_gaussian = True
    takes_trees = False
    takes_persons = True

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("l1_ratio", self.l1_ratio, low=0.0, high=1.0, closed="[]")
        if self.n_cycles is not None:
            check_count("n_cycles", self.n_cycles)
        if self.step_size is not None:
            check_size("step_size", self.step_size)
        check_real("average", self.average, low=0.0, high=1.0, closed="[]")

    def plan(self, problem: Problem, epsilon: float, delta: float) -> CoordinateDescentPlan:
        require_delta(delta, "coordinate_descent")
        count = RowCount.plan(problem, epsilon, delta)
        mu = count.rest(gdp_mu(epsilon, delta))
        event = composed((*count.events, GDPEvent(mu)))
        return CoordinateDescentPlan(
            problem=problem, event=event, theorem=_THEOREM, solver=self, count=count, mu=mu
        )


class _Columns:
    """The columns of A, each stored in one piece: a copy of X."""

    def __init__(self, design: ClippedDesign) -> None:
        X = design.X
        self._X: MatrixLike = sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)
        self._factors, self._constant = design.factors, design.intercept_scaling

    def __getitem__(self, j: int) -> tuple[np.ndarray | slice, np.ndarray]:
        """Return which rows may differ from 0, and their entries."""
        if j == self._X.shape[1]:
            return slice(None), np.full(self._factors.size, self._constant)
        if not sparse.issparse(self._X):
            return slice(None), self._X[:, j] * self._factors
        span = slice(*self._X.indptr[j : j + 2])
        rows = self._X.indices[span]
        return rows, self._X.data[span] * self._factors[rows]
