"""Connections to a server: one per process and thread, safe across forks."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection, Error
from psycopg.pq import TransactionStatus

from skdp.exceptions import BudgetClosedError
from skdp.ledger.fork_lock import close_before_fork, gate
from skdp.ledger.server.address import parameters_of

__all__ = ["LostError", "Session", "Sessions"]

_PATIENCE_SECONDS = 20.0  # for a server that comes back
_DEFAULTS: dict[str, Any] = {
    "application_name": "skdp",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# The server disconnects a client that stalls inside a transaction, before others stop waiting for
# its lock.
_SETTINGS = """
SET search_path = "{ledger}";
SET idle_in_transaction_session_timeout = '30s';
SET lock_timeout = '90s';
SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
"""
_ENDINGS = ("57P01", "57P02", "57P03", "57P05", "25P03")  # after which the server hangs up


class LostError(BudgetClosedError):
    """An open connection to the server was lost."""


class Sessions:
    """The open sessions of this process at one address, at most one per thread.

    All handles on a ledger share them: a worker may hold hundreds of handles, but a server admits
    few connections.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._local = threading.local()
        self._own: weakref.WeakSet[Session] = weakref.WeakSet()

    @classmethod
    def at(cls, address: str) -> Sessions:
        """Return the sessions at this address, shared while they are in use."""
        with gate.moment():
            found = _sessions.get(address)
            if found is None:
                found = _sessions[address] = cls(address)
            return found

    @contextmanager
    def use(self) -> Iterator[Session]:
        """Lend this thread's session, and block forks meanwhile."""
        with gate:
            session = getattr(self._local, "session", None)
            if session is None or session.connection.closed:
                session = self._local.session = Session(self.address)
                close_before_fork(session)
                self._own.add(session)
            session.check_process()
            yield session

    def wait(self) -> None:
        """Wait until the server answers; raise its error after a timeout."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with self.use():
                    return
            except BudgetClosedError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def close(self) -> None:
        """Close the sessions of all threads; the next use opens new ones."""
        with gate.alone():
            for session in list(self._own):
                session.close()


class _Connection(Connection[Any]):
    """A connection that is closed on deletion, but only by the process that opened it.

    The server would treat a message of a forked process as one of the opener.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        self.process = os.getpid()
        super().__init__(*args, **more)

    def close(self) -> None:
        if self.process == os.getpid():
            super().close()

    def __del__(self) -> None:  # type: ignore[override]
        if self.process == os.getpid():
            with gate.moment():  # so that no fork copies it half closed
                self.close()


class Session:
    """A connection to the server whose commits are durable."""

    def __init__(self, address: str) -> None:
        self.address = address
        parameters, self.ledger = parameters_of(address)
        self.connection = self._connected(_DEFAULTS | parameters)
        with self.clear_errors():
            self.connection.execute(_SETTINGS.format(ledger=self.ledger))

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Write everything or nothing."""
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be used: cannot start a transaction within a "
                "transaction."
            )
        try:
            with self.clear_errors():
                self.connection.execute(begin)
                yield
                self.check_process()
                done = self.connection.execute("COMMIT").statusmessage
            if done != "COMMIT":  # a server answers ROLLBACK if a statement had failed
                raise BudgetClosedError(
                    f"The ledger {self.address} cannot be used: an earlier error of the server "
                    "ended the transaction, and nothing was recorded."
                )
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn errors of the server into `BudgetClosedError`, or `LostError` if it disconnected."""
        try:
            yield
        except Error as error:
            lost = self.connection.closed or error.sqlstate in _ENDINGS
            if lost:
                self.close()
            kind = LostError if lost else BudgetClosedError
            raise kind(self._said(error)) from error

    def check_process(self) -> None:
        """Raise BudgetClosedError in a process that inherited the connection by a fork."""
        if self.connection.process != os.getpid():
            raise BudgetClosedError(f"The ledger {self.address} was opened by another process.")

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.connection.close()

    def _connected(self, parameters: dict[str, Any]) -> _Connection:
        """Open the connection; psycopg's own error is dropped, because it holds the password."""
        try:
            return _Connection.connect(**parameters, autocommit=True)
        except Error as error:
            said = self._said(error)
        raise BudgetClosedError(said)

    def _said(self, error: Error) -> str:
        said = error.diag.message_primary or str(error) or type(error).__name__
        return f"The ledger {self.address} cannot be used: {' '.join(said.split())}."

    def _roll_back(self) -> None:
        if self.connection.process != os.getpid():
            return
        try:
            self.connection.rollback()
        except BaseException:
            self.close()  # the server then rolls back


_sessions: weakref.WeakValueDictionary[str, Sessions] = weakref.WeakValueDictionary()
