"""The tables of a ledger in PostgreSQL, and the only functions that may append."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Head, first_head
from skdp.ledger.fractions import Amounts, write
from skdp.ledger.release import Release, content_of
from skdp.ledger.tables import FORMAT, TABLES, Account, Tables

__all__ = ["ServerTables", "grants"]

_MORE_TABLES = (
    "ALTER TABLE releases ADD COLUMN key TEXT UNIQUE",
    """ALTER TABLE accounts ALTER epsilon SET NOT NULL, ALTER delta SET NOT NULL,
    ADD CHECK (epsilon > 0 AND epsilon < 'Infinity' AND delta >= 0 AND delta < 1)""",
    "CREATE TABLE origin (format INTEGER, hash TEXT)",
)
# The search path holds only the server's own names: otherwise a function that another user makes
# in the ledger's schema would run as the owner.
_LOCK = """
CREATE FUNCTION {ledger}.lock_ledger() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM {ledger}.terms FOR UPDATE;
END $$
"""
# Sums have the exact type numeric and only grow: a cost below zero is rejected.
_APPEND = """
CREATE FUNCTION {ledger}.append(new_key text, new_id bigint, new_content text, account_of text,
    part text, costs numeric[])
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text[] := string_to_array(account_of, '/');
    stamp text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US+00:00');
    last_id bigint;
    last_hash text;
    new_hash text;
    name text;
    sums text;
BEGIN
    PERFORM FROM {ledger}.terms FOR UPDATE;
    SELECT id, hash INTO last_id, last_hash FROM {ledger}.releases ORDER BY id DESC LIMIT 1;
    IF new_id IS DISTINCT FROM coalesce(last_id, 0) + 1 THEN
        RAISE 'the ledger has gone on since the check of this release';
    END IF;
    IF EXISTS (SELECT FROM unnest(costs) cost WHERE (cost >= 0 AND cost <> 'NaN') IS NOT TRUE) THEN
        RAISE 'a cost is below zero or no number';
    END IF;
    IF costs IS NULL OR array_ndims(costs) > 1 OR cardinality(costs) <> (
            SELECT cardinality(string_to_array(amounts, ' ')) FROM {ledger}.totals LIMIT 1) THEN
        RAISE 'these are not as many costs as the ledger adds up';
    END IF;
    FOR depth IN 0 .. cardinality(names) LOOP
        name := array_to_string(names[:depth], '/');
        INSERT INTO {ledger}.totals AS old
            VALUES (name, coalesce('part ' || part, 'every part'), array_to_string(costs, ' '))
            ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                SELECT string_agg(trim_scale(a + b)::text, ' ' ORDER BY i)
                FROM unnest(string_to_array(old.amounts, ' ')::numeric[], costs)
                    WITH ORDINALITY AS pairs(a, b, i)), '')
            RETURNING amounts INTO sums;
        IF part IS NOT NULL THEN
            INSERT INTO {ledger}.totals AS old VALUES (name, 'largest part', sums)
                ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                    SELECT string_agg(greatest(a, b)::text, ' ' ORDER BY i)
                    FROM unnest(string_to_array(old.amounts, ' ')::numeric[],
                                string_to_array(sums, ' ')::numeric[])
                        WITH ORDINALITY AS pairs(a, b, i)), '');
        END IF;
    END LOOP;
    new_hash := encode(sha256(convert_to(
        coalesce(last_hash, (SELECT hash FROM {ledger}.origin))
            || E'\\n' || stamp || E'\\n' || new_content, 'UTF8')), 'hex');
    INSERT INTO {ledger}.releases (id, time, content, hash, key)
        VALUES (new_id, stamp, new_content, new_hash, new_key);
    RETURN new_hash;
END $$
"""
# A share lies within its parent; otherwise an export of the ledger could not be imported.
_OPEN_ACCOUNT = """
CREATE FUNCTION {ledger}.open_account(new_name text, new_epsilon float8, new_delta float8)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text[] := string_to_array(new_name, '/');
    outer_name text := array_to_string(trim_array(names, least(1, cardinality(names))), '/');
BEGIN
    IF new_name IS NULL OR names = '{}' OR '' = ANY (names) THEN
        RAISE 'this is no name of a share';
    END IF;
    IF NOT EXISTS (
        SELECT FROM (SELECT name, epsilon, delta FROM {ledger}.accounts
                     UNION ALL SELECT '', epsilon, delta FROM {ledger}.terms) AS outer_ones
        WHERE name = outer_name AND new_epsilon <= epsilon AND new_delta <= delta
    ) THEN
        RAISE 'a share is above what it is a share of';
    END IF;
    INSERT INTO {ledger}.accounts VALUES (new_name, new_epsilon, new_delta) ON CONFLICT DO NOTHING;
END $$
"""
_FUNCTIONS = (
    "lock_ledger()",
    "append(text, bigint, text, text, text, numeric[])",
    "open_account(text, float8, float8)",
)
_SCHEMA = """
SELECT pg_get_userbyid(nspowner) = current_user AND NOT EXISTS (
    SELECT FROM aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND grantee <> nspowner)
FROM pg_namespace WHERE nspname = ?
"""
_OLDEST = 140000


class ServerTables(Tables):
    """The tables of one ledger through a connection to a server, in the schema `ledger`."""

    def __init__(self, connection: Any, address: str, ledger: str) -> None:
        super().__init__(connection, address)
        self.ledger = ledger

    def execute(self, query: str, values: Iterable[object] = ()) -> Any:
        return self.connection.execute(query.replace("?", "%s"), tuple(values))

    def append(self, head: Head, release: Release, cost: Amounts, key: str) -> Head:
        query = "SELECT append(?, ?, ?, ?, ?, string_to_array(?, ' ')::numeric[])"
        number, account, part = head.number + 1, release.account, release.part
        values = (key, number, content_of(release), account, part, write(cost))
        return Head(number, self.execute(query, values).fetchone()[0])

    def add_account(self, account: Account) -> Account:
        self.execute("SELECT open_account(?, ?, ?)", account)
        return self.account(account[0])

    def holds(self, key: str) -> bool:
        """Return whether a release was appended under this key."""
        return self.execute("SELECT 1 FROM releases WHERE key = ?", (key,)).fetchone() is not None

    def exist(self) -> bool:
        """Return whether there is a ledger; raise if its format cannot be read."""
        query = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'origin'"
        if self.execute(query, (self.ledger,)).fetchone() is None:
            return False
        number = self.execute(f'SELECT format FROM "{self.ledger}".origin').fetchone()[0]
        if number != FORMAT:
            raise BudgetClosedError(
                f"The ledger {self.address} has format {number}; this version of skdp reads format "
                f"{FORMAT}."
            )
        return True

    def create(self) -> None:
        """Make the schema, unless it exists, the tables and the functions."""
        self._check_server()
        self._make_schema()
        for statement in (*TABLES, *_MORE_TABLES, _LOCK, _APPEND, _OPEN_ACCOUNT):
            self.connection.execute(statement.replace("{ledger}", f'"{self.ledger}"'))
        self.execute(f"REVOKE ALL ON FUNCTION {', '.join(_FUNCTIONS)} FROM PUBLIC")

    def make(self, terms: dict[str, object]) -> bool:
        made = super().make(terms)
        if made:
            self.execute("INSERT INTO origin VALUES (?, ?)", (FORMAT, first_head(terms).hash))
        return made

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
    functions = ", ".join(f"{schema}.{name}" for name in _FUNCTIONS)
    return (
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;\n"
        f"GRANT USAGE ON SCHEMA {schema} TO {spender}, {auditor};\n"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {spender}, {auditor};\n"
        f"GRANT EXECUTE ON FUNCTION {functions} TO {spender};\n"
    )
