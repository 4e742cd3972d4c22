"""What the owner of a ledger writes into it: adoptions of copies, and quarantines of entries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Entry, first_head
from skdp.ledger.fractions import Amounts, minus, write
from skdp.ledger.storage import Storage
from skdp.ledger.tables import Tables
from skdp.ledger.totals import Totals
from skdp.ledger.verification import Verification, scopes_in

__all__ = ["adopt", "quarantine", "quarantined", "skipped_in"]


def quarantined(tables: Tables) -> set[int]:
    """Return the numbers of the quarantined entries."""
    with tables.damage("its quarantine"):
        return skipped_in(one.first for one in tables.groups(of_releases=False))


def skipped_in(entries: Iterable[Entry]) -> set[int]:
    """Return the numbers of entries that others of these entries quarantine."""
    others = [json.loads(entry.content) for entry in entries if not entry.is_release]
    return {int(one["number"]) for one in others if one["entry"] == "quarantine"}


def adopt(storage: Storage, reason: str, storage_at: Callable[[str], Storage]) -> None:
    """Let a copy go on as a ledger of its own, and close the other copy if it can be reached.

    Raise ValueError if the ledger is where it was made.
    """
    storage.read(lambda tables: _verified(tables, set()))
    found = storage.read(lambda tables: tables.look())
    if found.here == found.place:
        raise ValueError(f"The ledger {storage.address} is not a copy.")
    other = "not reachable"
    if found.home != storage.address:
        close = partial(_close, found.identity, found.place, reason)
        try:
            storage_at(found.home).write(close)
            other = "closed"
        except (BudgetClosedError, ValueError):
            pass  # it was moved or deleted, is on another machine, or another ledger is there
    storage.write(partial(_adopt, found.place, reason, other))


def _verified(tables: Tables, more: set[int]) -> Verification:
    """Return the sums of a ledger, whose entries are checked, wherever it is."""
    found = tables.look()
    known = Verification(found.terms, found.measures, quarantined(tables) | more)
    known.follow(tables)
    known.compare(tables, groups=True)
    return known


def _close(identity: str, place: str, reason: str, tables: Tables) -> None:
    tables.check_owner()
    found = tables.look()
    if (found.identity, found.here, found.place) != (identity, place, place):
        raise BudgetClosedError(f"{tables.address} holds another ledger.")
    if found.closed is None:
        tables.write_sealed(found.head, _content("closing", reason=reason), {})
        tables.settle(closed=reason)


def _adopt(place: str, reason: str, other: str, tables: Tables) -> None:
    tables.check_owner()
    found = tables.look()
    if found.here == found.place:
        return  # another process was faster
    facts = {"reason": reason, "from": place, "to": found.here, "other": other}
    tables.write_sealed(found.head, _content("adoption", **facts), {})
    tables.settle(identity=tables.new_identity(), closed=None)


def quarantine(storage: Storage, number: int, reason: str, cost: Amounts | None) -> None:
    """Count an entry that cannot be read as `cost`, or as all that its account could still spend.

    Raise ValueError if the entry can be read, or does not exist.
    """
    storage.write(partial(_quarantine, number, reason, cost))


def _quarantine(number: int, reason: str, cost: Amounts | None, tables: Tables) -> None:
    tables.check_owner()
    found = tables.look()
    if number in quarantined(tables):
        raise ValueError(f"Entry {number} is in quarantine already.")
    entry = next(
        (one for one in tables.entries(first_head(found.terms)) if one.number == number), None
    )
    if entry is None:
        raise ValueError(f"There is no entry {number}.")
    if Verification.can_read(entry, found.measures):
        raise ValueError(
            f"Entry {number} can be read. Only entries that cannot be read can be quarantined."
        )
    before = _verified(tables, {number}).before[number]
    sealed = scopes_in(entry.seal)
    account = max(sealed, key=len, default="")
    nothing = (Fraction(0),) * len(found.measures)
    sums = before.get(account, Totals())
    already = _added(sums, sealed.get(account, {}), nothing)
    wanted = minus(tables.limits()[account], sums.worst(nothing)) if cost is None else cost
    more = minus(wanted, already)
    facts = {"number": number, "hash": entry.hash, "account": account, "costs": write(more)}
    content = _content("quarantine", **facts, reason=reason)
    tables.write_sealed(found.head, content, {}, account=account, cost=more)


def _added(before: Totals, after: dict[str, Amounts], nothing: Amounts) -> Amounts:
    """Return the amounts that an entry has added to the sums, by its seal."""
    own = next((scope for scope in after if not scope.startswith("largest")), None)
    if own is None:
        return nothing
    return minus(after[own], before.scopes.get(own, nothing))


def _content(entry: str, **facts: Any) -> str:
    return json.dumps({"entry": entry} | facts)
