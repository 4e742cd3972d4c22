"""A ledger as JSON, to keep, to read elsewhere, or to go on with."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from skdp.budget.filters import FILTERS
from skdp.budget.release import Release
from skdp.budget.schema import VERSION

__all__ = ["dump", "load", "whole_or_absent"]

_FIRST_FIELDS = {"label", "epsilon", "delta", "gdp_mu", "neighboring", "event"}


def dump(
    terms: dict[str, Any],
    accounts: Sequence[tuple[str, float, float]],
    releases: Sequence[Release],
) -> str:
    """Return the ledger as strict JSON; infinities are written as the text "inf"."""
    data = {
        "format": "skdp ledger",
        "version": VERSION,
        "terms": terms,
        "shares": [dict(zip(("name", "epsilon", "delta"), row, strict=True)) for row in accounts],
        "releases": [_finite(release.as_row()) for release in releases],
    }
    return json.dumps(data, indent=1, allow_nan=False)


def load(text: str) -> tuple[dict[str, Any], list[tuple[str, float, float]], list[Release]]:
    """Return (terms, shares, releases).

    Raises
    ------
    ValueError
        If the text is not a ledger, is one of a later version, or breaks its own terms.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != "skdp ledger":
        raise ValueError("This is not an exported ledger of skdp. Nothing was written.")
    if not 1 <= data.get("version", 0) <= VERSION:
        raise ValueError(f"The export has version {data.get('version')!r}, not up to {VERSION}.")
    shares = [(row["name"], row["epsilon"], row["delta"]) for row in data.get("shares", [])]
    releases = [_release(row) for row in data["releases"]]
    _check(data["terms"], releases)
    return data["terms"], shares, releases


@contextmanager
def whole_or_absent(path: Any) -> Iterator[Path | None]:
    """Lend a path to write a ledger to, which then moves to `path`: not before it is whole."""
    if path is None:
        yield None
        return
    target = Path(path).expanduser().resolve()
    if target.exists():
        raise ValueError(f"{target} exists already. Nothing was written.")
    with tempfile.TemporaryDirectory(prefix=".import-", dir=target.parent) as folder:
        draft = Path(folder) / target.name
        yield draft
        draft.rename(target)


def _check(terms: dict[str, Any], releases: Sequence[Release]) -> None:
    """Raise ValueError unless the terms admit the releases."""
    reserves = {name: terms.get(name, 0.0) for name in ("slack", "tv")}
    rule = FILTERS[terms["composition"]](terms["epsilon"], terms["delta"], **reserves)
    same = all(release.neighboring == terms["neighboring"] for release in releases)
    if not same or not rule.admits(releases):
        raise ValueError("The export holds more than its own terms admit. Nothing was written.")


def _release(row: dict[str, Any]) -> Release:
    known = {field.name for field in fields(Release)}
    if not _FIRST_FIELDS <= set(row) <= known:
        raise ValueError(f"A release has the fields {sorted(row)}. Nothing was written.")
    return Release(**{name: _number(name, value) for name, value in row.items()})


def _number(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_number(name, entry) for entry in value)
    is_text = name in ("label", "neighboring", "event", "time", "tag", "part", "account")
    return value if is_text or name == "process" else float(value)


def _finite(value: Any) -> Any:
    """Return the value with infinities as text."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
