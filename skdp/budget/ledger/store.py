"""The ledger on disk: an SQLite file that threads, processes and copies share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from skdp.budget._fractions import Amounts, read
from skdp.budget.ledger.connections import Connections, clear_errors, connect, replaced
from skdp.budget.ledger.files import creating
from skdp.budget.ledger.fork_lock import gate
from skdp.budget.ledger.schema import (
    VERSION,
    make,
    migrate,
    read_releases,
    transaction,
    version_of,
    write_row,
)
from skdp.budget.ledger.totals import Totals, accounts_of, all_totals, load, save
from skdp.budget.release import Release
from skdp.exceptions import BudgetClosedError

__all__ = ["Ledger", "Purchase"]

_DEFAULTS = {"slack": 0.0, "tv": 0.0, "orders": "[]"}
_LAST = "(SELECT coalesce(max(id), 0) FROM releases)"


class Purchase(NamedTuple):
    """What a check sees: the new release, the sums with it by account, and what came before."""

    release: Release
    totals: dict[str, Totals]
    bought: Callable[[], Iterator[Release]]


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
    price : callable
        What a release adds to the running totals.
    """

    def __init__(
        self, path: str, terms: dict[str, Any], price: Callable[[Release], Amounts] = _free
    ) -> None:
        self.path = path
        self.terms: dict[str, Any] = _DEFAULTS | terms
        self.price = price
        self.identity: str | None = None
        self._seen = 0
        self._connections = Connections(path)

    def create(self, releases: Iterable[Release] = ()) -> None:
        """Make the file; if there is one already, its terms must be the same.

        A file of an older version is migrated, and the running totals are compared with the rows.
        `releases` come first in a new file and are refused in one that has any.
        """
        with (
            gate,
            creating(self.path),
            clear_errors(self.path),
            closing(connect(self.path, "rwc")) as connection,
        ):
            self._connections.remember()
            connection.execute("PRAGMA journal_mode=WAL")
            with transaction(connection):
                self._make_or_migrate(connection)
                orders = connection.execute("SELECT orders FROM terms").fetchone()[0]
                self.terms = self.terms | {"orders": orders}
                self._check_terms(connection)
                self._fill(connection, list(releases))
                self._check_totals(connection)

    def append(self, release: Release, check: Callable[[Purchase], None]) -> None:
        """Append a release unless `check(purchase)` raises.

        The check and the entry are one transaction, made durable before this returns.
        """
        with self._connections.use(to_write=True) as connection:
            seen = self._seen
            with transaction(connection):
                self._check_terms(connection, seen)
                totals = self._with(connection, release)
                check(Purchase(release, totals, lambda: read_releases(connection)))
                written = write_row(connection, release)
                for account, sums in totals.items():
                    save(connection, account, sums)
            self._seen = max(self._seen, written)

    def releases(self) -> list[Release]:
        """Return all releases, in the order in which they were bought."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return list(read_releases(connection))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the running totals of an account, as far as a release on `part` minds."""
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
                    f"The share {name!r} has epsilon={found[1]:g}, delta={found[2]:g}, not "
                    f"epsilon={epsilon:g}, delta={delta:g}."
                )

    def accounts(self) -> list[tuple[str, float, float]]:
        """Return (name, ε, δ) of every share."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return connection.execute("SELECT * FROM accounts ORDER BY name").fetchall()

    def close(self) -> None:
        """Close the connections of this process."""
        self._connections.close()

    def _make_or_migrate(self, connection: sqlite3.Connection) -> None:
        version = version_of(connection)
        if version is None:
            make(connection, self.terms)
        elif version in (1, 2):
            rebuild = partial(self._save_all, connection, read_releases(connection))
            migrate(connection, version, rebuild)

    def _fill(self, connection: sqlite3.Connection, releases: list[Release]) -> None:
        if releases and next(read_releases(connection), None) is not None:
            raise ValueError(f"The ledger {self.path} already has releases. Nothing was written.")
        for release in releases:
            write_row(connection, release)
        self._save_all(connection, releases)

    def _save_all(self, connection: sqlite3.Connection, releases: Iterable[Release]) -> None:
        for account, totals in all_totals(releases, self.price).items():
            save(connection, account, totals)

    def _with(self, connection: sqlite3.Connection, release: Release) -> dict[str, Totals]:
        price = self.price(release)
        totals = {a: load(connection, a, release.part) for a in accounts_of(release.account)}
        for sums in totals.values():
            sums.add(release.part, price)
        return totals

    def _check_totals(self, connection: sqlite3.Connection) -> None:
        if (state := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise BudgetClosedError(f"The ledger {self.path} cannot be used: {state}.")
        summed = all_totals(read_releases(connection), self.price)
        stored: dict[str, Totals] = {}
        for account, scope, text in connection.execute("SELECT * FROM totals"):
            stored.setdefault(account, Totals()).scopes |= {scope: read(text)}
        if summed != stored:
            raise BudgetClosedError(
                f"The ledger {self.path} cannot be used: its running totals are not the sums of "
                "its rows, so somebody has edited it."
            )

    def _check_terms(self, connection: sqlite3.Connection, seen: int = 0) -> None:
        query = f"SELECT version, identity, {_LAST}, {', '.join(self.terms)} FROM terms"
        version, identity, last, *values = connection.execute(query).fetchone()
        if version != VERSION:
            raise ValueError(f"The ledger {self.path} has version {version}, not {VERSION}.")
        found = dict(zip(self.terms, values, strict=True))
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
