"""Public facts about the columns of a table, and the table as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.data.column import Column
from skdp.data.column_facts import (
    ColumnBounds,
    bounds_of_numbers,
    by_column,
    categories_by_column,
    check_comparable,
    codes_of,
)
from skdp.data.columns import Columns, column_name
from skdp.data.validation import refuse_missing
from skdp.support.validation import check_choice, check_size

__all__ = ["TableFacts"]

_MISSING = ("indicator", "error")
_OF_OTHERS = " A column of other values than numbers needs categories."


@dataclass(frozen=True, eq=False)
class TableFacts:
    """Columns of numbers between public bounds, and columns of public categories.

    Parameters
    ----------
    n_columns : int
        *Public.*
    numbers : ndarray of int of shape (n_numbers,)
        *Public.* Which columns are numbers.
    bounds : ColumnBounds
        *Public.* Of the columns of numbers.
    units : ndarray of shape (n_numbers,)
        *Public.* Unit of a logarithmic scale; inf for a linear one.
    categories : dict of int to ndarray
        *Public.* Values of each other column, in the order of the table.
    missing : {"indicator", "error"}
        *Public.* Whether a missing value is a category of its own, for numbers too.
    ranks : ndarray of shape (n_numbers, n_edges) or None
        *Released.* For each number, at evenly spaced places of its scale, the u in [0, 1]; None for
        the places themselves.
    """

    n_columns: int
    numbers: np.ndarray
    bounds: ColumnBounds
    units: np.ndarray
    categories: Mapping[int, np.ndarray]
    missing: str = "indicator"
    ranks: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        n_columns: int,
        names: Sequence[Any],
        *,
        bounds: Any,
        categories: Any = None,
        transformation: Any = None,
        missing: str = "indicator",
    ) -> TableFacts:
        """Return what the parameters of an estimator say, checked."""
        known = dict(sorted(categories_by_column(categories, n_columns, names).items()))
        numbers = [j for j in range(n_columns) if j not in known]
        found = ColumnBounds(np.empty(0), np.empty(0))
        if numbers or bounds is not None:
            given = bounds_of_numbers(bounds, numbers, n_columns, names, advice=_OF_OTHERS)
            found = ColumnBounds.of(given, len(numbers), [column_name(names, j) for j in numbers])
        units = _units(transformation, numbers, n_columns, names)
        check_choice("missing", missing, _MISSING)
        facts = cls(n_columns, np.array(numbers, dtype=int), found, units, known, missing)
        facts._check_scales(names)
        return facts

    def _check_scales(self, names: Sequence[Any]) -> None:
        """Raise if the bounds of a column are one number on its scale."""
        low, high = (
            self._scaled(side[:, None])[:, 0] for side in (self.bounds.low, self.bounds.high)
        )
        if close := [column_name(names, j) for j in self.numbers[low >= high].tolist()]:
            raise ValueError(
                f"bounds of {close} are too close for a logarithmic scale. Pass wider bounds or no "
                "transformation."
            )

    @property
    def has_missing(self) -> bool:
        """Whether a missing value has a column of its own."""
        return self.missing == "indicator"

    def size(self, j: int) -> int:
        """Return how many values a column of categories may have, the missing one included."""
        return self.categories[j].size + self.has_missing

    def unit(self, j: int) -> float:
        """Return the unit of the logarithmic scale of a column, inf for one that has none."""
        return float(self.units[self.numbers == j].min(initial=math.inf))

    def codes_as(self, other: TableFacts) -> bool:
        """Return whether `coded` gives the same as that of other facts about the same table."""
        mine, theirs = self.categories, other.categories
        return (
            self.missing == other.missing
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[j], theirs[j]) for j in mine)
        )

    def coded(self, X: Any, names: Sequence[Any] = ()) -> np.ndarray:
        """Return a table as floats: numbers with NaN for missing ones, places of categories.

        Parameters
        ----------
        X : ndarray or frame of shape (n_samples, n_columns)
            *Private.*
        names : sequence
            *Public.* Names of the columns.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            *Private.* X itself where it is an array of floats and has no categories. A category
            that is not known is −1, a missing one NaN, or −1 where missing values are refused.
        """
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not self.categories:
            coded = X
        else:
            coded = self._coded(Columns.of(X, "X"))
        if not self.has_missing:
            refuse_missing(coded, names)
        return coded

    def _coded(self, columns: Columns) -> np.ndarray:
        for j in self.numbers.tolist():
            columns.parts[j].check_numeric(columns.name(j), advice=_advice(columns.name(j)))
        for j, values in self.categories.items():
            check_comparable(columns.parts[j], values, columns.name(j))
        single = all(_is_single(columns.parts[j]) for j in self.numbers.tolist())
        coded = np.empty((columns.n_rows, self.n_columns), np.float32 if single else np.float64)
        for j, part in enumerate(columns.parts):
            known = self.categories.get(j)
            coded[:, j] = part.floats() if known is None else _codes(part, known)
        return coded

    def unit_interval(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of coded rows on their scales, mapped to [0, 1]; NaN stays.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns)
            *Private.*

        Returns
        -------
        ndarray of shape (n_numbers, n_rows)
            *Private.* Column by column, a new array.
        """
        u = self.place(rows)
        if self.ranks is not None:
            for column, ranks in zip(u, self.ranks, strict=True):
                column[:] = np.interp(column, np.linspace(0.0, 1.0, ranks.size), ranks)
        return u

    def place(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of coded rows on their scales, as places from 0 to 1; NaN stays.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns)
            *Private.*

        Returns
        -------
        ndarray of shape (n_numbers, n_rows)
            *Private.* Column by column, a new array.
        """
        some = rows if len(self.numbers) == self.n_columns else rows[:, self.numbers]
        u = np.array(some.T, dtype=np.float64, order="C")
        np.clip(u, self.bounds.low[:, None], self.bounds.high[:, None], out=u)
        low, high = (self._scaled(side[:, None]) for side in (self.bounds.low, self.bounds.high))
        u = self._scaled(u)
        u -= low
        u /= high - low
        return np.clip(u, 0.0, 1.0, out=u)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """Return sign(x)·log(1 + |x|/unit) in the columns that have a unit, of shape (n, …)."""
        if np.isinf(self.units).all():
            return x
        scaled, logarithmic = x.copy(), np.isfinite(self.units)
        some = x[logarithmic]
        scaled[logarithmic] = np.copysign(
            np.log1p(np.abs(some) / self.units[logarithmic, None]), some
        )
        return scaled

    def values_at(self, j: int, u: np.ndarray) -> np.ndarray:
        """Return the values of a column of numbers that `unit_interval` maps to u.

        Parameters
        ----------
        j : int
            *Public.* Which column.
        u : ndarray
            *Public.* In [0, 1].

        Returns
        -------
        ndarray of the same shape
            *Public.*
        """
        k = int(np.flatnonzero(self.numbers == j)[0])
        if self.ranks is not None:
            u = np.interp(u, self.ranks[k], np.linspace(0.0, 1.0, self.ranks.shape[1]))
        ends, unit = np.array([self.bounds.low[k], self.bounds.high[k]]), self.units[k]
        if math.isinf(unit):
            return np.asarray(ends[0] + u * (ends[1] - ends[0]))
        low, high = np.copysign(np.log1p(np.abs(ends) / unit), ends)
        t = low + u * (high - low)
        return np.copysign(unit * np.expm1(np.abs(t)), t)

    def one_hot(self, j: int, codes: np.ndarray, out: np.ndarray) -> None:
        """Write 1 where a category, or a missing value, is; `out` has a row a category and zeros.

        Parameters
        ----------
        j : int
            Which column.
        codes : ndarray of shape (n_rows,)
            *Private.* As in a coded table.
        out : ndarray of shape (size, n_rows)
            *Private.*
        """
        places = np.where(np.isnan(codes), self.categories[j].size, codes).astype(np.intp)
        known = np.flatnonzero(places >= 0)
        out[places[known], known] = 1.0

    def category_names(self, j: int, column: Any) -> list[str]:
        """Return names of the columns of `one_hot`."""
        names = [f"{column}_{value}" for value in self.categories[j].tolist()]
        return [*names, f"missing_{column}"] if self.has_missing else names


def _units(
    transformation: Any, numbers: Sequence[int], n_columns: int, names: Sequence[Any]
) -> np.ndarray:
    """Return the units of logarithmic scales, inf for linear ones."""
    if not isinstance(transformation, Mapping):
        return np.full(len(numbers), _unit(transformation))
    given = by_column("transformation", transformation, n_columns, names)
    if strangers := [column_name(names, j) for j in given if j not in numbers]:
        raise ValueError(
            f"transformation is only for numeric columns, and {strangers} are not numeric."
        )
    return np.array([_unit(given.get(j)) for j in numbers], dtype=float)


def _unit(kind: Any) -> float:
    if kind is None:
        return math.inf
    if isinstance(kind, str):
        check_choice("each scale of transformation", kind, ("log",))
        return 1.0
    return check_size("the unit of a logarithmic scale", kind)


def _codes(part: Column, known: np.ndarray) -> np.ndarray:
    """Return places of categories as floats, −1 for other values and NaN for missing ones."""
    read = part.read()
    codes = codes_of(read, known).astype(np.float64)
    codes[read.missing()] = np.nan
    return codes


def _is_single(part: Column) -> bool:
    return part.dtype == np.float32


def _advice(column: Any) -> str:
    return f" Name the values that it can have, as in categories={{{column!r}: [...]}}."
