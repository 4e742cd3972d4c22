"""The ledger on disk: an SQLite file that threads, processes and copies share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, overload

from skdp.budget._exact import Amounts, read
from skdp.budget.connections import Connections, clear_errors, connect, opening
from skdp.budget.creation import creating
from skdp.budget.release import Release
from skdp.budget.schema import (
    VERSION,
    make,
    migrate,
    read_releases,
    transaction,
    version_of,
    write_row,
)
from skdp.budget.totals import Totals, accounts_of, all_totals, load, save
from skdp.exceptions import BudgetClosedError

__all__ = ["Entries", "Ledger"]

_DEFAULTS = {"slack": 0.0, "tv": 0.0}


class Entries(Sequence[Release]):
    """What a check sees: the running totals at once, the releases if it asks for them."""

    def __init__(
        self, connection: sqlite3.Connection, new: Release, totals: dict[str, Totals]
    ) -> None:
        self._connection = connection
        self._rows: list[Release] | None = None
        self.new = new
        self.totals = totals

    def _all(self) -> list[Release]:
        if self._rows is None:
            self._rows = [*read_releases(self._connection), self.new]
        return self._rows

    def __len__(self) -> int:
        return self._connection.execute("SELECT count(*) FROM releases").fetchone()[0] + 1

    @overload
    def __getitem__(self, index: int) -> Release: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Release]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __iter__(self) -> Iterator[Release]:
        return iter(self._all())


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
        What the ledger was made for. Every call checks that the file still says so.
    price : callable
        What a release adds to the running totals.
    """

    def __init__(
        self, path: str, terms: dict[str, Any], price: Callable[[Release], Amounts] = _free
    ) -> None:
        self.path = path
        self.terms = _DEFAULTS | terms
        self.price = price
        self.identity: str | None = None
        self._seen = 0
        self._connections = Connections(path)

    def create(self, releases: Iterable[Release] = ()) -> None:
        """Make the file; if there is one already, its terms must be the same.

        A file of an older version is migrated, and the running totals are compared with the rows.
        `releases` come first in a new file and are refused in one that has any.
        """
        with opening, creating(self.path), clear_errors(self.path):
            connection = connect(self.path, "rwc")
            with closing(connection):
                self._connections.remember()
                connection.execute("PRAGMA journal_mode=WAL")
                with transaction(connection):
                    self._make_or_migrate(connection)
                    self._check_terms(connection)
                    self._fill(connection, list(releases))
                    self._check_totals(connection)

    def append(self, release: Release, check: Callable[[Entries], None]) -> None:
        """Append a release unless `check(entries)` raises.

        `check` sees every release of the ledger, the new one last, and the totals with it. The
        check and the entry are one transaction, made durable before this returns.
        """
        self._refuse_if_read_only()
        with self._connections.use() as connection:
            seen = self._seen
            with transaction(connection):
                self._check_terms(connection, seen)
                totals = self._with(connection, release)
                check(Entries(connection, release, totals))
                self._write(connection, release, totals)
                written = connection.execute("SELECT max(id) FROM releases").fetchone()[0]
            self._seen = max(self._seen, written)

    def releases(self) -> Sequence[Release]:
        """Return all releases, in the order in which they were bought."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return list(read_releases(connection))

    def totals(self, account: str = "") -> Totals:
        """Return the running totals of an account."""
        with self._connections.use() as connection:
            self._check_terms(connection, self._seen)
            return load(connection, account)

    def open_account(self, name: str, epsilon: float, delta: float) -> None:
        """Write down the ceiling of a share; one of that name must have the same."""
        self._refuse_if_read_only()
        with self._connections.use() as connection, transaction(connection):
            self._check_terms(connection)
            row = (name, epsilon, delta)
            connection.execute("INSERT OR IGNORE INTO accounts VALUES (?, ?, ?)", row)
            query = "SELECT * FROM accounts WHERE name = ?"
            found = connection.execute(query, (name,)).fetchone()
            if found != row:
                raise ValueError(
                    f"The share {name!r} has epsilon={found[1]:g}, delta={found[2]:g}, not "
                    f"epsilon={epsilon:g}, delta={delta:g}. Nothing was spent."
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
        elif version == 1:
            migrate(connection, lambda: self._save_all(connection, read_releases(connection)))

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
        return {
            account: load(connection, account, release.part).plus(release.part, price)
            for account in accounts_of(release.account)
        }

    def _write(
        self, connection: sqlite3.Connection, release: Release, totals: dict[str, Totals]
    ) -> None:
        write_row(connection, release)
        for account, sums in totals.items():
            save(connection, account, sums)

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
                "its rows, so somebody has edited it. Nothing was read or spent."
            )

    def _refuse_if_read_only(self) -> None:
        path = Path(self.path)
        if path.exists() and not path.stat().st_mode & 0o222:
            raise BudgetClosedError(f"The ledger {path} is read-only. Nothing was read or spent.")

    def _check_terms(self, connection: sqlite3.Connection, seen: int = 0) -> None:
        version = connection.execute("SELECT version FROM terms").fetchone()[0]
        if version != VERSION:
            raise ValueError(f"The ledger {self.path} has version {version}, not {VERSION}.")
        names = ", ".join(self.terms)
        rows = "(SELECT max(id) FROM releases)"
        query = f"SELECT identity, {rows}, {names} FROM terms"
        identity, last, *values = connection.execute(query).fetchone()
        found = dict(zip(self.terms, values, strict=True))
        if found != self.terms:
            raise ValueError(
                f"The ledger {self.path} was made for {found}, not for {self.terms}. "
                "Nothing was spent."
            )
        self._check_identity(identity, last or 0, seen)

    def _check_identity(self, identity: str, last: int, seen: int) -> None:
        is_other = self.identity not in (None, identity) or self._connections.is_replaced
        if is_other or last < seen:
            raise BudgetClosedError(
                f"The ledger {self.path} was replaced by another one, or by an older copy of "
                "itself. Nothing was read or spent; a new PrivacyBudget goes on with this one."
            )
        self.identity, self._seen = identity, max(last, self._seen)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_connections"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._connections = Connections(self.path)
