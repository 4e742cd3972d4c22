"""Scores of candidates: means over rows of one number between public bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from skdp.data.column import as_compared
from skdp.data.validation import places_of
from skdp.metrics.error_scores import ErrorScale
from skdp.model_selection._held_out import check_learner, steps_of
from skdp.support.types import Label, MatrixLike
from skdp.support.validation import check_real

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


Setting = dict[str, object]


def checked_settings(
    estimator: BaseEstimator, settings: list[Setting], may_vary: frozenset[str]
) -> list[Setting]:
    if not settings:
        raise ValueError("the search needs at least one candidate.")
    fixed = {"epsilon", "delta", "budget", "neighboring", "random_state"} - may_vary
    for setting in settings:
        if wrong := sorted({name.split("__")[-1] for name in setting} & fixed):
            raise ValueError(
                f"{wrong} cannot be searched over: the search sets them for each fit. Compare "
                "values of epsilon with method='cheapest', or on public data."
            )
        _check_names(estimator, setting)
        _check_candidate(estimator, candidate_of(estimator, setting))
    return settings


def _check_names(estimator: BaseEstimator, setting: Setting) -> None:
    """Raise ValueError for a name that is not a parameter of the estimator or of a part of it."""
    made = clone(estimator)
    for name in sorted(setting, key=lambda name: name.count("__")):  # a new part before its own
        if name not in (valid := made.get_params()):
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {type(estimator).__name__}. "
                f"Valid parameters are: {sorted(valid)}."
            )
        made.set_params(**{name: clone(setting[name], safe=False)})


def shown(settings: list[Setting]) -> dict[str, object]:
    """Return the settings as columns of `cv_results_`."""
    copies: list[Setting] = [clone(setting, safe=False) for setting in settings]
    shown: dict[str, object] = {"params": copies}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        given = [(i, setting[name]) for i, setting in enumerate(copies) if name in setting]
        column = np.ma.masked_all(len(settings), dtype=_dtype([value for _, value in given]))
        for i, value in given:
            column.data[i], column.mask[i] = value, False
        shown[f"param_{name}"] = column
    return shown


def _dtype(values: list[object]) -> np.dtype:
    """Return the common type of numbers or of booleans, object for other values."""
    if not all(map(np.isscalar, values)):
        return np.dtype(object)
    found = [np.asarray(value).dtype for value in values]
    kinds = {dtype.kind for dtype in found}
    return np.result_type(*found) if kinds <= set("iuf") or kinds == {"b"} else np.dtype(object)


def candidate_of(estimator: BaseEstimator, setting: Setting) -> BaseEstimator:
    return clone(estimator).set_params(**clone(setting, safe=False))


def epsilon_in(estimator: BaseEstimator, setting: Setting) -> float | None:
    """Return the ε that a setting gives to the last step, if any."""
    before = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    epsilon = setting.get(f"{before}epsilon")
    return None if epsilon is None else check_real("epsilon", epsilon, low=0.0)


def _check_candidate(estimator: BaseEstimator, candidate: BaseEstimator) -> None:
    """Raise unless only the last step learns, and it is a predictor of skdp like `estimator`.

    Every candidate is checked, because a setting may replace steps.
    """
    check_learner(candidate, "The search")
    kind = (is_classifier(candidate), is_regressor(candidate))
    if not any(kind) or kind != (is_classifier(estimator), is_regressor(estimator)):
        raise ValueError(
            "candidates must all be classifiers or all regressors, like estimator: the search "
            f"scores predictions, got {steps_of(candidate)[-1]!r}."
        )
