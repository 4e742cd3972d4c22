"""Connections to an SQLite ledger: one per process and thread, safe across forks."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from skdp.exceptions import BudgetClosedError
from skdp.ledger.fork_lock import gate

__all__ = ["Connections", "clear_errors", "connect", "place_of_file", "replaced", "uri_of"]

_SMALLEST = 512  # bytes of the smallest SQLite database
_DURABLE = ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON")
_TEMPORARY = ("synchronous=OFF",)  # it is removed with its budget, so flushing is of no use

T = TypeVar("T")


class Connections:
    """The open connections of one handle to one path, at most one per thread.

    Each use compares the files at the path with the open ones, so a deleted, replaced or truncated
    file is noticed before anything is read.
    """

    def __init__(self, path: str, is_temporary: bool, timeout: float) -> None:
        self.path = path
        self.is_temporary = is_temporary
        self.timeout = timeout
        self._local = threading.local()
        self._own: weakref.WeakSet[_Session] = weakref.WeakSet()
        self._first_file: tuple[int, int] | None = None

    def use(self, action: Callable[[Any], T], *, to_write: bool = False) -> T:
        """Return `action` of this thread's connection; check the file before and after."""
        return gate.run(partial(self._used, action, to_write))

    def close(self) -> None:
        """Close the connections of all threads; the next use opens new ones."""
        gate.alone(self._close_all)

    def _close_all(self) -> None:
        for session in list(self._own):
            session.close()

    def _used(self, action: Callable[[Any], T], to_write: bool) -> T:
        session = self._session(to_write)
        with clear_errors(self.path):
            session.heal()
            result = action(session.connection)
        if session.file != _file_of(_look_at(self.path)):
            raise BudgetClosedError(
                f"The ledger {self.path} was replaced while it was in use. "
                "Spends in the meantime are in the old file."
            )
        session.check_companions()
        return result

    def _session(self, to_write: bool) -> _Session:
        found = _look_at(self.path)
        if to_write and not found.st_mode & 0o222:
            raise BudgetClosedError(f"The ledger {self.path} is read-only.")
        file = _file_of(found)
        self._first_file = self._first_file or file
        if file != self._first_file:
            raise replaced(self.path)
        session: _Session | None = getattr(self._local, "session", None)
        if session is None or not session.is_usable():
            session = _Session(self.path, file, self.is_temporary, self.timeout)
            self._own.add(session)
            self._local.session = session
        session.check_size(found.st_size)
        session.check_companions()
        return session


class _Session:
    """A connection with the process that opened it and the files that it reads.

    SQLite keeps the two companions of a database while it is open. If one differs, it was deleted,
    and other processes would not see the locks of this connection.
    """

    def __init__(
        self, path: str, file: tuple[int, int], is_temporary: bool, timeout: float
    ) -> None:
        self.path = path
        self.file = file
        self.process, self.generation = os.getpid(), gate.generation
        self.size = 0
        mode = "rw" if os.access(path, os.W_OK) else "ro"
        self.connection: Any = connect(path, mode, is_temporary, timeout)
        self._finalizer = weakref.finalize(self, gate.drop, self.connection, self.process)
        self._finalizer.atexit = False
        gate.own(self.connection)
        self.companions = _companions(path)

    def is_usable(self) -> bool:
        """Return whether the connection is open: a fork closes it."""
        if self.connection is None or self.generation != gate.generation:
            return False
        if self.process != os.getpid():
            raise BudgetClosedError(
                f"The ledger {self.path} was opened by another process before a fork."
            )
        return True

    def heal(self) -> None:
        """Roll back the transaction that an interrupt may have left open."""
        if self.connection.in_transaction and not gate.is_nested():
            self.connection.execute("ROLLBACK")

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
        self.connection = None
        self._finalizer()


def connect(path: str, mode: str, is_temporary: bool, timeout: float) -> sqlite3.Connection:
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
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        durability = _TEMPORARY if is_temporary else _DURABLE
        as_log = ("journal_mode=WAL",) if mode == "rw" else ()  # its maker may have died before
        for pragma in (*durability, *as_log, "wal_autocheckpoint=1"):
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


def place_of_file(path: str) -> str:
    """Return the volume and the inode of a file: a copy has others, wherever it is mounted."""
    found = os.stat(path)
    volume = os.statvfs(path).f_fsid if hasattr(os, "statvfs") else 0
    return f"{volume or found.st_dev:x}/{found.st_ino:x}"


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
