"""The ledger on disk: an SQLite file that threads, processes and copies share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skdp.budget.release import Release
from skdp.exceptions import BudgetClosedError

__all__ = ["Ledger"]

_VERSION = 1
_SCHEMA = """
CREATE TABLE terms (version INTEGER, epsilon REAL, delta REAL, composition TEXT, neighboring TEXT);
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, time TEXT, label TEXT, epsilon REAL, delta REAL, gdp_mu REAL,
    neighboring TEXT, event TEXT, process INTEGER);
"""
_COLUMNS = "label, epsilon, delta, gdp_mu, neighboring, event, time, process"
_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Ledger:
    """The releases of one budget, each appended in one transaction or not at all.

    Parameters
    ----------
    path : str
        An SQLite database. It is opened anew for each call, so a `Ledger` may be copied, pickled
        and used from any thread or process.
    terms : dict
        What the ledger was made for. Every call checks that the file still says so.
    """

    path: str
    terms: dict[str, Any]

    def create(self) -> None:
        """Make the file; if there is one already, its terms must be the same."""
        uri = f"{Path(self.path).absolute().as_uri()}?mode=rwc"
        with closing(self._connect(uri)) as connection, _clear_errors(self.path):
            connection.execute("PRAGMA journal_mode=WAL")
            with _transaction(connection):
                if not _has_terms(connection):
                    _write_terms(connection, self.terms)
                self._check_terms(connection)

    def append(self, release: Release, check: Callable[[Sequence[Release]], None]) -> None:
        """Append a release unless `check(releases)` raises.

        `check` sees every release of the ledger, the new one last. The check and the entry are
        one transaction, made durable before this returns.
        """
        self._refuse_if_read_only()
        with self._open("rw") as connection, _transaction(connection):
            self._check_terms(connection)
            check([*_read(connection), release])
            row = release.as_row() | {"event": json.dumps(release.event)}
            marks = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
            connection.execute(f"INSERT INTO releases ({_COLUMNS}) VALUES ({marks})", row)

    def releases(self) -> Sequence[Release]:
        """Return all releases, in the order in which they were bought."""
        with self._open("ro") as connection:
            self._check_terms(connection)
            return _read(connection)

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        if not Path(self.path).exists():
            raise BudgetClosedError(
                f"The ledger {self.path} is gone: it was deleted, or it was the temporary ledger "
                "of a budget that no longer exists. Nothing was read or spent."
            )
        uri = f"{Path(self.path).absolute().as_uri()}?mode={mode}"
        with closing(self._connect(uri)) as connection, _clear_errors(self.path):
            yield connection

    def _connect(self, uri: str) -> sqlite3.Connection:
        with _clear_errors(self.path):
            connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None)
            connection.execute("PRAGMA synchronous=FULL")
            return connection

    def _refuse_if_read_only(self) -> None:
        path = Path(self.path)
        if path.exists() and not path.stat().st_mode & 0o222:
            raise BudgetClosedError(f"The ledger {path} is read-only. Nothing was read or spent.")

    def _check_terms(self, connection: sqlite3.Connection) -> None:
        names = ", ".join(self.terms)
        stored = connection.execute(f"SELECT version, {names} FROM terms").fetchone()
        if stored[0] != _VERSION:
            raise ValueError(f"The ledger {self.path} has version {stored[0]}, not {_VERSION}.")
        found = dict(zip(self.terms, stored[1:], strict=True))
        if found != self.terms:
            raise ValueError(
                f"The ledger {self.path} was made for {found}, not for {self.terms}. "
                "Nothing was spent."
            )


def _write_terms(connection: sqlite3.Connection, terms: dict[str, Any]) -> None:
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    names = ", ".join(terms)
    marks = ", ".join(f":{name}" for name in terms)
    connection.execute(f"INSERT INTO terms (version, {names}) VALUES ({_VERSION}, {marks})", terms)


def _has_terms(connection: sqlite3.Connection) -> bool:
    query = "SELECT name FROM sqlite_master WHERE name = 'terms'"
    return connection.execute(query).fetchone() is not None


def _read(connection: sqlite3.Connection) -> list[Release]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM releases ORDER BY id")
    named = (dict(zip(_COLUMNS.split(", "), row, strict=True)) for row in rows)
    return [Release(**row | {"event": json.loads(row["event"])}) for row in named]


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise BudgetClosedError(
            f"The ledger {path} cannot be used: {error}. Nothing was read or spent."
        ) from error
