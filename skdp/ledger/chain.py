"""The hash chain: the hash of an entry covers the one before, the first covers the terms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from skdp.ledger.release import Release, release_from

__all__ = ["Entry", "Head", "first_head", "head_of", "next_hash"]

# Older ledgers do not have these terms.
_UNSPOKEN = (("unit", "record"), ("strict", False), ("exact", False))
_KIND = '{"entry": '  # how the content of an entry that is not a release begins


class Head(NamedTuple):
    """The end of a chain: the number of entries, and the hash of the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}-{self.hash}"


class Entry(NamedTuple):
    """One row of a ledger, as it is written.

    The seal says who wrote the entry, and the sums after it. Entries of formats 1 and 2 have none.
    """

    number: int
    time: str
    content: str
    seal: str | None
    hash: str = ""

    @property
    def is_release(self) -> bool:
        """Whether the entry is a release: others are adoptions, quarantines and closings."""
        return not self.content.startswith(_KIND)

    @property
    def facts(self) -> dict[str, Any]:
        """The seal as data."""
        return {} if self.seal is None else dict(json.loads(self.seal))

    @property
    def release(self) -> Release:
        """The release; raises an error if it cannot be read."""
        facts = {k: v for k, v in self.facts.items() if k not in ("totals", "key")}
        return release_from(self.content, facts | {"time": self.time})

    def as_row(self) -> dict[str, Any]:
        """Return the entry as a plain dictionary."""
        key = self.facts.get("key")
        row = {"number": self.number, "hash": self.hash, "key": key, "kind": "release"}
        if self.is_release:
            return row | self.release.as_row()
        who = {"time": self.time, "role": self.facts.get("role", "")}
        data = json.loads(self.content)
        return row | who | {"kind": data.pop("entry")} | data


def first_head(terms: Mapping[str, object]) -> Head:
    """Return the head of an empty ledger with these terms."""
    covered = {k: v for k, v in terms.items() if (k, v) not in _UNSPOKEN}
    return Head(0, sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest())


def next_hash(before: str, time: str, content: str, seal: str | None) -> str:
    """Return the hash of an entry; the server computes the same in SQL."""
    covered = (before, time, content) if seal is None else (before, time, content, seal)
    return sha256("\n".join(covered).encode()).hexdigest()


def head_of(terms: Mapping[str, object], entries: Iterable[Entry]) -> Head:
    """Return the head of a ledger with these terms and entries."""
    number, last = first_head(terms)
    for entry in entries:
        number, last = number + 1, next_hash(last, entry.time, entry.content, entry.seal)
    return Head(number, last)
