"""Two runs of a release on neighboring data sets, and the conditions that both must satisfy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from neighbors import Domain, person_of, some_persons
from published import published
from releases import Case, Record
from tape import Answer, Tape, distance, recorded

__all__ = ["compare", "run"]

N_PERSONS = 12
LAST_ROUNDING = 1e-12
"""Relative: three sums are exact, and each is rounded once to a float."""
THROUGH_BLAS = "kernel_approximation"
"""The features of these releases are products whose last bits depend on the number of rows."""


def compare(case: Case, n_neighbors: int, seed: int) -> None:
    """Raise AssertionError if neighbors differ more than planned, or where they must be equal."""
    rng, domain = np.random.default_rng(seed), domain_of(case)
    persons = some_persons(case, domain, N_PERSONS, rng)
    first, result = run(case, persons)
    for _ in range(n_neighbors):
        new = person_of(case, domain, rng)
        other, old = neighbor_of(case, persons, new, rng)
        second, its_result = run(case, other, first)
        at = f"{case}, seed {seed}"
        assert not violations(first, second), at
        assert published(its_result) == published(result), f"{at}: it publishes more"
        check_costs(case, first, second, result)
        check_rows(case, first, second, len(old), len(new))
        if case.relation == "add_remove_one":
            alone, _ = run(case, [new], first)
            check_sums(second, first, alone)


def domain_of(case: Case) -> Domain:
    """Return the domain of a release, which is searched once for each setting."""
    return _domain(_Setting(case))


class _Setting:
    """A case, equal to others of the same release and settings."""

    def __init__(self, case: Case) -> None:
        self.case, self.key = case, (case.name, repr(sorted(case.settings.items())))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Setting) and self.key == other.key


@cache
def _domain(setting: _Setting) -> Domain:
    return Domain.of(setting.case)


def run(
    case: Case, persons: Sequence[Sequence[Record]], first: Tape | None = None
) -> tuple[Tape, Any]:
    """Return the tape of a run, and its result."""
    with recorded(Tape(first)) as tape:
        result = case.run(persons)
    assert tape.answers, "nothing was released"
    if first is not None:
        assert len(tape.answers) == len(first.answers), "one neighbor was asked more"
    return tape, result


def neighbor_of(
    case: Case, persons: list[list[Record]], new: list[Record], rng: np.random.Generator
) -> tuple[list[list[Record]], list[Record]]:
    """Return a data set with a new person, and the person who is replaced.

    Persons may have unequal numbers of rows, so the last one is replaced: others keep their places.
    """
    if case.relation == "add_remove_one":
        return [*persons, new], []
    at = len(persons) - 1 if case.persons else int(rng.integers(len(persons)))
    return [*persons[:at], new, *persons[at + 1 :]], persons[at]


def violations(one: Tape, other: Tape) -> list[tuple[str, dict[str, tuple[float, float]]]]:
    """Return the answers that are farther apart than planned."""
    pairs = zip(one.answers, other.answers, strict=True)
    return [(a.name, found) for a, b in pairs if (found := a.excess(b))]


def check_costs(case: Case, one: Tape, other: Tape, result: Any) -> None:
    """Check that all answers together cost no more than the event of the release says."""
    guarantee = getattr(result, "privacy_", getattr(result, "privacy", None))
    event = getattr(guarantee, "event", None)
    pairs = [pair for pair in zip(one.answers, other.answers, strict=True) if pair[0].limits]
    if event is None or any(answer.cost is None for answer, _ in pairs):
        return
    costs = _costs(pairs)
    if {kind for kind, _ in costs} == {"gdp"}:
        found, most = math.hypot(*costs.values()), event.gdp_mu(case.relation)
    else:
        most = event.pure_epsilon(case.relation)
        found = sum(costs.values()) if {kind for kind, _ in costs} == {"pure"} else 0.0
    assert found <= most * (1.0 + 1e-4), f"{case}: neighbors cost {found}, the event says {most}"


def _costs(pairs: list[tuple[Answer, Answer]]) -> dict[tuple[str, str], float]:
    """Return the cost of each release; of gradients at several places the largest counts."""
    found: dict[tuple[str, str], float] = {}
    for i, (a, b) in enumerate(pairs):
        assert a.cost is not None
        tried = a.name if a.cost.trial else f"{i}"
        cost = a.cost.rate * distance(a.cost.norm, a.values, b.values)
        found[a.cost.kind, tried] = max(cost, found.get((a.cost.kind, tried), 0.0))
    return found


def check_rows(case: Case, one: Tape, other: Tape, before: int, after: int) -> None:
    """Check that the other rows of a solver are unchanged, bit by bit."""
    if THROUGH_BLAS in case.name:
        return
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a - b).total() <= before, f"{case}: other rows changed with one"
        assert (b - a).total() <= after, f"{case}: other rows changed with one"


def check_sums(whole: Tape, without: Tape, alone: Tape) -> None:
    """Check that a record adds the same to each sum as it adds in a data set of its own.

    So nothing that is computed from one row depends on another: not its code, place or unit.
    """
    for a, b, c in zip(whole.answers, without.answers, alone.answers, strict=True):
        if a.adds_up:
            size = 1.0 + float(np.abs(a.values).max(initial=0.0))
            rest = np.abs(a.values - b.values - c.values).max(initial=0.0)
            assert rest <= LAST_ROUNDING * size, f"{a.name}: others count {rest} more with a record"
