"""Values of a column as a schema reads them, each by itself.

A reader of files chooses the type of a column by all of its values: one missing value turns
integers into floats, and one word turns numbers into strings. A float with an integer value
therefore equals that integer here, and numeric columns read numbers in strings. Categories and
codes do not: the string "1.0" differs from "1". Read files with `dtype=str` to rule this out. No
value raises an error: a value that cannot be read is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from itertools import count
from numbers import Integral, Real

import numpy as np

from skdp.data.column import Column, furthest, is_missing
from skdp.support.types import Label

__all__ = [
    "UNKNOWN",
    "bucket_of",
    "buckets",
    "categories",
    "floats",
    "made_up_codes",
    "moment_of",
    "moments",
    "text_of",
    "truth",
    "words",
    "words_in",
]

UNKNOWN = object
"""A value that is no category and not missing. It is no value of data: it is a class."""

_EPOCH = datetime(1970, 1, 1)
_TRUTH = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "1": 1.0}
_TRUTH |= {"false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0, "0": 0.0}
_WORD = re.compile(r"\w+")


def text_of(value: object) -> str | None:
    """Return a value as text; equal values of different types are equal. None if it is missing."""
    if type(value) is str:
        return value
    try:
        return None if is_missing(value) else _text(value)
    except Exception:
        return None


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, (Real, Decimal)):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, np.datetime64):
        is_near = abs(value.astype(np.int64).item()) <= furthest(value.dtype)
        found = value.astype("M8[us]").item() if is_near else value
        value = found if isinstance(found, datetime) else value  # beyond the years of Python
    if isinstance(value, datetime):
        value = _datetime(value, None)
        value = value.date() if value.time() == time() and value.tzinfo is None else value
    return value.isoformat() if isinstance(value, date) else str(value)


def _number(value: object) -> float:
    """Return a number or the number in a string, NaN for anything else."""
    try:
        if isinstance(value, (str, bytes, Real, Decimal, np.bool_)):
            return float(value)
    except Exception:
        return math.nan
    return math.nan


def moment_of(value: object, date_format: str | None = None) -> float:
    """Return the seconds from 1970 to a date, UTC if it has a time zone; NaN for other values."""
    try:
        if isinstance(value, np.datetime64):
            return float(Column(np.array([value])).seconds()[0])
        found = _datetime(value, date_format)
        if found.tzinfo is not None:
            found = found.astimezone(UTC).replace(tzinfo=None)
        return (found - _EPOCH).total_seconds()
    except Exception:
        return math.nan


def _datetime(value: object, date_format: str | None) -> datetime:
    if isinstance(value, datetime):  # nanoseconds of subclasses are dropped
        day, time_of_day = value.timetuple()[:3], value.timetuple()[3:6]
        return datetime(*day, *time_of_day, value.microsecond, value.tzinfo)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    text = (text_of(value) or "").strip()
    return (
        datetime.fromisoformat(text)
        if date_format is None
        else datetime.strptime(text, date_format)
    )


def _truth(value: object) -> float:
    text = text_of(value)
    return math.nan if text is None else _TRUTH.get(text.strip().lower(), math.nan)


def _each(column: Column, function: Callable[[object], float]) -> np.ndarray:
    return np.fromiter(map(function, column.values()), float, len(column))


def floats(column: Column) -> np.ndarray:
    """Return numbers, NaN for values that are missing or no numbers."""
    if column.kind in "biuf":
        return np.array(column.floats())
    return _each(column, _number)


def truth(column: Column) -> np.ndarray:
    """Return 1 for true, 0 for false, and NaN for other values."""
    return floats(column) if column.kind == "b" else _each(column, _truth)


def moments(column: Column, date_format: str | None) -> np.ndarray:
    """Return the seconds from 1970 to dates, NaN for other values."""
    if column.kind == "M":
        return column.seconds()
    return _each(column, lambda value: moment_of(value, date_format))


def categories(column: Column, known: tuple[Label, ...]) -> np.ndarray:
    """Return the category of each value, None if it is missing, and `UNKNOWN` for other values."""
    by_text: dict[str | None, object] = {text_of(value): value for value in known}
    by_text[None] = None
    by_number = {} if all(isinstance(one, str) for one in known) else by_text
    return _objects(_place(value, by_text, by_number) for value in column.values())


def _place(
    value: object, by_text: Mapping[str | None, object], by_number: Mapping[str | None, object]
) -> object:
    text = text_of(value)
    found = by_text.get(text, UNKNOWN)
    if found is UNKNOWN and by_number and isinstance(value, str):
        number = text_of(_number(value))
        return UNKNOWN if number is None else by_number.get(number, UNKNOWN)
    return found


def _objects(values: Iterator[object]) -> np.ndarray:
    listed = list(values)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
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


def buckets(column: Column, labels: tuple[str, ...]) -> np.ndarray:
    """Return the label of the bucket of each code, None for missing ones."""
    hashed = cache(lambda text: None if text is None else labels[bucket_of(text, len(labels))])
    return _objects(hashed(text_of(value)) for value in column.values())


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters, digits and underscores."""
    return _WORD.findall(text.lower())


def words(column: Column, labels: tuple[str, ...], hashed: bool, norm: float) -> np.ndarray:
    """Return an indicator of the labels of a text's words, of length `norm`, for each row.

    The labels are buckets of `hashed` words, or the words that count. The shape is (n_labels,
    n_rows). A missing text is NaN; one without words is 0.
    """
    of_word = {word: k for k, word in enumerate(labels)}
    place = cache(lambda word: bucket_of(word, len(labels)) if hashed else of_word.get(word, -1))
    found = np.zeros((len(labels), len(column)))
    for row, value in enumerate(column.values()):
        text = text_of(value)
        if text is None:
            found[:, row] = np.nan
        elif places := {place(word) for word in words_in(text)} - {-1}:
            # m equal entries a have the length a·√m, which is `norm`.
            found[list(places), row] = norm / math.sqrt(len(places))
    return found
