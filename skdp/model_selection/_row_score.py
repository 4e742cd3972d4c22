"""How candidates are judged: by sums over rows, of one number each between public bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from skdp.data.validation import places_of
from skdp.metrics._errors import ErrorScale

__all__ = ["RowScore", "check_callable", "row_score", "steps_of"]

OfRows = Callable[[Any, Any, np.ndarray], np.ndarray]
_MOST_LOSS = 5.0  # of a logarithm, as in `skdp.metrics.dp_log_loss`
_SAME_WINNER = {  # of a score that is no sum over rows, by one that is
    "r2": "neg_mean_squared_error",
    "neg_root_mean_squared_error": "neg_mean_squared_error",
}


@dataclass(frozen=True)
class RowScore:
    """A score that is the mean of one number a row.

    Parameters
    ----------
    bounds : (low, high)
        *Public.* To which the number of each row is clipped.
    of_rows : callable
        Gives the numbers of rows, by a fit, X and y: each depends on its own row alone.
    """

    bounds: tuple[float, float]
    of_rows: OfRows

    def shares(self, fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
        """Return the *private* numbers of rows, from 0 at the low bound to 1 at the high one.

        What is no number is 0. So a row moves their sum by 1 at most, replaced or come or gone.
        """
        shares = self.share(self.of_rows(fitted, X, truth))
        return np.clip(np.nan_to_num(shares, nan=0.0), 0.0, 1.0)

    def share(self, value: Any) -> Any:
        """Return how far a score is on the way from the low bound to the high one."""
        return (value - self.bounds[0]) / (self.bounds[1] - self.bounds[0])

    def value(self, share: Any) -> Any:
        """Return the score that is so far on the way."""
        return self.bounds[0] + (self.bounds[1] - self.bounds[0]) * share


def row_score(scoring: Any, bounds: Any, candidates: Sequence[Any]) -> RowScore:
    """Return the score that is asked for, after checks against each candidate."""
    if callable(scoring):
        return RowScore(_checked(bounds), partial(_of_callable, scoring))
    if bounds is not None:
        raise ValueError("score_bounds belongs to a callable scoring; leave it at None here.")
    if is_regressor(candidates[0]):
        return _of_numbers(scoring, candidates)
    name = "accuracy" if scoring is None else scoring
    _check_name(name, _OF_LABELS)
    needed = "predict" if name == "accuracy" else "predict_proba"
    if not all(hasattr(candidate, needed) for candidate in candidates):
        raise ValueError(f"scoring={name!r} needs classifiers that have {needed}.")
    return _OF_LABELS[name]


def check_callable(scoring: Any, values: Sequence[Any]) -> None:
    """Raise unless a callable gives one finite number for a pair of *public* values."""
    for truth in values:
        for found in values:
            number = _number(scoring, truth, found)
            if not math.isfinite(number):
                raise ValueError(
                    "scoring must give one finite number for the true and the predicted value of "
                    f"one row, scoring(y_true, y_pred), and does not for {truth!r} and {found!r}."
                )


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline, or the estimator alone."""
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]


def _checked(bounds: Any) -> tuple[float, float]:
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -1e100 < low < high < 1e100:
        raise ValueError(
            "a callable scoring needs score_bounds=(low, high), two public numbers between which "
            f"the number of each row is clipped, got {bounds!r}."
        )
    return low, high


def _check_name(name: Any, known: dict[str, Any]) -> None:
    if isinstance(name, str) and name in known:
        return
    names = ", ".join(map(repr, known))
    other = _SAME_WINNER.get(name) if isinstance(name, str) else None
    hint = f" {other!r} has the same winner." if other in known else ""
    raise ValueError(
        f"scoring must be one of {names}, or a callable for one row: a score that is not the mean "
        f"of one bounded number a row is too easily moved by one of them. Got {name!r}.{hint}"
    )


def _of_numbers(scoring: Any, candidates: Sequence[Any]) -> RowScore:
    if any(np.ndim(getattr(steps_of(one)[-1], "quantile", 0.5)) for one in candidates):
        raise ValueError("a search judges one number a row: give quantile one level.")
    scales = (ErrorScale.of(steps_of(one)[-1].target_bounds, None) for one in candidates)
    widths = {scale.error_bound for scale in scales}
    if scoring is None:
        return RowScore((0.0, 1.0), _nearness)
    _check_name(scoring, _POWERS)
    if len(widths) > 1:
        raise ValueError(
            f"scoring={scoring!r} is in units of y, so that all candidates need the same "
            "target_bounds."
        )
    most = widths.pop() ** _POWERS[scoring]
    return RowScore((-most, 0.0), partial(_less_error, most, _POWERS[scoring]))


def _predicted(fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    return np.asarray(fitted.predict(X)).reshape(truth.shape)


def _right(fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    return np.asarray(_predicted(fitted, X, truth) == truth, dtype=float)


def _given(fitted: Any, truth: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the probabilities of true labels, 0 for those that the fit does not know."""
    codes = np.minimum(places_of(truth, fitted.classes_), len(fitted.classes_) - 1)
    return np.where(fitted.classes_[codes] == truth, shares[np.arange(codes.size), codes], 0.0)


def _log(fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    given = _given(fitted, truth, fitted.predict_proba(X))
    return np.log(np.maximum(given, math.exp(-_MOST_LOSS)))


def _less_brier(fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    """Return −Σₖ(pₖ − 1[y = k])²/2, within [−1, 0]."""
    shares = fitted.predict_proba(X)
    given = _given(fitted, truth, shares)
    return -0.5 * (np.sum(shares * shares, axis=1) - 2.0 * given + 1.0)


def _errors(fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    """Return absolute errors, of numbers clipped to `target_bounds`, in units of their width."""
    low, high = steps_of(fitted)[-1].target_bounds
    found = np.clip(_predicted(fitted, X, truth), low, high)
    return np.abs(np.clip(truth.astype(float), low, high) - found) / (high - low)


def _nearness(fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    return 1.0 - _errors(fitted, X, truth) ** 2


def _less_error(most: float, power: int, fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    return -most * _errors(fitted, X, truth) ** power


def _of_callable(scoring: Any, fitted: Any, X: Any, truth: np.ndarray) -> np.ndarray:
    """Return what a callable gives for each row by itself, so that it sees no other one."""
    found = _predicted(fitted, X, truth)
    return np.array([_number(scoring, *pair) for pair in zip(truth, found, strict=True)])


def _number(scoring: Any, truth: Any, found: Any) -> float:
    """Return the number of one row, NaN where there is none: an error would tell of the row."""
    try:
        return float(scoring(truth, found))
    except Exception:
        return math.nan


_OF_LABELS = {
    "accuracy": RowScore((0.0, 1.0), _right),
    "neg_log_loss": RowScore((-_MOST_LOSS, 0.0), _log),
    "neg_brier_score": RowScore((-1.0, 0.0), _less_brier),
}
_POWERS = {"neg_mean_squared_error": 2, "neg_mean_absolute_error": 1}
