"""Scores of an estimator under different privacy settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator, cross_val_score

from skdp.exceptions import FewRowsWarning, WeakPrivacyWarning
from skdp.support.types import MatrixLike, VectorLike

CV: TypeAlias = int | BaseCrossValidator | Iterable[tuple[np.ndarray, np.ndarray]]
Scoring: TypeAlias = str | Callable[[BaseEstimator, MatrixLike, VectorLike], float] | None


def refuse_private_data(estimators: Iterable[BaseEstimator], public: bool) -> None:
    """Raise if an estimator, or a step of one, has a budget, unless the data are public."""
    for estimator in estimators:
        params = estimator.get_params().items()
        if not public and any(
            name.split("__")[-1] == "budget" and value is not None for name, value in params
        ):
            raise ValueError(
                f"{type(estimator).__name__} has a budget, so its data are private. A display "
                "scores exactly and spends nothing: pass public=True if the data are public or "
                "synthetic. Nothing was fitted."
            )


def scores_of(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike,
    cv: CV,
    scoring: Scoring,
    seeds: np.ndarray,
    **params: object,
) -> np.ndarray:
    """Return held-out scores of shape (n_seeds, n_folds) of a copy without a budget.

    `params` are set on the estimator, or on the last step of a pipeline.
    """
    copy = clone(estimator)
    model = last_step(copy).set_params(budget=None, **params)
    rows = []
    with warnings.catch_warnings():  # a display shows what large and small ε do
        warnings.simplefilter("ignore", FewRowsWarning)
        warnings.simplefilter("ignore", WeakPrivacyWarning)
        for seed in seeds:
            model.set_params(random_state=int(seed))
            rows.append(cross_val_score(copy, X, y, cv=cv, scoring=scoring, error_score="raise"))
    return np.array(rows)


def last_step(estimator: BaseEstimator) -> BaseEstimator:
    """Return the estimator, or the last step of a pipeline."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, which is nan for a single value."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return float(values.mean()), float(error)
