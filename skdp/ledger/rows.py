"""Releases as plain data: what exports and the tables of ledgers hold of each."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

from skdp.ledger.release import Release

__all__ = ["content_of", "data_of", "finite", "number", "release_from", "release_of"]

_FIRST_FIELDS = {"label", "epsilon", "delta", "gdp_mu", "neighboring", "event"}
_AS_THEY_ARE = ("label", "neighboring", "event", "time", "tag", "part", "account", "process",
                "theorem", "version")  # fmt: skip
_LATER = ("theorem", "version")  # which rows of older ledgers do not have
_FIELDS = [field.name for field in fields(Release)]


def content_of(release: Release) -> str:
    """Return all of a release but its time, as strict JSON in ASCII; equal releases, equal text."""
    data = data_of(release)
    del data["time"]
    return json.dumps(data, allow_nan=False)


def release_from(time: str, content: str) -> Release:
    """Return the release with this content."""
    return release_of(json.loads(content) | {"time": time})


def data_of(release: Release) -> dict[str, Any]:
    """Return the fields of a release; infinities are the text "inf"."""
    data = {k: v for k, v in release.as_row().items() if v or k not in _LATER}
    return {name: finite(v if name in _AS_THEY_ARE else _floats(v)) for name, v in data.items()}


def release_of(data: dict[str, Any]) -> Release:
    """Return the release that `data_of` has written; some fields may be missing."""
    if not _FIRST_FIELDS <= set(data) <= set(_FIELDS):
        raise ValueError(f"A release has the fields {sorted(data)}.")
    return Release(**{k: v if k in _AS_THEY_ARE else _numbers(v) for k, v in data.items()})


def _floats(value: Any) -> Any:
    return tuple(map(float, value)) if isinstance(value, tuple) else float(value)


def _numbers(value: Any) -> Any:
    return tuple(map(number, value)) if isinstance(value, list) else number(value)


def number(value: Any) -> float:
    """Return a number as `finite` has written it."""
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no number.")
    return float(value)


def finite(value: Any) -> Any:
    """Return the value with infinities as text."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
