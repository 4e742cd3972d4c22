"""Scores of candidates: means over rows of one number between public bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline

from skdp.data.column import as_compared
from skdp.data.validation import places_of
from skdp.metrics._errors import ErrorScale
from skdp.support.types import Label, MatrixLike

Score: TypeAlias = Callable[[Label, Label], float]
Scoring: TypeAlias = str | Score | None
OfRows: TypeAlias = Callable[[BaseEstimator, MatrixLike, np.ndarray], np.ndarray]
Number = TypeVar("Number", float, np.ndarray)

_MOST_LOSS = 5.0  # bound of a row's log loss, as in `skdp.metrics.dp_log_loss`
_SAME_WINNER = {  # scores that are not means over rows, by one that has the same winner
    "r2": "neg_mean_squared_error",
    "neg_root_mean_squared_error": "neg_mean_squared_error",
}


@dataclass(frozen=True)
class RowScore:
    """The mean of one number per row, clipped to public bounds.

    ``of_rows(fitted, X, y)`` returns the numbers; each must depend on its own row only.
    """

    bounds: tuple[float, float]
    of_rows: OfRows

    def shares(self, fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
        """Return the *private* numbers of rows, scaled from the bounds to [0, 1]; NaN becomes 0.

        So one row moves their sum by at most 1 under either neighboring relation.
        """
        shares = self.share(self.of_rows(fitted, X, truth))
        return np.clip(np.nan_to_num(shares, nan=0.0), 0.0, 1.0)

    def share(self, value: Number) -> Number:
        """Scale a score from the bounds to [0, 1]."""
        return (value - self.bounds[0]) / (self.bounds[1] - self.bounds[0])

    def value(self, share: Number) -> Number:
        """Scale a share in [0, 1] to the bounds."""
        return self.bounds[0] + (self.bounds[1] - self.bounds[0]) * share


def row_score(
    scoring: Scoring, bounds: tuple[float, float] | None, candidates: Sequence[BaseEstimator]
) -> RowScore:
    """Return the score by name or callable, after checks against each candidate."""
    if callable(scoring):
        return RowScore(_checked(bounds), partial(_of_callable, scoring))
    if bounds is not None:
        raise ValueError("score_bounds needs a callable scoring. Set it to None.")
    if is_regressor(candidates[0]):
        return _of_numbers(scoring, candidates)
    name = "accuracy" if scoring is None else scoring
    name = _check_name(name, _OF_LABELS)
    needed = "predict" if name == "accuracy" else "predict_proba"
    if not all(hasattr(candidate, needed) for candidate in candidates):
        raise ValueError(f"scoring={name!r} needs classifiers that have {needed}.")
    return _OF_LABELS[name]


def check_callable(scoring: Score, values: Sequence[Label]) -> None:
    """Raise unless a callable returns a finite number for each pair of *public* values."""
    for truth in values:
        for found in values:
            number = _number(scoring, truth, found)
            if not math.isfinite(number):
                raise ValueError(
                    "scoring(y_true, y_pred) must return one finite number for the true and the "
                    f"predicted value of one row. It does not for {truth!r} and {found!r}."
                )


def steps_of(estimator: BaseEstimator) -> list[BaseEstimator]:
    """Return the steps of a pipeline, or the estimator alone."""
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]


def _checked(bounds: tuple[float, float] | None) -> tuple[float, float]:
    try:
        low, high = map(float, () if bounds is None else bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -1e100 < low < high < 1e100:
        raise ValueError(
            "a callable scoring needs score_bounds=(low, high), two public numbers to which the "
            f"number of each row is clipped, got {bounds!r}."
        )
    return low, high


def _check_name(name: object, known: Collection[str]) -> str:
    if isinstance(name, str) and name in known:
        return name
    names = ", ".join(map(repr, known))
    other = _SAME_WINNER.get(name) if isinstance(name, str) else None
    hint = f" {other!r} has the same winner." if other in known else ""
    raise ValueError(
        f"scoring must be one of {names}, or a callable for one row, got {name!r}. Other scores "
        f"are not the mean of one bounded number per row.{hint}"
    )


def _of_numbers(scoring: str | None, candidates: Sequence[BaseEstimator]) -> RowScore:
    if any(np.ndim(getattr(steps_of(one)[-1], "quantile", 0.5)) for one in candidates):
        raise ValueError("a search scores one number per row. Pass one level as quantile.")
    scales = (ErrorScale.of(steps_of(one)[-1].target_bounds, None) for one in candidates)
    widths = {scale.error_bound for scale in scales}
    if scoring is None:
        return RowScore((0.0, 1.0), _nearness)
    power = _POWERS[_check_name(scoring, _POWERS)]
    if len(widths) > 1:
        raise ValueError(
            f"scoring={scoring!r} is in units of y, so all candidates need the same target_bounds."
        )
    most = widths.pop() ** power
    return RowScore((-most, 0.0), partial(_less_error, most, power))


def _predicted(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    return np.asarray(fitted.predict(X)).reshape(truth.shape)


def _right(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    found, truth = as_compared(_predicted(fitted, X, truth), truth)
    return np.asarray(found == truth, dtype=float)


def _given(fitted: BaseEstimator, truth: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the probabilities of true labels, 0 for labels outside `classes_`."""
    codes = places_of(truth, fitted.classes_)
    return np.where(codes < 0, 0.0, shares[np.arange(codes.size), codes])


def _log(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    given = _given(fitted, truth, fitted.predict_proba(X))
    return np.log(np.maximum(given, math.exp(-_MOST_LOSS)))


def _less_brier(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    """Return −Σₖ(pₖ − 1[y = k])²/2, within [−1, 0]."""
    shares = fitted.predict_proba(X)
    given = _given(fitted, truth, shares)
    return -0.5 * (np.sum(shares * shares, axis=1) - 2.0 * given + 1.0)


def _errors(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    """Return absolute errors of clipped numbers, in units of the width of `target_bounds`."""
    low, high = steps_of(fitted)[-1].target_bounds
    found = np.clip(_predicted(fitted, X, truth), low, high)
    return np.abs(np.clip(truth.astype(float), low, high) - found) / (high - low)


def _nearness(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    return 1.0 - _errors(fitted, X, truth) ** 2


def _less_error(
    most: float, power: int, fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray
) -> np.ndarray:
    return -most * _errors(fitted, X, truth) ** power


def _of_callable(
    scoring: Score, fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray
) -> np.ndarray:
    """Call a scoring for each row by itself, so that no result depends on another row."""
    found = _predicted(fitted, X, truth)
    return np.array([_number(scoring, *pair) for pair in zip(truth, found, strict=True)])


def _number(scoring: Score, truth: Label, found: Label) -> float:
    """Return the number of one row, NaN on failure: an error would reveal something about it."""
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
