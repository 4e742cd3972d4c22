"""Connections to an SQLite ledger: one per process and thread, safe across forks."""

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
from skdp.ledger.fork_lock import close_before_fork, gate

__all__ = ["Connections", "clear_errors", "connect", "replaced", "uri_of"]

_WAIT_SECONDS = 60.0
_SMALLEST = 512  # bytes of the smallest SQLite database
_DURABLE = ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON")
_TEMPORARY = ("synchronous=OFF",)  # it is removed with its budget, so flushing is of no use


class Connections:
    """The open connections of one handle to one path, at most one per thread.

    Each use compares the files at the path with the open ones, so a deleted, replaced or truncated
    file is noticed before anything is read.
    """

    def __init__(self, path: str, is_temporary: bool) -> None:
        self.path = path
        self.is_temporary = is_temporary
        self._local = threading.local()
        self._own: weakref.WeakSet[_Session] = weakref.WeakSet()
        self._first_file: tuple[int, int] | None = None

    def remember(self) -> None:
        """Remember the file at the path; every use checks that it is still there."""
        self._first_file = _file_of(_look_at(self.path))

    @contextmanager
    def use(self, *, to_write: bool = False) -> Iterator[sqlite3.Connection]:
        """Lend this thread's connection, and check the file before and after."""
        with gate:
            session = self._session(to_write)
            with clear_errors(self.path):
                yield session.connection
            if session.file != _file_of(_look_at(self.path)):
                raise BudgetClosedError(
                    f"The ledger {self.path} was replaced while it was in use. "
                    "Spends in the meantime are in the old file."
                )
            session.check_companions()

    def close(self) -> None:
        """Close the connections of all threads; the next use opens new ones."""
        with gate.alone():
            for session in list(self._own):
                session.close()

    def _session(self, to_write: bool) -> _Session:
        found = _look_at(self.path)
        if to_write and not found.st_mode & 0o222:
            raise BudgetClosedError(f"The ledger {self.path} is read-only.")
        file = _file_of(found)
        self._first_file = self._first_file or file
        if file != self._first_file:
            raise replaced(self.path)
        session = getattr(self._local, "session", None)
        if session is None or not session.is_usable():
            session = self._local.session = _Session(self.path, file, self.is_temporary)
            close_before_fork(session)
            self._own.add(session)
        session.check_size(found.st_size)
        session.check_companions()
        return session


class _Session:
    """A connection with the process that opened it and the files that it reads.

    SQLite keeps the two companions of a database while it is open. If one differs, it was deleted,
    and other processes would not see the locks of this connection.
    """

    def __init__(self, path: str, file: tuple[int, int], is_temporary: bool) -> None:
        self.path = path
        self.file = file
        self.process = os.getpid()
        self.size = 0
        mode = "rw" if os.access(path, os.W_OK) else "ro"
        self.connection: Any = connect(path, mode, is_temporary)
        self.companions = _companions(path)

    def is_usable(self) -> bool:
        if self.connection is not None and self.process != os.getpid():
            raise BudgetClosedError(
                f"The ledger {self.path} was opened by another process before a fork."
            )
        return self.connection is not None

    def check_size(self, size: int) -> None:
        if size < max(self.size, _SMALLEST):
            raise BudgetClosedError(
                f"The ledger {self.path} cannot be used: the file was cut short."
            )
        self.size = size

    def check_companions(self) -> None:
        now = _companions(self.path)
        if None in now or now != self.companions:
            raise BudgetClosedError(
                f"The ledger {self.path} cannot be used: its -wal or -shm file was deleted or "
                "replaced while it was open. Close all handles on it and make a new PrivacyBudget "
                "to go on."
            )

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        if os is None or gate is None:  # the interpreter clears modules when it shuts down
            return
        if getattr(self, "connection", None) is not None and self.process == os.getpid():
            with gate.moment():  # a fork in the middle would leave SQLite's own locks held
                self.close()


def connect(path: str, mode: str, is_temporary: bool) -> sqlite3.Connection:
    """Open the database at `path`; mode ``"ro"``, ``"rw"`` or ``"rwc"``.

    Each commit is copied from the log into the database at once, or with the next commit if a
    reader is active. So deleting the log does not delete spends. This costs one more flush; a
    rollback journal costs three, and blocks readers. A temporary ledger is not flushed to the disk:
    it survives the end of a process, but not of the machine.
    """
    with clear_errors(path):
        connection = sqlite3.connect(
            uri_of(path, mode),
            uri=True,
            timeout=_WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        durability = _TEMPORARY if is_temporary else _DURABLE
        for pragma in (*durability, "wal_autocheckpoint=1"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("PRAGMA schema_version")  # the first read opens the log
        return connection


def uri_of(path: str, mode: str) -> str:
    """Return the SQLite URI of `path`."""
    return f"{Path(path).absolute().as_uri()}?mode={mode}"


@contextmanager
def clear_errors(path: str) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into `BudgetClosedError`."""
    try:
        yield
    except (
        sqlite3.Error,
        OSError,
        UnicodeDecodeError,
    ) as error:  # the last: its message is not UTF-8
        raise BudgetClosedError(f"The ledger {path} cannot be used: {error}.") from error


def replaced(path: str) -> BudgetClosedError:
    """Return the error for another ledger at the path."""
    return BudgetClosedError(
        f"The ledger {path} was edited, or replaced by another one or by an older copy. If it is "
        "whole, a new PrivacyBudget continues it."
    )


def _look_at(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except FileNotFoundError:
        raise BudgetClosedError(
            f"The ledger {path} does not exist: it was deleted, or it was the temporary ledger "
            "of a budget that no longer exists."
        ) from None
    except OSError as error:
        raise BudgetClosedError(f"The ledger {path} cannot be used: {error}.") from error


def _companions(path: str) -> list[tuple[int, int] | None]:
    return [_identity_of(f"{path}{suffix}") for suffix in ("-wal", "-shm")]


def _identity_of(path: str) -> tuple[int, int] | None:
    try:
        return _file_of(os.stat(path))
    except OSError:
        return None


def _file_of(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
