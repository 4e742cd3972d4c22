"""Test rows as pairs: what was predicted is the X of `Records`, what is true is their y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.data.column import Column
from skdp.data.records import Records, labels_of
from skdp.data.validation import check_no_missing, present

__all__ = ["check_order", "numbers_of", "pairs_of", "with_codes"]


def pairs_of(
    parameters: ReleaseParameters, truth: Any, guess: Any, guess_name: str, groups: Any
) -> Records[Any]:
    """Return the pairs as arrays without missing values."""
    return Records.arrived(
        guess,
        truth,
        groups,
        read=_present,
        names=(guess_name, "y_true", "sample_weight"),
        count_is_public=parameters.neighboring.count_is_public,
    )


def _present(pairs: Records[Any]) -> Records[Any]:
    X, y = present(pairs.parameter, pairs.X), present("y_true", pairs.y)
    if np.shape(X)[:1] != np.shape(y)[:1]:
        raise ValueError("there must be as many predictions as true values.")
    return replace(pairs, X=X, y=y)


def with_codes(
    pairs: Records[Any], name: str, known: Any, check: Callable[[Records[Any]], Any]
) -> tuple[Records[Any], np.ndarray]:
    """Return pairs whose true labels are 0..K−1, and the classes, after a check of all rows."""
    return labels_of(pairs, name, known, partial(_check_beside_labels, check))


def _check_beside_labels(check: Callable[[Records[Any]], Any], pairs: Records[Any]) -> None:
    if np.ndim(pairs.y) != 1:
        raise ValueError("y_true must be one column of labels.")
    check(pairs)


def numbers_of(name: str, column: np.ndarray) -> np.ndarray:
    """Return finite floats of one column; raise without quoting a value."""
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"{name} must be one column of numbers.")
    check_no_missing(name, column)
    try:
        floats = Column(column).floats()
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold finite numbers.") from None
    if not np.isfinite(floats).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return floats


def check_order(classes: Any) -> None:
    """Raise unless labels are in increasing order, as a classifier's are: the last is positive."""
    if classes is None:
        return
    if np.size(classes) < 2:
        raise ValueError(f"classes must be two labels or more, got {classes!r}.")
    if np.ndim(classes) != 1 or list(classes) != np.unique(np.asarray(classes)).tolist():
        raise ValueError(f"classes must be different labels in increasing order, got {classes!r}.")
