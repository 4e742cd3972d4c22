"""The ledger on disk: an SQLite file that threads, processes and copies share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from skdp.budget._fractions import Amounts
from skdp.budget.ledger.connections import Connections, clear_errors, connect, replaced
from skdp.budget.ledger.files import refuse_foreign
from skdp.budget.ledger.fork_lock import gate
from skdp.budget.ledger.locks import creating
from skdp.budget.ledger.schema import (
    damage,
    make,
    mark,
    read_accounts,
    read_releases,
    read_terms,
    transaction,
    write_row,
)
from skdp.budget.ledger.totals import Totals, accounts_of, all_totals, load, load_all, save
from skdp.budget.release import Release
from skdp.exceptions import BudgetClosedError

__all__ = ["Account", "Ledger", "SpendRequest"]

_DEFAULTS = {"slack": 0.0, "tv": 0.0, "orders": "[]"}

Account = tuple[str, float, float]
"""The name of a share, its ε and its δ."""


@dataclass(frozen=True)
class SpendRequest:
    """What a check sees of a release that wants to be written.

    Parameters
    ----------
    release : Release
        What would be written.
    before : dict of Totals
        The sums without it, of each account that it counts for.
    earlier : callable
        Returns an iterator over the releases before it.
    """

    release: Release
    before: dict[str, Totals]
    earlier: Callable[[], Iterator[Release]]


def _free(release: Release) -> Amounts:
    return ()


class Ledger:
    """The releases of one budget, each appended in one transaction or not at all.

    Parameters
    ----------
    path : str
        An SQLite database. Each thread and process opens it once; a `Ledger` may be copied,
        pickled and used from any of them.
    terms : dict
        What the ledger was made for. Every call checks that the file still says so. The Rényi
        orders of a ledger that is there already replace those given, whoever chose them.
    cost : callable
        What a release adds to the running totals.
    """

    def __init__(
        self, path: str, terms: dict[str, Any], cost: Callable[[Release], Amounts] = _free
    ) -> None:
        self.path = path
        self.terms: dict[str, Any] = _DEFAULTS | terms
        self.cost = cost
        self.identity: str | None = None
        self._seen = 0
        self._connections = Connections(path)

    def create(self, releases: Iterable[Release] = (), accounts: Iterable[Account] = ()) -> None:
        """Make the file; if there is a ledger already, its terms must be the same.

        The running totals are compared with the rows. `releases` and `accounts` come first in a
        new file and are refused in one that has any releases.
        """
        with (
            gate,
            creating(self.path),
            clear_errors(self.path),
            closing(self._open_or_make()) as connection,
        ):
            self._connections.remember()
            mark(connection)
            with transaction(connection):
                make(connection, self.terms)
                self.terms = self.terms | {"orders": read_terms(connection)[0]["orders"]}
                self._check_terms(connection)
                self._fill(connection, list(releases), accounts)
                self._check_whole(connection)

    def append(
        self,
        release: Release,
        check: Callable[[SpendRequest], None],
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Append a release unless `check(request)` raises.

        The check and the entry are one transaction, made durable before this returns. An error
        after the call of `before_commit` leaves open whether they were.
        """
        with self._connections.use(to_write=True) as connection:
            seen = self._seen
            with transaction(connection):
                self._check_terms(connection, seen)
                accounts = accounts_of(release.account)
                totals = {name: load(connection, name, release.part) for name in accounts}
                check(SpendRequest(release, totals, lambda: read_releases(connection)))
                written = write_row(connection, release)
                cost = self.cost(release)
                for account, sums in totals.items():
                    sums.add(release.part, cost)
                    save(connection, account, sums)
                if before_commit is not None:
                    before_commit()
            self._seen = max(self._seen, written)

    def releases(self) -> list[Release]:
        """Return all releases, in the order in which they were written."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return list(read_releases(connection))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the running totals of an account, as far as they concern a release on `part`."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return load(connection, account, part)

    def open_account(self, name: str, epsilon: float, delta: float) -> None:
        """Write down the ceiling of a share; one of that name must have the same."""
        with (
            self._connections.use(to_write=True) as connection,
            transaction(connection),
        ):
            self._check_terms(connection)
            row = (name, epsilon, delta)
            connection.execute("INSERT OR IGNORE INTO accounts VALUES (?, ?, ?)", row)
            query = "SELECT * FROM accounts WHERE name = ?"
            found = connection.execute(query, (name,)).fetchone()
            if found != row:
                raise ValueError(
                    f"The share {name!r} has epsilon={found[1]}, delta={found[2]}, not "
                    f"epsilon={epsilon}, delta={delta}."
                )

    def accounts(self) -> list[Account]:
        """Return (name, ε, δ) of every share."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return read_accounts(connection)

    def close(self) -> None:
        """Close the connections of this process."""
        self._connections.close()

    def _open_or_make(self) -> Connection:
        refuse_foreign(self.path)
        return connect(self.path, "rwc")

    def _fill(
        self, connection: Connection, releases: list[Release], accounts: Iterable[Account]
    ) -> None:
        if releases and next(read_releases(connection), None) is not None:
            raise ValueError(f"The ledger {self.path} already has releases.")
        for release in releases:
            write_row(connection, release)
        for account, totals in all_totals(releases, self.cost).items():
            save(connection, account, totals)
        for row in accounts:
            connection.execute("INSERT INTO accounts VALUES (?, ?, ?)", row)

    def _check_whole(self, connection: Connection) -> None:
        if (state := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise BudgetClosedError(f"The ledger {self.path} cannot be used: {state}.")
        read_accounts(connection)
        with damage("its rows"):
            summed = all_totals(read_releases(connection), self.cost)
        if summed != load_all(connection):
            raise BudgetClosedError(
                f"The ledger {self.path} cannot be used: its running totals are not the sums of "
                "its rows, so somebody has edited it."
            )

    def _check_terms(self, connection: Connection, seen: int = 0) -> None:
        found, identity, last = read_terms(connection)
        if found != self.terms:
            raise ValueError(f"The ledger {self.path} was made for {found}, not for {self.terms}.")
        if self.identity not in (None, identity) or last < seen:
            raise replaced(self.path)
        self.identity, self._seen = identity, max(last, self._seen)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_connections"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._connections = Connections(self.path)
