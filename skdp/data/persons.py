"""The person of each row, if a person has several: counts, weights, and how many rows are kept.

Neighbors differ in all rows of one person. Each result about a person depends only on the rows of
that person and on randomness of their own. So if each person adds at most b to a sum, the sums of
neighbors are at most ``n_changed`` times b apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from uuid import UUID

import numpy as np

from skdp.data.column import Column, is_collection
from skdp.data.column_schema import text_of
from skdp.data.columns import Columns, values_of
from skdp.data.engine import Block, n_rows
from skdp.support.types import Label, VectorLike
from skdp.support.validation import check_count

_TIMES = (np.datetime64, np.timedelta64)
_OF_PYTHON = (datetime, timedelta)
_KINDS = (str, bytes, date, complex, UUID)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


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
            raise ValueError("groups are outside of memory, but X is in memory.")
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

    @classmethod
    def joined(cls, parts: Sequence[Persons]) -> Persons:
        """Return the persons of all parts, which have no person in common."""
        ends = np.cumsum([0, *(one.n_persons for one in parts)])
        codes = [one.codes + start for one, start in zip(parts, ends[:-1], strict=True)]
        return cls(np.concatenate(codes), int(ends[-1]))


def with_places(key: bytes, n: int, block: Block) -> tuple[Block, np.ndarray]:
    """Return a block, and for each row a number below n: a hash of the person with a secret key."""
    persons = Persons.of(block.groups, n_rows(block.groups))
    ids = [*one_each(persons, block.groups)]
    if n == 1:  # the number of blocks is private, so the types of IDs are checked in any case
        for one in {_kinds(one): one for one in ids}.values():
            name_of(one)
        return block, np.zeros(len(persons.codes), dtype=np.intp)
    names = (repr(name_of(one)).encode() for one in ids)
    hashes = (blake2b(name, digest_size=8, key=key).digest() for name in names)
    places = [int.from_bytes(one) % n for one in hashes]
    return block, np.array(places, dtype=np.intp)[persons.codes]


def _kinds(person: Label) -> object:
    return tuple(map(_kinds, person)) if isinstance(person, tuple) else type(person)


def one_each(persons: Persons, groups: VectorLike) -> Iterator[Label]:
    """Yield the ID of each person."""
    ids = [*Columns.of(groups, "groups").parts[0].values()]
    return (ids[row] for row in np.unique(persons.codes, return_index=True)[1])


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
    plain = map(_in_python, Column(values).values())
    keys = ((isinstance(one, _TIMES), one) for one in plain)
    numbers: dict[object, int] = {}
    try:
        found = [numbers.setdefault(key, len(numbers)) for key in keys]
    except Exception:  # of a class that the user has defined
        raise ValueError("groups must contain hashable values: numbers, strings.") from None
    return np.array(found, dtype=np.intp)


def _in_python(person: object) -> object:
    """Return a time of NumPy as the equal one of Python, if there is one; all else as it is."""
    unit = f"{person.dtype.kind}8[us]" if isinstance(person, _TIMES) else ""
    if not isinstance(person, _TIMES) or not np.can_cast(person.dtype, unit, "same_kind"):
        return person
    near = person.astype(unit)
    is_exact = isinstance(near.item(), _OF_PYTHON) and near.astype(person.dtype) == person
    return near.item() if is_exact else person


def name_of(person: Label) -> list[str]:
    """Return the kind and the value of an ID; values that Python finds equal have one name."""
    if isinstance(person, np.generic):
        unit = f"{person.dtype.kind}8[us]"  # readers choose the unit of dates and times
        person = (person.astype(unit) if unit[0] in "mM" else person).item()
    if isinstance(person, complex) and not person.imag:
        person = person.real
    if isinstance(person, (int, float, Decimal, Fraction)):  # a bool is an int
        return ["number", _exact(person)]
    if isinstance(person, datetime):  # also a timestamp of pandas
        word = "date" if person.utcoffset() is None else "moment"
        zoned = person.replace(tzinfo=UTC) if word == "date" else person
        return [word, str(text_of(np.datetime64((zoned - _EPOCH) // _MICROSECOND, "us")))]
    if isinstance(person, timedelta):
        return ["timedelta", str(person // _MICROSECOND)]
    if isinstance(person, tuple):
        return ["tuple", *(word for one in person for word in name_of(one))]
    kind = next((one for one in _KINDS if isinstance(person, one)), None)
    if kind is None:
        raise ValueError("IDs must be strings, bytes, numbers, dates, times, UUIDs or tuples.")
    return [kind.__name__, str(text_of(person))]


def _exact(number: Label) -> str:
    """Return a number as a fraction, in which no two numbers are equal."""
    try:
        exact = Fraction(number)
    except (OverflowError, ValueError):  # infinite
        return str(float(number))
    return f"{exact.numerator:x}/{exact.denominator:x}"
