"""Two runs of a release on neighboring data sets, and the conditions that both must satisfy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from neighbors import Domain, person_of, some_persons
from published import published
from real_sizes import RealCase, corners, population
from releases import Case, Record
from tape import Answer, Tape, distance, recorded

from skdp.accounting import PLDAccountant
from skdp.features import RandomFourierFeatures
from skdp.privacy import ApproxDPEvent, ComposedEvent, GDPEvent
from skdp.privacy.events import mu_of_pure
from skdp.privacy.noise_events import BoundedRangeEvent

__all__ = ["compare", "run"]

N_PERSONS = 12
LAST_ROUNDING = 1e-12
"""Relative: three sums are exact, and each is rounded once to a float."""
LESS_A_RANK = "calibration._conformal"
"""The sums of this stage are less a public number."""
THROUGH_BLAS = RandomFourierFeatures
"""The features of this kind are products whose last bits depend on the number of rows."""


def compare(case: Case, n_neighbors: int, seed: int) -> None:
    """Raise AssertionError if neighbors differ more than planned, or where they must be equal."""
    rng, domain = np.random.default_rng(seed), domain_of(case)
    persons = some_persons(case, domain, N_PERSONS, rng)
    compare_new(
        case, persons, ((person_of(case, domain, rng), None) for _ in range(n_neighbors)), rng
    )


def compare_real(case: RealCase, n_neighbors: int, n_corners: int, seed: int) -> None:
    """Do the same at a real size, for random neighbors and directed ones."""
    rng, domain = np.random.default_rng(seed), domain_of(case)
    persons = population(case, domain, rng)
    news = [(person_of(case, domain, rng), None) for _ in range(n_neighbors)]
    directed = list(itertools.islice(corners(case, domain, rng), n_corners))
    if case.relation == "add_remove_one":
        news += [(one, None) for pair in directed for one in pair]
    else:
        news += [(new, len(persons) + i) for i, (_, new) in enumerate(directed)]
        persons += [old for old, _ in directed]
    compare_new(case, persons, news, rng)


def compare_new(
    case: Case,
    persons: list[list[Record]],
    news: Iterable[tuple[list[Record], int | None]],
    rng: np.random.Generator,
) -> None:
    """Compare persons with neighbors: each has a new person, in place of the one at a number."""
    first, result = run(case, persons)
    for stage, fewest in case.stages.items():
        asked = [answer.stage for answer in first.answers if answer.stage.startswith(stage)]
        assert len(asked) >= fewest, f"{case} asks {stage} {len(asked)} times"
    assert case.shows(result), f"{case} finds nothing"
    for new, at in news:
        other, old = neighbor_of(case, persons, new, rng, at)
        second, its_result = run(case, other, first)
        assert not (found := violations(first, second)), f"{case}: {found}"
        assert published(its_result) == published(result), f"{case}: it publishes more"
        said, its_words = ([str(w.message) for w in tape.warned] for tape in (first, second))
        assert its_words == said, f"{case}: it warns of more"
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
        settings = repr(sorted(case.settings.items()))
        self.case, self.key = case, (case.name, case.n_numbers, settings)

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
    case: Case,
    persons: list[list[Record]],
    new: list[Record],
    rng: np.random.Generator,
    at: int | None = None,
) -> tuple[list[list[Record]], list[Record]]:
    """Return a data set with a new person, and the person who is replaced.

    Persons may have unequal numbers of rows, so the last one is replaced: others keep their places.
    """
    if case.relation == "add_remove_one":
        return [*persons, new], []
    if at is None:
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
    pairs = [pair for pair in zip(one.answers, other.answers, strict=True) if is_paid(pair[0])]
    if event is None or any(answer.cost is None for answer, _ in pairs):
        return
    costs, slack = _costs(pairs), max(answer.slack for answer, _ in pairs)
    kinds = {kind for kind, _ in costs}
    claims = []
    if "pure" not in kinds and isinstance(event, ApproxDPEvent):
        claims.append((_epsilon_at(event.delta, costs, case.relation), event.epsilon))
    elif "pure" not in kinds:
        claims.append((_mu_of(costs), event.gdp_mu(case.relation)))
    if "gdp" not in kinds:
        claims.append((sum(costs.values()), event.pure_epsilon(case.relation)))
    for found, most in claims:
        assert found <= most * (1.0 + slack), f"{case}: neighbors cost {found}, not {most}"


def is_paid(answer: Answer) -> bool:
    """Whether an answer meets noise; others only say what is asked."""
    return bool(answer.limits) or answer.cost is not None


def _mu_of(costs: dict[tuple[str, str], float]) -> float:
    """Return the Gaussian-DP parameter of Gaussian releases and choices together."""
    to_mu = {"gdp": float, "range": lambda epsilon: mu_of_pure(0.5 * epsilon)}
    return math.hypot(*(to_mu[kind](cost) for (kind, _), cost in costs.items()))


def _epsilon_at(delta: float, costs: dict[tuple[str, str], float], relation: str) -> float:
    """Return the ε at δ of Gaussian releases and choices together."""
    kinds = {"gdp": GDPEvent, "range": BoundedRangeEvent}
    paid = tuple(kinds[kind](cost) for (kind, _), cost in costs.items() if cost > 0.0)
    return PLDAccountant(relation).epsilon(ComposedEvent(paid), delta) if paid else 0.0


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
    if isinstance(case.settings.get("features"), THROUGH_BLAS):
        return
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a - b).total() <= before, f"{case}: other rows changed with one"
        assert (b - a).total() <= after, f"{case}: other rows changed with one"


def check_sums(whole: Tape, without: Tape, alone: Tape) -> None:
    """Check that a record adds the same to each sum as it adds in a data set of its own.

    So nothing that is computed from one row depends on another: not its code, place or unit.
    """
    for a, b, c in zip(whole.answers, without.answers, alone.answers, strict=True):
        if a.adds_up and not a.stage.startswith(LESS_A_RANK):
            size = 1.0 + float(np.abs(a.values).max(initial=0.0))
            rest = np.abs(a.values - b.values - c.values).max(initial=0.0)
            assert rest <= LAST_ROUNDING * size, f"{a.name}: others count {rest} more with a record"
