"""Scores of an estimator under other settings of its privacy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

__all__ = ["last_step", "mean_and_error", "pyplot", "refuse_private_data", "scores_of"]


def refuse_private_data(estimators: Iterable[Any], public: bool) -> None:
    """Raise ValueError if an estimator, or a step of one, has a budget, unless data are public."""
    for estimator in estimators:
        params = estimator.get_params().items()
        if not public and any(
            name.split("__")[-1] == "budget" and value is not None for name, value in params
        ):
            raise ValueError(
                f"{type(estimator).__name__} has a budget, so its data are private; a display "
                "reads them, scores exactly and spends nothing. Pass public=True if the data are "
                "public or synthetic. Nothing was fitted."
            )


def scores_of(
    estimator: Any, X: Any, y: Any, cv: Any, scoring: Any, seeds: np.ndarray, **params: Any
) -> np.ndarray:
    """Return held-out scores, of shape (n_seeds, n_folds), of a copy without a budget.

    `params` are set on the estimator, or on the last step if it is a pipeline.
    """
    copy = clone(estimator)
    model = last_step(copy).set_params(budget=None, **params)
    rows = []
    for seed in seeds:
        model.set_params(random_state=int(seed))
        rows.append(cross_val_score(copy, X, y, cv=cv, scoring=scoring, error_score="raise"))
    return np.array(rows)


def last_step(estimator: Any) -> Any:
    """Return the model itself, or the one at the end of a pipeline."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, of all values alike; nan for the error of one."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return float(values.mean()), float(error)


def pyplot(caller: str) -> Any:
    """Return matplotlib's pyplot, or say how to come by it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} draws with matplotlib, which is not installed; it comes with the extra "
            "'plot' of skdp: pip install skdp[plot]."
        ) from error
    return plt
