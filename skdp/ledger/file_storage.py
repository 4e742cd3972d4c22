"""A ledger in a file, for the threads and processes of one machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Head, first_head, next_hash
from skdp.ledger.connections import Connections, clear_errors, connect, place_of_file
from skdp.ledger.files import APPLICATION, is_ledger
from skdp.ledger.fork_lock import gate
from skdp.ledger.fractions import Amounts
from skdp.ledger.locks import creating
from skdp.ledger.release import Release, content_of, first_content_of
from skdp.ledger.storage import TIMEOUT, Storage
from skdp.ledger.tables import FORMAT, NEW_TABLES, TABLES, Found, Tables

__all__ = ["FileStorage", "FileTables"]

T = TypeVar("T")

_IN_JSON = ("event", "renyi")  # columns of format 1


class FileStorage(Storage):
    """An SQLite database, which each thread and process opens once; its address is a path."""

    def __init__(self, address: str, timeout: float = TIMEOUT, is_temporary: bool = False) -> None:
        super().__init__(address, timeout)
        self.connections = Connections(address, is_temporary, timeout)

    def make(self, action: Callable[[Tables], None]) -> None:
        with creating(self.address):
            if not is_ledger(self.address):
                gate.run(partial(self._make, action))
        if not self.read(lambda tables: tables.format()):
            self.write(partial(_filled, action))  # its maker died after it had marked the file

    def read(self, action: Callable[[Tables], T]) -> T:
        return self.connections.use(partial(self._read, action))

    def write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        transaction = partial(self._write, action, before_commit)
        return self.connections.use(transaction, to_write=True)

    def close(self) -> None:
        self.connections.close()

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"is_temporary": self.connections.is_temporary}

    def _read(self, action: Callable[[Tables], T], connection: Any) -> T:
        tables = FileTables(connection, self.address)
        if connection.in_transaction:  # a look during one's own spend
            return action(tables)
        return transact(connection, lambda: action(tables), begin="BEGIN")

    def _write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None,
        connection: Any,
    ) -> T:
        tables = FileTables(connection, self.address)
        return transact(connection, lambda: action(tables), before_commit)

    def _make(self, action: Callable[[Tables], None]) -> None:
        """Mark a new file as a ledger, and fill it."""
        mode = self.address, "rwc", self.connections.is_temporary, self.timeout
        with clear_errors(self.address), closing(connect(*mode)) as connection:
            mark(connection)
            tables = FileTables(connection, self.address)
            transact(connection, lambda: _filled(action, tables))


class FileTables(Tables):
    """The tables of a ledger through a connection to an SQLite file."""

    def __init__(self, connection: Any, address: str) -> None:
        super().__init__(connection, address)
        version = "(SELECT user_version FROM pragma_user_version)"
        place = f"'{place_of_file(address)}'"
        self._names = (("ledger.", "main."), ("$place", place), ("$format", version))

    def append(self, found: Found, release: Release, cost: Amounts, key: str) -> Head:
        return self.write_sealed(
            found.head,
            content_of(release),
            {"process": release.process, "tag": release.tag},
            time=release.time,
            account=release.account,
            part=release.part,
            cost=cost,
            key=key,
        )

    def format(self) -> int:
        """Return the number of the format, 0 if there are no tables."""
        query = "SELECT 1 FROM sqlite_master WHERE name = 'terms'"
        if self.execute(query).fetchone() is None:
            return 0
        return int(self.execute("SELECT $format").fetchone()[0])

    def create(self) -> None:
        """Make the tables."""
        for statement in (*TABLES, *NEW_TABLES):
            self.execute(_for_file(statement))
        self.execute(f"PRAGMA user_version = {FORMAT}")

    def check_pages(self) -> None:
        """Raise BudgetClosedError if a page of the file is damaged."""
        if (state := self.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise BudgetClosedError(f"The ledger {self.address} cannot be used: {state}.")

    def chain_columns(self) -> None:
        """Rewrite the releases of format 1, which has one column per field, as a chain."""
        self.execute("ALTER TABLE main.releases RENAME TO columns")
        self.execute(
            "CREATE TABLE main.releases (id BIGINT PRIMARY KEY, time TEXT NOT NULL, "
            "content TEXT NOT NULL, hash TEXT NOT NULL)"
        )
        (number, last), cursor = (
            first_head(self.old_terms()),
            self.execute("SELECT * FROM main.columns ORDER BY id"),
        )
        names = [column[0] for column in cursor.description]
        for values in cursor:
            with self.damage("one of its rows"):
                row = dict(zip(names, values, strict=True))
                del row["id"]
                content = first_content_of(row | {k: json.loads(row[k]) for k in _IN_JSON})
            number, last = number + 1, next_hash(last, row["time"], content, None)
            entry = (number, row["time"], content, last)
            self.execute("INSERT INTO main.releases VALUES (?, ?, ?, ?)", entry)
        self.execute("DROP TABLE main.columns")
        self.execute("PRAGMA user_version = 2")

    def widen(self, measures: tuple[str, ...]) -> None:
        super().widen(measures)
        self.execute(f"PRAGMA user_version = {FORMAT}")

    def execute(self, query: str, values: Any = ()) -> Any:
        return super().execute(_for_file(query), values)


def _filled(action: Callable[[Tables], None], tables: FileTables) -> None:
    if not tables.format():
        tables.create()
        action(tables)


def _for_file(statement: str) -> str:
    """SQLite names the schema of an index, not that of its table."""
    return statement.replace("INDEX entries_key ON ledger.", "INDEX ledger.entries_key ON ")


def mark(connection: sqlite3.Connection) -> None:
    """Mark a new file as a ledger in its header, before anything else, and switch to a log.

    The header is one page, written once, so no journal file is needed: it would stay beside an
    empty database if this process died.
    """
    if not connection.execute("PRAGMA application_id").fetchone()[0]:
        connection.execute("PRAGMA journal_mode=MEMORY")
        transact(connection, lambda: _write_header(connection))
    connection.execute("PRAGMA journal_mode=WAL")


def _write_header(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


def transact(
    connection: Any,
    action: Callable[[], T],
    before_commit: Callable[[], None] | None = None,
    begin: str = "BEGIN IMMEDIATE",
) -> T:
    """Write everything or nothing.

    This is one function, not a context manager: an interrupt between the two halves of a context
    manager would leave the transaction open.
    """
    try:
        connection.execute(begin)
        result = action()
        if before_commit is not None:
            before_commit()
        connection.execute("COMMIT")
        return result
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
