"""Verification of a ledger: hashes, sums and groups, entry by entry."""

from __future__ import annotations

import json
from copy import deepcopy
from decimal import Context, Decimal, Inexact, localcontext
from typing import Any

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Entry, Head, first_head
from skdp.ledger.costs import costs_in, printed_costs
from skdp.ledger.fractions import Amounts, rational, read
from skdp.ledger.release import release_from
from skdp.ledger.tables import UNREADABLE, Tables, digest_of
from skdp.ledger.totals import Totals, accounts_of

__all__ = ["FULL_EVERY", "Verification", "forget_verified", "recall", "remember", "scopes_in"]

FULL_EVERY = 100
"""Every this many openings a process checks all entries again."""

_EXACT = Context(prec=20_000, traps=[Inexact])  # digits: a cost has at most 1400
_MOST_KNOWN = 1000  # contents whose costs are kept

Group = tuple[str | None, int, int, int]
Sums = dict[str, dict[str, tuple[Decimal, ...]]]
"""Sums by account and scope."""


class Verification:
    """The sums and groups of a ledger up to a head, added up from its entries.

    Decimals are added up ten times as fast as fractions.

    Parameters
    ----------
    terms : dict
        The terms of the ledger, which the first hash covers.
    measures : tuple of str
        What adds up.
    skipped : set of int
        Numbers of quarantined entries, which are not read.
    """

    def __init__(
        self, terms: dict[str, object], measures: tuple[str, ...], skipped: set[int]
    ) -> None:
        self.head = first_head(terms)
        self.measures, self.skipped = measures, skipped
        self.groups: dict[str, Group] = {}
        self.before: dict[int, dict[str, Totals]] = {}
        """The sums before each quarantined entry."""
        self._totals: dict[str, Totals] = {}  # of decimals
        self._known: dict[tuple[str, bool], tuple[str, str | None, Any]] = {}

    @property
    def totals(self) -> dict[str, Totals]:
        """The sums of all accounts."""
        return {
            account: Totals({scope: rational(one) for scope, one in totals.scopes.items()})  # type: ignore[arg-type]
            for account, totals in self._totals.items()
        }

    def follow(self, tables: Tables, table: str = "entries") -> None:
        """Add up the entries after the head; raise BudgetClosedError at the first bad one."""
        for entry in tables.entries(self.head, table):
            with tables.damage(f"release {entry.number}"), localcontext(_EXACT):
                account = self._add(entry)
            self.head = Head(entry.number, entry.hash)
            self._group(digest_of(entry.content), account)

    @classmethod
    def can_read(cls, entry: Entry, measures: tuple[str, ...]) -> bool:
        """Return whether an entry can be read."""
        known = cls({}, measures, set())
        try:
            with localcontext(_EXACT):
                return not entry.is_release or known._read(entry) is not None
        except UNREADABLE:
            return False

    def compare(self, tables: Tables, *, groups: bool) -> None:
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
        sums: Sums = {}
        account: str | None = None
        if entry.is_release:
            account, part, cost = self._read(entry)
            sums = self._spend(account, part, cost)
        elif (data := json.loads(entry.content))["entry"] == "quarantine":
            sums = self._spend(data["account"], None, tuple(map(Decimal, data["costs"].split())))
        if entry.seal is not None and _sums_in(entry) != sums:
            raise ValueError("other sums")
        return account

    def _read(self, entry: Entry) -> tuple[str, str | None, tuple[Decimal, ...]]:
        """Return the account, the part and the costs of a release; equal ones are read once."""
        key = entry.content, entry.seal is None
        if (found := self._known.get(key)) is None:
            release = release_from(entry.content, {"time": entry.time})
            cost = (
                printed_costs(self.measures, release)
                if entry.seal is None
                else costs_in(self.measures, entry.content)
            )
            found = release.account, release.part, cost
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = found
        return found

    def _spend(self, account: str, part: str | None, cost: Any) -> Sums:
        """Add a cost to the sums of its accounts; return the changed ones."""
        sums = {}
        for name in accounts_of(account):
            totals = self._totals.setdefault(name, Totals())
            sums[name] = {scope: totals.scopes[scope] for scope in totals.add(part, cost)}
        return sums  # type: ignore[return-value]

    def _skip(self, entry: Entry) -> str | None:
        """Take the sums of a quarantined entry from its seal, if it has one."""
        self.before[entry.number] = self.totals
        sums = _sums_in(entry)
        for account, scopes in sums.items():
            totals = self._totals.setdefault(account, Totals())
            for scope, amounts in scopes.items():
                known = totals.scopes.get(scope, amounts)
                if any(new < old for new, old in zip(amounts, known, strict=True)):  # type: ignore[operator]
                    raise ValueError("a sum that falls")
                totals.scopes[scope] = amounts  # type: ignore[assignment]
        return max(sums, key=len) if sums else ""

    def _group(self, digest: str, account: str | None) -> None:
        number = self.head.number
        known, first, _, count = self.groups.get(digest, (account, number, number, 0))
        self.groups[digest] = known, first, number, count + 1


def _sums_in(entry: Entry) -> Sums:
    return {
        account: {scope: tuple(map(Decimal, text.split())) for scope, text in scopes.items()}
        for account, scopes in entry.facts.get("totals", {}).items()
    }


def scopes_in(seal: str | None) -> dict[str, dict[str, Amounts]]:
    """Return the sums after an entry, by account and scope."""
    found = {} if seal is None else json.loads(seal).get("totals", {})
    return {
        account: {scope: read(text) for scope, text in scopes.items()}
        for account, scopes in found.items()
    }


_verified: dict[tuple[str, str], tuple[Verification, int]] = {}


def recall(key: tuple[str, str]) -> Verification | None:
    """Return the verified part of a ledger, None if all entries are due again."""
    known, n_openings = _verified.get(key, (None, 0))
    if known is None or n_openings + 1 >= FULL_EVERY:
        return None
    _verified[key] = known, n_openings + 1
    return deepcopy(known)


def remember(key: tuple[str, str], found: Verification, *, is_full: bool) -> None:
    """Remember what was verified, until `FULL_EVERY` openings later."""
    n_openings = 0 if is_full else _verified.get(key, (found, 0))[1]
    found.groups = {}  # there may be many, and only a full check compares them
    _verified[key] = found, n_openings


def forget_verified() -> None:
    """Forget what this process has verified, so that the next opening checks all."""
    _verified.clear()
