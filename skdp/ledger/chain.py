"""A chain of hashes: each release's covers the one before, the first that of the terms."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

from skdp.ledger.release import Release
from skdp.ledger.rows import content_of

__all__ = ["Head", "first_head", "head_of", "next_hash"]

_UNSPOKEN = (("unit", "record"), ("strict", False))


class Head(NamedTuple):
    """The end of a chain: how many releases it has, and the hash of the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}-{self.hash}"


def first_head(terms: dict[str, Any]) -> Head:
    """Return where the chain of a ledger with these terms begins.

    Of a record as the unit, and of rules that are not strict, older ledgers do not speak.
    """
    covered = {k: v for k, v in terms.items() if (k, v) not in _UNSPOKEN}
    return Head(0, sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest())


def next_hash(before: str, time: str, content: str) -> str:
    """Return the hash of a release; a server computes the same."""
    return sha256(f"{before}\n{time}\n{content}".encode()).hexdigest()


def head_of(terms: dict[str, Any], releases: Iterable[Release]) -> Head:
    """Return the head of a ledger with these terms and releases."""
    number, last = first_head(terms)
    for release in releases:
        number, last = number + 1, next_hash(last, release.time, content_of(release))
    return Head(number, last)
