"""Private scores of predicted numbers, each from a release of its own."""

from __future__ import annotations

import math
from functools import partial
from typing import Unpack

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.metrics._errors import NO_R2, ErrorScale, ErrorSums, possible_sums
from skdp.metrics._estimate import interval_of, spread
from skdp.metrics._evaluation import Known, Terms, evaluate
from skdp.metrics._row_sums import RowMean, sums_query
from skdp.metrics._score import Score
from skdp.privacy import Neighboring
from skdp.support.types import RandomState, VectorLike
from skdp.workloads import Query

__all__ = ["dp_mean_absolute_error", "dp_mean_squared_error", "dp_r2_score"]


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
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_SquaredError(target_bounds, error_bound), y_true, y_pred, terms)


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
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_AbsoluteError(target_bounds, error_bound), y_true, y_pred, terms)


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
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_R2(target_bounds, error_bound), y_true, y_pred, terms)


class _AbsoluteError(ErrorSums[Score], RowMean):
    name = "dp_mean_absolute_error"
    power = 1

    @property
    def unit(self) -> float:
        return self.scale.error_bound

    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        return np.minimum(self.scale.errors(truth, guess)[0], 1.0)


class _SquaredError(ErrorSums[Score], RowMean):
    name = "dp_mean_squared_error"

    @property
    def unit(self) -> float:
        return self.scale.error_bound**2

    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        return np.minimum(self.scale.errors(truth, guess)[0], 1.0) ** 2


class _R2(ErrorSums[Score]):
    name = "dp_r2_score"

    def query(self, neighboring: Neighboring) -> Query:
        # add_remove_one: four numbers of size 1 at most, 4 in l1 and √4 in l2. replace_one: with
        # t = |u − u'| and |u + u'| ≤ 2 − t, (u, u²) moves by t·(1, u + u'). In l1 that is at most
        # t·(3 − t), 2.25 at t = 3/2. In l2 it is at most t·√(1 + (2 − t)²). This rises with t,
        # since 2t² − 6t + 5 > 0, up to 2 at t = 2. With e², which moves by 1: 3.25 and √(1 + 2²).
        # The number of large errors moves by 1 under both.
        replaced, counted = neighboring.count_is_public, int(self.scale.clips)
        return sums_query(
            size=(3 if replaced else 4) + counted,
            linf=2.0 if replaced else 1.0,
            l1=(3.25 if replaced else 4.0) + counted,
            l2=math.sqrt((5.0 if replaced else 4.0) + counted),
        )

    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        error, u = self.scale.errors(truth, guess)
        square = np.minimum(error, 1.0) ** 2
        return [square, u, u * u, *[error > 1.0] * self.scale.clips, np.ones(u.size)]

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> Score:
        n_samples = known["n_samples"]
        n, likely = _count(n_samples, answer), answer.copy()
        hidden = self.scale.hides_r2(answer[3:], n, known["_variance"])
        likely[0] = math.nan if hidden else min(max(answer[0], 0.0), max(n, 0.0))
        likely[1:3] = possible_sums(answer[1], answer[2], n, low=-1)
        return Score(
            value=_r2(self.scale, n_samples, likely),
            n_samples=n_samples,
            privacy=known["privacy"],
            _between=partial(_interval_of_r2, self.scale, likely, n_samples, known["_variance"]),
            _note=NO_R2 if hidden else "",
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
