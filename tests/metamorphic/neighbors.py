"""Random data sets with extreme values, and neighbors of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from releases import ABSENT, CATEGORIES, KEYS, TARGETS, Case, Record
from tape import Tape, recorded

__all__ = ["Domain", "person_of", "some_persons"]

Persons = Sequence[Sequence[Record]]

EXTREME = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    math.nextafter(1.0, 2.0),
    math.nextafter(-1.0, 0.0),
    5e-324,
    -5e-324,
    2.2e-308,
    1e-160,
    1e90,
    -1e160,
    1e300,
    -1e300,
    1.7976931348623157e308,
    float(2**53 + 2),
    math.nan,
    math.inf,
    -math.inf,
)
WEIGHTS = (0.0, -0.0, 5e-324, 1e-300, 0.3, 1.5, 1.5000000000000002, 1e300)
FIELDS = {
    "numbers": EXTREME,
    "target": (*EXTREME, *TARGETS),
    "guessed": (*EXTREME, *TARGETS),
    "score": EXTREME,
    "weight": WEIGHTS,
}
MOST_ROWS = 7


@dataclass(frozen=True)
class Domain:
    """The values of each field that a release accepts, found by trial."""

    accepted: Mapping[str, tuple[float, ...]]
    n_numbers: int = 2

    @classmethod
    def of(cls, case: Case) -> Domain:
        """Return the domain of a case, without values that raise ValueError before the spend.

        It is the same for rows and persons, and under both relations.
        """
        case, width = replace(case, persons=False, keyed=False, weighted=False), case.n_numbers
        plain = [[_ordinary(np.random.default_rng(i), width)] for i in range(12)]
        if "sample_weight" in case.data and "max_weight" in case.settings:
            weighted = replace(case, weighted=True)
            case = weighted if _is_accepted(weighted, plain) else case
        found = {
            field: _accepted(case, plain, field, values) if field in case.fields else values
            for field, values in FIELDS.items()
        }
        return cls(found, width)

    @classmethod
    def ordinary(cls, n_numbers: int) -> Domain:
        """Return the domain without extreme and missing values, which needs no trial."""
        return cls(dict.fromkeys(FIELDS, ()), n_numbers)

    @property
    def has_gaps(self) -> bool:
        """Whether numbers may be missing."""
        return any(math.isnan(value) for value in self.accepted["numbers"])

    def number(self, field: str, rng: np.random.Generator) -> float:
        """Return an extreme value, or an ordinary one."""
        extreme, missing = self.accepted[field], math.nan in self.accepted[field]
        if missing and rng.random() < 0.15:
            return math.nan
        if extreme and rng.random() < 0.6:
            return extreme[rng.integers(len(extreme))]
        width = 12.0 if field in ("target", "guessed") else 1.2
        low = 0.0 if field in ("score", "weight") else -width
        return rng.random() if field == "score" else rng.uniform(low, width)

    def record(self, rng: np.random.Generator) -> Record:
        """Return a random row."""
        ordinary = _ordinary(rng, self.n_numbers)
        return ordinary._replace(
            numbers=tuple(self.number("numbers", rng) for _ in ordinary.numbers),
            **{field: self.number(field, rng) for field in FIELDS if field != "numbers"},
        )


def _with(record: Record, field: str, value: float) -> Record:
    own = (value, *record.numbers[1:]) if field == "numbers" else value
    return record._replace(**{field: own})


class _Spent(BaseException):
    """Raised when the data are first read for an answer, which is after the spend."""


class _NoTape(Tape):
    def ask(self, *question: Any, **more: Any) -> Any:
        raise _Spent


def _accepted(
    case: Case, plain: Persons, field: str, values: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the values that are accepted beside plain rows, found by halves.

    Finite values are one half: most releases take all of them, and none of the others.
    """
    if _is_accepted(case, [*plain, *([_with(plain[0][0], field, value)] for value in values)]):
        return values
    if len(values) == 1:
        return ()
    n_finite = sum(map(math.isfinite, values))
    half = n_finite if 0 < n_finite < len(values) else len(values) // 2
    parts = (_accepted(case, plain, field, part) for part in (values[:half], values[half:]))
    return tuple(value for part in parts for value in part)


def _is_accepted(case: Case, persons: Persons) -> bool:
    with recorded(_NoTape()):
        try:
            case.run(persons)
        except ValueError:
            return False
        except _Spent:
            return True
    raise AssertionError(f"{case} released nothing")


def _ordinary(rng: np.random.Generator, n_numbers: int) -> Record:
    def one_of(values: Sequence[Any]) -> Any:
        return values[rng.integers(len(values))]

    return Record(
        numbers=tuple(rng.uniform(-1.2, 1.2) for _ in range(n_numbers)),
        categories=(one_of((*CATEGORIES, *ABSENT)), one_of((*CATEGORIES, *ABSENT))),
        flag=one_of((True, False, None)),
        label=int(rng.integers(3)),
        guess=int(rng.integers(3)),
        target=rng.uniform(-12.0, 12.0),
        guessed=rng.uniform(-12.0, 12.0),
        score=rng.random(),
        weight=rng.uniform(0.0, 2.0),
        key=one_of((*KEYS, *ABSENT)),
    )


def some_persons(
    case: Case, domain: Domain, n: int, rng: np.random.Generator
) -> list[list[Record]]:
    """Return persons of one row each, or of up to seven.

    In half of the data sets no value is missing, so that the new person of a neighbor may have the
    first missing value.
    """
    persons = [person_of(case, domain, rng) for _ in range(n)]
    if rng.random() < 0.5:
        return persons
    return [[_whole(row) for row in rows] for rows in persons]


def _whole(row: Record) -> Record:
    """Return the row with known values in place of missing ones."""
    a, b = row.categories
    return row._replace(
        numbers=tuple(0.5 if math.isnan(x) else x for x in row.numbers),
        categories=(CATEGORIES[1] if a is None else a, CATEGORIES[1] if b is None else b),
        flag=bool(row.flag),
        key=KEYS[0] if row.key is None else row.key,
    )


def person_of(case: Case, domain: Domain, rng: np.random.Generator) -> list[Record]:
    """Return the rows of a person."""
    n_rows = int(rng.integers(1, MOST_ROWS + 1)) if case.persons else 1
    return [domain.record(rng) for _ in range(n_rows)]
