"""One open connection for each process and thread, safe across forks."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skdp.exceptions import BudgetClosedError

__all__ = ["Connections", "clear_errors", "connect", "opening"]

_WAIT_SECONDS = 60.0
_SMALLEST = 512  # bytes of the smallest SQLite database

opening = threading.RLock()
"""Held while a connection opens or a process forks, so that no fork finds one half open."""

_sessions: weakref.WeakSet[_Session] = weakref.WeakSet()


class Connections:
    """The open connections of one handle to one path, at most one for each thread.

    At every use, the file at the path is compared with the file that is open: one that was
    deleted, replaced or cut short is noticed before anything is read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._local = threading.local()
        self._own: weakref.WeakSet[_Session] = weakref.WeakSet()
        self._first_file: tuple[int, int] | None = None

    @property
    def is_replaced(self) -> bool:
        """Whether the path now leads to another file than at the first use."""
        return _file_at(self.path)[0] != self._first_file

    def remember(self) -> None:
        """Take the file at the path as the one that has to stay there."""
        self._first_file = _file_at(self.path)[0]

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """Lend this thread's connection; before it is returned, the file is looked at again."""
        session = self._locked_session()
        try:
            with clear_errors(self.path):
                yield session.connection
        finally:
            session.lock.release()
        if session.file != _file_at(self.path)[0]:
            raise BudgetClosedError(
                f"The ledger {self.path} was replaced while it was in use. Nothing was read; what "
                "was spent meanwhile stands in the old file."
            )

    def close(self) -> None:
        """Close the connections of all threads; the next use opens new ones."""
        for session in list(self._own):
            session.close()

    def _locked_session(self) -> _Session:
        while True:
            session = self._session()
            session.lock.acquire()
            if session.connection is not None:  # else a fork has just closed it
                return session
            session.lock.release()

    def _session(self) -> _Session:
        session = getattr(self._local, "session", None)
        file, size = _file_at(self.path)
        if session is None or not session.is_usable(file):
            self._local.session = None
            session = self._local.session = self._open(file)
        session.check_size(size)
        self._first_file = self._first_file or file
        return session

    def _open(self, file: tuple[int, int]) -> _Session:
        with opening:
            session = _Session(self.path, file)
            _sessions.add(session)
            self._own.add(session)
        return session


class _Session:
    """A connection with the process that opened it and the file that it reads."""

    def __init__(self, path: str, file: tuple[int, int]) -> None:
        self.path = path
        self.file = file
        self.process = os.getpid()
        self.size = 0
        self.lock = threading.RLock()
        self.connection: Any = connect(path, "rw" if os.access(path, os.W_OK) else "ro")

    def is_usable(self, file: tuple[int, int]) -> bool:
        if self.connection is not None and self.process != os.getpid():
            raise BudgetClosedError(
                f"The ledger {self.path} was carried open into another process. Nothing was read "
                "or spent."
            )
        return self.connection is not None and self.file == file

    def check_size(self, size: int) -> None:
        if size < max(self.size, _SMALLEST):
            raise BudgetClosedError(
                f"The ledger {self.path} cannot be used: the file was cut short. Nothing was read "
                "or spent."
            )
        self.size = size

    def close(self) -> None:
        with self.lock:
            connection, self.connection = self.connection, None
            if connection is not None:
                connection.close()

    def __del__(self) -> None:
        if getattr(self, "connection", None) is not None and self.process == os.getpid():
            self.close()


def connect(path: str, mode: str) -> sqlite3.Connection:
    """Open the database at `path`; mode ``"ro"``, ``"rw"`` or ``"rwc"``."""
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    with clear_errors(path):
        connection = sqlite3.connect(
            uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous=FULL")
        return connection


@contextmanager
def clear_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors into `BudgetClosedError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise BudgetClosedError(
            f"The ledger {path} cannot be used: {error}. Nothing was read or spent."
        ) from error


def _file_at(path: str) -> tuple[tuple[int, int], int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise BudgetClosedError(
            f"The ledger {path} is gone: it was deleted, or it was the temporary ledger "
            "of a budget that no longer exists. Nothing was read or spent."
        ) from None
    except OSError as error:
        raise BudgetClosedError(
            f"The ledger {path} cannot be used: {error}. Nothing was read or spent."
        ) from error
    return (found.st_dev, found.st_ino), found.st_size


_held: list[_Session] = []


def _before_fork() -> None:
    """Close every connection: SQLite's locks do not survive a fork, its idea of them does."""
    opening.acquire()
    _held[:] = list(_sessions)
    for session in _held:
        session.lock.acquire()
        session.close()


def _after_fork() -> None:
    for session in _held:
        session.lock.release()
    _held.clear()
    opening.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
