"""The tables of a ledger in PostgreSQL."""

from __future__ import annotations

from typing import Any

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Head, first_head
from skdp.ledger.costs import Account
from skdp.ledger.fractions import Amounts, write
from skdp.ledger.release import Release, content_of
from skdp.ledger.server.functions import FUNCTIONS, OLD_SIGNATURES, SIGNATURES
from skdp.ledger.tables import FORMAT, FROM_SECOND, NEW_TABLES, TABLES, Found, Tables

__all__ = ["ServerTables", "grants"]

_MORE_TABLES = (
    """ALTER TABLE ledger.accounts ALTER epsilon SET NOT NULL, ALTER delta SET NOT NULL,
    ADD CHECK (epsilon > 0 AND epsilon < 'Infinity' AND delta >= 0 AND delta < 1)""",
    "CREATE TABLE ledger.origin (format INTEGER, hash TEXT)",
)
# A dump has another database or server, and a copy in the same database another schema.
_PLACE = """
(SELECT system_identifier || '/' || pg_database.oid || '/' || pg_namespace.oid
FROM pg_control_system(), pg_database, pg_namespace
WHERE datname = current_database() AND nspname = '{name}')
"""
_SCHEMA = """
SELECT pg_get_userbyid(nspowner) = current_user AND NOT EXISTS (
    SELECT FROM aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND grantee <> nspowner)
FROM pg_namespace WHERE nspname = ?
"""
_RIGHTS = """
SELECT format('GRANT SELECT ON ALL TABLES IN SCHEMA "{name}" TO %s', grantee::regrole)
    FROM pg_class, aclexplode(relacl)
    WHERE pg_class.oid = '"{name}".entries'::regclass AND privilege_type = 'SELECT'
UNION SELECT format('GRANT EXECUTE ON FUNCTION {functions} TO %s', grantee::regrole)
    FROM pg_proc, aclexplode(proacl)
    WHERE pg_proc.oid = to_regprocedure('"{name}".{append}') AND grantee <> 0
"""
_OLDEST = 140000


class ServerTables(Tables):
    """The tables of one ledger through a connection to a server, in the schema `ledger`."""

    from_second = tuple(one for one in FROM_SECOND if "entries ADD COLUMN key" not in one)

    def __init__(self, connection: Any, address: str, ledger: str) -> None:
        super().__init__(connection, address)
        self.ledger = ledger
        version = f'(SELECT format FROM "{ledger}".origin)'
        place = _PLACE.replace("{name}", ledger)
        self._names = (
            ("ledger.", f'"{ledger}".'), ("$place", place), ("$format", version), ("?", "%s"),
        )  # fmt: skip

    def append(self, found: Found, release: Release, cost: Amounts, key: str) -> Head:
        query = "SELECT ledger.append(?, ?, ?, ?, ?, ?)"
        number, content = found.head.number + 1, content_of(release)
        values = (found.identity, key, number, content, release.process, release.tag)
        return Head(number, self.execute(query, values).fetchone()[0])

    def add_account(self, found: Found, account: Account, limits: Amounts) -> None:
        if self.account(account[0]) is not None or not account[0]:
            super().add_account(found, account, limits)
            return
        query = "SELECT ledger.open_account(?, ?, ?, ?, ?)"
        self.execute(query, (found.identity, *account, write(limits)))

    def role(self) -> str:
        return str(self.execute("SELECT session_user").fetchone()[0])

    def format(self) -> int:
        query = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'origin'"
        if self.execute(query, (self.ledger,)).fetchone() is None:
            return 0
        return int(self.execute("SELECT $format").fetchone()[0])

    def is_owner(self) -> bool:
        """Return whether this user owns the ledger."""
        query = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = ?"
        return self.execute(query, (self.ledger,)).fetchone() == (True,)

    def check_owner(self) -> None:
        if not self.is_owner():
            raise BudgetClosedError(
                f"The ledger {self.address} has an older format. Its owner must open it once with "
                "this version of skdp."
            )

    def create(self) -> None:
        """Make the schema, unless it exists, the tables and the functions."""
        self._check_server()
        self._make_schema()
        for statement in (*TABLES, *NEW_TABLES, *_MORE_TABLES):
            self.execute(statement)
        self.make_functions()

    def make_functions(self) -> None:
        """Make the functions, or make them again."""
        for statement in self._functions:
            self.connection.execute(statement)
        self.execute(f'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "{self.ledger}" FROM PUBLIC')

    @property
    def _functions(self) -> list[str]:
        return [one.replace("ledger.", f'"{self.ledger}".') for one in FUNCTIONS]

    def has_other_functions(self) -> bool:
        """Return whether this user owns the ledger and must make its functions again.

        They are those of an earlier version, or of a schema that was renamed.
        """
        if self.format() != FORMAT or not self.is_owner():
            return False
        query = (
            "SELECT prosrc FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace "
            "WHERE nspname = ?"
        )
        found = {source for (source,) in self.execute(query, (self.ledger,))}
        return not {one.split("$$")[1] for one in self._functions} <= found

    def lock(self) -> None:
        """Wait for the lock of the ledger."""
        self.execute("SELECT ledger.lock_ledger()")

    def make(self, terms: dict[str, object], measures: tuple[str, ...]) -> None:
        super().make(terms, measures)
        self.execute("INSERT INTO ledger.origin VALUES (?, ?)", (FORMAT, first_head(terms).hash))

    def widen(self, measures: tuple[str, ...]) -> None:
        """Change the tables and functions of format 2; rights are kept."""
        super().widen(measures)
        self.execute("UPDATE ledger.origin SET format = ?", (FORMAT,))
        self.make_functions()
        functions = ", ".join(f'"{self.ledger}".{name}' for name in SIGNATURES)
        query = _RIGHTS.replace("{functions}", functions).replace("{append}", OLD_SIGNATURES[0])
        for (statement,) in self.connection.execute(
            query.replace("{name}", self.ledger).replace("%s", "%%s"), ()
        ).fetchall():
            self.execute(statement)
        for name in OLD_SIGNATURES:
            self.execute(f"DROP FUNCTION IF EXISTS ledger.{name}")

    def _make_schema(self) -> None:
        """Make the schema; in an existing one only this user may have the right to create."""
        found = self.execute(_SCHEMA, (self.ledger,)).fetchone()
        if found is None and self.ledger != "public":
            self.execute(f'CREATE SCHEMA "{self.ledger}"')
        elif found != (True,) or self.ledger == "public":
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be made: its schema exists, and other users "
                "may make tables in it. Choose your own schema, or a new name."
            )

    def _check_server(self) -> None:
        info = self.connection.info
        encoding = info.parameter_status("server_encoding")
        if info.server_version < _OLDEST or encoding != "UTF8":
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be made: it needs PostgreSQL 14 or later and a "
                f"database in UTF8, not {info.server_version // 10000} and {encoding}."
            )


def grants(ledger: str, spend: str, audit: str) -> str:
    """Return the SQL by which the owner of a ledger gives two roles their rights.

    The role `spend` may read, append and open shares, through functions only. The role `audit` may
    read. Neither may change, delete or create anything.
    """
    quoted = (name.replace('"', '""') for name in (ledger, spend, audit))
    schema, spender, auditor = (f'"{name}"' for name in quoted)
    functions = ", ".join(f"{schema}.{name}" for name in SIGNATURES)
    return (
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;\n"
        f"GRANT USAGE ON SCHEMA {schema} TO {spender}, {auditor};\n"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {spender}, {auditor};\n"
        f"GRANT EXECUTE ON FUNCTION {functions} TO {spender};\n"
    )
