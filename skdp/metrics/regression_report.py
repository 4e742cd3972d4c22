"""A private report on predicted numbers, from noisy sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Unpack

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.metrics._errors import NO_R2, ErrorScale, ErrorSums, possible_sums
from skdp.metrics._estimate import interval_of, ratio, spread
from skdp.metrics._evaluation import Known, Terms, evaluate
from skdp.metrics._row_sums import sums_query
from skdp.metrics._view import Numbers, Viewed
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.support.types import RandomState, VectorLike
from skdp.support.validation import check_choice
from skdp.workloads import Query

__all__ = ["RegressionReport", "regression_report"]

_METRICS = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2")


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
    (0.7, 0.9)
    """
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_RegressionSums(target_bounds, error_bound), y_true, y_pred, terms)


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
    """

    sums: np.ndarray
    target_bounds: tuple[float, float]
    error_bound: float
    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float = field(repr=False)

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
        function, bounds = metrics[check_choice("metric", metric, _METRICS)]
        sampled = self._spread if sampling else lambda slopes: 0.0
        return interval_of(function, self._possible, self._variance, sampled, level, bounds)

    @cached_property
    def _possible(self) -> np.ndarray:
        """The nearest sums that rows can have."""
        sums, n = self.sums.copy(), self._count(self.sums)
        sums[1], sums[0] = possible_sums(sums[1], sums[0], n, low=0)
        sums[2], sums[3] = possible_sums(sums[2], sums[3], n, low=-1)
        return sums

    def _count(self, sums: np.ndarray) -> float:
        return float(sums[-1]) if self.n_samples is None else float(self.n_samples)

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
        if not self._scale.clips:
            return []
        return [f"Errors above {self.error_bound:g} count as that.", *[NO_R2] * self._hides_r2]

    def _numbers(self) -> Numbers:
        for name in _METRICS:
            yield name, getattr(self, name), self.interval(name)


class _RegressionSums(ErrorSums[RegressionReport]):
    name = "regression_report"

    def query(self, neighboring: Neighboring) -> Query:
        # add_remove_one: five numbers of size 1 at most, 5 in l1 and √5 in l2. replace_one: (u, u²)
        # moves by 2.25 in l1 and by 2 in l2, as `dp_r2_score` derives. With e² and e, which move
        # by 1 each: 4.25 and √(1 + 1 + 2²). The number of large errors moves by 1 under both.
        replaced, counted = neighboring.count_is_public, int(self.scale.clips)
        return sums_query(
            size=(4 if replaced else 5) + counted,
            linf=2.0 if replaced else 1.0,
            l1=(4.25 if replaced else 5.0) + counted,
            l2=math.sqrt((6.0 if replaced else 5.0) + counted),
        )

    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        error, u = self.scale.errors(truth, guess)
        e = np.minimum(error, 1.0)
        return [e * e, e, u, u * u, *[error > 1.0] * self.scale.clips, np.ones(u.size)]

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> RegressionReport:
        bounds, largest = self.scale.bounds, self.scale.error_bound
        return RegressionReport(sums=answer, target_bounds=bounds, error_bound=largest, **known)
