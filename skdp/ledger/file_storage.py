"""A ledger in a file, for the threads and processes of one machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Head
from skdp.ledger.connections import Connections, clear_errors, connect
from skdp.ledger.files import APPLICATION, refuse_foreign
from skdp.ledger.fork_lock import gate
from skdp.ledger.fractions import Amounts
from skdp.ledger.locks import creating
from skdp.ledger.release import Release, release_of
from skdp.ledger.storage import Storage
from skdp.ledger.tables import FORMAT, TABLES, Tables
from skdp.ledger.totals import accounts_of

__all__ = ["FileStorage", "FileTables"]

T = TypeVar("T")

_IN_JSON = ("event", "renyi")  # columns of format 1


class FileStorage(Storage):
    """An SQLite database, which each thread and process opens once; its address is a path."""

    def __init__(self, address: str, is_temporary: bool = False) -> None:
        super().__init__(address)
        self.connections = Connections(address, is_temporary)

    def make(self, action: Callable[[Tables], None]) -> None:
        with (
            gate,
            creating(self.address),
            clear_errors(self.address),
            closing(self._open_or_make()) as connection,
        ):
            self.connections.remember()
            mark(connection)
            with transaction(connection):
                self._check_pages(connection)
                action(FileTables(connection, self.address))

    def read(self, action: Callable[[Tables], T]) -> T:
        with self.connections.use() as connection:
            return action(FileTables(connection, self.address))

    def write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        with self.connections.use(to_write=True) as connection, transaction(connection):
            result = action(FileTables(connection, self.address))
            if before_commit is not None:
                before_commit()
        return result

    def close(self) -> None:
        self.connections.close()

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"is_temporary": self.connections.is_temporary}

    def _open_or_make(self) -> sqlite3.Connection:
        refuse_foreign(self.address)
        return connect(self.address, "rwc", self.connections.is_temporary)

    def _check_pages(self, connection: sqlite3.Connection) -> None:
        if (state := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise BudgetClosedError(f"The ledger {self.address} cannot be used: {state}.")


class FileTables(Tables):
    """The tables of a ledger through a connection to an SQLite file."""

    def execute(self, query: str, values: Iterable[object] = ()) -> Any:
        return self.connection.execute(query, tuple(values))

    def append(self, head: Head, release: Release, cost: Amounts, key: str) -> Head:
        for account in accounts_of(release.account):
            sums = self.totals(account, release.part)
            sums.add(release.part, cost)
            self.save(account, sums)
        return self.write(head, release)

    def make(self, terms: dict[str, object]) -> bool:
        """Make the tables and write the terms, unless they exist."""
        if not self._has("terms"):
            for statement in TABLES:
                self.execute(statement)
        elif self.execute("PRAGMA user_version").fetchone()[0] == 1:
            self._migrate()
        self.execute(f"PRAGMA user_version = {FORMAT}")
        return super().make(terms)

    def _has(self, table: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self.execute(query, (table,)).fetchone() is not None

    def _migrate(self) -> None:
        """Rewrite the releases of format 1, which has one column per field, as a chain."""
        self.execute("ALTER TABLE releases RENAME TO columns")
        self.execute(TABLES[1])
        head, cursor = self.look().head, self.execute("SELECT * FROM columns ORDER BY id")
        names = [column[0] for column in cursor.description]
        for values in cursor:
            with self.damage("one of its rows"):
                row = dict(zip(names, values, strict=True))
                del row["id"]
                release = release_of(row | {name: json.loads(row[name]) for name in _IN_JSON})
            head = self.write(head, release)
        self.execute("DROP TABLE columns")


def mark(connection: sqlite3.Connection) -> None:
    """Mark a new file as a ledger in its header, before anything else, and switch to a log.

    The header is one page, written once, so no journal file is needed: it would stay beside an
    empty database if this process died.
    """
    if not connection.execute("PRAGMA application_id").fetchone()[0]:
        connection.execute("PRAGMA journal_mode=MEMORY")
        with transaction(connection):
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA journal_mode=WAL")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything or nothing."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
