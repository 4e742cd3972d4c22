"""Private values as columns: what is looked at before paying, and what becomes of them after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._columns import column_bounds

__all__ = [
    "EXACT",
    "Box",
    "as_columns",
    "exact_sum",
    "largest_square",
    "least_square",
    "numeric_columns",
    "product",
]


def least_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the least square of a number in each interval."""
    return np.maximum(np.maximum(low, -high), 0.0) ** 2


def largest_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest square of a number in each interval."""
    return np.maximum(-low, high) ** 2


def product(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest products of numbers in two intervals."""
    corners = np.stack([a * b for a in first for b in second])
    return corners.min(axis=0), corners.max(axis=0)


EXACT = 1.0 + 2.0**-20
"""What sensitivities are multiplied by: the total of `exact_sum` is rounded once, as a float."""

_BITS = 31
_MOST_ROWS = 2**31


def as_columns(x: Any, *, dtype: Any = None) -> tuple[np.ndarray, bool]:
    """Return `x` as an array (n_rows, n_columns) and whether it was one column without a second.

    Lists, arrays, and series and frames of pandas and polars are read; only shapes and types
    decide whether they are refused.
    """
    values = np.asarray(x, dtype=dtype)
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.shape[1]):
        raise ValueError(
            f"x must be one column or a table with columns, got the shape {values.shape}."
        )
    if len(values) >= _MOST_ROWS:
        raise ValueError("x may have fewer than 2^31 rows.")
    return (values[:, None], True) if values.ndim == 1 else (values, False)


def numeric_columns(x: Any, *, count_is_public: bool) -> tuple[np.ndarray, bool]:
    """Return `as_columns` of numbers; where their count is public there has to be a row."""
    columns, single = as_columns(x)
    if columns.dtype.kind not in "biuf":
        raise ValueError(f"x must hold real numbers, got the dtype {columns.dtype}.")
    if count_is_public and not len(columns):
        raise ValueError("x must have at least one row.")
    return columns, single


@dataclass(frozen=True, eq=False)
class Box:
    """Public bounds of each column, which are mapped to [−1, 1]."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, bounds: Any, n_columns: int) -> Box:
        """Return the checked bounds."""
        return cls(*column_bounds(bounds, n_columns))

    @property
    def centre(self) -> np.ndarray:
        """The middle of the bounds."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> np.ndarray:
        """Half their distance."""
        return 0.5 * (self.high - self.low)

    @property
    def size(self) -> np.ndarray:
        """The largest absolute value within."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def clip(self, columns: np.ndarray, missing: Any) -> np.ndarray:
        """Return values within the bounds, as floats; ``nan`` counts as `missing`."""
        values = columns.astype(float)
        return np.clip(np.where(np.isnan(values), missing, values), self.low, self.high)

    def unit(self, columns: np.ndarray) -> np.ndarray:
        """Return clipped values mapped to [−1, 1]; ``nan`` counts as the middle."""
        values = self.clip(columns, self.centre) - self.centre
        return np.clip(values / self.half, -1.0, 1.0)


def exact_sum(units: np.ndarray) -> np.ndarray:
    """Return the sums of columns of numbers in [−1, 1], each rounded to a multiple of 2^−31.

    They are added as integers, whatever their order. Totals of at least 2^53 steps are rounded
    as floats, by 2^−54 of at most 2^31: for two neighbours by 2^−22 together.
    """
    steps = np.rint(np.ldexp(units, _BITS)).astype(np.int64)
    return np.ldexp(steps.sum(axis=0).astype(float), -_BITS)
