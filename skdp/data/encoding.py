"""A table as its schema encodes it: columns of numbers with bounds, and of categories.

The encoding of a row is a function of that row and of the schema. So neighboring tables have
neighboring encodings, and a release that is private for the encoded table is as private for the
table.

A reader of files chooses the type of a column by all of its values: one missing value turns
integers into floats, and one word turns numbers into strings. A float with an integer value
therefore equals that integer here, and numeric columns read numbers in strings. Categories and
codes do not: the string "1.0" differs from "1". Read files with `dtype=str` to rule this out. No
value raises an error: a value that cannot be read is missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, cached_property
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np

from skdp.data.column import Column, array_of_list
from skdp.data.column_schema import (
    PARTS,
    ColumnSchema,
    iso,
    moment_of,
    number_of,
    text_of,
    words_in,
)
from skdp.data.columns import Columns
from skdp.support.types import Label, MatrixLike

DAY = 86400.0  # seconds
_EXACT = 2.0**53  # floats hold all integers up to it
_MISSING = "(missing)"
UNKNOWN = object
"""A value that is no category and not missing. It is no value of data: it is a class."""
_NOT_FILLED: dict[str, Any] = {"fill": None, "missing": True}
TRUTH: dict[str | None, float] = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "1": 1.0}
TRUTH |= {"false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0, "0": 0.0}


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
        return len(self.labels)


@dataclass(frozen=True)
class _Field:
    """Public facts about one encoded column."""

    name: Hashable
    bounds: tuple[float, float] | None = None
    unit: float = math.inf
    whole: bool = False
    categories: tuple[Label, ...] | None = None  # in order if it is a number
    bag: Bag | None = None  # of its first column


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of one table are encoded, in the order of the table."""

    columns: Mapping[Hashable, ColumnSchema]  # *public* ones that become features
    names: list[Hashable]  # *public* ones of all columns; numbers if there are none
    fingerprint: str  # *public* hash of the schema
    only_numbers: bool = False  # *public*; whether booleans become numbers, not categories
    ids: tuple[Hashable, ...] = ()  # *public* columns that identify persons
    by_level: bool = False  # *public*; whether ordinal columns become the numbers of their levels

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
        if (known := column.categories) is not None:
            ends = (0.0, len(known) - 1.0) if self._has_level(column) else None
            return [_Field(name, ends, whole=True, categories=known)]
        if column.kind == "boolean":
            both = None if self.only_numbers else (False, True)
            return [_Field(name, None if both else (0.0, 1.0), whole=True, categories=both)]
        if column.is_date:
            parts = [_Field(f"{name}_{part}", categories=PARTS[part]) for part in column.parts]
            return [_Field(name, (0.0, days_of(column)[1])), *parts]
        return [_Field(name, column.bounds, column.unit, column.kind == "integer")]

    def _has_level(self, column: ColumnSchema) -> bool:
        return self.by_level and column.kind == "ordinal"

    @property
    def n_columns(self) -> int:
        return len(self._fields)

    @property
    def encoded_names(self) -> list[Hashable]:
        return [field.name for field in self._fields]

    @property
    def bounds(self) -> dict[Hashable, tuple[float, float]]:
        """Bounds of the encoded columns that are numbers."""
        return {field.name: field.bounds for field in self._fields if field.bounds is not None}

    @property
    def scales(self) -> dict[Hashable, tuple[float, bool]]:
        """Unit of the scale of each encoded column, inf for a linear one; whether it is whole."""
        return {field.name: (field.unit, field.whole) for field in self._fields}

    @property
    def categories(self) -> dict[Any, Any]:
        """Values of the encoded columns that are categories."""
        found = {one.name: one.categories for one in self._fields if one.bounds is None}
        return {name: list(known) for name, known in found.items() if known is not None}

    @property
    def ordinals(self) -> dict[Any, list[Label]]:
        """Levels of the ordinal columns, from the lowest, by name."""
        columns = self.columns.items()
        return {name: list(x.categories or ()) for name, x in columns if x.kind == "ordinal"}

    @property
    def levels(self) -> dict[int, list[Label]]:
        """The same by encoded column."""
        return {self.encoded_names.index(name): known for name, known in self.ordinals.items()}

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
        """Return the *private* encoded rows of a table with these columns.

        Rows without names, such as an array in `predict`, have the columns of the fit in order.
        """
        given = Columns.of(X, "X")
        places = {name: j for j, name in enumerate(given.names or self.names)}
        parts: list[Column] = []
        for name, column in self.columns.items():
            part = given.parts[0 if given.single else places[name]]
            with np.errstate(all="ignore"):
                parts += map(Column, self._encoded(part, column))
        single = given.single and len(parts) == 1
        return Columns(parts, self.encoded_names, single, given.library)

    def _encoded(self, part: Column, column: ColumnSchema) -> list[np.ndarray]:
        """Return the encoded columns of one column of the table."""
        if column.fill is not None:
            cell, plain = Column(array_of_list([column.fill])), replace(column, **_NOT_FILLED)
            found, given = self._encoded(part, plain), self._encoded(cell, plain)
            for one, filling in zip(found, given, strict=True):
                one[Column(one).missing()] = filling[0]
            return found
        if column.is_date:
            return _dates(part, column)
        if column.kind == "text":
            words = _words(part, column)
            return list(words if column.missing else np.nan_to_num(words, copy=False))
        if column.kind == "code":
            return [_filled(_buckets(part, column), column)]
        if self._has_level(column):
            return [_levels(part, column)]
        if column.categories is not None:
            return [_filled(_categories(part, column), column)]
        if column.kind == "boolean":
            return [_clipped(_truths(part, column), (0.0, 1.0), column)]
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
            known = {0.0: False, 1.0: True, 0.5: UNKNOWN}
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


def days_of(column: ColumnSchema) -> tuple[float, float]:
    """Return the first moment, in seconds from 1970, and the days from it to the last one."""
    first, last = _ends(column)
    return first, (last - first) / DAY


def _ends(column: ColumnSchema) -> tuple[float, float]:
    """Return the bounds of numbers, or those of dates in seconds from 1970."""
    assert column.bounds is not None, "a complete column has bounds"
    low, high = map(moment_of, column.bounds) if column.is_date else column.bounds
    return low, high


def _numbers(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return numbers, or seconds from 1970 to dates, before they are clipped."""
    form = column.date_format
    numbers = moments(part, form) if column.is_date else floats(part, column)
    numbers[np.isin(numbers, codes_of_missing(column))] = np.nan
    return np.rint(numbers) if column.kind == "integer" else numbers


def codes_of_missing(column: ColumnSchema) -> list[float]:
    """Return the numbers, or the seconds from 1970, that stand for missing values."""
    form, given = column.date_format, column.missing_values
    codes = [moment_of(x, form) if column.is_date else number_of(x, column) for x in given]
    return codes + [float(np.float32(code)) for code in codes]  # as columns of single precision are


def _dates(part: Column, column: ColumnSchema) -> list[np.ndarray]:
    """Return days since the first date, and the parts of the dates."""
    seconds = _numbers(part, column)
    first, last = days_of(column)
    days = _clipped((seconds - first) / DAY, (0.0, last), column)
    found = [days]
    for name in column.parts:
        codes = _PARTS[name](seconds)
        known = np.array([*PARTS[name], None], dtype=object)
        found.append(_filled(known[np.where(np.isnan(codes), -1, codes).astype(int)], column))
    return found


def _month(seconds: np.ndarray) -> np.ndarray:
    known = np.where(np.isnan(seconds), 0.0, seconds)
    months = np.floor(known / DAY).astype("datetime64[D]").astype("datetime64[M]").astype(int)
    return np.where(np.isnan(seconds), np.nan, months % 12)


_PARTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "weekday": lambda seconds: np.floor(seconds / DAY + 3.0) % 7.0,  # 1970-01-01 was a Thursday
    "month": _month,
}


def _is_whole(column: ColumnSchema) -> bool:
    """Return whether all numbers within the bounds are integers, or all dates midnights."""
    if column.is_date:
        return all(moment_of(end) % DAY == 0.0 for end in column.bounds or ())
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
        moments = first + np.round(found * DAY * 1e6).astype("timedelta64[us]")
        return moments.astype("datetime64[D]") if is_whole else moments
    if column.kind == "code":
        codes = dict(zip(column.labels, made_up_codes(len(column.labels)), strict=True))
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
    first, last = days_of(column)
    every, days = np.arange(last + 1.0), days.copy()
    bins, held = (np.searchsorted(edges, some, side="right") for some in (days, every))
    for k in np.unique(bins[~np.isnan(days)]):
        rows, some = np.flatnonzero(bins == k), every[held == k]
        score = rng.random((rows.size, some.size))
        for name, part in parts.items():
            labels = np.array(PARTS[name])[_PARTS[name](first + some * DAY).astype(int)]
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
        known[[value is None for value in known]] = UNKNOWN
    return known


def _words_of(entries: tuple[float, ...], labels: tuple[str, ...]) -> str:
    if math.isnan(entries[0]):
        return _MISSING
    found = (label for label, entry in zip(labels, entries, strict=True) if entry)
    return ", ".join(found) or "(no words)"


def _label(known: object) -> str:
    if known is None:
        return _MISSING
    return "(no category)" if known is UNKNOWN else str(known)


def _numbers_in_words(part: Column, column: ColumnSchema, encoded: np.ndarray) -> list[str]:
    """Return encoded numbers or dates, with notes where a cell holds another value or none."""
    given = _numbers(part, column)
    low, high = _ends(column)
    cases = [np.isnan(given), (given < low) | (given > high)]
    notes = np.select(cases, [f" {_MISSING}", " (clipped)"], "")
    cells = zip(encoded.tolist(), notes.tolist(), strict=True)
    return [f"{_shown(one, column)}{note}".strip() for one, note in cells]


def has_missing(part: Column, column: ColumnSchema) -> bool:
    """Return whether a cell is missing or has a code that means it."""
    if part.kind in "biufM" and not column.missing_values:
        return bool(part.missing().any())
    codes = _texts_of_missing(column)
    return any(text in codes for text in map(text_of, part.values()))


def _texts_of_missing(column: ColumnSchema) -> set[str | None]:
    """Return the texts of missing cells: none, an empty one and the codes."""
    return {None, "", *map(text_of, column.missing_values)}


def _shown(number: float, column: ColumnSchema) -> str:
    if math.isnan(number):
        return ""
    if not column.is_date:
        return f"{number:.15g}"
    assert column.bounds is not None, "a complete column has bounds"
    return iso(column.bounds[0] + timedelta(seconds=round(number * DAY, 3)))


def _each(column: Column, function: Callable[[object], float]) -> np.ndarray:
    return np.fromiter(map(function, column.values()), float, len(column))


_PLAIN = ColumnSchema(kind="number")


def floats(column: Column, form: ColumnSchema = _PLAIN) -> np.ndarray:
    """Return numbers, NaN for values that are missing or no numbers."""
    if column.kind in "biuf":
        return np.array(column.floats())
    return _each(column, lambda cell: number_of(cell, form))


def _truths(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return 1 for true, 0 for false, and NaN for other values."""
    if part.kind == "b":
        return floats(part)
    known: dict[str | None, float] = {"True": 1.0, "False": 0.0}
    known |= dict.fromkeys(map(text_of, column.true_values), 1.0)
    known |= dict.fromkeys(map(text_of, column.false_values), 0.0)
    known |= {} if column.true_values else TRUTH
    known |= dict.fromkeys(map(text_of, column.missing_values), math.nan)
    texts = ((text_of(value) or "").strip() for value in part.values())
    found = (known.get(text, known.get(text.lower(), math.nan)) for text in texts)
    return np.fromiter(found, float, len(part))


def moments(column: Column, date_format: str | None) -> np.ndarray:
    """Return the seconds from 1970 to dates, NaN for other values."""
    if column.kind == "M":
        return column.seconds()
    return _each(column, lambda value: moment_of(value, date_format))


def _categories(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return the category of each value, None if it is missing, and `UNKNOWN` for other values."""
    known = column.categories or ()
    by_text: dict[str | None, object] = dict.fromkeys(_texts_of_missing(column))
    decimals = [value for value in known if isinstance(value, float)]
    by_text |= {text_of(float(np.float32(value))): value for value in decimals}  # single precision
    by_text |= {text_of(value): value for value in known}
    by_number = {} if all(isinstance(one, str) for one in known) else by_text
    places = (_place(value, by_text, by_number) for value in part.values())
    return np.fromiter(places, object, len(part))


def _levels(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return the number of each level, NaN for other values."""
    known = column.categories or ()
    number = {text_of(value): float(k) for k, value in enumerate(known)}
    number[text_of(UNKNOWN)] = number[None] = math.nan
    found = [number[text_of(value)] for value in _categories(part, column)]
    return _clipped(np.array(found, dtype=float), (0.0, len(known) - 1.0), column)


def _place(
    value: object, by_text: Mapping[str | None, object], by_number: Mapping[str | None, object]
) -> object:
    text = text_of(value)
    found = by_text.get(text, UNKNOWN)
    if found is UNKNOWN and by_number and isinstance(value, str):
        number = text_of(number_of(value, _PLAIN))
        return UNKNOWN if number is None else by_number.get(number, UNKNOWN)
    return found


def bucket_of(text: str, n_buckets: int) -> int:
    """Return the number of the bucket of a text: a public hash of the text alone."""
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % n_buckets


@cache
def made_up_codes(n_buckets: int) -> tuple[str, ...]:
    """Return a code of each bucket, the smallest number: the hash of a code cannot be inverted."""
    found, codes = dict[int, str](), map(str, count())
    while len(found) < n_buckets:
        found.setdefault(bucket_of(code := next(codes), n_buckets), code)
    return tuple(found[bucket] for bucket in range(n_buckets))


def _buckets(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return the label of the bucket of each code, None for missing ones."""
    labels, missing = column.labels, _texts_of_missing(column)
    hashed = cache(lambda text: None if text in missing else labels[bucket_of(text, len(labels))])
    return np.fromiter((hashed(text_of(value)) for value in part.values()), object, len(part))


def _words(part: Column, column: ColumnSchema) -> np.ndarray:
    """Return an indicator of the labels of a text's words, of length `norm`, for each row.

    The labels are buckets of hashed words, or the words that count. The shape is (n_labels,
    n_rows). A missing text is NaN; one without words is 0.
    """
    labels, missing = column.labels, {None, *map(text_of, column.missing_values)}
    of_word, hashed = {word: k for k, word in enumerate(labels)}, column.buckets is not None
    place = cache(lambda word: bucket_of(word, len(labels)) if hashed else of_word.get(word, -1))
    found = np.zeros((len(labels), len(part)))
    for row, value in enumerate(part.values()):
        text = text_of(value)
        if text is None or text in missing:
            found[:, row] = np.nan
        elif places := {place(word) for word in words_in(text, column.separator)} - {-1}:
            # m equal entries a have the length a·√m, which is `norm`.
            found[list(places), row] = (column.norm or 0.0) / math.sqrt(len(places))
    return found
