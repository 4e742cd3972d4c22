"""Verification of a ledger: hashes, sums and groups, entry by entry."""

from __future__ import annotations

import json
from copy import deepcopy
from fractions import Fraction
from typing import Any

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Entry, Head, first_head
from skdp.ledger.costs import costs_in, costs_of
from skdp.ledger.fractions import Amounts, read
from skdp.ledger.release import release_from
from skdp.ledger.tables import Tables, digest_of
from skdp.ledger.totals import Totals, accounts_of

__all__ = ["FULL_EVERY", "Verification", "forget_verified", "recall", "remember", "scopes_in"]

FULL_EVERY = 100
"""Every this many openings a process checks all entries again."""

Group = tuple[str | None, int, int, int]


class Verification:
    """The sums and groups of a ledger up to a head, added up from its entries.

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
        self.totals: dict[str, Totals] = {}
        self.groups: dict[str, Group] = {}
        self.before: dict[int, dict[str, Totals]] = {}
        """The sums before each quarantined entry."""

    def follow(self, tables: Tables, table: str = "entries") -> None:
        """Add up the entries after the head; raise BudgetClosedError at the first bad one."""
        for entry in tables.entries(self.head, table):
            with tables.damage(f"release {entry.number}"):
                account = self._add(entry)
            self.head = Head(entry.number, entry.hash)
            self._group(digest_of(entry.content), account)

    @classmethod
    def can_read(cls, entry: Entry, measures: tuple[str, ...]) -> bool:
        """Return whether an entry can be read."""
        try:
            if entry.is_release:
                release_from(entry.content, {"time": entry.time})
                costs_in(measures, entry.content)
            return True
        except (
            ValueError,
            TypeError,
            AttributeError,
            LookupError,
            ArithmeticError,
            RecursionError,
        ):
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
        seal = entry.facts
        if entry.number in self.skipped:
            return self._skip(entry, seal)
        if entry.is_release:
            release = release_from(entry.content, {"time": entry.time})
            is_sealed = entry.seal is not None
            cost = (
                costs_in(self.measures, entry.content)
                if is_sealed
                else costs_of(self.measures, vars(release))
            )
            sums = self._spend(release.account, release.part, cost)
            account: str | None = release.account
        else:
            data, account, sums = json.loads(entry.content), None, {}
            if data["entry"] == "quarantine":
                sums = self._spend(data["account"], None, read(data["costs"]))
        if entry.seal is not None and _read_sums(seal) != sums:
            raise ValueError("other sums")
        return account

    def _spend(
        self, account: str, part: str | None, cost: Amounts
    ) -> dict[str, dict[str, Amounts]]:
        """Add a cost to the sums of its accounts; return the changed ones."""
        sums = {}
        for name in accounts_of(account):
            totals = self.totals.setdefault(name, Totals())
            touched = totals.add(part, cost)
            sums[name] = {scope: totals.scopes[scope] for scope in touched}
        return sums

    def _skip(self, entry: Entry, seal: dict[str, Any]) -> str | None:
        """Take the sums of a quarantined entry from its seal, if it has one."""
        self.before[entry.number] = deepcopy(self.totals)
        sums = _read_sums(seal)
        for account, scopes in sums.items():
            totals = self.totals.setdefault(account, Totals())
            for scope, amounts in scopes.items():
                known = totals.scopes.get(scope, (Fraction(0),) * len(amounts))
                if any(new < old for new, old in zip(amounts, known, strict=True)):
                    raise ValueError("a sum that falls")
                totals.scopes[scope] = amounts
        return max(sums, key=len) if sums else ""

    def _group(self, digest: str, account: str | None) -> None:
        number = self.head.number
        known, first, _, count = self.groups.get(digest, (account, number, number, 0))
        self.groups[digest] = known, first, number, count + 1


def _read_sums(seal: dict[str, Any]) -> dict[str, dict[str, Amounts]]:
    return {
        account: {scope: read(text) for scope, text in scopes.items()}
        for account, scopes in seal.get("totals", {}).items()
    }


def scopes_in(seal: str | None) -> dict[str, dict[str, Amounts]]:
    """Return the sums after an entry, by account and scope."""
    return {} if seal is None else _read_sums(json.loads(seal))


_verified: dict[tuple[str, str], tuple[Verification, int]] = {}


def recall(key: tuple[str, str]) -> Verification | None:
    """Return what this process has verified of a ledger; None if all is due again."""
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
