"""A ledger on a server, for many machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.address import clean_address
from skdp.ledger.server.schema import ServerTables
from skdp.ledger.server.sessions import LostError, Session, Sessions
from skdp.ledger.storage import Storage
from skdp.ledger.tables import Tables

__all__ = ["ServerStorage"]

_PATIENT = "SET LOCAL idle_in_transaction_session_timeout = 0"  # adding up a long ledger takes time
_SNAPSHOT = f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {_PATIENT}"
_ONE_BY_ONE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # after a lock, earlier commits are visible
_ALONE = f"{_ONE_BY_ONE}; SELECT lock_ledger()"
_MAKERS = "SELECT pg_advisory_xact_lock(hashtext(%s))"

T = TypeVar("T")


class ServerStorage(Storage):
    """A schema of a PostgreSQL database, to which each thread and process has one connection.

    A write holds the lock of the ledger's one row of terms from its first query to its commit.
    (With eight writers, retried serializable transactions or repeated checks are half as fast.) A
    password in the address is not kept with this object.
    """

    def __init__(self, address: str) -> None:
        super().__init__(clean_address(address))
        self.sessions = Sessions.at(self.address)

    def make(self, action: Callable[[Tables], None]) -> None:
        self._again_if_lost(lambda: self._make(action))

    def read(self, action: Callable[[Tables], T]) -> T:
        return self._again_if_lost(lambda: self._read(action))

    def write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        return self._again_if_lost(lambda: self._write(action, before_commit, key))

    def close(self) -> None:
        self.sessions.close()

    def _again_if_lost(self, attempt: Callable[[], T]) -> T:
        """Call `attempt`, again if the connection was lost and nothing was recorded."""
        try:
            return attempt()
        except LostError:
            self.sessions.wait()
            return attempt()

    def _tables(self, session: Session) -> ServerTables:
        return ServerTables(session.connection, self.address, session.ledger)

    def _make(self, action: Callable[[Tables], None]) -> None:
        with self.sessions.use() as session:
            tables = self._tables(session)
            with session.clear_errors():
                found = tables.exist()
            if not found and self._made(session, tables, action):
                return
            with session.transaction(_SNAPSHOT):
                action(tables)

    def _made(
        self, session: Session, tables: ServerTables, action: Callable[[Tables], None]
    ) -> bool:
        """Make a ledger, or return False if another process was faster."""
        with session.transaction(f"{_ONE_BY_ONE}; {_PATIENT}"):
            session.connection.execute(_MAKERS, (f"skdp {session.ledger}",))
            if tables.exist():
                return False
            tables.create()
            action(tables)
        return True

    def _read(self, action: Callable[[Tables], T]) -> T:
        with self.sessions.use() as session, session.clear_errors():
            return action(self._tables(session))

    def _write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None,
        key: str,
    ) -> T:
        """Write once; raise `LostError` only if nothing was recorded."""
        in_doubt = False
        try:
            with self.sessions.use() as session, session.transaction(_ALONE):
                result = action(self._tables(session))
                if before_commit is not None:
                    before_commit()
                in_doubt = True
        except LostError:
            if not (in_doubt and self._was_recorded(key)):
                raise
        return result

    def _was_recorded(self, key: str) -> bool:
        """Look for a spend whose commit was not confirmed, once its transaction has ended."""
        try:
            self.sessions.wait()
            with self.sessions.use() as session, session.transaction(_ALONE):
                return self._tables(session).holds(key)
        except BudgetClosedError as error:
            raise BudgetClosedError(
                f"The connection to the ledger {self.address} was lost during a spend, and the "
                "server does not tell whether it was recorded. Count the release as spent."
            ) from error
