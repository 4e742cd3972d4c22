"""Export and import of a ledger as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from skdp.budget.filters import Filter, rule_of
from skdp.ledger.chain import Entry, head_of
from skdp.ledger.costs import Account
from skdp.ledger.release import first_content_of, number
from skdp.ledger.tables import FORMAT
from skdp.ledger.totals import accounts_of
from skdp.privacy import Neighboring, Unit

__all__ = ["Export", "export_json", "import_json"]

_OLDER = (1, 2)  # without seals; format 1 has no head


class Export(NamedTuple):
    """The content of an export."""

    rule: Filter
    neighboring: Neighboring
    unit: Unit
    shares: list[Account]
    entries: list[Entry]


def export_json(
    terms: dict[str, Any], accounts: Sequence[Account], entries: Sequence[Entry]
) -> str:
    """Return the ledger as strict JSON; the content and the seal of an entry are JSON themselves.

    They are quoted as they are written, because the hashes cover every character.
    """
    data = {
        "format": "skdp ledger",
        "version": FORMAT,
        "terms": terms | {"orders": json.loads(terms["orders"])},
        "shares": [dict(zip(("name", "epsilon", "delta"), row, strict=True)) for row in accounts],
        "entries": [{name: getattr(entry, name) for name in _QUOTED} for entry in entries],
        "head": str(head_of(terms, entries)),
    }
    return json.dumps(data, indent=1, allow_nan=False)


_QUOTED = ("time", "content", "seal")


def import_json(text: str) -> Export:
    """Read an export; raise ValueError if it has another version or violates its own terms."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != "skdp ledger":
        raise ValueError("This is not an exported ledger of skdp.")
    if data.get("version") not in (*_OLDER, FORMAT):
        raise ValueError(f"The export has version {data.get('version')!r}, not {FORMAT}.")
    try:
        return _checked(data)
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError) as error:
        raise ValueError(f"The export is damaged: {error!r}.") from error


def _checked(data: dict[str, Any]) -> Export:
    terms = dict(data["terms"])
    neighboring = Neighboring(terms.pop("neighboring"))
    unit = Unit(terms.pop("unit", Unit.RECORD))
    rule = rule_of(**terms | {"orders": tuple(map(number, terms["orders"]))})
    numbers = ((row["name"], row["epsilon"], row["delta"]) for row in data.get("shares", []))
    shares = [(name, number(epsilon), number(delta)) for name, epsilon, delta in numbers]
    rules = rule.rules_of(shares)
    entries = [*_entries(data)]
    _check_admitted(rules, neighboring, entries)
    head = head_of(rule.stored_terms(neighboring, unit), entries)
    if data.get("head", str(head) if data["version"] == 1 else None) != str(head):
        raise ValueError("The export was edited: its releases do not match its head.")
    return Export(rule, neighboring, unit, shares, entries)


def _entries(data: dict[str, Any]) -> Iterator[Entry]:
    if data["version"] in _OLDER:
        for row in data["releases"]:
            yield Entry(0, row["time"], first_content_of(row), None)
        return
    for row in data["entries"]:
        if not all(isinstance(text, str) for text in (row["time"], row["content"])):
            raise TypeError("an entry is no text")
        yield Entry(0, row["time"], row["content"], row["seal"])


def _check_admitted(
    rules: dict[str, Filter], neighboring: Neighboring, entries: list[Entry]
) -> None:
    """Raise ValueError unless each account admits its releases, one after the other.

    A quarantined entry may have cost more than was left, so it is not checked.
    """
    others = [json.loads(entry.content) for entry in entries if not entry.is_release]
    skipped = {one["number"] for one in others if one["entry"] == "quarantine"}
    releases = [
        entry.release for k, entry in enumerate(entries, 1) if entry.is_release and k not in skipped
    ]
    for release in releases:
        if release.account not in rules:
            raise ValueError(f"There is no share {release.account!r}.")
    for account, rule in rules.items():
        own = [release for release in releases if account in accounts_of(release.account)]
        if not rule.admits(own) or {release.neighboring for release in own} - {neighboring}:
            raise ValueError("The export contains more releases than its terms admit.")
