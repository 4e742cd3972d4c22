"""Checks of true and predicted values; no message quotes a value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from skdp.data.column import Column
from skdp.data.records import Records, labels_of
from skdp.data.validation import check_no_missing
from skdp.support.types import VectorLike


def with_codes(
    pairs: Records[None],
    name: str,
    known: VectorLike | None,
    check: Callable[[Records[None]], None],
) -> tuple[Records[None], np.ndarray]:
    """Check all rows; return pairs with true labels 0..K−1, and the classes."""
    return labels_of(pairs, name, known, partial(_check_beside_labels, check))


def _check_beside_labels(check: Callable[[Records[None]], None], pairs: Records[None]) -> None:
    if np.ndim(pairs.y) != 1:
        raise ValueError("y_true must be one column of labels.")
    check(pairs)


def numbers_of(name: str, column: np.ndarray) -> np.ndarray:
    """Return finite floats of one column."""
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


def check_order(classes: VectorLike | None) -> None:
    """Raise unless labels increase, as in `classes_` of a classifier; the last is positive."""
    if classes is None:
        return
    if np.size(classes) < 2:
        raise ValueError(f"classes must be two labels or more, got {classes!r}.")
    if np.ndim(classes) != 1 or list(classes) != np.unique(np.asarray(classes)).tolist():
        raise ValueError(f"classes must be different labels in increasing order, got {classes!r}.")
