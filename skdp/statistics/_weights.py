"""Rows of persons: what each row counts, and sums of what rows count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skdp._columns import BlockColumns, Columns, is_label
from skdp._persons import Persons, refuse_blocks

__all__ = ["STEP_BITS", "counted", "in_records", "steps_of", "weighed"]

STEP_BITS = 31
"""Sums are made in steps of 2^−31, as integers."""

_AT_ONCE = 2**18  # rows, of which sums of steps are exact as floats


def weighed(columns: Columns, groups: Any) -> Columns:
    """Return columns of which the rows of a person weigh 1 together at most; None: no persons."""
    if groups is None:
        return columns
    if isinstance(columns, BlockColumns):
        refuse_blocks(groups)
    if is_label(groups, columns.names):
        columns, groups = columns.split_off(groups, "groups")
    persons = Persons.of(groups, columns.n_rows)
    return replace(columns, weights=steps_of(persons), n_persons=persons.n_persons)


def steps_of(persons: Persons) -> np.ndarray:
    """Return what rows weigh: 1/m for one of m of a person, rounded downwards to whole steps."""
    return np.asarray(np.floor(np.ldexp(persons.row_weights(), STEP_BITS)))


def counted(places: np.ndarray, size: int, weights: np.ndarray | None) -> np.ndarray:
    """Return how many rows are in each place; with weights in steps, how much they weigh."""
    if weights is None:
        return np.bincount(places, minlength=size)
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, places.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        total += np.bincount(places[some], weights[some], size).astype(np.int64)
    return total


def in_records(counts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return counts as floats; if rows have weights, those are counts of steps."""
    return np.ldexp(counts.astype(float), 0 if weights is None else -STEP_BITS)
