"""The contract of a solver: problem, plan and solution; row counts; the grid of releases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skdp.accounting import gdp_mu
from skdp.data.records import sum_of_shares
from skdp.design import Design
from skdp.design.base import MemoryDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss, Minorant
from skdp.losses.base import adapted
from skdp.losses.weighted import WeightedLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import ComposedEvent, Event, GDPEvent, Neighboring
from skdp.samplers import Sampler
from skdp.samplers.base import Progress
from skdp.support.lazy_names import Registry
from skdp.support.validation import make_plain


@dataclass(frozen=True)
class Flow:
    """θ' = −P·∇Σℓ(θ) + noise from θ = 0 on, for a time t. All of it is public or released."""

    n_samples: int  # *Public or released.* About how many records there are
    time: float  # *Public.* t
    # *Public.* σ: standard deviation of the noise in each coefficient after a time t where the
    # data do not contract it, in units in which P is the identity
    noise: float
    # *Public.* ρ of P, which has eigenvalues ρ/(l + ρ) where AᵀA has l; infinite for P = I
    metric_noise: float = math.inf
    # *Public.* Length of a record's gradient over the longest that the loss allows for
    clip_share: float = 1.0
    ridge: float = 0.0  # *Public.* 1/C. The run follows the flow if ridge·t is small.

    def gain(self, curvature: float) -> float:
        """Return the eigenvalue of P where AᵀA has the eigenvalue `curvature`."""
        return 1.0 / (1.0 + curvature / self.metric_noise)


@dataclass(frozen=True)
class ScoreMeans:
    """Noisy means over records, *released.* y is −1 or 1, c(z) a score clipped to ±`most_score`."""

    label: float  # mean of y
    score: float  # mean of c(z)
    product: float  # mean of y·c(z)
    # *Public or released.* Standard deviation of the noise in `label`. That in the other means is
    # `most_score` times as large.
    noise: float
    n_records: int  # *Public or released.* The number that sums were divided by
    count_noise: float  # *Public or released.* Relative standard deviation of its noise
    most_score: float  # *Public.*

    @property
    def covariance(self) -> float:
        """Covariance of y and c(z)."""
        return self.product - self.label * self.score


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
_SHARE_OF_ROOT = 0.25  # C = 0.25·√n for long runs and rows of norm 1
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
        unknown. A weighted record counts with its share of the largest weight.
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
    parts : float
        *Public.* A row's part in a sum may be a difference of two larger numbers: by what
        factor. It is more than 1 if a center is subtracted from sums instead of rows.
    weighted_rows : int or None
        *Public.* Number of weighted records if it is public, 0 if it is private; None for records
        without weights. `n_samples` is then a guess, or None: weights are private.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.privacy import Neighboring
    >>> from skdp.solvers import Problem
    >>> problem = Problem(
    ...     loss=LogisticLoss(),
    ...     data_norm=3.0,
    ...     intercept_scaling=4.0,
    ...     n_samples=1000,
    ...     neighboring=Neighboring.REPLACE_ONE,
    ... )
    >>> problem.row_norm, problem.lipschitz_difference, problem.signal(1000, mu=0.2)
    (5.0, 10.0, 100.0)
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
    parts: float = 1.0
    weighted_rows: int | None = None

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
    def count_is_public(self) -> bool:
        """Whether `n_samples`, if it is a number, is exact and not a guess or an estimate."""
        return self.neighboring.count_is_public and self.weighted_rows is None

    @property
    def covered_rows(self) -> int:
        """Number of rows for which guarantees hold in floating point: public, or very large."""
        n = self.n_samples or 0
        if (self.count_is_public and n) or self.weighted_rows:
            return self.weighted_rows or n
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
    """A solver's release, with every parameter fixed; `read` makes it from the data.

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
    solver : Solver or None
        *Public.* The solver that made the plan, if its parameters matter for the run.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.privacy import Neighboring
    >>> from skdp.solvers import OutputPerturbation, Problem
    >>> facts = {"loss": LogisticLoss(), "neighboring": Neighboring.REPLACE_ONE, "C": 0.1}
    >>> problem = Problem(data_norm=1.0, intercept_scaling=0.0, n_samples=1000, **facts)
    >>> plan = OutputPerturbation().plan(problem, epsilon=1.0, delta=1e-5)
    >>> plan.theorem, plan.exact
    ('output perturbation of a certified minimizer', True)
    >>> round(plan.event.mu, 4), round(plan.noise, 2)
    (0.2681, 0.75)
    """

    problem: Problem
    event: Event
    theorem: str
    exact: bool = False
    solver: Solver | None = None

    @abstractmethod
    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        """Read the data and release the solution, after the event was spent.

        Parameters
        ----------
        design : Design
            *Private.* Rows and their targets, coded for the loss. Rows are within the norms of
            `problem`, and there are at most `Solver.most_rows` of them.
        rng : numpy Generator
            *Secret.* Source of the noise.
        progress : callable
            Called with (step, n_steps), both public, after each step.

        Returns
        -------
        Solution
            *Released,* except for its diagnostics.
        """


class NoisyGram(NamedTuple):
    """*Released* AᵀA of rows with noise. If there is an intercept, its column is the last."""

    matrix: np.ndarray
    noise: float  # standard deviation on the diagonal

    @property
    def spectral_noise(self) -> float:
        """The approximate spectral norm of the noise."""
        return self.noise * math.sqrt(2.0 * len(self.matrix))


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
    is_nearer : bool
        *Released.* Whether a link nearer to that of the loss is better.
    moved : object or None
        *Released.* How probabilities of classes are recalibrated, if that was released.
    gram : NoisyGram or None
        *Released.* AᵀA with noise, if it was released.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.solvers import Solution
    >>> solution = Solution(np.array([1.5, -0.5]), n_iter=1, noise=0.1)
    >>> solution.theta, solution.n_iter, solution.noise
    (array([ 1.5, -0.5]), 1, 0.1)
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
    is_nearer: bool = False
    moved: Any = None
    gram: NoisyGram | None = None


class Solver(ABC):
    """An algorithm that learns linear models privately.

    `plan` uses public facts only and describes the release. The estimator spends its event and only
    then passes the data to `Plan.read`. A solver whose run can start from any coefficients has a
    method `resume(plan, start)`, which returns the plan of a run from there.

    Examples
    --------
    >>> from skdp.solvers import SOLVERS
    >>> sorted(name for name in SOLVERS if SOLVERS[name]().is_pure)
    ['exponential_mechanism']
    """

    is_gaussian: ClassVar[bool] = False
    """Whether a release at (ε, δ) is Gaussian DP with at most the μ of this (ε, δ).

    A budget composes such releases without loss. It may count others at more than (ε, δ).
    """

    is_pure: ClassVar[bool] = False
    """Whether a release at (ε, δ) is ε-DP, without any δ."""

    takes_trees: ClassVar[bool] = True
    """Whether tens of thousands of columns are fast, if few entries of a row are not 0."""

    takes_persons: ClassVar[bool] = False
    """Whether a record may be a person: several rows whose weights add up to that of one row.

    This requires that the release depends on sums over rows only, each bounded by one row's share.
    """

    takes_blocks: ClassVar[bool] = False
    """Whether `Plan.read` needs only sums over the design and some of its rows, so that rows may be
    in Dask blocks."""

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
    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
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


class GaussianSolver(Solver):
    """A solver that can also be planned at a Gaussian-DP parameter."""

    is_gaussian = True

    @abstractmethod
    def plan_at(self, problem: Problem, mu: float) -> Plan:
        """Return the plan of a μ-Gaussian DP release for a known number of rows.

        Parameters
        ----------
        problem : Problem
            *Public or released.* Its `n_samples` is a number.
        mu : float
            *Public.* Gaussian-DP parameter.

        Returns
        -------
        Plan
        """


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


class PartOfMu:
    """A small release before or after a larger one; squares of Gaussian-DP parameters add up."""

    mu: float  # its parameter, 0 for a number that is public

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        """The events of the release: one, or none."""
        return (GDPEvent(self.mu),) if self.mu > 0.0 else ()

    def rest(self, mu: float) -> float:
        """Return the rest of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)


@dataclass(frozen=True)
class RowCount(PartOfMu):
    """The number of records that determines steps: public, or estimated privately.

    A record more or less changes the count by 1, so with N(0, 1/μ²) added it is μ-Gaussian DP. So
    does a change of a record's share of the largest weight, in [0, 1]. Shares are rounded down to
    steps whose sums are exact in float64, so that a person's rows never add up to more than 1.
    """

    public: int | None  # the number, if public
    mu: float  # Gaussian-DP parameter of the estimate; 0 for a public number
    largest: float | None = None  # weight of a record, None without weights

    @classmethod
    def plan(cls, problem: Problem, epsilon: float, delta: float) -> RowCount:
        """Return the public count, or the plan of an estimate that costs 1 % of μ²."""
        if problem.n_samples is not None:
            return cls(problem.n_samples, 0.0)
        count = cls.of_share(gdp_mu(epsilon, delta))
        if problem.weighted_rows is None or not isinstance(problem.loss, WeightedLoss):
            return count
        return replace(count, largest=problem.loss.largest)

    @classmethod
    def of_share(cls, mu: float) -> RowCount:
        """Return the plan of an estimate that costs 1 % of μ²."""
        return cls(None, _COUNT_SHARE * mu)

    def release(self, design: Design, rng: np.random.Generator) -> int:
        """Return the public number, or release an estimate."""
        if self.largest is None or self.public is not None:
            return self.estimate(design.n_records, rng)
        return self.estimate(design.total(partial(_weight, self.largest)), rng)

    def estimate(self, size: float, rng: np.random.Generator) -> int:
        """Return the public number, or an estimate of a *private* `size` in exact steps."""
        if self.public is not None:
            return self.public
        noise = GridGaussian.at(self.mu, 1.0, 1, _MOST_RECORDS)
        return max(_FEWEST_ROWS, round(float(noise.release(np.array(size), rng))))


def _weight(largest: float, block: MemoryDesign) -> float:
    """Return the sum of a block's shares of records."""
    return sum_of_shares(block.targets["weight"] / largest)


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


SOLVERS: Registry[Solver] = Registry(
    {
        "auto": "skdp.solvers.auto:AutoSolver",
        "regularized_exponential": "skdp.solvers.regularized_exponential:RegularizedExponential",
        "noisy_gd": "skdp.solvers.noisy_gd:NoisyGD",
        "dp_sgd": "skdp.solvers.dp_sgd:DPSGD",
        "objective_perturbation": "skdp.solvers.perturbation:ObjectivePerturbation",
        "output_perturbation": "skdp.solvers.perturbation:OutputPerturbation",
        "adassp": "skdp.solvers.adassp:AdaSSP",
        "phased_sgd": "skdp.research.solvers.phased_sgd:PhasedSGD",
        "coordinate_descent": "skdp.research.solvers.coordinate_descent:CoordinateDescent",
        "exponential_mechanism": (
            "skdp.research.solvers.exponential_mechanism:ExponentialMechanismSolver"
        ),
    }
)
"""Every solver by name."""
