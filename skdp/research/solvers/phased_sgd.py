"""One pass of stochastic gradient descent in phases, with noise between them only."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design, prefetch
from skdp.exceptions import IncompatibleSolverError
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
from skdp.support.validation import check_count, check_real, check_size, make_plain

# No guarantee rests on these.
_DECAY = 4.0  # from one phase to the next, of step and noise; of rows it is 2
_MOST_PHASES = 10  # the last one's noise is then 4e-6 of the first's
_NOISE_SHARE = 0.7  # of the loss's `noise_scale`: no steps after the last phase reduce its noise
_LONGEST_STEP = 0.5  # of an expected batch, in units of 1/curvature; w(m) keeps each below 2
_FEWEST_STEPS = 8
_VALUES_AT_ONCE = 1 << 22  # of rows that are fetched from elsewhere, 32 MB
_CONTRACTION_MARGIN = 1e-6
"""Relative margin of each phase's noise for rounding: steps contract up to rounding errors.

A guarantee rests on it. A step on m records rounds its iterate by 2⁻⁵³·(2·|θ| + t·m·w(m)·L·R·m)
at most, and t·m·w(m) ≤ 2/(smoothness·R²). The last of ten phases has t = 4⁻⁹ of the first's and
takes some ten steps: 10·2⁻⁵³·20 = 2e-14 for |θ| ≤ 10, beside a margin of 1e-6·4⁻⁹·(t·G of the
first), 4e-12 of what the loss's noise scale and μ = 1 make of t·G. Earlier phases have more of
both: up to n/2 steps, whose roundings add up like their square root, and 4^i times the margin.
"""
_THEOREM = "contractive gradient steps, one pass in phases; after Feldman, Koren and Talwar 2020"


@dataclass(frozen=True)
class Phase:
    """Public numbers of n_steps times θ ← (θ − t·w(m)·∇(Σ of a batch's m losses))/(1 + pull)."""

    share: float  # of the rows, which the phase reads
    n_steps: int  # number of batches
    n_averaged: int  # number of last iterates that are averaged
    step_size: float  # t
    pull: float  # of the ridge
    noise: float  # standard deviation in each coordinate, after the last step
    longest: float  # M: a step over m records is a contraction if m·w(m) ≤ M

    def weight(self, m: int, count_is_public: bool) -> float:
        """Return w(m) ≤ 1 with m·w(m) ≤ M.

        If m is private, m·w(m) − (m − 1)·w(m + 1) < 1 as well: a step changes by less than t·G
        when a record joins its batch, for any other m records.
        """
        M = self.longest
        if m > (M if count_is_public else 2.0 * M):
            return M / m
        return 1.0 if count_is_public else 1.0 - m / (4.0 * M)


@dataclass(frozen=True, kw_only=True)
class PhasedSGDPlan(Plan):
    """Public numbers of one pass in phases."""

    solver: PhasedSGD
    count: RowCount  # determines step sizes
    mu: float  # Gaussian-DP parameter of the pass

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        phases = self.solver.phases(self.problem, self.mu, self.count.release(design, rng))
        public = self.problem.neighboring.count_is_public
        batches = _brought(design, _dealt(phases, design.n_samples, public, rng))
        theta = np.zeros(self.problem.shape(design.n_features))
        done, n_steps = 0, sum(phase.n_steps for phase in phases)
        for phase in phases:
            total = np.zeros_like(theta)
            for left in reversed(range(phase.n_steps)):
                theta = _step(phase, self.problem, theta, design, next(batches))
                total += theta if left < phase.n_averaged else 0.0
                progress(done := done + 1, n_steps)
            theta = total / phase.n_averaged + rng.normal(scale=phase.noise, size=theta.shape)
        return Solution(rounded(theta, phases[0].noise), n_steps)


@dataclass(frozen=True)
class PhasedSGD(Solver):
    r"""Phased SGD: one pass over the rows, in phases of decreasing steps with noise after each.

    Phase i = 1, …, k starts at the released end of the previous phase and reads batches of n/2^i
    new rows, with steps t/4^(i−1).

    Parameters
    ----------
    n_phases : int from 1 to 10, or None
        *Public.* k; None: ⌈log₂ n⌉, at most 10. The last phase reads all remaining rows.
    step_size : float or None
        *Public.* t, for the gradient of the *sum* over a batch. None: such that the
        noise in a score is as wide as the loss's `noise_scale`.
    average : float in [0, 1]
        *Public.* Last share of each phase, whose iterates are averaged; 0: the last iterate.

    Notes
    -----
    **Guarantee.** With t ≤ 2/(smoothness·R²·m) a step over m records is a contraction, so one
    changed record moves the end of its phase by at most t·G, and nothing before. With noise
    N(0, (t·G/μ)²·I) each phase is μ-Gaussian DP; a record is read in one phase only, decided
    without looking at data, so all phases together are μ-Gaussian DP as well. Under
    ``replace_one`` the rows are shuffled; under ``add_remove_one`` each row enters a batch
    independently of all others, and w(m) keeps both the contraction and t·G for every m. Proofs:
    *Phased stochastic gradient descent* in the documentation.
    """

    n_phases: int | None = None
    step_size: float | None = None
    average: float = 0.0

    is_gaussian = True
    takes_blocks = True

    def __post_init__(self) -> None:
        make_plain(self)
        if self.n_phases is not None and check_count("n_phases", self.n_phases) > _MOST_PHASES:
            raise ValueError(
                f"n_phases must be at most {_MOST_PHASES}, got {self.n_phases}: the noise of later "
                "phases would not hide rounding errors."
            )
        if self.step_size is not None:
            check_size("step_size", self.step_size)
        check_real("average", self.average, low=0.0, high=1.0, closed="[]")

    def plan(self, problem: Problem, epsilon: float, delta: float) -> PhasedSGDPlan:
        require_delta(delta, "phased_sgd")
        if math.isinf(problem.loss.smoothness):
            raise IncompatibleSolverError(
                "solver='phased_sgd' needs a smooth loss: the proof rests on contraction, and "
                f"gradient steps on {problem.loss!r} do not contract at its non-smooth points. "
                "Take its Moreau envelope; the hinge's is DPHingeClassifier(smoothing=...)."
            )
        count = RowCount.plan(problem, epsilon, delta)
        mu = count.rest(gdp_mu(epsilon, delta))
        event = composed((*count.events, GDPEvent(mu)))
        return PhasedSGDPlan(
            problem=problem, event=event, theorem=_THEOREM, solver=self, count=count, mu=mu
        )

    def phases(self, problem: Problem, mu: float, n: int) -> tuple[Phase, ...]:
        """Return the phases of a `mu`-Gaussian DP pass over about `n` rows."""
        G = problem.lipschitz_difference
        t = self.step_size or problem.flow_time(n, G / mu / _NOISE_SHARE)
        ridge = 1.0 / (n * problem.inverse_regularization(t))
        k = self.n_phases or max(1, min(_MOST_PHASES, math.ceil(math.log2(n))))
        curvature = problem.loss.smoothness * problem.row_norm**2
        phases = []
        for i in range(1, k + 1):
            share = 2.0 ** -min(i, k - 1)
            T = max(_FEWEST_STEPS, math.ceil(share * n * min(1.0, t * curvature / _LONGEST_STEP)))
            phases.append(
                Phase(
                    share=share,
                    n_steps=T,
                    n_averaged=max(1, round(self.average * T)),
                    step_size=t,
                    pull=share * n * t * ridge / T,
                    noise=t * G / mu * (1.0 + _CONTRACTION_MARGIN),
                    longest=2.0 / (t * curvature),
                )
            )
            t /= _DECAY
        return tuple(phases)


def _dealt(
    phases: tuple[Phase, ...], n: int, count_is_public: bool, rng: np.random.Generator
) -> list[np.ndarray]:
    """Deal rows to the batches of all phases, by a uniform number a row: its order or value."""
    shares = np.repeat([p.share / p.n_steps for p in phases], [p.n_steps for p in phases])
    edges, uniform = np.cumsum(shares)[:-1], rng.random(n)
    order = np.argsort(uniform)
    cuts = np.rint(edges * n).astype(int) if count_is_public else uniform[order].searchsorted(edges)
    return [np.sort(rows) for rows in np.split(order, cuts)]


def _brought(design: Design, batches: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the batches; rows that are elsewhere come for many of them at a time."""
    first = np.cumsum([0, *(rows.size for rows in batches[:-1])])
    trips = first * design.n_features // _VALUES_AT_ONCE
    for _, group in groupby(zip(trips.tolist(), batches, strict=True), itemgetter(0)):
        some = [rows for _, rows in group]
        prefetch(design, np.concatenate(some))
        yield from some


def _step(
    phase: Phase,
    problem: Problem,
    theta: np.ndarray,
    design: Design,
    rows: np.ndarray,
) -> np.ndarray:
    """Return where a batch moves θ: as a map of θ, a contraction."""
    gradient = design.slope_sum(problem.loss.gradient, theta, records=rows)
    weight = phase.weight(rows.size, problem.neighboring.count_is_public)
    return (theta - phase.step_size * weight * gradient) / (1.0 + phase.pull)
