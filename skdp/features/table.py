"""Public facts about the columns of a table, and the table as numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
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
from skdp.data.schema import Bag, Encoding, encoding_of
from skdp.data.validation import refuse_missing
from skdp.support.types import Bounds, Categories, MatrixLike, Transformation
from skdp.support.validation import check_choice, check_size

__all__ = ["TableFacts"]

_MISSING = ("indicator", "error")
_OF_OTHERS = " A column that is not numeric needs categories."


@dataclass(frozen=True, eq=False)
class TableFacts:
    """Public facts about columns of numbers with bounds, and columns of categories.

    Parameters
    ----------
    n_columns : int
        *Public.*
    numbers : ndarray of int of shape (n_numbers,)
        *Public.* Which columns are numeric.
    bounds : ColumnBounds
        *Public.* Bounds of the numeric columns.
    units : ndarray of shape (n_numbers,)
        *Public.* Unit of a logarithmic scale; inf for a linear one.
    categories : dict of int to ndarray
        *Public.* Values of each other column, in the order of the table.
    missing : {"indicator", "error"}
        *Public.* Whether a missing value is a category of its own, for numbers too.
    ranks : ndarray of shape (n_numbers, n_edges) or None
        *Released.* u in [0, 1] at evenly spaced places of the scale of each number; None for the
        places themselves.
    names : sequence
        *Public.* Names of the columns; empty if they have none.
    bags : dict of int to Bag
        *Public.* Bags of words, by the first of their columns. Only a schema has them.
    encoding : Encoding or None
        *Public.* How a schema makes these columns of those of the user's table.
    """

    n_columns: int
    numbers: np.ndarray
    bounds: ColumnBounds
    units: np.ndarray
    categories: Mapping[int, np.ndarray]
    missing: str = "indicator"
    ranks: np.ndarray | None = None
    names: Sequence[Hashable] = ()
    bags: Mapping[int, Bag] = field(default_factory=dict)
    encoding: Encoding | None = None

    @classmethod
    def of(
        cls,
        n_columns: int,
        names: Sequence[Hashable],
        *,
        bounds: Bounds | None,
        categories: Categories | None = None,
        transformation: Transformation | None = None,
        missing: str = "indicator",
    ) -> TableFacts:
        """Return the facts that the parameters of an estimator describe, checked."""
        check_choice("missing", missing, _MISSING)
        given = {"categories": categories, "transformation": transformation}
        encoding, bags = encoding_of(bounds, n_columns, names, given), dict[int, Bag]()
        if encoding is not None:
            if missing == "error":
                encoding.check_none_missing()
            names, n_columns, bags = encoding.encoded_names, encoding.n_columns, encoding.bags
            bounds, categories = encoding.bounds or None, encoding.categories
            transformation = encoding.units
        of_words = {j + k for j, bag in bags.items() for k in range(bag.size)}
        known = dict(sorted(categories_by_column(categories, n_columns, names).items()))
        numbers = [j for j in range(n_columns) if j not in known and j not in of_words]
        found = _bounds(bounds, numbers, n_columns, names)
        units = _units(transformation, numbers, n_columns, names)
        places = np.array(numbers, dtype=int)
        more: dict[str, Any] = {"names": names, "bags": bags, "encoding": encoding}
        facts = cls(n_columns, places, found, units, known, missing, **more)
        facts._check_scales(names)
        return facts

    def _check_scales(self, names: Sequence[Hashable]) -> None:
        """Raise ValueError if the bounds of a column are one number on its scale."""
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
        """Return how many rows `one_hot` has for a categorical column."""
        return self.categories[j].size + self.has_missing

    def unit(self, j: int) -> float:
        """Return the unit of the logarithmic scale of a column, inf if it has none."""
        return float(self.units[self.numbers == j].min(initial=math.inf))

    @property
    def n_inputs(self) -> int:
        """How many columns there are if all words of a text count as one."""
        return self.numbers.size + len(self.categories) + len(self.bags)

    @property
    def given_names(self) -> Sequence[Hashable]:
        """Names of the columns of the user's table; empty if they have none."""
        return self.names if self.encoding is None else self.encoding.names

    @property
    def n_given(self) -> int:
        """Number of columns of the user's table."""
        return self.n_columns if self.encoding is None else self.encoding.n_given

    def term_name(self, j: int) -> Hashable:
        """Return the name of a column, or of the text whose words begin there."""
        return self.bags[j].name if j in self.bags else column_name(self.names, j)

    def bag_size(self, j: int) -> int:
        """Return how many rows `bag_rows` has."""
        return self.bags[j].size + self.has_missing

    def codes_as(self, other: TableFacts) -> bool:
        """Return whether `coded` is the same for other facts about the same table."""
        mine, theirs = self.categories, other.categories
        return (
            self.missing == other.missing
            and self.bags == other.bags
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[j], theirs[j]) for j in mine)
        )

    def coded(self, X: MatrixLike, names: Sequence[Hashable] = ()) -> np.ndarray:
        """Return a table as floats of shape (n_samples, n_columns): *private*.

        Missing numbers are NaN. A category is its place among the public values, −1 if unknown, and
        NaN if missing, or −1 under ``missing="error"``. An array of floats without categories is
        returned itself.
        """
        if self.encoding is not None:
            coded, names = self._coded(self.encoding.table(X)), self.names
        elif isinstance(X, np.ndarray) and X.dtype.kind == "f" and not self.categories:
            coded = X
        else:
            coded = self._coded(Columns.of(X, "X"))
        if not self.has_missing:
            refuse_missing(coded, names)
        return coded

    def _coded(self, columns: Columns) -> np.ndarray:
        for j in self.numbers.tolist():
            name = columns.name(j)
            advice = f" Name the values that it can have, as in categories={{{name!r}: [...]}}."
            columns.parts[j].check_numeric(name, advice=advice)
        for j, values in self.categories.items():
            check_comparable(columns.parts[j], values, columns.name(j))
        single = all(columns.parts[j].dtype == np.float32 for j in self.numbers.tolist())
        coded = np.empty((columns.n_rows, self.n_columns), np.float32 if single else np.float64)
        for j, part in enumerate(columns.parts):
            known = self.categories.get(j)
            coded[:, j] = part.floats() if known is None else _codes(part, known)
        return coded

    def unit_interval(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of coded rows on their scales, mapped to [0, 1]; NaN stays.

        The new array has the shape (n_numbers, n_rows).
        """
        u = self.place(rows)
        if self.ranks is not None:
            for column, ranks in zip(u, self.ranks, strict=True):
                column[:] = np.interp(column, np.linspace(0.0, 1.0, ranks.size), ranks)
        return u

    def place(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers as `unit_interval` does, but without `ranks`."""
        some = rows if len(self.numbers) == self.n_columns else rows[:, self.numbers]
        u = np.array(some.T, dtype=np.float64, order="C")
        np.clip(u, self.bounds.low[:, None], self.bounds.high[:, None], out=u)
        low, high = (self._scaled(side[:, None]) for side in (self.bounds.low, self.bounds.high))
        u = self._scaled(u)
        u -= low
        u /= high - low
        return np.clip(u, 0.0, 1.0, out=u)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """Return sign(x)·log(1 + |x|/unit) in the columns with a unit, of shape (n, …)."""
        if np.isinf(self.units).all():
            return x
        scaled, logarithmic = x.copy(), np.isfinite(self.units)
        some = x[logarithmic]
        scaled[logarithmic] = np.copysign(
            np.log1p(np.abs(some) / self.units[logarithmic, None]), some
        )
        return scaled

    def values_at(self, j: int, u: np.ndarray) -> np.ndarray:
        """Return the values of numeric column `j` that `unit_interval` maps to u in [0, 1]."""
        k = int(np.flatnonzero(self.numbers == j)[0])
        if self.ranks is not None:
            u = np.interp(u, self.ranks[k], np.linspace(0.0, 1.0, self.ranks.shape[1]))
        ends, unit = np.array([self.bounds.low[k], self.bounds.high[k]]), self.units[k]
        if math.isinf(unit):
            return np.asarray(ends[0] + u * (ends[1] - ends[0]))
        low, high = np.copysign(np.log1p(np.abs(ends) / unit), ends)
        t = low + u * (high - low)
        return np.copysign(unit * np.expm1(np.abs(t)), t)

    def even_rows(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """Return coded rows, numbers uniform on their scales and categories equally frequent."""
        rows = np.empty((n_rows, self.n_columns))
        for j in self.numbers.tolist():
            rows[:, j] = self.values_at(j, rng.random(n_rows))
        for j, values in self.categories.items():
            rows[:, j] = rng.integers(max(values.size, 1), size=n_rows)
        for j, bag in self.bags.items():
            rows[:, j : j + bag.size] = 0.0
            rows[np.arange(n_rows), j + rng.integers(bag.size, size=n_rows)] = bag.norm
        return rows

    def one_hot(self, j: int, codes: np.ndarray, out: np.ndarray) -> None:
        """Write 1 at each category or missing value into `out`: zeros of shape (size, n_rows)."""
        places = np.where(np.isnan(codes), self.categories[j].size, codes).astype(np.intp)
        known = np.flatnonzero(places >= 0)
        out[places[known], known] = 1.0

    def bag_rows(self, j: int, rows: np.ndarray, out: np.ndarray) -> None:
        """Write the words of coded rows into `out`: zeros of shape (bag_size, n_rows)."""
        bag = rows[:, j : j + self.bags[j].size].T
        missing = np.isnan(bag[0])
        out[: len(bag)] = np.where(missing, 0.0, bag)
        if self.has_missing:
            out[-1] = missing

    def bag_names(self, j: int, columns: Sequence[Hashable]) -> list[str]:
        """Return the names of the rows of `bag_rows`."""
        names = [str(name) for name in columns[j : j + self.bags[j].size]]
        return [*names, f"missing_{self.bags[j].name}"] if self.has_missing else names

    def category_names(self, j: int, column: Hashable) -> list[str]:
        """Return the names of the rows of `one_hot`."""
        names = [f"{column}_{value}" for value in self.categories[j].tolist()]
        return [*names, f"missing_{column}"] if self.has_missing else names


def _bounds(
    bounds: Bounds | None, numbers: list[int], n_columns: int, names: Sequence[Hashable]
) -> ColumnBounds:
    """Return the bounds of the numeric columns."""
    if not numbers and bounds is None:
        return ColumnBounds(np.empty(0), np.empty(0))
    pairs = bounds_of_numbers(bounds, numbers, n_columns, names, advice=_OF_OTHERS)
    return ColumnBounds.of(pairs, len(numbers), [column_name(names, j) for j in numbers])


def _units(
    transformation: Transformation | None,
    numbers: Sequence[int],
    n_columns: int,
    names: Sequence[Hashable],
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


def _unit(kind: str | float | None) -> float:
    if kind is None:
        return math.inf
    if isinstance(kind, str):
        check_choice("each scale of transformation", kind, ("log",))
        return 1.0
    return check_size("the unit of a logarithmic scale", kind)


def _codes(part: Column, known: np.ndarray) -> np.ndarray:
    """Return the places of categories as floats, −1 for other values and NaN for missing ones."""
    read = part.read()
    codes = codes_of(read, known).astype(np.float64)
    codes[read.missing()] = np.nan
    return codes
