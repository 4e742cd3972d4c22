"""The contract between an estimator and a way to learn privately, and what all solvers share.

Problem, plan, solution and solver; the row count; the public grid of what is released.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss, Minorant, adapted
from skdp.privacy import ComposedEvent, Event, GDPEvent, Neighboring
from skdp.samplers import Progress
from skdp.support.validation import make_plain

__all__ = [
    "SCALE_MARGIN",
    "SHORT_RUN",
    "Plan",
    "PlannedSolver",
    "Problem",
    "ResumableSolver",
    "RowCount",
    "Solution",
    "Solver",
    "composed",
    "grid_width",
    "require_delta",
    "rounded",
    "rounded_inwards",
]

SCALE_MARGIN = 1e-12
"""Relative margin, on the safe side, of a noise scale or a bound that is computed from constants.

A guarantee rests on it. Such a number follows from at most a few hundred operations and calls of
elementary functions on positive numbers without cancellation, each of which rounds by at most four
units of 2⁻⁵³: 1000·4·2⁻⁵³ < 5e-13.
"""

SHORT_RUN = 2048.0
"""Flow times in units of 1/curvature, of what is not made for long runs. No guarantee rests on it.
"""

_WEAK_RIDGE = 100.0  # C over the flow time, where that regularizes; no guarantee rests on it
_GRID_BITS = 20  # about 1e-6 of the noise; no guarantee rests on it, rounding is post-processing
_COUNT_SHARE = 0.1  # of μ for an estimate of n, which is 1 % of μ²; no guarantee rests on it
_FEWEST_ROWS = 10  # that an estimate of n may say; no guarantee rests on it


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything about a fit that is public.

    Parameters
    ----------
    loss : Loss
        *Public.* What is fitted.
    data_norm : float
        *Public.* Bound on the l2 norm of x, in the units of X.
    intercept_scaling : float
        *Public.* b₀: every row is (x, b₀). 0 for no intercept.
    n_samples : int or None
        *Public.* A number of records, exact under ``replace_one``, a guess otherwise; None where
        there is none.
    neighboring : Neighboring
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    C : float or "auto"
        *Public.* Inverse regularization strength.
    n_features : int or None
        *Public.* Columns, the intercept's included. None: not known to whoever plans, and what
        depends on it is not checked.
    rows_each : int or None
        *Public.* Most rows of one record: 1, or what a person has; None for any number. Of several
        rows the weights, which the targets carry, add up to the loss's largest at most.
    """

    loss: Loss
    data_norm: float
    intercept_scaling: float
    n_samples: int | None
    neighboring: Neighboring
    C: float | str = "auto"
    n_features: int | None = None
    rows_each: int | None = 1

    def __post_init__(self) -> None:
        make_plain(self)

    @property
    def row_norm(self) -> float:
        """R: norm of a row with its intercept."""
        return math.hypot(self.data_norm, self.intercept_scaling)

    @property
    def lipschitz_difference(self) -> float:
        """G: Lipschitz constant in θ of the change that one record makes to the summed loss."""
        return self.neighboring.n_changed * self.loss.lipschitz * self.row_norm

    def signal(self, n: int, mu: float) -> float:
        """Return the signal-to-noise ratio n·μ/k, by which losses and solvers are chosen.

        Parameters
        ----------
        n : int
            *Public or released.* About how many rows there are.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        signal : float
            k is the number of records that neighbors differ in.
        """
        return n * mu / self.neighboring.n_changed

    def adapted(self, n: int, mu: float) -> Problem:
        """Return the problem with the loss that suits so many rows and so much noise.

        Parameters
        ----------
        n : int
            *Public or released.* About how many rows there are.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        problem : Problem
            This one itself unless its loss is a family.
        """
        loss = adapted(self.loss, self.signal(n, mu))
        return self if loss is self.loss else replace(self, loss=loss)

    def shape(self, n_features: int) -> tuple[int, ...]:
        """Return the shape of the coefficients.

        Parameters
        ----------
        n_features : int
            *Public.* Columns, the intercept's included.

        Returns
        -------
        shape : tuple of int
            (n_features,), or (n_features, K) for a loss of K scores.
        """
        k = self.loss.n_scores
        return (n_features,) if k == 1 else (n_features, k)

    @property
    def ridge(self) -> float:
        """1/C, or 0 if the length of a run regularizes."""
        return 0.0 if isinstance(self.C, str) else 1.0 / float(self.C)

    def inverse_regularization(self, t: float) -> float:
        """Return C: the user's, or so large that a run hardly feels it.

        Parameters
        ----------
        t : float
            *Public.* The flow time of the run.

        Returns
        -------
        float
            Positive.
        """
        return _WEAK_RIDGE * t if isinstance(self.C, str) else float(self.C)

    def worst_curvature(self, n: int) -> float:
        """Return the trace that the Hessian of Σ ℓ has for the worst rows.

        Parameters
        ----------
        n : int
            *Public or released.* The number of rows.

        Returns
        -------
        float
            In units of 1/coef².
        """
        return n * Minorant.of(self.loss).curvature_trace * self.row_norm**2

    def flow_time(self, n: int | None, noise: float) -> float:
        """Return the flow time t of a descent on Σ ℓ.

        T steps of size h, without momentum, follow the gradient flow θ' = −∇Σ ℓ for t = T·h. The
        run ends when the noise in a score, R·t·`noise`, is as wide as the loss's `noise_scale`, or
        when the work is at its limit. But for that limit, t does not depend on n.

        Parameters
        ----------
        n : int or None
            *Public or released.* About how many rows there are; None leaves out the limit.
        noise : float
            *Public.* Standard deviation of the noise in a coefficient after a unit of time.

        Returns
        -------
        float
            Positive.
        """
        loss, R = self.loss, self.row_norm
        longest = SHORT_RUN / (n * Minorant.of(loss).smoothness * R**2) if n else math.inf
        return min(loss.noise_scale / (R * noise), longest)


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """What a solver will release, with every parameter fixed. All of it is public.

    Parameters
    ----------
    problem : Problem
        *Public.* What it was planned for.
    event : Event
        *Public.* What happens to a record's privacy; a budget spends it.
    theorem : str
        *Public.* The statement that proves the event.
    """

    problem: Problem
    event: Event
    theorem: str


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """What a solver has released.

    Parameters
    ----------
    theta : ndarray of shape (n_features,) or (n_features, K)
        *Released.* Coefficients, the intercept column's last.
    n_iter : int
        *Public, or computed from what was released.* Number of steps.
    diagnostics : dict
        *Private.* What a developer may want to see.
    noise : float or None
        *Public.* Standard deviation of the Gaussian noise in each entry of `theta`, where `theta`
        is an optimum with such noise added; None where its distribution is another.
    loss : Loss or None
        *Public, or computed from what was released.* What was fitted, where the plan left it open.
    solver : str or None
        *Public, or computed from what was released.* Name of the solver that was taken, where the
        plan left it open.
    noise_bound : float or None
        *Public, or computed from what was released.* σ of a bound of the noise: the covariance of
        `theta` over the noise is at most σ²·SSᵀ, to first order where steps descend. None where no
        such number is known.
    noise_root : ndarray of shape (n_features, n_features) or None
        *Released.* S; None for the identity.
    """

    theta: np.ndarray
    n_iter: int
    diagnostics: dict[str, Any] = field(default_factory=dict)
    noise: float | None = None
    loss: Loss | None = None
    solver: str | None = None
    noise_bound: float | None = None
    noise_root: np.ndarray | None = None


class Solver(ABC):
    """A way to learn linear models privately, in two parts.

    `plan` sees public facts only and says what will be released; an estimator spends that, and
    only then hands the data to `solve`.
    """

    is_gaussian: ClassVar[bool] = False
    """Whether a release at (ε, δ) is Gaussian DP, with the μ of just this (ε, δ) at most.

    A budget then counts several of them without loss; others it may count at more than was asked.
    """

    is_pure: ClassVar[bool] = False
    """Whether a release at (ε, δ) is ε-DP, without any δ."""

    takes_persons: ClassVar[bool] = False
    """Whether a record may be a person: several rows, whose weights add up to that of one.

    It may where all that is released depends on sums over rows, each bounded by what a row adds.
    """

    takes_blocks: ClassVar[bool] = False
    """Whether `solve` asks a design for sums and for some rows only, so that Dask can hold it."""

    def with_sampler(self, sampler: Any) -> Solver:
        """Return the same solver with another sampler backend.

        Parameters
        ----------
        sampler : str or Sampler
            *Public.* A name of `skdp.samplers.SAMPLERS` or an instance.

        Returns
        -------
        solver : Solver
            A copy.

        Raises
        ------
        IncompatibleSolverError
            If the solver draws no sample.
        """
        raise IncompatibleSolverError(
            f"{type(self).__name__} draws no sample, so sampler={sampler!r} has no meaning for "
            "it; leave sampler='auto'."
        )

    @abstractmethod
    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
        """Return a plan that is (ε, δ)-DP, from public facts alone.

        Parameters
        ----------
        problem : Problem
            *Public.*
        epsilon : float
            *Public.* Privacy loss in nats, positive and finite.
        delta : float
            *Public.* Probability in [0, 1) with which the ε bound may fail.

        Returns
        -------
        plan : Plan
            Equal for equal arguments; `plan.event` is within (ε, δ).

        Raises
        ------
        IncompatibleSolverError
            If the solver cannot take the loss, the relation, δ = 0, or so many columns.
        """

    def most_rows(self, problem: Problem) -> float:
        """Return the most rows for which a plan's guarantee holds.

        Estimators refuse more rows before they spend: a domain check, outside the guarantee.

        Parameters
        ----------
        problem : Problem
            *Public.*

        Returns
        -------
        most_rows : float
            A public number; infinite where any number of rows is covered.
        """
        return math.inf

    @abstractmethod
    def solve(
        self,
        plan: Any,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        """Read the data and release the solution that `plan` describes.

        Parameters
        ----------
        plan : Plan
            *Public.* What `plan` of this solver returned.
        design : Design
            *Private.* The rows, within the norms of `plan.problem`, at most `most_rows` of them,
            and their targets, as the loss wants them.
        rng : numpy Generator
            *Secret.* Source of the noise.
        progress : callable
            Called with the number of steps done and the number of all steps, both public.

        Returns
        -------
        solution : Solution
            Released, but for its diagnostics.
        """


@runtime_checkable
class ResumableSolver(Protocol):
    """A solver that goes on from given coefficients, as `partial_fit` needs."""

    def resume(
        self,
        plan: Any,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
        start: np.ndarray,
    ) -> Solution:
        """Do what `Solver.solve` does, from *public or released* coefficients `start` on."""


@dataclass(frozen=True)
class PlannedSolver:
    """A solver and what it has planned, for an outer plan to keep.

    Parameters
    ----------
    solver : Solver
        *Public.* It made the plan.
    plan : Plan
        *Public.*
    """

    solver: Solver
    plan: Plan

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        """Return what `Solver.solve` returns for the plan."""
        return self.solver.solve(self.plan, design, rng, progress)


def composed(events: tuple[Event, ...]) -> Event:
    """Return the composition of events that were fixed beforehand; of one, the event itself."""
    return events[0] if len(events) == 1 else ComposedEvent(events)


def require_delta(delta: float, name: str) -> None:
    """Raise if δ is 0, for a solver whose noise is Gaussian."""
    if delta == 0.0:
        raise IncompatibleSolverError(
            f"solver={name!r} adds Gaussian noise, which needs delta > 0; delta=0 takes a "
            "solver of `skdp.solvers.SOLVERS` that `is_pure`."
        )


@dataclass(frozen=True)
class RowCount:
    """The number of records by which steps are chosen: public, or estimated privately.

    A record more or less changes the count by 1, so with N(0, 1/μ²) added it is μ-Gaussian DP.

    Parameters
    ----------
    public : int or None
        *Public.* The number, where it is public.
    mu : float
        *Public.* Gaussian-DP parameter of the estimate; 0 for a public number.
    """

    public: int | None
    mu: float

    @classmethod
    def plan(cls, problem: Problem, epsilon: float, delta: float) -> RowCount:
        """Return a count that is public or estimates n privately, with 1 % of μ²."""
        if problem.n_samples is not None:
            return cls(problem.n_samples, 0.0)
        return cls(None, _COUNT_SHARE * gdp_mu(epsilon, delta))

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        """What is released for it, if anything."""
        return (GDPEvent(self.mu),) if self.mu > 0.0 else ()

    def release(self, design: Design, rng: np.random.Generator) -> int:
        """Return the number: public, or estimated now."""
        if self.public is not None:
            return self.public
        return max(_FEWEST_ROWS, round(design.n_records + rng.normal() / self.mu))

    def rest(self, mu: float) -> float:
        """Return what is left of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)


def grid_width(noise: float) -> float:
    """Return the width of the public grid, a power of two of about 1e-6 of the noise's scale."""
    return 2.0 ** (math.floor(math.log2(noise)) - _GRID_BITS)


def rounded(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid."""
    grid = grid_width(noise)
    return np.asarray(np.round(values / grid) * grid)


def rounded_inwards(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid, none farther from 0 than before."""
    grid = grid_width(noise)
    return np.asarray(np.trunc(values / grid) * grid)
