"""A ledger on a server, for many machines: the dialect of PostgreSQL, and its connections."""

from __future__ import annotations

import math
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from psycopg import Connection, Error, OperationalError, errors
from psycopg.pq import TransactionStatus

from skdp.exceptions import BudgetClosedError
from skdp.ledger.gate import gate
from skdp.ledger.release import Head, Totals, unusable
from skdp.ledger.server.address import clean_address, parameters_of
from skdp.ledger.server.functions import FUNCTIONS
from skdp.ledger.store import FORMAT, TIMEOUT, Found, Steps, Storage, Tables, of_format

_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_ONE_BY_ONE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # after a lock, earlier commits are visible
_IDLE_SECONDS = 30  # of a spend; others may take longer, because adding up a ledger takes time
_LOCK = "SELECT ledger.lock_ledger()"  # waits for the lock of the ledger
_TAKEN = (errors.DuplicateSchema, errors.DuplicateTable, errors.UniqueViolation)
_TO_LOOK = 1.0 / 3.0  # the part of the time that is kept for the look-up of a lost commit
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
_IS_MADE = "SELECT FROM pg_tables WHERE schemaname = ? AND tablename = 'totals'"
_OLDEST = 140000
_DEFAULTS: dict[str, Any] = {
    "application_name": "skdp",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_CONNECT_SECONDS = 10
# For one transaction: behind a pooler the next one may have another server process. A client that
# stalls inside a transaction is disconnected before others stop waiting for its lock.
_SETTINGS = """
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL idle_in_transaction_session_timeout = '{idle}s';
SET LOCAL lock_timeout = '{wait}ms';
SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off'
"""
_ENDINGS = ("57P01", "57P02", "57P03", "57P05", "25P03")  # after which the server hangs up
# Messages of servers and poolers at the start of a connection, which have no code in libpq.
_FULL = re.compile(
    r"too many (clients|connections)|connection slots are reserved|no more connections|"
    r"(is|was) (starting up|in recovery mode)"
)
_POLL_SECONDS = 0.1

T = TypeVar("T")


class LostError(BudgetClosedError):
    """An open connection to the server was lost, or the server did not answer in time."""


class ServerStorage(Storage):
    """A schema of a PostgreSQL database, to which each thread and process has one connection.

    A write holds the lock of the ledger's one row of terms from its first query to its commit.
    (With eight writers, retried serializable transactions or repeated checks are half as fast.) A
    password in the address is not kept with this object. All handles on a ledger share connections:
    a worker may hold hundreds of handles, but a server admits few connections.
    """

    def __init__(self, address: str, timeout: float = TIMEOUT, is_temporary: bool = False) -> None:
        super().__init__(clean_address(address), timeout, is_temporary)
        self.own = _own.setdefault(self.address, threading.local())

    def exists(self) -> bool:
        return self.read(ServerTables.is_made)

    def make(self, action: Callable[[Any], None]) -> None:
        self._until_done(partial(self._make, action), self._end())

    def read(self, action: Callable[[Any], T]) -> T:
        end = self._end()
        return self._until_done(partial(self._transact, _SNAPSHOT, action, end), end)

    def write(self, action: Callable[[Any], T], before_commit: Steps = (), key: str = "") -> T:
        last = self._end()
        end = last - _TO_LOOK * self.timeout
        return self._until_done(lambda: self._write(action, before_commit, key, end, last), end)

    def _end(self) -> float:
        return time.monotonic() + self.timeout

    def _until_done(self, attempt: Callable[[], T], end: float) -> T:
        """Call `attempt`, again if the connection was lost and nothing was recorded."""
        while True:
            try:
                return attempt()
            except LostError:
                if time.monotonic() > end:
                    raise
                self._wait(end)

    def _wait(self, end: float) -> None:
        """Wait until the server answers; raise its error after the time `end`."""
        while True:
            try:
                return self._transact(_SNAPSHOT, lambda tables: None, end)
            except BudgetClosedError:
                if time.monotonic() > end:
                    raise
            time.sleep(_POLL_SECONDS)

    def _transact(self, begin: str, action: Callable[[Any], T], end: float, steps: Steps = ()) -> T:
        """Return `action` of this thread's tables; it may wait until the time `end`."""

        def use() -> T:
            tables: ServerTables | None = getattr(self.own, "tables", None)
            if tables is None or not tables.is_usable():
                self.own.tables = tables = ServerTables(self.address, end)
            tables.check_process()
            tables.connection.end = end
            return tables.transact(begin, action, steps)

        return gate.run(use)

    def _make(self, action: Callable[[ServerTables], None]) -> None:
        def make(tables: ServerTables) -> None:
            tables.create()
            action(tables)

        if self.exists():
            if self.read(ServerTables.has_other_functions):
                self._transact(_ONE_BY_ONE, ServerTables.make_functions, self._end())
            return
        try:
            self._transact(_ONE_BY_ONE, make, self._end())
        except BudgetClosedError as error:
            if not (isinstance(error.__cause__, _TAKEN) and self.exists()):
                raise  # else another process was faster

    def _write(
        self, action: Callable[[Any], T], before_commit: Steps, key: str, end: float, last: float
    ) -> T:
        """Write once; raise `LostError` only if nothing was recorded."""
        results: list[T] = []
        commits: list[T] = []

        def locked(tables: ServerTables) -> None:
            results.clear()
            tables.execute(_LOCK)
            results.append(action(tables))

        steps = [*before_commit, lambda: commits.extend(results)]
        try:
            self._transact(_ONE_BY_ONE, locked, end, steps)
            return results[0]
        except LostError:
            if commits and self._was_recorded(key, last):
                return commits[0]
            raise

    def _was_recorded(self, key: str, last: float) -> bool:
        """Look for a spend whose commit was not confirmed, once its transaction has ended."""

        def look_for(tables: ServerTables) -> bool:
            tables.execute(_LOCK)
            query = "SELECT 1 FROM ledger.entries WHERE key = ?"
            return tables.execute(query, (key,)).fetchone() is not None

        while True:
            try:
                self._wait(last)
                return self._transact(_ONE_BY_ONE, look_for, last)
            except BudgetClosedError as error:
                if time.monotonic() > last:
                    raise BudgetClosedError(
                        f"The connection to the ledger {self.address} was lost during a spend, and "
                        f"the server does not tell whether it was recorded: the release {key} may "
                        "have been paid. Count the release as spent."
                    ) from error


class ServerTables(Tables):
    """The tables of one ledger through a connection to a server, whose commits are durable."""

    def __init__(self, address: str, end: float) -> None:
        parameters, self.ledger = parameters_of(address)
        names = {"ledger.": f'"{self.ledger}".', "?": "%s"}
        names["$place"] = _PLACE.replace("{name}", self.ledger)
        self.address = address
        super().__init__(self._connected(_DEFAULTS | parameters, end), address, names)

    # --- the tables ---

    @property
    def role(self) -> str:  # type: ignore[override]
        return str(self.execute("SELECT session_user").fetchone()[0])

    def create(self) -> None:
        info = self.connection.info
        encoding = info.parameter_status("server_encoding")
        if info.server_version < _OLDEST or encoding != "UTF8":
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be made: it needs PostgreSQL 14 or later and a "
                f"database in UTF8, not {info.server_version // 10000} and {encoding}."
            )
        self._make_schema()
        super().create()
        self.execute(f"ALTER TABLE ledger.terms ADD format INTEGER DEFAULT {FORMAT}")
        self.make_functions()

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

    def is_made(self) -> bool:
        """Return whether there is a ledger; raise BudgetClosedError if its format is unknown."""
        if self.execute(_IS_MADE, (self.ledger,)).fetchone() is None:
            return False
        with self.damage("its terms"):
            (number,) = self.execute("SELECT format FROM ledger.terms").fetchone()
        if number != FORMAT:
            raise of_format(self.address, number)
        return True

    def make_functions(self) -> None:
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
        query = f"SELECT prosrc FROM pg_proc WHERE pronamespace = '{self.ledger}'::regnamespace"
        found = {source for (source,) in self.execute(query)}
        return self._is_owner() and not {one.split("$$")[1] for one in self._functions} <= found

    def check_owner(self) -> None:
        if not self._is_owner():
            raise BudgetClosedError(f"The ledger {self.address} can only be changed by its owner.")

    def _is_owner(self) -> bool:
        query = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = ?"
        return self.execute(query, (self.ledger,)).fetchone() == (True,)

    def append(
        self,
        found: Found,
        content: str,
        sums: Mapping[str, Totals],
        facts: dict[str, Any] | None = None,
        **more: Any,
    ) -> Head:
        """Append a release by a function that adds up its costs, or another entry."""
        if facts is None:
            return super().append(found, content, sums, **more)
        query, number = "SELECT ledger.append(?, ?, ?, ?, ?, ?)", found.head.number + 1
        values = found.identity, facts["key"], number, content, facts["process"], facts["tag"]
        return Head(number, self.execute(query, values).fetchone()[0])

    # --- the connection ---

    def transact(self, begin: str, action: Callable[[Any], T], before_commit: Steps = ()) -> T:
        """Write everything or nothing; the server ends a spend that is idle for long.

        This is one function, not a context manager: an interrupt between the two halves of a
        context manager would leave the transaction open.
        """
        if not self.is_idle and begin == _SNAPSHOT:  # a look during one's own spend
            with self.clear_errors():
                return action(self)
        if not self.is_idle:
            raise unusable(self.address, "cannot start a transaction within a transaction")
        try:
            with self.clear_errors():
                left = max(1, math.ceil(1000.0 * (self.connection.end - time.monotonic())))
                idle = _IDLE_SECONDS if before_commit else 0
                self.connection.execute(f"{begin};{_SETTINGS.format(idle=idle, wait=left)}")
                result = action(self)
                for step in before_commit:
                    step()
                self.check_process()
                done = self.connection.execute("COMMIT").statusmessage
                if done != "COMMIT":  # a server answers ROLLBACK if a statement had failed
                    why = "an earlier error of the server ended the transaction"
                    raise unusable(self.address, f"{why}, and nothing was recorded")
                return result
        except Exception:
            self._roll_back()
            raise
        except BaseException:
            self.close()  # the server rolls back; an interrupt may have left the connection busy
            raise

    def is_usable(self) -> bool:
        """Return whether the connection is open; close it if an interrupt has left it busy.

        An interrupt may leave a transaction open, or psycopg's own lock held, for which a use would
        wait without end.
        """
        busy = not self.is_idle or self.connection.lock.locked()
        if busy and self.process == os.getpid() and not gate.is_nested():
            self.close()
        return not self.connection.closed

    @property
    def is_idle(self) -> bool:
        return bool(self.connection.info.transaction_status == TransactionStatus.IDLE)

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn errors of the server into `BudgetClosedError`, or `LostError` if it disconnected."""
        try:
            yield
        except Error as error:
            busy = self.connection.info.transaction_status == TransactionStatus.ACTIVE
            lost = self.connection.closed or busy or error.sqlstate in _ENDINGS
            if lost:
                self.close()
            kind = LostError if lost else BudgetClosedError
            raise kind(self._said(error)) from error

    def check_process(self) -> None:
        """Raise BudgetClosedError in a process that inherited the connection by a fork."""
        if self.process != os.getpid():
            raise BudgetClosedError(f"The ledger {self.address} was opened by another process.")

    def _connected(self, parameters: dict[str, Any], end: float) -> _Connection:
        """Open the connection, and wait while the server is full.

        psycopg's own error is dropped, because it holds the password.
        """
        while True:
            left = max(2, min(_CONNECT_SECONDS, math.ceil(end - time.monotonic())))
            try:
                return _Connection.connect(
                    **{"connect_timeout": left} | parameters,
                    autocommit=True,
                    prepare_threshold=None,  # behind a pooler, sessions have other statements
                )
            except Error as error:
                said = self._said(error)
            if time.monotonic() > end or not _FULL.search(said):
                raise BudgetClosedError(said)
            time.sleep(_POLL_SECONDS)

    def _said(self, error: Error) -> str:
        said = error.diag.message_primary or str(error) or type(error).__name__
        return f"The ledger {self.address} cannot be used: {' '.join(said.split())}."

    def _roll_back(self) -> None:
        if self.process != os.getpid():
            return
        try:
            self.connection.rollback()
        except BaseException:
            self.close()  # the server then rolls back


class _Connection(Connection[Any]):
    """A connection that is closed only by the process that opened it, and waits until `end`.

    The server would treat a message of a forked process as one of the opener.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        self.process = os.getpid()
        self.end = math.inf
        super().__init__(*args, **more)

    def wait(self, gen: Any, interval: float = _POLL_SECONDS) -> Any:  # type: ignore[override]
        return super().wait(_Until(gen, self.end), interval)  # type: ignore[arg-type]

    def close(self) -> None:
        if self.process == os.getpid():
            super().close()

    def __del__(self) -> None:  # type: ignore[override]
        """Do nothing: `Gate.drop` closes it."""


class _Until:
    """Stop psycopg's wait with an error at the deadline `end`."""

    def __init__(self, gen: Any, end: float) -> None:
        self._gen, self._end = gen, end

    def __next__(self) -> Any:
        return next(self._gen)

    def send(self, ready: Any) -> Any:
        if not ready and time.monotonic() > self._end:
            raise OperationalError("the server does not answer")
        return self._gen.send(ready)


_own: weakref.WeakValueDictionary[str, threading.local] = weakref.WeakValueDictionary()
