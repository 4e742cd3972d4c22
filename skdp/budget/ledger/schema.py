"""The tables of a ledger, and its rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from hashlib import sha256
from typing import Any
from uuid import uuid4

from skdp.budget.release import Release

__all__ = [
    "APPLICATION",
    "FORMAT",
    "damage",
    "make",
    "mark",
    "read_accounts",
    "read_releases",
    "read_terms",
    "transaction",
    "write_row",
]

APPLICATION = 0x736B6470  # "skdp", which SQLite keeps in the header of the file
FORMAT = 1
_TERMS = """
CREATE TABLE terms (epsilon REAL, delta REAL, composition TEXT, neighboring TEXT, slack REAL,
    tv REAL, orders TEXT, identity TEXT, checksum TEXT)
"""
_RELEASES = """
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, time TEXT, label TEXT, epsilon REAL, delta REAL, gdp_mu REAL,
    neighboring TEXT, event TEXT, process INTEGER, tag TEXT, part TEXT, account TEXT, slack REAL,
    tv REAL, zcdp_rho REAL, pure_epsilon REAL, renyi TEXT)
"""
_ACCOUNTS = "CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon REAL, delta REAL)"
_TOTALS = """
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT, PRIMARY KEY (account, scope))
    WITHOUT ROWID
"""
_COLUMNS = [field.name for field in fields(Release)]
_NAMES = ", ".join(_COLUMNS)
_INSERT = f"INSERT INTO releases ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_AS_TEXT = ("event", "renyi")
_TERM_NAMES = ("epsilon", "delta", "composition", "neighboring", "slack", "tv", "orders")
_SELECT_TERMS = (
    f"SELECT {', '.join(_TERM_NAMES)}, identity, checksum,"
    " (SELECT coalesce(max(id), 0) FROM releases) FROM terms"
)


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


def make(connection: sqlite3.Connection, terms: dict[str, Any]) -> None:
    """Make the tables unless they are there."""
    query = "SELECT name FROM sqlite_master WHERE name = 'terms'"
    if connection.execute(query).fetchone() is not None:
        return
    for statement in (_TERMS, _RELEASES, _ACCOUNTS, _TOTALS):
        connection.execute(statement)
    values = [terms[name] for name in _TERM_NAMES]
    row = (*values, identity := uuid4().hex, _checksum(values, identity))
    connection.execute(f"INSERT INTO terms VALUES ({', '.join('?' * len(row))})", row)


def read_terms(connection: sqlite3.Connection) -> tuple[dict[str, Any], str, int]:
    """Return the terms, the identity of the ledger, and the number of its last release."""
    with damage("its terms"):
        *values, identity, checksum, last = connection.execute(_SELECT_TERMS).fetchone()
        if checksum != _checksum(values, identity):
            raise ValueError("another checksum")
        return dict(zip(_TERM_NAMES, values, strict=True)), identity, last


def _checksum(values: list[Any], identity: Any) -> str:
    return sha256(repr([*values, identity]).encode()).hexdigest()


def read_accounts(connection: sqlite3.Connection) -> list[tuple[str, float, float]]:
    """Return (name, ε, δ) of every share."""
    with damage("its shares"):
        rows = connection.execute("SELECT name, epsilon, delta FROM accounts ORDER BY name")
        accounts = [(name.strip(), epsilon + 0.0, delta + 0.0) for name, epsilon, delta in rows]
        if not all(epsilon > 0.0 and 0.0 <= delta < 1.0 for _, epsilon, delta in accounts):
            raise ValueError("a ceiling that is none")
        return accounts


def write_row(connection: sqlite3.Connection, release: Release) -> int:
    """Append a release and return its number."""
    row = vars(release) | {name: json.dumps(getattr(release, name)) for name in _AS_TEXT}
    number = connection.execute(_INSERT, [row[name] for name in _COLUMNS]).lastrowid
    assert number is not None
    return number


def read_releases(connection: sqlite3.Connection) -> Iterator[Release]:
    """Yield all releases, in the order in which they were written."""
    for values in connection.execute(f"SELECT {_NAMES} FROM releases ORDER BY id"):
        with damage("one of its rows"):
            row = dict(zip(_COLUMNS, values, strict=True))
            row |= {"event": json.loads(row["event"]), "renyi": tuple(json.loads(row["renyi"]))}
            release = Release(**row)
        yield release


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Turn what garbage does to the code that reads it into SQLite's error for a damaged file."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
        raise sqlite3.DatabaseError(f"{what} cannot be read") from error


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
