"""A table as its schema encodes it: columns of numbers with bounds, and of categories.

The encoding of a row is a function of that row and of the schema. So neighboring tables have
neighboring encodings, and a release that is private for the encoded table is as private for the
table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

import numpy as np

from skdp.data.column import Column
from skdp.data.columns import Columns
from skdp.data.schema import values
from skdp.data.schema.column import PARTS, ColumnSchema, iso
from skdp.support.types import MatrixLike

__all__ = ["Bag", "Encoding"]

_DAY = 86400.0  # seconds
_EXACT = 2.0**53  # floats hold all integers up to it
_MISSING = "(missing)"


@dataclass(frozen=True)
class Bag:
    """*Public* facts about a text: a bag of words in consecutive columns, one for each label.

    A label is a bucket or a word.
    """

    name: Hashable
    labels: tuple[str, ...]
    norm: float

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.labels)


@dataclass(frozen=True)
class _Field:
    """Public facts about one encoded column."""

    name: Hashable
    bounds: tuple[float, float] | None = None
    unit: float = math.inf
    whole: bool = False
    categories: tuple[object, ...] | None = None
    bag: Bag | None = None  # of its first column


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of one table are encoded, in the order of the table.

    Parameters
    ----------
    columns : dict of str to ColumnSchema
        *Public.* The columns that become features.
    names : list
        *Public.* Names of all columns of the table; numbers if they have none.
    fingerprint : str
        *Public.* Hash of the schema.
    only_numbers : bool
        *Public.* Whether booleans become numbers instead of categories.
    ids : tuple
        *Public.* The columns that identify persons.
    """

    columns: Mapping[Hashable, ColumnSchema]
    names: list[Hashable]
    fingerprint: str
    only_numbers: bool = False
    ids: tuple[Hashable, ...] = ()

    @cached_property
    def _fields(self) -> list[_Field]:
        found = [f for name, one in self.columns.items() for f in self._fields_of(name, one)]
        twice = [name for name, count in Counter(f.name for f in found).items() if count > 1]
        if twice:
            raise ValueError(
                f"several encoded columns have the name {twice[0]!r}: rename a column."
            )
        return found

    def _fields_of(self, name: Hashable, column: ColumnSchema) -> list[_Field]:
        if column.kind == "text":
            bag = Bag(name, column.labels, column.norm or 0.0)
            words = [_Field(f"{name}_{label}") for label in bag.labels]
            return [_Field(words[0].name, bag=bag), *words[1:]]
        if column.kind == "code":
            return [_Field(name, categories=column.labels)]
        if column.kind == "category":
            return [_Field(name, categories=column.categories)]
        if column.kind == "boolean":
            both = None if self.only_numbers else (False, True)
            return [_Field(name, None if both else (0.0, 1.0), whole=True, categories=both)]
        if column.is_date:
            parts = [_Field(f"{name}_{part}", categories=PARTS[part]) for part in column.parts]
            return [_Field(name, (0.0, _days(column)[1])), *parts]
        return [_Field(name, column.bounds, column.unit, column.kind == "integer")]

    @property
    def n_given(self) -> int:
        """Number of columns of the table."""
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self._fields)

    @property
    def encoded_names(self) -> list[Hashable]:
        """Names of the encoded columns."""
        return [field.name for field in self._fields]

    @property
    def bounds(self) -> dict[Hashable, tuple[float, float]]:
        """Bounds of the encoded columns that are numbers."""
        return {field.name: field.bounds for field in self._fields if field.bounds is not None}

    @property
    def units(self) -> dict[Hashable, float]:
        """Units of the encoded columns with a logarithmic scale."""
        return {field.name: field.unit for field in self._fields if field.unit < math.inf}

    @property
    def scales(self) -> dict[Hashable, tuple[float, bool]]:
        """Unit of the scale of each encoded column, inf for a linear one; whether it is whole."""
        return {field.name: (field.unit, field.whole) for field in self._fields}

    @property
    def categories(self) -> dict[Any, Any]:
        """Values of the encoded columns that are categories."""
        found = {field.name: field.categories for field in self._fields}
        return {name: list(known) for name, known in found.items() if known is not None}

    @property
    def bags(self) -> dict[int, Bag]:
        """Bags of words, by their first column."""
        return {j: field.bag for j, field in enumerate(self._fields) if field.bag is not None}

    @property
    def whole(self) -> list[int]:
        """The encoded columns that are integers, or dates without a time of day."""
        names = self.encoded_names
        return [names.index(name) for name, one in self.columns.items() if _is_whole(one)]

    @property
    def complete(self) -> list[int]:
        """The encoded columns in which no value is missing."""
        given = [one for name, one in self.columns.items() for _ in self._fields_of(name, one)]
        return [j for j, one in enumerate(given) if not one.missing]

    def check_none_missing(self) -> None:
        """Raise ValueError if values may be missing, for tools that would raise an error for them.

        The error follows from the schema. An error for a missing value would reveal it.
        """
        if names := [name for name, column in self.columns.items() if column.missing]:
            raise ValueError(
                f"missing='error', but the schema allows missing values in {names}. Pass another "
                "value of missing, or state missing=False for these columns."
            )

    def table(self, X: MatrixLike | Columns) -> Columns:
        """Return the *private* encoded rows of a table with these columns."""
        given = Columns.of(X, "X")
        places = {given.name(j): j for j in range(given.n_columns)}
        parts: list[Column] = []
        for name, column in self.columns.items():
            part = given.parts[0 if given.single else places[name]]
            with np.errstate(all="ignore"):
                parts += map(Column, self._encoded(part, column))
        single = given.single and len(parts) == 1
        return Columns(parts, self.encoded_names, single)

    def _encoded(self, part: Column, column: ColumnSchema) -> list[np.ndarray]:
        """Return the encoded columns of one column of the table."""
        if column.is_date:
            return _dates(part, column)
        if column.kind == "text":
            hashed = column.buckets is not None
            found = values.words(part, column.labels, hashed, column.norm or 0.0)
            return list(found if column.missing else np.nan_to_num(found, copy=False))
        if column.kind == "code":
            return [_filled(values.buckets(part, column.labels), column)]
        if column.kind == "category":
            return [_filled(values.categories(part, column.categories or ()), column)]
        if column.kind == "boolean":
            return [_clipped(values.truth(part), (0.0, 1.0), column)]
        return [_clipped(_numbers(part, column), column.bounds, column)]

    def readings(self, rows: Columns) -> dict[Hashable, list[str]]:
        """Return the cells of *public* rows of the table as they are encoded, in words."""
        parts = zip(self.names, rows.parts, strict=True)
        with np.errstate(all="ignore"):
            return {name: self._in_words(part, self.columns.get(name)) for name, part in parts}

    def _in_words(self, part: Column, column: ColumnSchema | None) -> list[str]:
        if column is None:
            return ["(no feature)"] * len(part)
        first, *more = self._encoded(part, column)
        if column.kind == "text":
            return [_words_of(entries, column.labels) for entries in zip(first, *more, strict=True)]
        if column.kind == "boolean":
            known = {0.0: False, 1.0: True, 0.5: values.UNKNOWN}
            return [_label(known.get(one)) for one in first.tolist()]
        if column.bounds is None:
            return list(map(_label, first))
        shown = _numbers_in_words(part, column, first)
        rows = zip(shown, *more, strict=True)
        return [", ".join(cell for cell in row if isinstance(cell, str)) for row in rows]

    def decoded(
        self,
        columns: Sequence[np.ndarray],
        edges: Mapping[int, np.ndarray],
        rng: np.random.Generator,
    ) -> list[np.ndarray]:
        """Return columns of the table from made-up encoded ones, such that `table` returns these.

        `edges` are those of the bins from which numbers were drawn. Within its bin, a date gets the
        weekday and month of its row. Identifiers are numbers of rows.
        """
        nothing, numbers = np.full(len(columns[0]), None), np.arange(len(columns[0]))
        found = {name: numbers if name in self.ids else nothing for name in self.names}
        j = 0
        for name, column in self.columns.items():
            n_parts = len(self._fields_of(name, column))
            found[name] = _decoded(column, columns[j : j + n_parts], edges.get(j), rng)
            j += n_parts
        return [*found.values()]

    def widest(self, n_rows: int) -> dict[Hashable, list[object]]:
        """Return made-up columns at both ends of the bounds in turn, for dry runs."""
        ends = {name: column.bounds or (False, True) for name, column in self.columns.items()}
        return {
            name: [ends[name][i % 2] if name in ends else i for i in range(n_rows)]  # also IDs
            for name in self.names
        }


def _days(column: ColumnSchema) -> tuple[float, float]:
    """Return the first moment, in seconds from 1970, and the days from it to the last one."""
    first, last = _ends(column)
    return first, (last - first) / _DAY


def _ends(column: ColumnSchema) -> tuple[float, float]:
    """Return the bounds of numbers, or those of dates in seconds from 1970."""
    assert column.bounds is not None, "a complete column has bounds"
    low, high = map(values.moment_of, column.bounds) if column.is_date else column.bounds
    return low, high


def _numbers(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return numbers, or seconds from 1970 to dates, before they are clipped."""
    if column.is_date:
        return values.moments(part, column.date_format)
    numbers = values.floats(part)
    return np.rint(numbers) if column.kind == "integer" else numbers


def _dates(part: Column, column: ColumnSchema) -> list[np.ndarray]:
    """Return days since the first date, and the parts of the dates."""
    seconds = _numbers(part, column)
    first, last = _days(column)
    days = _clipped((seconds - first) / _DAY, (0.0, last), column)
    found = [days]
    for name in column.parts:
        codes = _PARTS[name](seconds)
        known = np.array([*PARTS[name], None], dtype=object)
        found.append(_filled(known[np.where(np.isnan(codes), -1, codes).astype(int)], column))
    return found


def _weekday(seconds: np.ndarray) -> np.ndarray:
    return np.floor(seconds / _DAY + 3.0) % 7.0  # 1970-01-01 was a Thursday


def _month(seconds: np.ndarray) -> np.ndarray:
    known = np.where(np.isnan(seconds), 0.0, seconds)
    months = np.floor(known / _DAY).astype("datetime64[D]").astype("datetime64[M]").astype(int)
    return np.where(np.isnan(seconds), np.nan, months % 12)


_PARTS = {"weekday": _weekday, "month": _month}


def _is_whole(column: ColumnSchema) -> bool:
    """Return whether all numbers within the bounds are integers, or all dates midnights."""
    if column.is_date:
        return all(values.moment_of(end) % _DAY == 0.0 for end in column.bounds or ())
    low, high = column.bounds or (0.0, 0.0)
    return column.kind == "integer" and math.ceil(low) <= high and max(-low, high) <= _EXACT


def _decoded(
    column: ColumnSchema,
    parts: Sequence[np.ndarray],
    edges: np.ndarray | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return a column of the table from its encoded columns."""
    found, known = parts[0], column.categories or ()
    if edges is not None and column.is_date:
        is_whole, first = _is_whole(column), np.datetime64((column.bounds or ("NaT",))[0], "us")
        if is_whole:
            with_parts = dict(zip(column.parts, parts[1:], strict=True))
            found = _days_with(column, found, with_parts, edges, rng)
        moments = first + np.round(found * _DAY * 1e6).astype("timedelta64[us]")
        return moments.astype("datetime64[D]") if is_whole else moments
    if column.kind == "code":
        codes = dict(zip(column.labels, values.made_up_codes(len(column.labels)), strict=True))
        return np.array([codes.get(label) for label in found.tolist()], dtype=object)
    if len({*map(type, known)}) > 1:
        same = {value: value for value in known}  # True, where an array has 1
        return np.array([same.get(value) for value in found.tolist()], dtype=object)
    return found.astype(np.int64) if _is_whole(column) and not np.isnan(found).any() else found


def _days_with(
    column: ColumnSchema,
    days: np.ndarray,
    parts: Mapping[str, np.ndarray],
    edges: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return random days of the same bins, of those that have the most parts of the row."""
    first, last = _days(column)
    every, days = np.arange(last + 1.0), days.copy()
    bins, held = (np.searchsorted(edges, some, side="right") for some in (days, every))
    for k in np.unique(bins[~np.isnan(days)]):
        rows, some = np.flatnonzero(bins == k), every[held == k]
        score = rng.random((rows.size, some.size))
        for name, part in parts.items():
            labels = np.array(PARTS[name])[_PARTS[name](first + some * _DAY).astype(int)]
            score += part[rows, None] == labels
        days[rows] = some[score.argmax(axis=1)]
    return days


def _clipped(
    numbers: np.ndarray, bounds: tuple[float, float] | None, column: ColumnSchema
) -> np.ndarray:
    """Clip numbers; missing ones are the midpoint, unless a column may have them."""
    assert bounds is not None, "a complete column has bounds"
    np.clip(numbers, *bounds, out=numbers)
    if not column.missing:
        numbers[np.isnan(numbers)] = 0.5 * (bounds[0] + bounds[1])
    return numbers


def _filled(known: np.ndarray, column: ColumnSchema) -> np.ndarray:
    """Replace missing categories by an unknown one, unless a column may have them."""
    if not column.missing:
        known[[value is None for value in known]] = values.UNKNOWN
    return known


def _words_of(entries: tuple[float, ...], labels: tuple[str, ...]) -> str:
    if math.isnan(entries[0]):
        return _MISSING
    found = (label for label, entry in zip(labels, entries, strict=True) if entry)
    return ", ".join(found) or "(no words)"


def _label(known: object) -> str:
    if known is None:
        return _MISSING
    return "(no category)" if known is values.UNKNOWN else str(known)


def _numbers_in_words(part: Column, column: ColumnSchema, encoded: np.ndarray) -> list[str]:
    """Return encoded numbers or dates, with notes where a cell holds another value or none."""
    given = _numbers(part, column)
    low, high = _ends(column)
    cases = [np.isnan(given), (given < low) | (given > high)]
    notes = np.select(cases, [f" {_MISSING}", " (clipped)"], "")
    cells = zip(encoded.tolist(), notes.tolist(), strict=True)
    return [f"{_shown(one, column)}{note}".strip() for one, note in cells]


def _shown(number: float, column: ColumnSchema) -> str:
    if math.isnan(number):
        return ""
    if not column.is_date:
        return f"{number:.15g}"
    assert column.bounds is not None, "a complete column has bounds"
    return iso(column.bounds[0] + timedelta(seconds=round(number * _DAY, 3)))
