"""The tables of a ledger in an SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from skdp.ledger.chain import Head
from skdp.ledger.fractions import Amounts
from skdp.ledger.release import Release
from skdp.ledger.rows import release_of
from skdp.ledger.tables import FORMAT, TABLES, Tables
from skdp.ledger.totals import accounts_of

__all__ = ["APPLICATION", "FORMATS", "FileTables", "mark", "transaction"]

APPLICATION = 0x736B6470  # "skdp", which SQLite keeps in the header of the file
FORMATS = (1, FORMAT)  # what can be opened; a file of the first one is rewritten in this one
_IN_JSON = ("event", "renyi")


class FileTables(Tables):
    """The tables of one ledger through a connection to an SQLite file."""

    def execute(self, query: str, values: Iterable[Any] = ()) -> Any:
        return self.connection.execute(query, tuple(values))

    def append(self, head: Head, release: Release, cost: Amounts, key: str) -> Head:
        for account in accounts_of(release.account):
            sums = self.totals(account, release.part)
            sums.add(release.part, cost)
            self.save(account, sums)
        return self.write(head, release)

    def make(self, terms: dict[str, Any]) -> bool:
        """Make the tables unless they are there, then write the terms unless there are some."""
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
        """Rewrite the releases of format 1, one column for each field, as a chain."""
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
    """Write into the header of a new file what it is, before anything else, and switch to a log.

    It is one page, written once; a journal beside an empty file would stay if this process died.
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
