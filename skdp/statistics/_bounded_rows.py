"""Rows of numbers within public bounds, read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.data.column import is_collection, received
from skdp.data.column_facts import ColumnBounds
from skdp.data.columns import ROWS_AT_ONCE, BlockColumns, Columns, is_frame
from skdp.data.exact_sums import steps_of
from skdp.data.persons import Persons, refuse_blocks
from skdp.data.validation import (
    check_some_rows,
    column_names,
    refuse_missing,
    remember_columns,
    remember_names,
    validated,
    validated_numbers,
)

__all__ = ["BoundedRows", "filled_rows"]

_MOST_COLUMNS = 4096  # of which a matrix with exact noise takes half a minute
_MOST_ROWS = 2**31


@dataclass(frozen=True, eq=False, repr=False)
class BoundedRows:
    """*Private* rows, and what is public about them.

    Parameters
    ----------
    source : ndarray of shape (n_rows, n_columns) or Columns
        *Private.* As they came; nothing is copied but some rows at a time.
    bounds : ColumnBounds or None
        *Public.* To which values are clipped; None for rows that are read without privacy.
    count_is_public : bool
        *Public.* Of the number of records.
    persons : Persons or None, default None
        *Private.* Whose each row is, where a record is a person.
    """

    source: Any
    bounds: ColumnBounds | None
    count_is_public: bool
    persons: Persons | None = None

    @classmethod
    def of(
        cls, estimator: Any, X: Any, parameters: ReleaseParameters, groups: Any = None
    ) -> BoundedRows:
        """Return the rows after checks of shape, types, bounds and groups; without privacy floats.

        The estimator keeps what a missing number counts as, for `filled_rows`.
        """
        if is_collection(X):
            refuse_blocks(groups)
        rows = cls._of_records(estimator, X, parameters)
        if groups is None:
            return rows
        return replace(rows, persons=Persons.of(groups, rows.n_records))

    @classmethod
    def _of_records(cls, estimator: Any, X: Any, parameters: ReleaseParameters) -> BoundedRows:
        public = parameters.neighboring.count_is_public
        estimator._filling = None
        if not parameters.is_private:  # which takes what is in memory
            floats = validated_numbers(estimator, X, reset=True, dtype=[np.float64, np.float32])
            refuse_missing(floats, column_names(estimator))
            return cls(floats, None, public)
        source = _checked(estimator, X)
        names, n_columns = column_names(estimator), estimator.n_features_in_
        if n_columns > _MOST_COLUMNS:
            raise ValueError(
                f"{type(estimator).__name__} releases a matrix of as many rows as columns, and "
                f"takes up to {_MOST_COLUMNS} columns, got {n_columns}."
            )
        bounds = ColumnBounds.of(estimator.bounds, n_columns, names)
        estimator._filling = bounds.middle
        return cls(source, bounds, public)

    @property
    def n_records(self) -> int:
        """The number of records, rows or persons: public where `count_is_public` says so."""
        if self.persons is not None:
            return self.persons.n_persons
        return self.source.n_rows if isinstance(self.source, Columns) else len(self.source)

    @cached_property
    def weights(self) -> np.ndarray | None:
        """What each row weighs, in steps; None where each is a record of its own."""
        return None if self.persons is None else steps_of(self.persons)

    def total(
        self, function: Callable[[BoundedRows], dict[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Return sums over rows, by name, which a function gives for some of the rows."""
        if isinstance(self.source, BlockColumns):
            return self.source.total(partial(_of_some, function, self.within))
        return function(self)

    @property
    def within(self) -> ColumnBounds:
        """The bounds of rows that are read with privacy."""
        assert self.bounds is not None
        return self.bounds

    def blocks(self, width: int = 1) -> Iterator[np.ndarray]:
        """Yield clipped rows as floats, NaN as the middle of its bounds, some at a time.

        `width` numbers a row are going to be made of them. They are stored row by row: in which
        order a row's numbers are added up must not depend on whether it is alone in its block.
        """
        for block in self._as_stored(width):
            yield np.ascontiguousarray(self.within.clip(block))

    def _as_stored(self, width: int) -> Iterator[np.ndarray]:
        if isinstance(self.source, Columns):
            yield from self.source.blocks()
            return
        step = max(ROWS_AT_ONCE // max(width, self.source.shape[1]), 1)
        for start in range(0, len(self.source), step):
            yield np.asarray(self.source[start : start + step], dtype=np.float64)


def _of_some(
    function: Callable[[BoundedRows], dict[str, np.ndarray]], bounds: ColumnBounds, some: Columns
) -> dict[str, np.ndarray]:
    """Return the function of some rows, whose number is nobody's business."""
    return function(BoundedRows(some, bounds, False))


def _checked(estimator: Any, X: Any) -> Any:
    """Return an array of numbers of any type, or the columns of a frame or a collection."""
    if is_collection(X):
        remember_columns(estimator, X)
        columns = Columns.of(X, "X")
        columns.check(Columns.check_numeric)
        rows = columns.n_rows
    elif not is_frame(X := received(X)):
        X = validated_numbers(estimator, X, reset=True, dtype="numeric")
        rows, columns = len(X), X
    else:
        validated(estimator, X, finite=False, reset=True, skip_check_array=True)
        columns = Columns.of(X, "X")
        columns.check(Columns.check_numeric)
        remember_names(estimator, X)
        rows = columns.n_rows
    check_some_rows(rows, estimator)
    if rows >= _MOST_ROWS:
        raise ValueError("X must have fewer than 2^31 rows.")
    return columns


def filled_rows(estimator: Any, X: Any) -> np.ndarray:
    """Return rows to be transformed as finite floats: what is missing as in `fit`.

    They are copied only if something is missing.
    """
    X = validated_numbers(estimator, X, reset=False, dtype=[np.float64, np.float32])
    filling, missing = estimator._filling, np.isnan(X)
    if filling is not None and missing.any():
        X = np.where(missing, filling.astype(X.dtype), X)
    refuse_missing(X, column_names(estimator))
    return X
