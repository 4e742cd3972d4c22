"""Private scores and reports of predicted numbers, from noisy sums of errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, Self, Unpack

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.records import Records
from skdp.metrics._evaluation import (
    Evaluation,
    Known,
    ResultT,
    RowMean,
    RowSums,
    Score,
    Viewed,
    interval_of,
    numbers_of,
    ratio,
    spread,
    sums_query,
)
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.statistics._moments import is_at_end
from skdp.support.types import RandomState, VectorLike
from skdp.support.validation import check_choice, check_real
from skdp.workloads import Query

# Targets that spread evenly within their bounds have a standard deviation of .29 of the width.
_LARGEST_SHARE = 0.1
_MOST_CLIPPED = 0.01  # of the errors, so that R² is not that of other errors
AT_END = (
    "The targets may be at an end of target_bounds, to which they are clipped. Check the units."
)
NO_R2 = "R² is nan: more than 1 % of the errors exceed error_bound, by a noisy count."


@dataclass(frozen=True)
class ErrorScale:
    """*Public* bounds of the targets, and the bound to which errors are clipped."""

    bounds: tuple[float, float]
    error_bound: float

    @classmethod
    def of(cls, bounds: tuple[float, float], error_bound: float | None) -> Self:
        """Check the bounds; the default of `error_bound` is their width."""
        low, high = _checked_bounds(bounds)
        width = high - low
        if error_bound is not None:
            width = min(width, check_real("error_bound", error_bound, low=1e-100))
        return cls((low, high), width)

    @property
    def clips(self) -> bool:
        """Whether an error may exceed `error_bound`; then rows where it does are counted."""
        return self.error_bound < self.bounds[1] - self.bounds[0]

    def errors(self, truth: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return absolute errors in units of `error_bound`, and targets mapped to [−1, 1]."""
        low, high = self.bounds
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        given = (numbers_of("y_true", truth), numbers_of("y_pred", guess))
        u, v = (np.clip((np.clip(x, low, high) - middle) / half, -1.0, 1.0) for x in given)
        return np.abs(u - v) * (half / self.error_bound), u

    def hides_r2(self, larger: np.ndarray, n: float, variance: float) -> bool:
        """Return whether so many errors were clipped that theirs is not the R² of all errors.

        `larger` begins with their number, if errors are clipped. Noise alone exceeds the limit in
        2 % of releases.
        """
        return self.clips and not larger[0] <= _MOST_CLIPPED * n + 2.0 * math.sqrt(variance)

    def r2(self, square: float, linear: float, quadratic: float, n: float) -> float:
        """Return R² from sums over n rows of e², u and u²; nan if u has no visible variance."""
        whole = 0.25 * (quadratic - linear**2 / n) if n > 0.0 else 0.0  # in squared widths
        if not whole > max(n, 0.0) * 2.0**-31:  # the precision with which rows are added up
            return math.nan
        share = self.error_bound / (self.bounds[1] - self.bounds[0])
        return float(1.0 - share * share * square / whole)


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSums(RowSums[ResultT]):
    """Sums over rows of `powers` of errors e, and of u and u² for targets u mapped to [−1, 1]."""

    powers: ClassVar[tuple[int, ...]] = (2,)

    target_bounds: tuple[float, float]
    error_bound: float | None

    @cached_property
    def scale(self) -> ErrorScale:
        """The bounds, checked."""
        return ErrorScale.of(self.target_bounds, self.error_bound)

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        ErrorScale.of(self.target_bounds, self.error_bound)
        pairs.check(_check_numbers)
        return pairs.with_facts(self)

    def query(self, neighboring: Neighboring) -> Query:
        # add_remove_one: k powers of errors, u, u² and the number of rows are of size 1 at most.
        # replace_one: with t = |u − u'| and |u + u'| ≤ 2 − t, (u, u²) moves by t·(1, u + u'). In l1
        # that is at most t·(3 − t), 2.25 at t = 3/2. In l2 it is at most t·√(1 + (2 − t)²). This
        # rises with t, since 2t² − 6t + 5 > 0, up to 2 at t = 2. Powers of errors, and the number
        # of large ones, move by 1 under both.
        replaced, k = neighboring.count_is_public, len(self.powers) + self.scale.clips
        return sums_query(
            size=k + (2 if replaced else 3),
            linf=2.0 if replaced else 1.0,
            l1=k + (2.25 if replaced else 3.0),
            l2=math.sqrt(k + (4.0 if replaced else 3.0)),
        )

    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        error, u = self.scale.errors(truth, guess)
        errors = [np.minimum(error, 1.0) ** power for power in self.powers]
        return [*errors, u, u * u, *[error > 1.0] * self.scale.clips, np.ones(u.size)]

    def effect_of_noise(self, n_records: int, variance: float) -> str | None:
        """Return a sentence if the noise hides large errors.

        The noise in a sum is within ±1.96 standard deviations in 95 % of releases.
        """
        scale = self.scale
        mean = 1.96 * math.sqrt(variance) / n_records  # of e or e², in units of `error_bound`
        hidden = scale.error_bound * mean ** (1.0 / self.powers[0])
        width = scale.bounds[1] - scale.bounds[0]
        if hidden <= _LARGEST_SHARE * width:
            return None
        hidden = min(hidden, scale.error_bound)  # no error is larger
        return (
            f"the noise hides errors below about {hidden:.2g}, {hidden / width:.0%} of the width "
            "of target_bounds. Use a smaller error_bound, a larger epsilon, or more rows."
        )


def _check_numbers(pairs: Records[None]) -> None:
    numbers_of("y_true", pairs.y)
    numbers_of("y_pred", pairs.X)


def possible_sums(linear: float, square: float, n: float, low: float) -> tuple[float, float]:
    """Return the nearest sums of x and x² that n numbers x in [`low`, 1] can have; low is 0 or −1.

    Their means lie between the parabola and its chord, which is a convex set. So the result is at
    most as far from the sums of any such numbers as the given *released* sums are, whatever the
    noise was. For Gaussian noise of equal variance it is also the most likely pair of sums.
    """
    if not n > 0.0:
        return linear, square
    x, y = linear / n, square / n
    slope = 1.0 + low
    if x * x <= y <= slope * x - low:
        return linear, square
    t = np.clip(np.append(np.roots([2.0, 0.0, 1.0 - 2.0 * y, -x]).real, low), low, 1.0)
    on_chord = np.clip((x + slope * (y + low)) / (1.0 + slope * slope), low, 1.0)
    points = np.append(np.stack([t, t * t]), [[on_chord], [slope * on_chord - low]], axis=1)
    nearest = points[:, np.argmin(np.hypot(points[0] - x, points[1] - y))]
    return float(n * nearest[0]), float(n * nearest[1])


def _checked_bounds(bounds: object) -> tuple[float, float]:
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise ValueError(f"target_bounds must be a pair (low, high) of numbers, got {bounds!r}.")
    low, high = (check_real("target_bounds", x, low=-1e100, high=1e100) for x in bounds)
    if not low < high:
        raise ValueError(f"target_bounds must have low < high, got low={low:g}, high={high:g}.")
    return low, high


def dp_mean_squared_error(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    target_bounds: tuple[float, float],
    error_bound: float | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Score:
    """Return the mean squared error, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    target_bounds : (low, high)
        *Public.* Interval of the targets.
    error_bound : float or None, default None
        *Public.* Larger errors are clipped to this; the noise is proportional to it. ``None``: the
        width of `target_bounds`.
    delta, groups, noise, neighboring, budget, random_state
        As in `regression_report`.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With e an error, clipped to `error_bound` and in units of it, a record changes
    the sum of e² by 1 at most. If the number of rows is private, the sum of 1 − e² is released too.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_mean_squared_error
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> found = dp_mean_squared_error(y, guess, epsilon=1.0, target_bounds=(0, 10), random_state=0)
    >>> round(found.value, 1)
    0.9
    """
    return Evaluation(_SquaredError(target_bounds, error_bound), noise)._release(
        (y_true, y_pred), groups, epsilon, delta, neighboring, budget, random_state
    )


def dp_mean_absolute_error(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    target_bounds: tuple[float, float],
    error_bound: float | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Score:
    """Return the mean absolute error, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    target_bounds : (low, high)
        *Public.* Interval of the targets.
    error_bound : float or None, default None
        *Public.* Larger errors are clipped to this; the noise is proportional to it. ``None``: the
        width of `target_bounds`.
    delta, groups, noise, neighboring, budget, random_state
        As in `regression_report`.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With e an error, clipped to `error_bound` and in units of it, a record changes
    the sum of e by 1 at most. If the number of rows is private, the sum of 1 − e is released too.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_mean_absolute_error
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> found = dp_mean_absolute_error(y, guess, epsilon=1.0, target_bounds=(0, 10), random_state=0)
    >>> round(found.value, 1)
    0.8
    """
    return Evaluation(_AbsoluteError(target_bounds, error_bound), noise)._release(
        (y_true, y_pred), groups, epsilon, delta, neighboring, budget, random_state
    )


def dp_r2_score(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    target_bounds: tuple[float, float],
    error_bound: float | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Score:
    """Return R², the share of the variance that the predictions explain, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    target_bounds : (low, high)
        *Public.* Interval of the targets.
    error_bound : float or None, default None
        *Public.* Larger errors are clipped to this; the noise is proportional to it. ``None``: the
        width of `target_bounds`.
    delta, groups, noise, neighboring, budget, random_state
        As in `regression_report`.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With e an error, clipped to `error_bound` and in units of it, and u a target
    mapped to [−1, 1], a row adds (e², u, u²), and 1 to the number of rows if that is private. Under
    ``add_remove_one`` each changes by 1 at most: all four by 2 in l2 and 4 in l1. Under
    ``replace_one`` (u, u²) change by 2 in l2 and by 2.25 in l1: √5 and 3.25 in all. With an
    `error_bound`, the number of larger errors is one more number that changes by 1 at most. The
    score is nan if they are more than 1 % of the rows, beyond the noise.

    The score is computed from the nearest sums that rows can have.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_r2_score
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> found = dp_r2_score(y, guess, epsilon=1.0, target_bounds=(0, 10), random_state=0)
    >>> round(found.value, 1)
    0.9
    """
    return Evaluation(_R2(target_bounds, error_bound), noise)._release(
        (y_true, y_pred), groups, epsilon, delta, neighboring, budget, random_state
    )


class _MeanError(RowMean, ErrorSums[Score]):
    """The mean of a power of the errors."""

    @property
    def unit(self) -> float:
        return self.scale.error_bound ** self.powers[0]

    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        return np.minimum(self.scale.errors(truth, guess)[0], 1.0) ** self.powers[0]


class _AbsoluteError(_MeanError):
    name = "dp_mean_absolute_error"
    powers = (1,)


class _SquaredError(_MeanError):
    name = "dp_mean_squared_error"


class _R2(ErrorSums[Score]):
    name = "dp_r2_score"

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> Score:
        n_samples = known["n_samples"]
        n, likely = _count(n_samples, answer), answer.copy()
        hidden = self.scale.hides_r2(answer[3:], n, known["_variance"])
        at_end = is_at_end(answer[1], n, known["_variance"])
        likely[0] = math.nan if hidden else min(max(answer[0], 0.0), max(n, 0.0))
        likely[1:3] = possible_sums(answer[1], answer[2], n, low=-1)
        return Score(
            value=_r2(self.scale, n_samples, likely),
            n_samples=n_samples,
            privacy=known["privacy"],
            _between=partial(_interval_of_r2, self.scale, likely, n_samples, known["_variance"]),
            _note=" ".join([NO_R2] * hidden + [AT_END] * at_end),
        )


def _count(n_samples: int | None, sums: np.ndarray) -> float:
    return float(sums[-1]) if n_samples is None else float(n_samples)


def _r2(scale: ErrorScale, n_samples: int | None, sums: np.ndarray) -> float:
    return scale.r2(sums[0], sums[1], sums[2], _count(n_samples, sums))


def _interval_of_r2(
    scale: ErrorScale,
    sums: np.ndarray,
    n_samples: int | None,
    noise: float,
    level: float,
    *,
    sampling: bool,
) -> tuple[float, float]:
    def sampled(slopes: np.ndarray) -> float:
        return spread(slopes[:3], sums[:3], _count(n_samples, sums)) if sampling else 0.0

    metric = partial(_r2, scale, n_samples)
    return interval_of(metric, sums, noise, sampled, level, (-math.inf, 1.0))


def regression_report(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    target_bounds: tuple[float, float],
    error_bound: float | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> RegressionReport:
    """Report on predicted numbers, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss of the whole report, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    target_bounds : (low, high)
        *Public.* Interval of the targets.
    error_bound : float or None, default None
        *Public.* Larger errors are clipped to this; the noise is proportional to it. ``None``: the
        width of `target_bounds`.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* The person of each row. All rows of a person are one record, and each of its rows
        has the same weight. ``None``: each row is a record.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    RegressionReport
        Mean squared and absolute errors and R², all from one release.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With e an error, clipped to `error_bound` and in units of it, and u a target
    mapped to [−1, 1], a row adds (e², e, u, u²), and 1 to the number of rows if that is private.
    Under ``add_remove_one`` each changes by 1 at most, all five by √5 in l2 and 5 in l1. Under
    ``replace_one`` errors change by 1 each, (u, u²) by 2 in l2 and by 2.25 in l1: √6 and 4.25.
    With an `error_bound`, the number of larger errors is one more such number.

    R² is nan if more than 1 % of the errors exceed `error_bound`, by that number and beyond its
    noise: clipped errors say nothing of the share of the whole variance.

    Scores are computed from the nearest sums that rows can have.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import regression_report
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> report = regression_report(y, guess, epsilon=1.0, target_bounds=(0, 10), random_state=0)
    >>> round(report.mean_absolute_error, 1), round(report.r2, 1)
    (0.8, 0.9)
    """
    return Evaluation(_RegressionSums(target_bounds, error_bound), noise)._release(
        (y_true, y_pred), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegressionReport(Viewed):
    """A report from noisy sums of errors and targets, returned by `regression_report`.

    Parameters
    ----------
    sums : ndarray of shape (4,) to (6,)
        *Released.* Sums of e², e, u and u², where e is an error in units of `error_bound` and u a
        target mapped to [−1, 1]. Then the number of larger errors, if `error_bound` was given, and
        the number of rows, if that is private.
    target_bounds : (float, float)
        *Public.* Interval of the targets.
    error_bound : float
        *Public.* Larger errors are clipped to this.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of the whole report.
    _variance : float
        *Public.* Variance of the noise in each sum.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import regression_report
    >>> y = np.linspace(0.0, 10.0, 5000)
    >>> guess = y + np.where(np.arange(5000) % 2, 1.0, -1.0)
    >>> report = regression_report(y, guess, epsilon=1.0, target_bounds=(0, 10), random_state=0)
    >>> round(report.root_mean_squared_error, 1)
    1.0
    >>> [round(end, 2) for end in report.interval("r2")]
    [0.83, 0.95]
    """

    sums: np.ndarray
    target_bounds: tuple[float, float]
    error_bound: float
    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float = field(repr=False)

    _displayed = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2")

    @property
    def mean_squared_error(self) -> float:
        """Mean squared error, in squared units of the target."""
        return self._mean_squared_error(self._possible)

    @property
    def root_mean_squared_error(self) -> float:
        """Root mean squared error, in units of the target; at least the mean absolute error."""
        return math.sqrt(self.mean_squared_error)

    @property
    def mean_absolute_error(self) -> float:
        """Mean absolute error, in units of the target."""
        return self._mean_absolute_error(self._possible)

    @property
    def r2(self) -> float:
        """Share of the variance that the predictions explain.

        nan if the targets have no variance, or if more than 1 % of the errors exceed `error_bound`.
        """
        return self._r2(self._possible)

    def interval(
        self, metric: str, level: float = 0.95, *, sampling: bool = True
    ) -> tuple[float, float]:
        """Return a confidence interval for a metric.

        Parameters
        ----------
        metric : {"mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2"}
            *Public.*
        level, sampling
            As in `Score.interval`.

        Returns
        -------
        low, high : float
        """
        if metric == "root_mean_squared_error":
            low, high = self.interval("mean_squared_error", level, sampling=sampling)
            return math.sqrt(low), math.sqrt(high)
        metrics = {
            "mean_squared_error": (self._mean_squared_error, (0.0, self.error_bound**2)),
            "mean_absolute_error": (self._mean_absolute_error, (0.0, self.error_bound)),
            "r2": (self._r2, (-math.inf, 1.0)),
        }
        function, bounds = metrics[check_choice("metric", metric, self._displayed)]
        sampled = self._spread if sampling else lambda slopes: 0.0
        return interval_of(function, self._possible, self._variance, sampled, level, bounds)

    @cached_property
    def _possible(self) -> np.ndarray:
        """The nearest sums that rows can have. A Σe² that is only noise does not move Σe."""
        sums, n = self.sums.copy(), self._count(self.sums)
        if n > 0.0 and sums[0] < 2.0 * math.sqrt(self._variance):
            sums[1] = np.clip(sums[1], 0.0, n)
            sums[0] = np.clip(sums[0], sums[1] ** 2 / n, sums[1])
        sums[1], sums[0] = possible_sums(sums[1], sums[0], n, low=0)
        sums[2], sums[3] = possible_sums(sums[2], sums[3], n, low=-1)
        return sums

    def _count(self, sums: np.ndarray) -> float:
        return _count(self.n_samples, sums)

    def _spread(self, slopes: np.ndarray) -> float:
        """Return the variance of a sum over rows, the largest possible if e² or u is in it."""
        sums, n = self._possible, self._count(self.sums)
        if slopes[1]:  # of e alone, whose square was released too
            square, error = sums[:2] / n
            return n * slopes[1] ** 2 * max(float(square - error**2), 0.0)
        return spread(slopes[[0, 2, 3]], sums[[0, 2, 3]], n)

    def _mean_squared_error(self, sums: np.ndarray) -> float:
        return self.error_bound**2 * float(ratio(sums[0], self._count(sums)))

    def _mean_absolute_error(self, sums: np.ndarray) -> float:
        return self.error_bound * float(ratio(sums[1], self._count(sums)))

    def _r2(self, sums: np.ndarray) -> float:
        if self._hides_r2:
            return math.nan
        return self._scale.r2(sums[0], sums[2], sums[3], self._count(sums))

    @property
    def _scale(self) -> ErrorScale:
        return ErrorScale(self.target_bounds, self.error_bound)

    @property
    def _hides_r2(self) -> bool:
        return self._scale.hides_r2(self.sums[4:], self._count(self.sums), self._variance)

    def _notes(self) -> list[str]:
        notes = [AT_END] * is_at_end(self.sums[2], self._count(self.sums), self._variance)
        if self._scale.clips:
            notes += [f"Errors above {self.error_bound:g} count as that."]
        return notes + [NO_R2] * self._hides_r2


class _RegressionSums(ErrorSums[RegressionReport]):
    name = "regression_report"
    powers = (2, 1)

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> RegressionReport:
        bounds, largest = self.scale.bounds, self.scale.error_bound
        return RegressionReport(sums=answer, target_bounds=bounds, error_bound=largest, **known)
