"""Rows of persons: what each row counts, and sums of what rows count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skdp._columns import BlockColumns, Columns, is_label
from skdp._persons import Persons, refuse_blocks

__all__ = ["STEP_BITS", "counted", "weighed"]

STEP_BITS = 31
"""Sums are made in steps of 2^−31, as integers."""

_AT_ONCE = 2**18  # rows, of which sums of steps are exact as floats


def weighed(columns: Columns, groups: Any) -> Columns:
    """Return columns of which the rows of a person weigh 1 together at most; None for no persons.

    A row of a person with m rows weighs 1/m, rounded downwards to whole steps.
    """
    if groups is None:
        return columns
    if isinstance(columns, BlockColumns):
        refuse_blocks(groups)
    if is_label(groups):
        columns, groups = columns.split_off(groups, "groups")
    persons = Persons.of(groups, columns.n_rows)
    steps = np.floor(np.ldexp(persons.row_weights(), STEP_BITS))
    return replace(columns, weights=steps, n_persons=persons.n_persons)


def counted(places: np.ndarray, size: int, weights: np.ndarray | None) -> np.ndarray:
    """Return how many rows are in each place; with weights in steps, how much they weigh."""
    if weights is None:
        return np.bincount(places, minlength=size)
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, places.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        total += np.bincount(places[some], weights[some], size).astype(np.int64)
    return total
