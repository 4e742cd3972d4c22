"""Public categories of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["category_codes", "checked_categories"]


def checked_categories(column: Any, values: Any) -> np.ndarray:
    """Return the different values, at least one, that a column may have."""
    known = np.asarray(values)
    if known.ndim != 1 or not known.size or np.unique(known).size < known.size:
        raise ValueError(
            f"categories of column {column!r} must be different values, at least one, got "
            f"{values!r}. Nothing was spent."
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
