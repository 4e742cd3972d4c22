"""The data of a report on a ledger."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from skdp.budget._arithmetic import NOT_STATED, arithmetic_of
from skdp.budget._gain import explained
from skdp.budget.filters import Amount, Filter
from skdp.budget.recorded_event import recorded_event
from skdp.ledger.chain import Entry
from skdp.ledger.release import VERSION, Release, finite
from skdp.ledger.tables import Group
from skdp.ledger.totals import Totals
from skdp.privacy import (
    AttackRisk,
    Composition,
    Neighboring,
    NonPrivateEvent,
    PrivacyCurve,
    Unit,
)
from skdp.privacy.events.pure import ApproxDPCurve
from skdp.support.validation import check_choice

__all__ = [
    "AUDIENCES",
    "NEIGHBORS",
    "UNPROTECTED",
    "EqualReleases",
    "readable",
    "report_data",
]

AUDIENCES = ("public", "internal")
_OF_ENTRY = ("tag", "process", "role")  # fields that equal releases need not share
_INTERNAL = (*_OF_ENTRY, "account")  # fields of a release that the public does not see
_SEVERAL = "several"
_ABOUT = {
    "deployment": "name of the deployment",
    "curator": "data curator",
    "subjects": "data subjects",
    "use": "intended use",
    "period": "period after which the budget is renewed",
    "artifacts": "published artifacts",
    "contact": "contact",
}
NEIGHBORS = {
    (Unit.RECORD, True): "one record is replaced by any other one; the number of records is public",
    (Unit.RECORD, False): "one record is added or removed; the number of records is private",
    (Unit.PERSON, True): "all records of one person are replaced by any records of another one; "
    "the number of persons is public, the number of records is private",
    (Unit.PERSON, False): "all records of one person are added or removed; the numbers of persons "
    "and of records are private",
}
_TRUST = (
    "central: the curator, who runs the fits and holds the ledger, sees the records. Only releases "
    "from them are protected."
)
_ADDED = {
    "gdp": "squares of Gaussian-DP parameters add up (fully adaptive)",
    "zcdp": "ρ of zero-concentrated DP adds up (fully adaptive)",
    "rdp": "Rényi divergences at a fixed order add up (fully adaptive)",
    "basic": "ε and δ add up (fully adaptive)",
    "pure": "ε adds up, every δ is 0 (fully adaptive)",
}
UNPROTECTED = (
    "Public facts: bounds and norms, classes and categories, columns and their types, every "
    "parameter of an estimator, and rows that were declared public (PublicDirections). If one was "
    "read from the data, the guarantee does not cover it.",
    "Whether a fit raised an error because of its data, such as a label outside of the classes.",
    "Running time, memory and messages of other programs.",
    "Exact scores, plots or tables of private rows that were shown to anybody.",
    "Releases from the same records that were not spent from this ledger.",
)
_HAZARDS = (
    (
        "Privacy parameters",
        "A limit on all releases, its ε and δ, and the gain of an attacker at the limit.",
        "To judge whether this is acceptable, and to choose δ far below 1/n.",
    ),
    (
        "Unit of privacy",
        "One unit and one relation for the whole ledger; other releases are rejected.",
        "To choose unit='person' if somebody has several records, and to pass the person of each.",
    ),
    (
        "Algorithms and correctness",
        None,  # computed from the releases
        "To install the published library, unchanged.",
    ),
    (
        "Trust model",
        "A chain of hashes over all releases. Fits of skdp spend before they read data.",
        "The curator, who sees the records and could make other ledgers.",
    ),
    (
        "Utility and bias",
        "Intervals that include the noise, for statistics and reports; this ledger does not record "
        "whether they were used.",
        "To judge the effect of clipping, and of noise, which affects small groups most.",
    ),
    (
        "Security and access control",
        "Nothing: a ledger is as secure as its file, database or process.",
        "Access to the data, the ledger and the machine; the randomness of the operating system.",
    ),
    (
        "Data collection exposure",
        "Nothing.",
        "What is collected, from whom, with which consent, and how long it is kept.",
    ),
)


class EqualReleases(NamedTuple):
    """Releases that differ in their times at most: one of them, and how many there are.

    `first` is the number of the first entry.
    """

    release: Release
    first: int
    last_time: str
    number: int


def readable(groups: Iterable[Group], notices: Iterable[Entry]) -> list[EqualReleases]:
    """Return the groups but quarantined entries."""
    others = [json.loads(one.content) for one in notices]
    skipped = {one["number"] for one in others if one["entry"] == "quarantine"}
    return [
        EqualReleases(one.first.release, one.first.number, one.last_time, one.number)
        for one in groups
        if one.first.number not in skipped
    ]


def _notice(entry: Entry) -> str:
    data, what = json.loads(entry.content), f"Entry {entry.number}"
    if data["entry"] == "quarantine":
        counted = f"counted as all that was left, or as stated: {data['reason']}"
        return f"{what}: release {data['number']} cannot be read and is {counted}."
    if data["entry"] == "adoption":
        return f"{what}: copy adopted, the other copy is {data['other']}: {data['reason']}."
    return f"{what}: closed, because a copy was adopted: {data['reason']}."


def report_data(
    rule: Filter,
    neighboring: Neighboring,
    unit: Unit,
    *,
    owner: str,
    outer: Filter | None,
    groups: Sequence[EqualReleases],
    totals: Totals,
    notices: Iterable[Entry],
    head: str,
    audience: str,
    about: Mapping[str, object] | None,
    checked: Iterable[object] | None,
) -> dict[str, Any]:
    """Return the report as plain data; each number is a function of the ledger."""
    check_choice("audience", audience, AUDIENCES)
    releases = [one.release for one in groups]
    rows = [_row(one, audience) for one in groups]
    data = {
        "report": "skdp budget",
        "version": 2,
        "audience": audience,
        "protected": _protected(neighboring, unit),
        "ceiling": _ceiling(rule, totals, owner if audience == "internal" else "", outer),
        "meter": _meter(rule, totals, sum(one.number for one in groups)),
        "releases": rows,
        "partitions": _sizes(releases),
        "notices": [*map(_notice, notices)],
        **({"head": head} if audience == "internal" else {}),  # it hashes the hidden fields
        "not_protected": [*UNPROTECTED],
        "checked": None if checked is None else [str(one) for one in checked],
        "hazards": [
            {"hazard": hazard, "skdp": _correctness(rows) if skdp is None else skdp, "you": you}
            for hazard, skdp, you in _HAZARDS
        ],
        "deployment": _deployment(rule, neighboring, unit, releases, about),
    }
    return finite(data)  # type: ignore[no-any-return]


def _protected(neighboring: Neighboring, unit: Unit) -> dict[str, Any]:
    return {
        "unit": str(unit),
        "neighboring": str(neighboring),
        "neighbors": NEIGHBORS[unit, neighboring.count_is_public],
        "count_is_public": neighboring.count_is_public,
        "trust_model": _TRUST,
    }


def _ceiling(rule: Filter, totals: Totals, owner: str, outer: Filter | None) -> dict[str, Any]:
    of = None if outer is None else {"epsilon": outer.epsilon, "delta": outer.delta}
    gaussian = rule.composition is Composition.GDP and rule.keeps_to_box(totals)
    return {
        "epsilon": rule.epsilon,
        "delta": rule.delta,
        "composition": str(rule.composition),
        "adds_up": _adds_up(rule, totals),
        "gdp_mu": math.sqrt(rule.limits[0]) if gaussian else None,
        "slack": rule.slack,
        "tv": rule.tv,
        "strict": rule.strict,
        "exact": rule.exact,
        "share": owner or None,
        "of": of,
        "risk": _risk(rule.promise_after(totals), Amount(rule.epsilon, rule.delta)),
        "risk_explained": explained(rule, totals),
    }


def _adds_up(rule: Filter, totals: Totals) -> str:
    """Describe the composition, which the first release decides."""
    own, basic = _ADDED[rule.composition], _ADDED["basic"]
    if rule.keeps_to_box(totals) or rule.composition.adds_epsilon:
        return own
    if rule.parts_differ(totals):
        return f"{basic} on some parts; on others, {own}"
    if not rule.fits(totals.worst(rule.nothing)):
        return f"{basic}, since the first release was outside of the limits of {rule.composition}"
    return f"{own}; but ε and δ if the first release is outside of these limits"


def _meter(rule: Filter, totals: Totals, n_releases: int) -> dict[str, Any]:
    sums = totals.worst(rule.nothing)
    spent = rule.spent_at(sums)
    risk = _risk(rule.curve_at(sums), spent)
    return {**spent._asdict(), "n_releases": n_releases, "risk": risk}


def _risk(curve: PrivacyCurve, pair: Amount) -> dict[str, float]:
    """Return the gain of an attacker if the curve and the pair (ε, δ) both hold."""
    first, second = (AttackRisk(one).to_dict() for one in (curve, ApproxDPCurve(*pair)))
    return {name: min(risk, second[name]) for name, risk in first.items()}


def _row(group: EqualReleases, audience: str) -> dict[str, Any]:
    release = group.release
    hidden = _INTERNAL if audience == "public" else ()
    names = ("label", "part", "epsilon", "delta", "event", *_INTERNAL)
    shown = {name: getattr(release, name) for name in names if name not in hidden}
    if group.number > 1:
        shown |= {name: _SEVERAL for name in _OF_ENTRY if name in shown}
    numbers = {"number": group.first, "releases": group.number}
    return numbers | {"time": release.time, "last_time": group.last_time} | shown | {
        "theorem": release.theorem or NOT_STATED,
        "proof": _proof(release),
        "arithmetic": arithmetic_of(release),
        "version": release.version or NOT_STATED,
    }  # fmt: skip


def _sizes(releases: list[Release]) -> dict[str, list[int]]:
    """Return the numbers of records that releases on each named partition have read."""
    found: dict[str, set[int]] = {}
    for one in releases:
        if one.part is not None and one.n is not None:
            found.setdefault(one.part, set()).add(one.n)
    return {part: sorted(sizes) for part, sizes in sorted(found.items())}


def _proof(release: Release) -> str:
    """Describe the proof that the ledger names."""
    if (recorded := recorded_event(release.event)) is None:
        return "unknown: an event of another library or version"
    event, tv = recorded.ideal()
    if any(isinstance(leaf, NonPrivateEvent) for leaf, _ in event.leaves()):
        return "asymptotic: nothing is proved"
    if not release.theorem:
        return NOT_STATED
    return f"by the theorem, within a total variation of {tv:.3g}" if tv else "by the theorem"


def _correctness(rows: list[dict[str, Any]]) -> str:
    """Count the releases with a theorem, and the releases by kind of noise."""
    if not rows:
        return "Nothing was released."
    proved = sum(row["releases"] for row in rows if row["theorem"] != NOT_STATED)
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds[row["arithmetic"]] += row["releases"]
    n_releases = kinds.total()
    noise = "; ".join(f"{count}: {kind}" for kind, count in sorted(kinds.items()))
    return f"Releases: {n_releases}. With a theorem: {proved}. By their noise: {noise}."


def _deployment(
    rule: Filter,
    neighboring: Neighboring,
    unit: Unit,
    releases: list[Release],
    about: Mapping[str, object] | None,
) -> dict[str, Any]:
    """Return the fields of a register of deployments; missing ones are not stated."""
    about = dict(about or {})
    if unknown := sorted(map(str, about.keys() - _ABOUT.keys())):
        raise ValueError(f"about has no fields {unknown}; known: {[*_ABOUT]}.")
    kinds = sorted({leaf for one in releases for leaf in _kinds(one)})
    versions = sorted({one.version or NOT_STATED for one in releases})
    stated = {name: str(about.get(key) or NOT_STATED) for key, name in _ABOUT.items()}
    return stated | {
        "flavor of differential privacy": "pure" if rule.delta == 0.0 else "approximate",
        "unit of privacy": str(unit),
        "neighboring relation": str(neighboring),
        "epsilon": rule.epsilon,
        "delta": rule.delta,
        "composition": str(rule.composition),
        "mechanisms": ", ".join(kinds) or "none yet",
        "trust model": "central",
        "library": f"skdp {', '.join(versions) or VERSION}",
    }


def _kinds(release: Release) -> set[str]:
    if (event := recorded_event(release.event)) is None:
        return {str(release.event.get("kind"))}
    return {type(leaf).__name__ for leaf, _ in event.leaves()}
