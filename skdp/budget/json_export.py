"""Export and import of a ledger as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from skdp.budget.filters import Filter, rule_of
from skdp.ledger.chain import head_of
from skdp.ledger.release import Release, data_of, number, release_of
from skdp.ledger.tables import FORMAT
from skdp.ledger.totals import accounts_of
from skdp.privacy import Neighboring, Unit

__all__ = ["Export", "export_json", "import_json"]

_READ = (1, FORMAT)  # format 1 has no head


class Export(NamedTuple):
    """The content of an export."""

    rule: Filter
    neighboring: Neighboring
    unit: Unit
    shares: list[tuple[str, float, float]]
    releases: list[Release]


def export_json(
    terms: dict[str, Any],
    accounts: Sequence[tuple[str, float, float]],
    releases: Sequence[Release],
) -> str:
    """Return the ledger as strict JSON; infinities are the string "inf"."""
    data = {
        "format": "skdp ledger",
        "version": FORMAT,
        "terms": terms | {"orders": json.loads(terms["orders"])},
        "shares": [dict(zip(("name", "epsilon", "delta"), row, strict=True)) for row in accounts],
        "releases": [data_of(release) for release in releases],
        "head": str(head_of(terms, releases)),
    }
    return json.dumps(data, indent=1, allow_nan=False)


def import_json(text: str) -> Export:
    """Read an export; raise ValueError if it has another version or violates its own terms."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != "skdp ledger":
        raise ValueError("This is not an exported ledger of skdp.")
    if data.get("version") not in _READ:
        raise ValueError(f"The export has version {data.get('version')!r}, not {FORMAT}.")
    try:
        return _checked(data)
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(f"The export is damaged: {error!r}.") from error


def _checked(data: dict[str, Any]) -> Export:
    terms = dict(data["terms"])
    neighboring = Neighboring(terms.pop("neighboring"))
    unit = Unit(terms.pop("unit", Unit.RECORD))
    rules = {"": rule_of(**terms | {"orders": tuple(map(number, terms["orders"]))})}
    numbers = ((row["name"], row["epsilon"], row["delta"]) for row in data.get("shares", []))
    shares = [(name, number(epsilon), number(delta)) for name, epsilon, delta in numbers]
    for name, epsilon, delta in sorted(shares):
        if name in rules:
            raise ValueError(f"The export has two shares {name!r}.")
        outer, slash, own = name.rpartition("/")
        rules[name] = _parent(rules, outer or slash).share(own, epsilon, delta)
    releases = [release_of(row) for row in data["releases"]]
    for release in releases:
        _parent(rules, release.account)
    for account, rule in rules.items():
        own = [release for release in releases if account in accounts_of(release.account)]
        if not rule.admits(own) or {release.neighboring for release in own} - {neighboring}:
            raise ValueError("The export contains more releases than its terms admit.")
    head = head_of(rules[""].stored_terms(neighboring, unit), releases)
    if data.get("head", str(head) if data["version"] == 1 else None) != str(head):
        raise ValueError("The export was edited: its releases do not match its head.")
    return Export(rules[""], neighboring, unit, shares, releases)


def _parent(rules: dict[str, Filter], account: str) -> Filter:
    if account not in rules:
        raise ValueError(f"The export has no share {account!r}.")
    return rules[account]
