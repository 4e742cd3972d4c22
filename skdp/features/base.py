"""The base classes of public feature maps, and public facts about the columns of their tables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in

from skdp.data.column import Column
from skdp.data.column_facts import (
    ColumnBounds,
    bounds_of_numbers,
    by_column,
    categories_by_column,
    check_comparable,
    codes_of,
)
from skdp.data.columns import Columns, as_numbers, column_name
from skdp.data.encoding import Bag, Encoding
from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.schema import encoding_of
from skdp.data.validation import column_names, refuse_missing, validated_table
from skdp.support.types import Bounds, Categories, Label, MatrixLike, Transformation, VectorLike
from skdp.support.validation import check_choice, check_size, parameters

_MISSING = ("indicator", "error")
_OF_OTHERS = " A column that is not numeric needs categories."


@dataclass(frozen=True, eq=False)
class TableFacts:
    """Public facts about columns of numbers with bounds, and columns of categories."""

    n_columns: int  # *public*
    numbers: np.ndarray  # *public*; which columns are numeric
    bounds: ColumnBounds  # *public* ones of the numeric columns
    units: np.ndarray  # *public* ones of logarithmic scales; inf for a linear one
    categories: Mapping[int, np.ndarray]  # *public* ones of each other column, in order
    missing: str = "indicator"  # *public*; "indicator": a missing value is a category of its own
    # *Released* u in [0, 1] at evenly spaced places of the scale of each number, of shape
    # (n_numbers, n_edges); None for the places themselves.
    ranks: np.ndarray | None = None
    names: Sequence[Hashable] = ()  # *public*; empty if columns have none
    bags: Mapping[int, Bag] = field(default_factory=dict)  # *public*; of a schema, by first column
    encoding: Encoding | None = None  # *public*; how a schema makes these columns of the user's

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
        by_level: bool = False,
    ) -> TableFacts:
        """Return the facts that the parameters of an estimator describe, checked."""
        check_choice("missing", missing, _MISSING)
        given = {"categories": categories, "transformation": transformation}
        encoding = encoding_of(bounds, n_columns, names, given, by_level=by_level)
        bags = dict[int, Bag]()
        if encoding is not None:
            if missing == "error":
                encoding.check_none_missing()
            names, n_columns, bags = encoding.encoded_names, encoding.n_columns, encoding.bags
            bounds, categories = encoding.bounds or None, encoding.categories
            scales = encoding.scales.items()
            transformation = {name: unit for name, (unit, _) in scales if unit < math.inf}
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

    @property
    def levels(self) -> dict[int, list[Label]]:
        """Levels of the numeric columns that are ordinal, by column."""
        return self.encoding.levels if self.encoding and self.encoding.by_level else {}

    @property
    def indicated(self) -> list[int]:
        """The columns that become indicators: categories, and the first words of texts."""
        return [*self.categories, *self.bags]

    def size(self, j: int) -> int:
        """Return the number of rows that `indicate` returns for a category or a text."""
        held = self.bags[j] if j in self.bags else self.categories[j]
        return held.size + self.has_missing

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
        return self.n_columns if self.encoding is None else len(self.encoding.names)

    def term_name(self, j: int) -> Hashable:
        """Return the name of a column, or of the text whose words begin there."""
        return self.bags[j].name if j in self.bags else column_name(self.names, j)

    def codes_as(self, other: TableFacts) -> bool:
        """Return whether `coded` is the same for other facts about the same table."""
        mine, theirs = self.categories, other.categories
        return (
            self.missing == other.missing
            and self.bags == other.bags
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[j], theirs[j]) for j in mine)
        )

    def scales_as(self, other: TableFacts) -> bool:
        """Return whether `unit_interval` is the same for other facts with the same codes."""
        mine, theirs = (
            (own.bounds.low, own.bounds.high, own.units, *(() if own.ranks is None else own.ranks))
            for own in (self, other)
        )
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def coded(self, X: MatrixLike, names: Sequence[Hashable] = ()) -> np.ndarray:
        """Return a table as floats of shape (n_samples, n_columns): *private*.

        Missing numbers are NaN. A category is its place among the public values, −1 if unknown, and
        NaN if missing, or −1 under ``missing="error"``. An array or pandas frame of floats without
        categories is not copied.
        """
        if self.encoding is not None:
            coded, names = self._coded(self.encoding.table(X)), self.names
        elif (numbers := as_numbers(X)) is not None and not self.categories:
            coded = numbers
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
        coded = np.empty((len(columns), self.n_columns), np.float32 if single else np.float64)
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

    def indicate(self, j: int, rows: np.ndarray, out: np.ndarray) -> None:
        """Write the words of coded rows, or 1 at their category, and 1 where it is missing.

        `out` has zeros, of shape (size, n_rows).
        """
        if j not in self.bags:
            places = np.where(np.isnan(rows[:, j]), self.categories[j].size, rows[:, j])
            known = np.flatnonzero(places >= 0)
            out[places[known].astype(np.intp), known] = 1.0
            return
        bag = rows[:, j : j + self.bags[j].size].T
        missing = np.isnan(bag[0])
        out[: len(bag)] = np.where(missing, 0.0, bag)
        if self.has_missing:
            out[-1] = missing

    def names_of(self, j: int, columns: Sequence[Hashable]) -> list[str]:
        """Return the names of the rows of `indicate`."""
        if j in self.bags:
            names, column = list(map(str, columns[j : j + self.bags[j].size])), self.bags[j].name
        else:
            names, column = [f"{columns[j]}_{x}" for x in self.categories[j].tolist()], columns[j]
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


_BLOCK_BYTES = 1 << 19  # of features that are made at a time: they should stay in the cache


class FeatureMap(ABC):
    """A map Φ of a row to features that depends on this row and public numbers only.

    It maps neighboring tables to neighboring features, so a release that is private for the
    features is as private for the table. This holds to the last bit: rounding errors of a row do
    not depend on the rows around it, as those of a matrix product may. `facts` describe the columns
    of the table.
    """

    facts: TableFacts

    @property
    @abstractmethod
    def n_features_out(self) -> int:
        """*Public.* Number of features."""

    @property
    def n_entries(self) -> int:
        """*Public.* Number of features of a row that may differ from 0."""
        return self.n_features_out

    @property
    def is_sparse(self) -> bool:
        """Whether features are CSR matrices."""
        return False

    @property
    def cost(self) -> int:
        """Memory up to which features are kept instead of being recomputed in each pass."""
        return 1

    def prepare(self, X: np.ndarray) -> MatrixLike:
        """Return the rows of a coded table in the form that a design keeps and `expand` takes."""
        return X

    @abstractmethod
    def expand(self, rows: MatrixLike) -> MatrixLike:
        """Return the features of some prepared rows."""

    @abstractmethod
    def names(self, columns: Sequence[Hashable]) -> list[str]:
        """Return the names of the features, from the names of the columns."""

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the features, in the order of the coefficients of a model."""
        columns = self.facts.names or [f"x{j}" for j in range(self.facts.n_columns)]
        return np.array(self.names(columns), dtype=object)

    def for_fits(self) -> FeatureMap:
        """Return this map or a faster approximation for private fits.

        The choice depends on public numbers only, not on the number of rows.
        """
        return self

    def for_scores(self) -> FeatureMap:
        """Return the map that predictions read: of the same features, or of those of fits."""
        return self

    @property
    def rows_at_once(self) -> int:
        """Number of rows whose features a cache holds."""
        return max(64, _BLOCK_BYTES // (8 * self.n_entries))

    def pieces(self, rows: MatrixLike) -> Iterator[tuple[slice, MatrixLike]]:
        """Yield the features of consecutive prepared rows, as many at a time as a cache holds."""
        for start in range(0, len(rows), self.rows_at_once):
            where = slice(start, start + self.rows_at_once)
            yield where, self.expand(rows[where])

    def made(self, X: np.ndarray) -> Iterator[tuple[slice, MatrixLike]]:
        """Yield features of consecutive coded rows, at least once; the next ones overwrite them."""
        step = self.rows_at_once
        for start in range(0, max(1, len(X)), _ROWS):
            rows = self.prepare(X[start : start + _ROWS])
            for first in range(0, max(1, len(rows)), step):
                features = self.expand(rows[first : first + step])
                yield slice(start + first, start + first + features.shape[0]), features

    def whole(self, rows: MatrixLike, dtype: DTypeLike = np.float64) -> MatrixLike:
        """Return the features of all prepared rows as one matrix."""
        if self.is_sparse:
            return self.expand(rows).astype(dtype, copy=False)
        features = np.empty((len(rows), self.n_features_out), dtype)
        for where, block in self.pieces(rows):
            features[where] = block
        return features


class PublicFeatures(TransformerMixin, BaseEstimator):
    """A transformer that learns nothing: each row of its output is a public function of a row."""

    @abstractmethod
    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> FeatureMap:
        """Return the lazy map that the parameters describe, from public facts alone.

        Parameters
        ----------
        n_columns : int
            *Public.* Number of columns of the table.
        names : sequence, default ()
            *Public.* Names of the columns; empty if they have none.

        Returns
        -------
        FeatureMap
            *Public.* What a linear model expands rows with.
        """

    @fit_of_columns
    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Check the parameters against the columns; nothing is learned.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            *Private.* Only its columns matter, and missing values if ``missing="error"``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.
        """
        self._mapped(X, reset=True)
        return self

    def _check_columns(self) -> FeatureMap:
        """Return the map, after checks of the parameters against the columns."""
        return self.feature_map(self.n_features_in_, column_names(self))

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> MatrixLike:
        """Return the features of the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            *Private.* Numbers outside their bounds are clipped; an unknown category has no column.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features_out)
            *Private.* Of single precision if X is an array or frame of such numbers.
        """
        found, coded = self._mapped(X, reset=not hasattr(self, "n_features_in_"))
        dtype = np.float32 if coded.dtype == np.float32 else np.float64
        return found.whole(found.prepare(coded), dtype)

    def get_feature_names_out(self, input_features: VectorLike = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the columns of X. ``None``: those of `fit`, or x0, x1, and so on.

        Returns
        -------
        ndarray of str
            One for each column.
        """
        names, found = _check_feature_names_in(self, input_features), self._check_columns()
        known = names.tolist() if found.facts.encoding is None else found.facts.names
        return np.array(found.names(known), dtype=object)

    def _mapped(self, X: MatrixLike, *, reset: bool) -> tuple[FeatureMap, np.ndarray]:
        """Return the map and the coded table."""
        checked = validated_table(self, X, reset=reset)
        found = self._check_columns()
        return found, found.facts.coded(checked, column_names(self))

    def _takes_missing(self) -> bool:
        return bool(self.missing == "indicator")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = self._takes_missing()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@parameters
class ColumnFeatures(PublicFeatures):
    """Features of the columns of a table."""

    bounds: Bounds | None = None
    categories: Categories | None = None
    missing: str = "indicator"
    transformation: Transformation | None = None

    def _facts(self, n_columns: int, names: Sequence[Hashable]) -> TableFacts:
        return TableFacts.of(
            n_columns,
            names,
            bounds=self.bounds,
            categories=self.categories,
            transformation=self.transformation,
            missing=self.missing,
            by_level=True,
        )


_MOST_ZEROS = 7.0  # of entries, in units of the others: tables with more are stored without zeros


def is_mostly_zero(n_features: int, n_entries: int) -> bool:
    """Return whether features with so many entries that are not 0 are stored without zeros."""
    return n_features > (1.0 + _MOST_ZEROS) * n_entries


def as_sparse(parts: Sequence[tuple[np.ndarray, np.ndarray]], n_features: int) -> sparse.csr_matrix:
    """Return rows with as many entries each: places, increasing, and values of shape (k, n)."""
    indices, entries = (
        np.concatenate([np.broadcast_to(part[k], part[1].shape) for part in parts]).T
        for k in (0, 1)
    )
    return sparse_rows(indices, entries, n_features)


def sparse_rows(indices: np.ndarray, entries: np.ndarray, n_features: int) -> sparse.csr_matrix:
    """Return rows with as many entries each, at increasing places; both have the shape (n, k)."""
    starts = np.arange(0, entries.size + 1, entries.shape[1])
    cells = entries.ravel(), indices.astype(np.int32, copy=False).ravel(), starts
    return sparse.csr_matrix(cells, shape=(len(entries), n_features), copy=False)


_LEVELS = 4096  # of u: the error of a feature is below 2e-3 for eight Fourier features
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class TabulatedMap(FeatureMap):
    """A map whose features read one column each, with u rounded to 4096 levels.

    A row becomes one small integer per column, an index into a table of features. The rounding is
    part of the public map, so norms and guarantees are those of the rounded features. It must not
    depend on the number of rows, which may be private.
    """

    facts: TableFacts  # *public*
    feature_map: FeatureMap  # *public*, without rounding
    spans: Sequence[tuple[int, slice]]  # *public*; the column and the features of each table
    alike: Sequence[int]  # *public*; for each table the first one that is equal

    @property
    def n_features_out(self) -> int:
        return self.feature_map.n_features_out

    @cached_property
    def n_entries(self) -> int:  # type: ignore[override]
        categories = self.facts.categories
        n = sum(1 if j in categories else span.stop - span.start for j, span in self.spans)
        return n if is_mostly_zero(self.n_features_out, n) else self.n_features_out

    @property
    def is_sparse(self) -> bool:
        return self.n_entries < self.n_features_out

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return self.feature_map.names(columns)

    @cached_property
    def tables(self) -> list[MatrixLike]:
        """Features of every integer, (n_levels, size), for each span; CSR for categories."""
        found = {k: self._table(*self.spans[k]) for k in {*self.alike}}
        return [found[k] for k in self.alike]

    def _table(self, j: int, span: slice) -> MatrixLike:
        rows = np.zeros((1, self.facts.n_columns))
        if j in self.facts.categories:
            one = float(self.feature_map.expand(rows)[0, span.start])
            size = span.stop - span.start
            k, shape = np.arange(size), (size + 1, size)  # the last is unknown
            return sparse.csr_array((np.full(size, one), (k, k)), shape=shape)
        levels = self.facts.values_at(j, np.linspace(0.0, 1.0, _LEVELS))
        rows = np.zeros((_LEVELS + self.facts.has_missing, self.facts.n_columns))
        rows[:, j] = np.append(levels, [np.nan] * self.facts.has_missing)
        return np.ascontiguousarray(self.feature_map.expand(rows)[:, span])

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared lengths of the features of prepared rows."""
        found = np.zeros(len(rows))
        for k, own in enumerate(self.alike):
            found += self._squares[own].take(rows[:, k])
        return found

    @cached_property
    def _squares(self) -> dict[int, np.ndarray]:
        """The squared lengths of the rows of each table."""
        cells = {k: self.tables[k] * self.tables[k] for k in {*self.alike}}
        return {k: np.asarray(own.sum(axis=1)).ravel() for k, own in cells.items()}

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the place of each row in each table; the last places are for NaN and unknown."""
        sizes = [table.shape[0] for table in self.tables]
        dtype = np.uint16 if max(sizes, default=0) < 2**16 else np.int64
        places = np.empty((len(self.spans), len(X)), dtype)
        for start in range(0, len(X), _ROWS):
            rows = X[start : start + _ROWS]
            places[:, start : start + _ROWS] = self.places(rows, self.facts.unit_interval(rows))
        return places.T

    def places(self, rows: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the places of few rows, of shape (n_spans, n_rows); u is from `unit_interval`."""
        found = np.empty((len(self.spans), len(rows)), np.intp)
        numbers = np.rint(u * (_LEVELS - 1.0))
        numbers[np.isnan(numbers)] = _LEVELS
        found[: len(numbers)] = numbers
        for k, j in enumerate(self.facts.categories, start=len(numbers)):
            size = self.facts.categories[j].size
            code = np.where(np.isnan(rows[:, j]), size, rows[:, j])
            found[k] = np.where(code < 0, size + self.facts.has_missing, code)
        return found

    def expand(self, rows: np.ndarray) -> MatrixLike:
        if self.is_sparse:
            parts = [self._entries(k, rows[:, k]) for k in range(len(self.spans))]
            return as_sparse(parts, self.n_features_out)
        features = np.zeros((len(rows), self.n_features_out))
        for k, (j, span) in enumerate(self.spans):
            if j in self.facts.categories:
                known = np.flatnonzero(rows[:, k] < span.stop - span.start)
                features[known, span.start + rows[known, k].astype(np.intp)] = self.tables[k].data[
                    0
                ]
            else:
                features[:, span] = self.tables[k].take(rows[:, k], axis=0)
        return features

    def _entries(self, k: int, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the places and values of the features of a table, 0 for an unknown category."""
        (j, span), table = self.spans[k], self.tables[k]
        if j not in self.facts.categories:
            return np.arange(span.start, span.stop)[:, None], table.take(levels, axis=0).T
        is_known = levels < span.stop - span.start
        places = span.start + np.where(is_known, levels, 0).astype(np.intp)
        return places[None], np.where(is_known, table.data[0], 0.0)[None]
