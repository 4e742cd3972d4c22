"""The tables of a ledger, by version, and the way from one version to the next."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from uuid import uuid4

from skdp.budget.filters.renyi import orders_of_version_2
from skdp.budget.release import Release

__all__ = ["VERSION", "make", "migrate", "read_releases", "transaction", "version_of", "write_row"]

VERSION = 3
_TERMS = """
CREATE TABLE terms (version INTEGER, epsilon REAL, delta REAL, composition TEXT, neighboring TEXT,
    slack REAL DEFAULT 0, tv REAL DEFAULT 0, identity TEXT, orders TEXT DEFAULT '[]')
"""
_RELEASES = """
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, time TEXT, label TEXT, epsilon REAL, delta REAL, gdp_mu REAL,
    neighboring TEXT, event TEXT, process INTEGER, tag TEXT DEFAULT '', part TEXT,
    account TEXT DEFAULT '', slack REAL DEFAULT 0, tv REAL DEFAULT 0, zcdp_rho REAL DEFAULT 9e999,
    pure_epsilon REAL DEFAULT 9e999, renyi TEXT DEFAULT '[]')
"""
_ACCOUNTS = """
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon REAL, delta REAL)
"""
_TOTALS = """
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT, PRIMARY KEY (account, scope))
    WITHOUT ROWID
"""
_SINCE_2 = ["ALTER TABLE terms ADD COLUMN orders TEXT DEFAULT '[]'"]
_SINCE_1 = [
    "ALTER TABLE terms ADD COLUMN slack REAL DEFAULT 0",
    "ALTER TABLE terms ADD COLUMN tv REAL DEFAULT 0",
    "ALTER TABLE terms ADD COLUMN identity TEXT",
    "ALTER TABLE releases ADD COLUMN tag TEXT DEFAULT ''",
    "ALTER TABLE releases ADD COLUMN part TEXT",
    "ALTER TABLE releases ADD COLUMN account TEXT DEFAULT ''",
    "ALTER TABLE releases ADD COLUMN slack REAL DEFAULT 0",
    "ALTER TABLE releases ADD COLUMN tv REAL DEFAULT 0",
    "ALTER TABLE releases ADD COLUMN zcdp_rho REAL DEFAULT 9e999",
    "ALTER TABLE releases ADD COLUMN pure_epsilon REAL DEFAULT 9e999",
    "ALTER TABLE releases ADD COLUMN renyi TEXT DEFAULT '[]'",
    _ACCOUNTS,
    _TOTALS,
    *_SINCE_2,
]
_COLUMNS = [field.name for field in fields(Release)]
_NAMES = ", ".join(_COLUMNS)
_INSERT = f"INSERT INTO releases ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_AS_TEXT = ("event", "renyi")


def make(connection: sqlite3.Connection, terms: dict[str, Any]) -> None:
    """Make the tables of an empty ledger."""
    for statement in (_TERMS, _RELEASES, _ACCOUNTS, _TOTALS):
        connection.execute(statement)
    row = terms | {"version": VERSION, "identity": uuid4().hex}
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO terms ({', '.join(row)}) VALUES ({marks})", row)


def version_of(connection: sqlite3.Connection) -> int | None:
    """Return the version of the tables; None if there are none."""
    query = "SELECT name FROM sqlite_master WHERE name = 'terms'"
    if connection.execute(query).fetchone() is None:
        return None
    return connection.execute("SELECT version FROM terms").fetchone()[0]


def migrate(connection: sqlite3.Connection, version: int, rebuild: Callable[[], None]) -> None:
    """Bring version 1 or 2 to the present one, inside of the transaction of the caller.

    Version 2 adds running totals, which `rebuild` writes, shares, parts, tags and what the filters
    besides ``"gdp"`` and ``"basic"`` need. Version 3 writes down the orders of ``"rdp"``.
    """
    for statement in _SINCE_1 if version == 1 else _SINCE_2:
        connection.execute(statement)
    terms = connection.execute("SELECT composition, epsilon, delta FROM terms").fetchone()
    values = (VERSION, uuid4().hex, json.dumps(orders_of_version_2(*terms)))
    update = "UPDATE terms SET version = ?, identity = coalesce(identity, ?), orders = ?"
    connection.execute(update, values)
    if version == 1:
        rebuild()


def write_row(connection: sqlite3.Connection, release: Release) -> int:
    """Append a release and return its number."""
    row = vars(release) | {name: json.dumps(getattr(release, name)) for name in _AS_TEXT}
    number = connection.execute(_INSERT, [row[name] for name in _COLUMNS]).lastrowid
    assert number is not None
    return number


def read_releases(connection: sqlite3.Connection) -> Iterator[Release]:
    """Yield all releases, in the order in which they were bought."""
    for values in connection.execute(f"SELECT {_NAMES} FROM releases ORDER BY id"):
        row = dict(zip(_COLUMNS, values, strict=True))
        row |= {"event": json.loads(row["event"]), "renyi": tuple(json.loads(row["renyi"]))}
        row["gdp_mu"] = math.inf if row["gdp_mu"] is None else row["gdp_mu"]
        yield Release(**row)


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
