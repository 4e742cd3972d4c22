"""Public bounds of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["category_codes", "checked_categories", "column_bounds"]


def checked_categories(column: Any, values: Any) -> np.ndarray:
    """Return the different values, at least one, that a column may have."""
    known = np.asarray(values)
    if known.ndim != 1 or not known.size or np.unique(known).size < known.size:
        raise ValueError(
            f"categories of column {column!r} must be different values, at least one, got "
            f"{values!r}."
        )
    return known


def category_codes(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a column as places in `values`, −1 for any other value; none is refused."""
    if column.dtype.kind in "biuf" and values.dtype.kind in "biuf":
        order = np.argsort(values)
        places = order[np.minimum(np.searchsorted(values[order], column), values.size - 1)]
        return np.where(values[places] == column, places, -1)
    codes = np.full(column.shape, -1)
    for code, value in enumerate(values):
        codes[column == value] = code
    return codes


_LARGEST = 1e100
_NARROWEST = 1e-50


def column_bounds(bounds: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the low and the high of each of `n_features` columns, of at most 1e100 in size.

    `bounds` is a pair (low, high) of numbers or of arrays, or one pair per feature.
    """
    try:
        pair = bounds if len(bounds) == 2 else np.asarray(bounds, dtype=float).T
        low, high = (np.broadcast_to(np.asarray(side, float), (n_features,)) for side in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds must be a pair (low, high) of numbers or of {n_features} numbers each, or one "
            f"pair for each of the {n_features} features, got {bounds!r}."
        ) from error
    sane = (np.abs(low) <= _LARGEST) & (np.abs(high) <= _LARGEST) & (high - low >= _NARROWEST)
    if not sane.all():
        raise ValueError(
            "each low must be below its high, by at least 1e-50, and both finite, up to 1e100; "
            f"got {bounds!r}."
        )
    return low, high
