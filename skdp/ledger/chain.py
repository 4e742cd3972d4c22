"""The hash chain: the hash of a release covers the one before, the first covers the terms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from skdp.ledger.release import Release, content_of

__all__ = ["Head", "first_head", "head_of", "next_hash"]

_UNSPOKEN = (("unit", "record"), ("strict", False))  # older ledgers do not have these terms


class Head(NamedTuple):
    """The end of a chain: the number of releases, and the hash of the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}-{self.hash}"


def first_head(terms: Mapping[str, object]) -> Head:
    """Return the head of an empty ledger with these terms."""
    covered = {k: v for k, v in terms.items() if (k, v) not in _UNSPOKEN}
    return Head(0, sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest())


def next_hash(before: str, time: str, content: str) -> str:
    """Return the hash of a release; the server computes the same in SQL."""
    return sha256(f"{before}\n{time}\n{content}".encode()).hexdigest()


def head_of(terms: Mapping[str, object], releases: Iterable[Release]) -> Head:
    """Return the head of a ledger with these terms and releases."""
    number, last = first_head(terms)
    for release in releases:
        number, last = number + 1, next_hash(last, release.time, content_of(release))
    return Head(number, last)
