"""The person of each row, if a person has several: counts, weights, and how many rows are kept.

Neighbors differ in all rows of one person. Each result about a person depends only on the rows of
that person and on randomness of their own. So if each person adds at most b to a sum, the sums of
neighbors are at most ``n_changed`` times b apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.data.column import Column, is_collection
from skdp.data.columns import values_of
from skdp.support.types import VectorLike
from skdp.support.validation import check_count

_TIMES = (np.datetime64, np.timedelta64)


@dataclass(frozen=True, eq=False, repr=False)
class Persons:
    """*Private* numbers of the persons of rows, from 0 to `n_persons` − 1."""

    codes: np.ndarray  # *private*, numbered by first appearance
    n_persons: int  # *public* under "replace_one", while the number of rows is private

    @classmethod
    def of(cls, groups: VectorLike, n_rows: int) -> Persons:
        """Return the persons of `groups`, one value of any type per row, after checks.

        Equal values are one person. No message shows the values, or how many there are.
        """
        if is_collection(groups):
            refuse_blocks(groups)
        if isinstance(groups, str):
            raise ValueError("groups must be an array here, not the name of a column.")
        read = values_of(groups, "groups")
        values = read.array[:, 0] if read.array.shape[1:] == (1,) else read.array
        if values.ndim == 2:
            raise ValueError("groups must hold one value for each row of X, but it is a table.")
        if values.shape != (n_rows,):
            raise ValueError("groups must hold one value for each row of X.")
        if read.missing().any():
            raise ValueError(
                "groups has missing values (NaN, None or NA). Give the person of every row: a "
                "person whose rows are in two groups is not protected as one."
            )
        codes = _numbered(values)
        return cls(codes, int(codes.max(initial=-1)) + 1)

    @cached_property
    def counts(self) -> np.ndarray:
        """*Private.* The number of rows of each person."""
        return np.bincount(self.codes, minlength=self.n_persons)

    def row_weights(self) -> np.ndarray:
        """Return 1/count of each row's person, rounded so that no person's sum exceeds 1."""
        counts = self.counts[self.codes]
        return np.where(counts == 1, 1.0, np.nextafter(1.0 / counts, 0.0))

    def means(self, rows: np.ndarray) -> np.ndarray:
        """Return the mean of each person's rows: in their convex hull, except for 2^−53 per row."""
        sums = [np.bincount(self.codes, column, self.n_persons) for column in rows.T]
        return np.stack(sums, axis=1) / self.counts[:, None]

    def kept(self, max_rows: float, rng: np.random.Generator) -> np.ndarray:
        """Return the rows that stay if each person keeps at most `max_rows`, in their order.

        A person keeps the rows with the smallest keys. Keys are uniform and independent, so this is
        a uniform subset and does not depend on other persons.
        """
        keys = rng.random(len(self.codes))
        order = np.lexsort((keys, self.codes))
        first = np.cumsum(self.counts) - self.counts
        rank = np.arange(len(order)) - first[self.codes[order]]
        return np.sort(order[rank < max_rows])

    def rows_of(self, persons: np.ndarray) -> np.ndarray:
        """Return all rows of some persons, by number, in their order."""
        chosen = np.zeros(self.n_persons, dtype=bool)
        chosen[persons] = True
        return np.flatnonzero(chosen[self.codes])

    def take(self, rows: np.ndarray) -> Persons:
        """Return the persons of some rows, with new numbers."""
        found, codes = np.unique(self.codes[rows], return_inverse=True)
        return Persons(codes, len(found))


def refuse_blocks(groups: VectorLike) -> None:
    """Raise ValueError if groups are given with rows in blocks."""
    if groups is not None:
        raise ValueError(
            "groups cannot be given with rows outside of memory, because a person's rows may lie "
            "in any block. Call .compute() or .to_table() if X, y and groups fit into memory."
        )


def check_max_rows(max_rows: int | None, groups: VectorLike) -> int | None:
    """Return the maximum number of rows of a person, None for all."""
    if max_rows is None:
        return None
    if groups is None:
        raise ValueError(
            "max_rows limits the rows per person and needs groups. Pass groups to fit, or leave "
            "max_rows at None."
        )
    return check_count("max_rows", max_rows)


def _numbered(values: np.ndarray) -> np.ndarray:
    """Return the values as numbers from 0 on, in the order in which they appear."""
    if values.dtype.kind != "O":
        _, first, codes = np.unique(values, return_index=True, return_inverse=True)
        numbered = np.empty(len(first), dtype=np.intp)
        numbered[np.argsort(first)] = np.arange(len(first))
        return numbered[codes]
    # NumPy 1 gives a time the hash of a number, and cannot compare them
    keys = ((isinstance(one, _TIMES), one) for one in Column(values).values())
    numbers: dict[object, int] = {}
    try:
        found = [numbers.setdefault(key, len(numbers)) for key in keys]
    except Exception:  # of a class that the user has defined
        raise ValueError("groups must contain hashable values: numbers, strings.") from None
    return np.array(found, dtype=np.intp)
