"""Connections to a server: one per process and thread, safe across forks."""

from __future__ import annotations

import math
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from psycopg import Connection, Error, OperationalError
from psycopg.pq import TransactionStatus

from skdp.exceptions import BudgetClosedError
from skdp.ledger.fork_lock import gate
from skdp.ledger.server.address import parameters_of

__all__ = ["LostError", "Session", "Sessions"]

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
_LOCK_MILLISECONDS = 20_000  # then a look whether the lock is held by a client that stalls

T = TypeVar("T")


class LostError(BudgetClosedError):
    """An open connection to the server was lost, or the server did not answer in time."""


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
        return _sessions.setdefault(address, cls(address))

    def use(self, action: Callable[[Session], T], end: float) -> T:
        """Return `action` of this thread's session; it may wait until the time `end`."""
        return gate.run(partial(self._used, action, end))

    def wait(self, end: float) -> None:
        """Wait until the server answers; raise its error after the time `end`."""
        while True:
            try:
                return self.use(lambda session: session.ping(), end)
            except BudgetClosedError:
                if time.monotonic() > end:
                    raise
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Close the sessions of all threads; the next use opens new ones."""
        gate.alone(self._close_all)

    def _close_all(self) -> None:
        for session in list(self._own):
            session.close()

    def _used(self, action: Callable[[Session], T], end: float) -> T:
        session: Session | None = getattr(self._local, "session", None)
        if session is None or not session.is_usable():
            session = Session(self.address, end)
            self._own.add(session)
            self._local.session = session
        session.check_process()
        session.connection.end = end
        return action(session)


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
    """Passes on what psycopg waits for; raises an error if nothing has come by the time `end`."""

    def __init__(self, gen: Any, end: float) -> None:
        self._gen, self._end = gen, end

    def __next__(self) -> Any:
        return next(self._gen)

    def send(self, ready: Any) -> Any:
        if not ready and time.monotonic() > self._end:
            raise OperationalError("the server does not answer")
        return self._gen.send(ready)


class Session:
    """A connection to the server whose commits are durable."""

    def __init__(self, address: str, end: float) -> None:
        self.address = address
        parameters, self.ledger = parameters_of(address)
        self.connection = self._connected(_DEFAULTS | parameters, end)
        self._finalizer = weakref.finalize(self, gate.drop, self.connection, os.getpid())
        self._finalizer.atexit = False
        gate.own(self.connection)

    def transact(
        self,
        begin: str,
        action: Callable[[], T],
        before_commit: Callable[[], None] | None = None,
        *,
        idle: int = 0,
    ) -> T:
        """Write everything or nothing; the server ends a transaction that is `idle` for seconds.

        This is one function, not a context manager: an interrupt between the two halves of a
        context manager would leave the transaction open.
        """
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be used: cannot start a transaction within a "
                "transaction."
            )
        try:
            with self.clear_errors():
                left = max(1, math.ceil(1000.0 * (self.connection.end - time.monotonic())))
                wait = min(left, _LOCK_MILLISECONDS)
                self.connection.execute(f"{begin};{_SETTINGS.format(idle=idle, wait=wait)}")
                result = action()
                if before_commit is not None:
                    before_commit()
                self.check_process()
                done = self.connection.execute("COMMIT").statusmessage
                if done != "COMMIT":  # a server answers ROLLBACK if a statement had failed
                    raise BudgetClosedError(
                        f"The ledger {self.address} cannot be used: an earlier error of the server "
                        "ended the transaction, and nothing was recorded."
                    )
                return result
        except Exception:
            self._roll_back()
            raise
        except BaseException:
            self.close()  # the server rolls back; an interrupt may have left the connection busy
            raise

    def ping(self) -> None:
        """Ask the server for an answer."""
        with self.clear_errors():
            self.connection.execute("SELECT 1")

    def is_usable(self) -> bool:
        """Return whether the connection is open; close it if an interrupt has left it busy.

        An interrupt may leave a transaction open, or psycopg's own lock held, for which a use would
        wait without end.
        """
        connection = self.connection
        idle = connection.info.transaction_status == TransactionStatus.IDLE
        busy = not idle or connection.lock.locked()
        if busy and connection.process == os.getpid() and not gate.is_nested():
            self.close()
        return not connection.closed

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
        if self.connection.process != os.getpid():
            raise BudgetClosedError(f"The ledger {self.address} was opened by another process.")

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._finalizer()

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
        if self.connection.process != os.getpid():
            return
        try:
            self.connection.rollback()
        except BaseException:
            self.close()  # the server then rolls back


_sessions: weakref.WeakValueDictionary[str, Sessions] = weakref.WeakValueDictionary()
