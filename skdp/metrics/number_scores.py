"""One private number on how good a regressor is, with the least noise for it alone."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.metrics._estimate import interval_of, ratio, spread
from skdp.metrics._pairs import Pairs, numbers_of
from skdp.metrics._row_sums import RowMean, RowSums, SummedPairs
from skdp.metrics._score import Score
from skdp.metrics.regression_report import check_numbers, checked_bounds
from skdp.privacy import PrivacyGuarantee
from skdp.workloads import ROUNDED_ONCE, Query

__all__ = ["dp_mean_absolute_error", "dp_mean_squared_error", "dp_r2_score"]


def dp_mean_squared_error(
    y_true: Any,
    y_pred: Any,
    epsilon: float,
    delta: float | None = None,
    *,
    target_bounds: tuple[float, float],
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str | None = None,
    part: str | int | None = None,
) -> Score:
    """Return the mean of squared errors, privately.

    Test rows must not be rows that the regressor was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and the score flatters.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss in nats; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    target_bounds : (low, high)
        *Public.* Between which the numbers lie.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* Whose each row is, where a person may have several: all rows of a person are
        protected together, and count together as one record, each alike. ``None``: each row is a
        record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.
    label : str or None, default None
        *Public.* Name of the release in the budget's history. ``None`` takes the function's.
    part : str, int or None, default None
        *Public.* The part of the records that these are, by any name: in the budget, releases on
        different parts do not add up. Every record lies in one part for good, whatever other
        records there are; under ``replace_one`` so does what replaces it. ``None`` counts for all
        parts.

    Returns
    -------
    Score
        Its `value`, and an `interval`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With r an error and w the width of the bounds, the sum of (r/w)² changes by 1 at
    most; where the number of rows is private, that of 1 − (r/w)² is released beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_mean_squared_error
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> found = dp_mean_squared_error(y, guess, 1.0, target_bounds=(0, 10), random_state=0)
    >>> round(found.value, 1)
    0.9
    """
    return _SquaredError(noise, target_bounds)._release(
        y_true,
        y_pred,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
        label=label,
        part=part,
    )


def dp_mean_absolute_error(
    y_true: Any,
    y_pred: Any,
    epsilon: float,
    delta: float | None = None,
    *,
    target_bounds: tuple[float, float],
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str | None = None,
    part: str | int | None = None,
) -> Score:
    r"""Return the mean of absolute errors, privately.

    Test rows must not be rows that the regressor was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and the score flatters.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss in nats; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    target_bounds : (low, high)
        *Public.* Between which the numbers lie.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* Whose each row is, where a person may have several: all rows of a person are
        protected together, and count together as one record, each alike. ``None``: each row is a
        record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.
    label : str or None, default None
        *Public.* Name of the release in the budget's history. ``None`` takes the function's.
    part : str, int or None, default None
        *Public.* The part of the records that these are, by any name: in the budget, releases on
        different parts do not add up. Every record lies in one part for good, whatever other
        records there are; under ``replace_one`` so does what replaces it. ``None`` counts for all
        parts.

    Returns
    -------
    Score
        Its `value`, and an `interval`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With r an error and w the width of the bounds, the sum of \|r\|/w changes by 1 at
    most; where the number of rows is private, that of 1 − \|r\|/w is released beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_mean_absolute_error
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> found = dp_mean_absolute_error(y, guess, 1.0, target_bounds=(0, 10), random_state=0)
    >>> round(found.value, 1)
    0.8
    """
    return _AbsoluteError(noise, target_bounds)._release(
        y_true,
        y_pred,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
        label=label,
        part=part,
    )


def dp_r2_score(
    y_true: Any,
    y_pred: Any,
    epsilon: float,
    delta: float | None = None,
    *,
    target_bounds: tuple[float, float],
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str | None = None,
    part: str | int | None = None,
) -> Score:
    """Return the share of the variance that was predicted, privately.

    Test rows must not be rows that the regressor was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and the score flatters.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Numbers, clipped to `target_bounds`.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted numbers, clipped to `target_bounds`.
    epsilon : float
        *Public.* Privacy loss in nats; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    target_bounds : (low, high)
        *Public.* Between which the numbers lie.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* Whose each row is, where a person may have several: all rows of a person are
        protected together, and count together as one record, each alike. ``None``: each row is a
        record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.
    label : str or None, default None
        *Public.* Name of the release in the budget's history. ``None`` takes the function's.
    part : str, int or None, default None
        *Public.* The part of the records that these are, by any name: in the budget, releases on
        different parts do not add up. Every record lies in one part for good, whatever other
        records there are; under ``replace_one`` so does what replaces it. ``None`` counts for all
        parts.

    Returns
    -------
    Score
        Its `value`, and an `interval`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With w the width of the bounds, r an error and u a target mapped to [−1, 1], a
    row adds (r²/w², u, u²), and 1 to the number of rows where it is private. Under
    ``add_remove_one`` each changes by 1 at most: all four by 2 in l2 and 4 in l1. Under
    ``replace_one`` (u, u²) change by 2 in l2 and by 2.25 in l1: √5 and 3.25 in all.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_r2_score
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0, 10, 5000)
    >>> guess = y + rng.normal(size=5000)
    >>> found = dp_r2_score(y, guess, 1.0, target_bounds=(0, 10), random_state=0)
    >>> round(found.value, 1)
    0.9
    """
    return _R2(noise, target_bounds)._release(
        y_true,
        y_pred,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
        label=label,
        part=part,
    )


class _Bounded:
    """Pairs of numbers within public bounds, which are the `facts`."""

    target_bounds: Any

    def _check_data(
        self, parameters: ReleaseParameters, truth: Any, guess: Any, *, groups: Any = None
    ) -> SummedPairs:
        bounds = checked_bounds(self.target_bounds)
        return SummedPairs(Pairs.of(truth, guess, check_numbers, groups=groups), bounds)


class _Error(_Bounded, RowMean):
    """Errors in units of the width of the bounds."""

    def __init__(self, noise: str, target_bounds: Any) -> None:
        super().__init__(noise)
        self.target_bounds = target_bounds


class _AbsoluteError(_Error):
    released_as = "metrics.dp_mean_absolute_error"

    def _losses(self, facts: Any, truth: Any, guess: Any) -> np.ndarray:
        return _errors(facts, truth, guess)[0]

    def _unit(self, facts: Any) -> float:
        return float(facts[1] - facts[0])


class _SquaredError(_Error):
    released_as = "metrics.dp_mean_squared_error"

    def _losses(self, facts: Any, truth: Any, guess: Any) -> np.ndarray:
        return _errors(facts, truth, guess)[0] ** 2

    def _unit(self, facts: Any) -> float:
        return float(facts[1] - facts[0]) ** 2


class _R2(_Bounded, RowSums):
    released_as = "metrics.dp_r2_score"

    def __init__(self, noise: str, target_bounds: Any) -> None:
        super().__init__(noise)
        self.target_bounds = target_bounds

    def _query(self, count_is_public: bool) -> Query:
        return Query(
            "sums",
            size=3 if count_is_public else 4,
            linf_sensitivity=(2.0 if count_is_public else 1.0) * ROUNDED_ONCE,
            l0_sensitivity=3 if count_is_public else 4,
            l1_sensitivity=(3.25 if count_is_public else 4.0) * ROUNDED_ONCE,
            l2_sensitivity=(math.sqrt(5.0) if count_is_public else 2.0) * ROUNDED_ONCE,
        )

    def _rows(self, facts: Any, truth: Any, guess: Any) -> list[np.ndarray]:
        error, u = _errors(facts, truth, guess)
        return [error**2, u, u * u, np.ones(u.size)]

    def _score(
        self,
        facts: Any,
        *,
        sums: np.ndarray,
        n_samples: int | None,
        noise: float,
        privacy: PrivacyGuarantee,
    ) -> Score:
        return Score(
            value=_r2(n_samples, sums),
            n_samples=n_samples,
            privacy=privacy,
            _between=partial(_interval_of_r2, sums, n_samples, noise),
        )


def _errors(bounds: Any, truth: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return absolute errors in units of the bounds' width, and targets mapped to [−1, 1]."""
    middle, half = 0.5 * (bounds[0] + bounds[1]), 0.5 * (bounds[1] - bounds[0])
    given = (numbers_of("y_true", truth), numbers_of("y_pred", guess))
    u, v = (np.clip((np.clip(x, *bounds) - middle) / half, -1.0, 1.0) for x in given)
    return 0.5 * np.abs(u - v), u


def _r2(n_samples: int | None, sums: np.ndarray) -> float:
    n = float(sums[3]) if n_samples is None else float(n_samples)
    whole = 0.25 * (sums[2] - ratio(sums[1] ** 2, n))  # in units of the squared width
    return 1.0 - float(ratio(sums[0], whole))


def _interval_of_r2(
    sums: np.ndarray, n_samples: int | None, noise: float, level: float, *, sampling: bool
) -> tuple[float, float]:
    def variance(slopes: np.ndarray) -> float:
        n = float(sums[3]) if n_samples is None else float(n_samples)
        return noise * float(slopes @ slopes) + (
            spread(slopes[:3], sums[:3], n) if sampling else 0.0
        )

    return interval_of(partial(_r2, n_samples), sums, variance, level, (-math.inf, 1.0))
