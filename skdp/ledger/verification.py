"""Checks of a whole ledger, and how its owner goes on with a copy or an unreadable entry."""

from __future__ import annotations

import json
from collections.abc import Set
from functools import partial
from typing import Any
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.gate import check_may_write
from skdp.ledger.release import (
    PEAK,
    UNREADABLE,
    ZERO,
    Amounts,
    Entry,
    Head,
    Totals,
    accounts_of,
    costs_in,
    digest_of,
    first_head,
    minus,
    read,
    release_from,
    skipped_in,
    sums_in,
)

_MOST_KNOWN = 1000  # contents whose costs are kept


class Verification:
    """The sums and groups of a ledger up to a head, added up from its entries.

    Quarantined entries are `skipped`. `tables` are those of `skdp.ledger.store`.
    """

    def __init__(self, terms: dict[str, Any], measures: tuple[str, ...], skipped: set[int]) -> None:
        self.head = first_head(terms)
        self.measures, self.skipped = measures, skipped
        self.totals: dict[str, Totals] = {}
        self.groups: dict[str, tuple[str | None, int, int, int]] = {}
        self.before: dict[int, dict[str, Totals]] = {}
        """The sums before each quarantined entry."""
        self._known: dict[str, tuple[str, str | None, Amounts]] = {}

    @classmethod
    def of(cls, tables: Any, more: Set[int] = frozenset()) -> Verification:
        """Return the totals of all entries of a ledger. `more` entries cannot be read."""
        found = tables.look()
        known = cls(found.terms, found.measures, quarantined(tables) | more)
        known.follow(tables)
        known.compare(tables, groups=True)
        return known

    @staticmethod
    def can_read(entry: Entry, measures: tuple[str, ...]) -> bool:
        """Return whether an entry says what it cost."""
        try:
            return not entry.is_release or _read(entry, measures) is not None
        except UNREADABLE:
            return False

    def follow(self, tables: Any) -> None:
        """Add up the entries after the head; raise BudgetClosedError at the first bad one."""
        for entry in tables.entries(self.head):
            with tables.damage(f"release {entry.number}"):
                account = self._add(entry)
            self.head = Head(entry.number, entry.hash)
            digest, new = digest_of(entry.content), (account, entry.number, entry.number, 0)
            known, first, _, count = self.groups.get(digest, new)
            self.groups[digest] = known, first, entry.number, count + 1

    def compare(self, tables: Any, *, groups: bool) -> None:
        """Raise BudgetClosedError unless the stored sums and groups are those of the entries."""
        if self.totals != tables.all_totals() or (groups and self.groups != tables.group_rows()):
            raise BudgetClosedError(
                f"The ledger {tables.address} cannot be used: its running totals are not the sums "
                "of its rows, so it was edited by another program."
            )

    def _add(self, entry: Entry) -> str | None:
        """Add the cost of an entry; return the account that spent, None if no release did."""
        if entry.number in self.skipped:
            return self._skip(entry)
        account: str | None = None
        sums: dict[str, Totals] = {}
        if entry.is_release:
            if (found := self._known.get(entry.content)) is None:  # equal ones are read once
                found = _read(entry, self.measures)
                if len(self._known) < _MOST_KNOWN:
                    self._known[entry.content] = found
            account = found[0]
            sums = self._spend(*found)
        elif (data := json.loads(entry.content))["entry"] == "quarantine":
            sums = self._spend(data["account"], None, read(data["costs"]))
        if sums_in(entry.seal) != sums:
            raise ValueError("other sums")
        return account

    def _spend(self, account: str, part: str | None, cost: Amounts) -> dict[str, Totals]:
        """Add a cost to the sums of its accounts; return the changed ones."""
        names = accounts_of(account)
        return {name: self.totals.setdefault(name, Totals()).add(part, cost) for name in names}

    def _skip(self, entry: Entry) -> str:
        """Take the sums of a quarantined entry from its seal."""
        self.before[entry.number] = {name: Totals(one) for name, one in self.totals.items()}
        sums = sums_in(entry.seal)
        for account, changed in sums.items():
            known = self.totals.setdefault(account, Totals())
            for scope, amounts in changed.items():
                pairs = zip(amounts, known.get(scope, amounts), strict=True)
                if any(new < old for new, old in pairs):
                    raise ValueError("a sum that falls")
                known[scope] = amounts
        return max(sums, key=len) if sums else ""


def _read(entry: Entry, measures: tuple[str, ...]) -> tuple[str, str | None, Amounts]:
    """Return the account, the part and the costs of a release."""
    release = release_from(entry.content, {"time": entry.time})
    return release.account, release.part, costs_in(measures, entry.content)


def quarantined(tables: Any) -> set[int]:
    """Return the numbers of the quarantined entries."""
    with tables.damage("its quarantine"):
        return skipped_in(one.first for one in tables.groups(of_releases=False))


def adopt(storage: Any, reason: str) -> None:
    """Let a copy go on as a ledger of its own, and close the other copy if it can be reached.

    Raise ValueError if the ledger is where it was made.
    """
    check_may_write(None)
    storage.read(Verification.of)
    found = storage.read(lambda tables: tables.look())
    if found.here == found.place:
        raise ValueError(f"The ledger {storage.address} is not a copy.")
    other = "not reachable"
    if found.home != storage.address:
        try:
            home = type(storage)(found.home, storage.timeout)
            home.write(partial(_close, found.identity, found.place, reason))
            other = "closed"
        except (BudgetClosedError, ValueError):
            pass  # it was moved or deleted, is on another machine, or another ledger is there
    storage.write(partial(_adopt, found.place, reason, other))


def _close(identity: str, place: str, reason: str, tables: Any) -> None:
    tables.check_owner()
    found = tables.look()
    if (found.identity, found.here, found.place) != (identity, place, place):
        raise BudgetClosedError(f"{tables.address} holds another ledger.")
    if found.closed is None:
        tables.append(found, json.dumps({"entry": "closing", "reason": reason}), {}, {})
        tables.settle(closed=reason)


def _adopt(place: str, reason: str, other: str, tables: Any) -> None:
    tables.check_owner()
    found = tables.look()
    if found.here == found.place:
        return  # another process was faster
    facts = {"reason": reason, "from": place, "to": found.here, "other": other}
    tables.append(found, json.dumps({"entry": "adoption"} | facts), {}, {})
    tables.settle(identity=uuid4().hex, closed=None)


def quarantine(storage: Any, number: int, reason: str, cost: Amounts | None) -> None:
    """Count an entry that cannot be read as `cost`, or as all that its account could spend.

    Raise ValueError if the entry can be read, or does not exist.
    """
    check_may_write(None)
    storage.write(partial(_quarantine, number, reason, cost))


def _quarantine(number: int, reason: str, cost: Amounts | None, tables: Any) -> None:
    tables.check_owner()
    found = tables.look()
    if number in quarantined(tables):
        raise ValueError(f"Entry {number} is in quarantine already.")
    entries = tables.entries(first_head(found.terms))
    entry = next((one for one in entries if one.number == number), None)
    if entry is None:
        raise ValueError(f"There is no entry {number}.")
    if Verification.can_read(entry, found.measures):
        raise ValueError(
            f"Entry {number} can be read. Only entries that cannot be read can be quarantined."
        )
    before, sealed = Verification.of(tables, {number}).before[number], sums_in(entry.seal)
    account = max(sealed, key=len, default="")
    nothing = (ZERO,) * len(found.measures)
    sums, after = before.get(account, Totals()), sealed.get(account, Totals())
    own = next((scope for scope in after if scope != PEAK), None)
    already = nothing if own is None else minus(after[own], sums.get(own, nothing))
    wanted = minus(tables.shares()[account][2], sums.worst(nothing)) if cost is None else cost
    more = minus(wanted, already)
    facts = {
        "number": number,
        "hash": entry.hash,
        "account": account,
        "costs": " ".join(map(str, more)),
    }
    content = json.dumps({"entry": "quarantine"} | facts | {"reason": reason})
    names = accounts_of(account)
    changed = {name: tables.totals(name, None, len(more)).add(None, more) for name in names}
    tables.append(found, content, {}, changed)
