"""A ledger as JSON, to keep, to read elsewhere, or to go on with."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from skdp.budget.filters import Filter, rule_of
from skdp.budget.ledger.schema import FORMAT
from skdp.budget.ledger.totals import accounts_of
from skdp.budget.release import Release
from skdp.privacy import Neighboring

__all__ = ["Export", "export_json", "import_json"]

_FIRST_FIELDS = {"label", "epsilon", "delta", "gdp_mu", "neighboring", "event"}
_AS_THEY_ARE = ("label", "neighboring", "event", "time", "tag", "part", "account", "process")


class Export(NamedTuple):
    """What an export holds."""

    rule: Filter
    neighboring: Neighboring
    shares: list[tuple[str, float, float]]
    releases: list[Release]


def export_json(
    terms: dict[str, Any],
    accounts: Sequence[tuple[str, float, float]],
    releases: Sequence[Release],
) -> str:
    """Return the ledger as strict JSON; infinities are written as the text "inf"."""
    data = {
        "format": "skdp ledger",
        "version": FORMAT,
        "terms": terms | {"orders": json.loads(terms["orders"])},
        "shares": [dict(zip(("name", "epsilon", "delta"), row, strict=True)) for row in accounts],
        "releases": [_finite(release.as_row()) for release in releases],
    }
    return json.dumps(data, indent=1, allow_nan=False)


def import_json(text: str) -> Export:
    """Return what a text holds that `export_json` wrote.

    Raises
    ------
    ValueError
        If the text is not a ledger, is one of another version, or breaks its own terms.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != "skdp ledger":
        raise ValueError("This is not an exported ledger of skdp.")
    if data.get("version") != FORMAT:
        raise ValueError(f"The export has version {data.get('version')!r}, not {FORMAT}.")
    try:
        return _checked(data)
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(f"The export is damaged: {error!r}.") from error


def _checked(data: dict[str, Any]) -> Export:
    """Raise ValueError unless the terms admit the shares and the releases, one by one."""
    terms = dict(data["terms"])
    neighboring = Neighboring(terms.pop("neighboring"))
    rules = {"": rule_of(**terms | {"orders": tuple(map(_number, terms["orders"]))})}
    numbers = ((row["name"], row["epsilon"], row["delta"]) for row in data.get("shares", []))
    shares = [(name, _number(epsilon), _number(delta)) for name, epsilon, delta in numbers]
    for name, epsilon, delta in sorted(shares):
        if name in rules:
            raise ValueError(f"The export has two shares {name!r}.")
        outer, slash, own = name.rpartition("/")
        rules[name] = _parent(rules, outer or slash).share(own, epsilon, delta)
    releases = [_release(row) for row in data["releases"]]
    for release in releases:
        _parent(rules, release.account)
    for account, rule in rules.items():
        own = [release for release in releases if account in accounts_of(release.account)]
        if not rule.admits(own) or {release.neighboring for release in own} - {neighboring}:
            raise ValueError("The export holds more than its own terms admit.")
    return Export(rules[""], neighboring, shares, releases)


def _parent(rules: dict[str, Filter], account: str) -> Filter:
    if account not in rules:
        raise ValueError(f"The export has no share {account!r}.")
    return rules[account]


def _release(row: dict[str, Any]) -> Release:
    known = {field.name for field in fields(Release)}
    if not _FIRST_FIELDS <= set(row) <= known:
        raise ValueError(f"A release has the fields {sorted(row)}.")
    return Release(**{name: v if name in _AS_THEY_ARE else _numbers(v) for name, v in row.items()})


def _numbers(value: Any) -> Any:
    return tuple(map(_number, value)) if isinstance(value, list) else _number(value)


def _number(value: Any) -> float:
    """Return a number as `_finite` has written it."""
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no number.")
    return float(value)


def _finite(value: Any) -> Any:
    """Return the value with infinities as text."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
