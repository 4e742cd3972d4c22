"""A ledger on a server, for many machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from psycopg import errors
from psycopg.pq import TransactionStatus

from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.address import clean_address
from skdp.ledger.server.schema import ServerTables
from skdp.ledger.server.sessions import LostError, Session, Sessions
from skdp.ledger.storage import TIMEOUT, Storage
from skdp.ledger.tables import Tables

__all__ = ["ServerStorage"]

_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_ONE_BY_ONE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # after a lock, earlier commits are visible
_IDLE_SECONDS = 30  # of a spend; reading may take longer, because adding up a ledger takes time
_TAKEN = (errors.DuplicateSchema, errors.DuplicateTable, errors.UniqueViolation)
_TO_LOOK = 1.0 / 3.0  # the part of the time that is kept for the look-up of a lost commit

T = TypeVar("T")


class ServerStorage(Storage):
    """A schema of a PostgreSQL database, to which each thread and process has one connection.

    A write holds the lock of the ledger's one row of terms from its first query to its commit.
    (With eight writers, retried serializable transactions or repeated checks are half as fast.) A
    password in the address is not kept with this object.
    """

    def __init__(self, address: str, timeout: float = TIMEOUT) -> None:
        super().__init__(clean_address(address), timeout)
        self.sessions = Sessions.at(self.address)

    def make(self, action: Callable[[Tables], None]) -> None:
        self._until_done(partial(self._make, action), self._end())

    def read(self, action: Callable[[Any], T]) -> T:
        end = self._end()
        return self._until_done(lambda: self.sessions.use(partial(self._read, action), end), end)

    def write(
        self,
        action: Callable[[Any], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        last = self._end()
        end = last - _TO_LOOK * self.timeout
        return self._until_done(lambda: self._write(action, before_commit, key, end, last), end)

    def close(self) -> None:
        self.sessions.close()

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
                self.sessions.wait(end)

    def _tables(self, session: Session) -> ServerTables:
        return ServerTables(session.connection, self.address, session.ledger)

    def _make(self, action: Callable[[Tables], None]) -> None:
        if self.read(self._exists):
            if self.read(lambda tables: tables.has_other_functions()):
                self.sessions.use(self._remade, self._end())
            return
        try:
            self.sessions.use(partial(self._made, action), self._end())
        except BudgetClosedError as error:
            if not (isinstance(error.__cause__, _TAKEN) and self.read(self._exists)):
                raise  # else another process was faster

    def _exists(self, tables: Tables) -> bool:
        return tables.format() > 0

    def _made(self, action: Callable[[Tables], None], session: Session) -> None:
        tables = self._tables(session)

        def make() -> None:
            tables.create()
            action(tables)

        session.transact(_ONE_BY_ONE, make)

    def _remade(self, session: Session) -> None:
        session.transact(_ONE_BY_ONE, self._tables(session).make_functions)

    def _read(self, action: Callable[[Tables], T], session: Session) -> T:
        tables = self._tables(session)
        if session.connection.info.transaction_status != TransactionStatus.IDLE:
            with session.clear_errors():  # a look during one's own spend
                return action(tables)
        return session.transact(_SNAPSHOT, lambda: action(tables))

    def _write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None,
        key: str,
        end: float,
        last: float,
    ) -> T:
        """Write once; raise `LostError` only if nothing was recorded."""
        commits: list[T] = []

        def act(session: Session) -> T:
            tables = self._tables(session)

            results: list[T] = []

            def locked() -> T:
                tables.lock()
                results.append(action(tables))
                return results[0]

            def commit() -> None:
                if before_commit is not None:
                    before_commit()
                commits.append(results[0])

            return session.transact(_ONE_BY_ONE, locked, commit, idle=_IDLE_SECONDS)

        while True:
            try:
                return self.sessions.use(act, end)
            except LostError:
                if commits and self._was_recorded(key, last):
                    return commits[0]
                raise
            except BudgetClosedError as error:
                if not isinstance(error.__cause__, errors.LockNotAvailable):
                    raise
                self._end_stalled(end)
                if time.monotonic() > end:
                    raise

    def _end_stalled(self, end: float) -> None:
        """Disconnect clients that have held the lock for long, if the owner may do that."""

        def end_them(session: Session) -> None:
            self._tables(session).execute("SELECT ledger.end_stalled()")

        self.sessions.use(
            lambda session: session.transact(_ONE_BY_ONE, lambda: end_them(session)), end
        )

    def _was_recorded(self, key: str, last: float) -> bool:
        """Look for a spend whose commit was not confirmed, once its transaction has ended."""
        while True:
            try:
                self.sessions.wait(last)
                return self.sessions.use(partial(self._look_for, key), last)
            except BudgetClosedError as error:
                if time.monotonic() > last:
                    raise BudgetClosedError(
                        f"The connection to the ledger {self.address} was lost during a spend, and "
                        f"the server does not tell whether it was recorded: the release {key} may "
                        "have been paid. Count the release as spent."
                    ) from error

    def _look_for(self, key: str, session: Session) -> bool:
        tables = self._tables(session)

        def look() -> bool:
            tables.lock()
            return tables.holds(key)

        return session.transact(_ONE_BY_ONE, look)
