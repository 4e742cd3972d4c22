"""The contract of a solver: problem, plan and solution; row counts; the grid of releases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss, Minorant, adapted
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import ComposedEvent, Event, GDPEvent, Neighboring
from skdp.samplers import Progress, Sampler
from skdp.solvers._flow import Flow
from skdp.solvers._score_means import ScoreMeans
from skdp.support.types import Countable
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
"""Relative safety margin of a noise scale or a bound that is computed from constants.

A guarantee rests on it. Such a number results from at most a few hundred operations and elementary
functions of positive numbers without cancellation. Each rounds by at most four units of 2⁻⁵³:
1000·4·2⁻⁵³ < 5e-13.
"""

SHORT_RUN = 2048.0
"""Longest flow time, in units of 1/curvature, without support for long runs; no guarantee."""

_WEAK_RIDGE = 100.0  # C over the flow time, if that regularizes; no guarantee rests on it
# Of feature maps, found on public data; no guarantee rests on them.
_SHARE_OF_ROOT = 0.25  # C over √n, of a long run and rows of norm 1
_FEWEST_COUNTED = 64  # records by which C is chosen
_RELAXATIONS = 3.0  # of the ridge; a longer run adds noise only
_GRID_BITS = 20  # about 1e-6 of the noise; no guarantee rests on it, rounding is post-processing
_MOST_UNKNOWN_ROWS = 1 << 24  # covered if n is unknown
_MOST_HINTED_ROWS = 1 << 36  # bounds of rounding errors of more rows exceed useful noise
_COUNT_SHARE = 0.1  # of μ for an estimate of n, which is 1 % of μ²; no guarantee rests on it
_MOST_RECORDS = 1e12  # a larger count is released as about this one
_FEWEST_ROWS = 10  # smallest estimate of n; no guarantee rests on it


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The public facts of a fit.

    Parameters
    ----------
    loss : Loss
        *Public.* The loss that is fitted.
    data_norm : float
        *Public.* Bound on the l2 norm of x, in the units of X.
    intercept_scaling : float
        *Public.* b₀: every row is (x, b₀). 0 for no intercept.
    n_samples : int or None
        *Public.* Number of records, exact under ``replace_one``, a guess otherwise; None if
        unknown.
    neighboring : Neighboring
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    C : float or "auto"
        *Public.* Inverse regularization strength.
    n_features : int or None
        *Public.* Columns, the intercept's included. None if unknown; checks that depend on it are
        then skipped.
    rows_each : int or None
        *Public.* Maximum number of rows per record: 1, or more for persons; None for any number.
        The weights of several rows, stored in the targets, add up to at most the largest weight.
    has_features : bool
        *Public.* Whether rows are features of a map. There are then many features, and rows
        determine few of them, so "auto" keeps a ridge even with little noise.
    determines_all : bool
        *Public.* Whether many rows determine all coefficients, as those of columns and of curves.
        Random features and products have directions in which rows hardly vary.
    most_C : float
        *Public or released.* Largest C that "auto" stands for; set by `adapted`.
    rows_are_exact : bool
        *Public.* Whether each row is the same in floating point wherever it stands in the data.
    clips : float
        *Public.* Number of clip factors that a row is multiplied by: their rounding errors, which
        depend on where it stands, add up.
    """

    loss: Loss
    data_norm: float
    intercept_scaling: float
    n_samples: int | None
    neighboring: Neighboring
    C: float | str = "auto"
    n_features: int | None = None
    rows_each: int | None = 1
    has_features: bool = False
    determines_all: bool = True
    most_C: float = math.inf
    rows_are_exact: bool = True
    clips: float = 1.0

    def __post_init__(self) -> None:
        make_plain(self)

    @property
    def row_norm(self) -> float:
        """R, the norm of a row with its intercept."""
        return math.hypot(self.data_norm, self.intercept_scaling)

    @property
    def lipschitz_difference(self) -> float:
        """G, the Lipschitz constant in θ of the change of Σ ℓ between neighbors."""
        return self.neighboring.n_changed * self.loss.lipschitz * self.row_norm

    @property
    def covered_rows(self) -> int:
        """Number of rows for which guarantees hold in floating point: public, or very large."""
        n = self.n_samples or 0
        if self.neighboring.count_is_public and n:
            return n
        return max(_MOST_UNKNOWN_ROWS, min(2 * n, _MOST_HINTED_ROWS))

    def signal(self, n: int, mu: float) -> float:
        """Return the signal-to-noise ratio n·μ/k, by which losses and solvers are chosen.

        Parameters
        ----------
        n : int
            *Public or released.* Approximate number of rows.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        float
            k is the number of records that neighbors differ in.
        """
        return n * mu / self.neighboring.n_changed

    def adapted(self, n: int, mu: float) -> Problem:
        """Return the problem with the loss of a family and the ridge that suit n and the signal.

        Parameters
        ----------
        n : int
            *Public or released.* Approximate number of rows.
        mu : float
            *Public.* Gaussian-DP parameter of the release.

        Returns
        -------
        Problem
            `self` unless the loss is a family or rows are features.
        """
        signal = self.signal(n, mu)
        if self.has_features:
            most_C = _SHARE_OF_ROOT * math.sqrt(max(n, _FEWEST_COUNTED)) / self.data_norm**2
            # A ridge leaves less noise than `signal` assumes: by the ratio of C to the time of a
            # run without it, which is 2μ/k for unclipped logistic losses and rows of norm 1.
            signal *= max(1.0, 2.0 * signal / (n * most_C * self.data_norm**2))
            return replace(self, loss=adapted(self.loss, signal), most_C=most_C)
        loss = adapted(self.loss, signal)
        return self if loss is self.loss else replace(self, loss=loss)

    def with_columns(self, n_features: int) -> Problem:
        """Return the problem with a known number of columns.

        Parameters
        ----------
        n_features : int
            *Public.* Columns, the intercept's included.

        Returns
        -------
        Problem
            `self` if the number was known.
        """
        return self if self.n_features is not None else replace(self, n_features=n_features)

    def shape(self, n_features: int) -> tuple[int, ...]:
        """Return the shape of the coefficients.

        Parameters
        ----------
        n_features : int
            *Public.* Columns, the intercept's included.

        Returns
        -------
        tuple of int
            (n_features,), or (n_features, K) for a loss of K scores.
        """
        k = self.loss.n_scores
        return (n_features,) if k == 1 else (n_features, k)

    @property
    def ridge(self) -> float:
        """1/C, or 0 if the length of a run regularizes."""
        return 0.0 if isinstance(self.C, str) else 1.0 / float(self.C)

    def inverse_regularization(self, t: float) -> float:
        """Return the user's C, or for "auto" one so large that it has almost no effect.

        For feature maps it falls to `most_C` as the run gets long enough for that.

        Parameters
        ----------
        t : float
            *Public.* Flow time of the run.

        Returns
        -------
        float
        """
        if not isinstance(self.C, str):
            return float(self.C)
        return min(_WEAK_RIDGE * t, self.most_C * max(1.0, self.most_C / t) ** 4)

    def worst_curvature(self, n: int) -> float:
        """Return the trace of the Hessian of Σ ℓ for the worst rows.

        Parameters
        ----------
        n : int
            *Public or released.* Number of rows.

        Returns
        -------
        float
            In units of 1/coef².
        """
        return n * Minorant.of(self.loss).curvature_trace * self.row_norm**2

    def flow_time(self, n: int | None, noise: float) -> float:
        """Return the flow time t of a descent on Σ ℓ.

        T steps of size h, without momentum, follow the gradient flow θ' = −∇Σ ℓ for t = T·h. The
        run ends when the noise in a score, R·t·`noise`, reaches the loss's `noise_scale`, or at a
        limit on the work. Without that limit, t does not depend on n. With `most_C` it also ends
        when the ridge has had its effect.

        Parameters
        ----------
        n : int or None
            *Public or released.* Approximate number of rows; None omits the limit.
        noise : float
            *Public.* Standard deviation of the noise in a coefficient after a unit of time.

        Returns
        -------
        float
        """
        loss, R = self.loss, self.row_norm
        longest = SHORT_RUN / (n * Minorant.of(loss).smoothness * R**2) if n else math.inf
        settled = _RELAXATIONS * self.most_C if isinstance(self.C, str) else math.inf
        return min(loss.noise_scale / (R * noise), longest, settled)


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """Description of a solver's release, with every parameter fixed.

    Parameters
    ----------
    problem : Problem
        *Public.* The problem of the plan.
    event : Event
        *Public.* The privacy event that a budget spends.
    theorem : str
        *Public.* Name of the statement that proves the event.
    exact : bool
        *Public.* Whether it also holds for the numbers that a computer adds (*Machine numbers*).
    """

    problem: Problem
    event: Event
    theorem: str
    exact: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A solver's release.

    Parameters
    ----------
    theta : ndarray of shape (n_features,) or (n_features, K)
        *Released.* Coefficients; the intercept's is last.
    n_iter : int
        *Public or released.* Number of steps.
    diagnostics : mapping
        *Private.* For developers.
    noise : float or None
        *Public.* Standard deviation of the Gaussian noise in each entry of `theta`, if `theta` is
        an optimum plus such noise.
    loss : Loss or None
        *Public or released.* The fitted loss, if the plan left it open.
    solver : str or None
        *Public or released.* Name of the solver, if the plan left it open.
    noise_bound : float or None
        *Public or released.* σ, if known, such that the covariance of `theta` over the noise is at
        most σ²·SSᵀ, to first order for descents.
    noise_root : ndarray of shape (n_features, n_features) or None
        *Released.* S; None for the identity.
    flow : Flow or None
        *Public, or computed from what was released.* The run as a flow, if it is one from 0 on.
    means : ScoreMeans or None
        *Released.* Noisy means of labels and scores at θ, if they were released.
    """

    theta: np.ndarray
    n_iter: int
    diagnostics: Mapping[str, object] = field(default_factory=dict)
    noise: float | None = None
    loss: Loss | None = None
    solver: str | None = None
    noise_bound: float | None = None
    noise_root: np.ndarray | None = None
    flow: Flow | None = None
    means: ScoreMeans | None = None


PlanT = TypeVar("PlanT", bound=Plan)


class Solver(ABC, Generic[PlanT]):
    """An algorithm that learns linear models privately.

    `plan` uses public facts only and describes the release. The estimator spends its event and only
    then passes the data to `solve`.
    """

    is_gaussian: ClassVar[bool] = False
    """Whether a release at (ε, δ) is Gaussian DP with at most the μ of this (ε, δ).

    A budget composes such releases without loss. It may count others at more than (ε, δ).
    """

    is_pure: ClassVar[bool] = False
    """Whether a release at (ε, δ) is ε-DP, without any δ."""

    takes_persons: ClassVar[bool] = False
    """Whether a record may be a person: several rows whose weights add up to that of one row.

    This requires that the release depends on sums over rows only, each bounded by one row's share.
    """

    takes_blocks: ClassVar[bool] = False
    """Whether `solve` needs only sums over the design and some of its rows, so that rows may be in
    Dask blocks."""

    def with_sampler(self, sampler: str | Sampler) -> Solver:
        """Return a copy of the solver with another sampler.

        Parameters
        ----------
        sampler : str or Sampler
            *Public.* A name in `skdp.samplers.SAMPLERS` or an instance.

        Returns
        -------
        Solver

        Raises
        ------
        IncompatibleSolverError
            If the solver does not use a sampler.
        """
        raise IncompatibleSolverError(
            f"{type(self).__name__} uses no sampler, so sampler={sampler!r} has no effect. Leave "
            "sampler='auto'."
        )

    @abstractmethod
    def plan(self, problem: Problem, epsilon: float, delta: float) -> PlanT:
        """Return a plan whose event is (ε, δ)-DP, from public facts alone.

        Parameters
        ----------
        problem : Problem
            *Public.*
        epsilon : float
            *Public.* Privacy loss in nats, positive and finite.
        delta : float
            *Public.* Probability in [0, 1) that the ε bound fails.

        Returns
        -------
        Plan
            Equal for equal arguments.

        Raises
        ------
        IncompatibleSolverError
            If the solver does not support the loss, the relation, δ = 0, or the number of columns.
        """

    def most_rows(self, problem: Problem) -> float:
        """Return the maximum number of rows for which a plan's guarantee holds.

        Estimators reject more rows before they spend: a domain check, outside the guarantee.

        Parameters
        ----------
        problem : Problem
            *Public.*

        Returns
        -------
        float
            *Public.* That for which rounding errors are bounded.
        """
        return problem.covered_rows

    @abstractmethod
    def solve(
        self, plan: PlanT, design: Design, rng: np.random.Generator, progress: Progress
    ) -> Solution:
        """Read the data and release the solution that `plan` describes.

        Parameters
        ----------
        plan : Plan
            *Public.* From this solver's `plan`.
        design : Design
            *Private.* Rows and their targets, coded for the loss. Rows are within the norms of
            `plan.problem`, and there are at most `most_rows` of them.
        rng : numpy Generator
            *Secret.* Source of the noise.
        progress : callable
            Called with (step, n_steps), both public, after each step.

        Returns
        -------
        Solution
            *Released,* except for its diagnostics.
        """


@runtime_checkable
class ResumableSolver(Protocol):
    """A solver that can start from given coefficients, as `partial_fit` requires."""

    def resume(
        self,
        plan: Any,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
        start: np.ndarray,
    ) -> Solution:
        """Do the same as `Solver.solve`, from *public or released* coefficients `start`."""


@dataclass(frozen=True)
class PlannedSolver(Generic[PlanT]):
    """A solver and its plan, kept by an outer plan."""

    solver: Solver[PlanT]
    plan: PlanT

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        return self.solver.solve(self.plan, design, rng, progress)


def composed(events: tuple[Event, ...]) -> Event:
    """Return the composition of events fixed beforehand, or the event itself if there is one."""
    return events[0] if len(events) == 1 else ComposedEvent(events)


def require_delta(delta: float, name: str) -> None:
    """Raise if δ is 0, for a solver whose noise is Gaussian."""
    if delta == 0.0:
        raise IncompatibleSolverError(
            f"solver={name!r} adds Gaussian noise and needs delta > 0. For delta=0 use a solver of "
            "`skdp.solvers.SOLVERS` whose `is_pure` is True."
        )


@dataclass(frozen=True)
class RowCount:
    """The number of records that determines steps: public, or estimated privately.

    A record more or less changes the count by 1, so with N(0, 1/μ²) added it is μ-Gaussian DP.
    """

    public: int | None  # the number, if public
    mu: float  # Gaussian-DP parameter of the estimate; 0 for a public number

    @classmethod
    def plan(cls, problem: Problem, epsilon: float, delta: float) -> RowCount:
        """Return the public count, or the plan of an estimate that costs 1 % of μ²."""
        if problem.n_samples is not None:
            return cls(problem.n_samples, 0.0)
        return cls.of_share(gdp_mu(epsilon, delta))

    @classmethod
    def of_share(cls, mu: float) -> RowCount:
        """Return the plan of an estimate that costs 1 % of μ²."""
        return cls(None, _COUNT_SHARE * mu)

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        return (GDPEvent(self.mu),) if self.mu > 0.0 else ()

    def release(self, records: Countable, rng: np.random.Generator) -> int:
        """Return the public number, or release an estimate."""
        if self.public is not None:
            return self.public
        noise = GridGaussian.at(self.mu, 1.0, 1, _MOST_RECORDS)
        return max(_FEWEST_ROWS, round(float(noise.release(np.array(records.n_records), rng))))

    def rest(self, mu: float) -> float:
        """Return the rest of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)


def grid_width(noise: float) -> float:
    """Return the width of the public grid, a power of two of about 1e-6 of the noise."""
    return 2.0 ** (math.floor(math.log2(noise)) - _GRID_BITS)


def rounded(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid."""
    grid = grid_width(noise)
    return np.asarray(np.round(values / grid) * grid)


def rounded_inwards(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid, rounded toward 0."""
    grid = grid_width(noise)
    return np.asarray(np.trunc(values / grid) * grid)
