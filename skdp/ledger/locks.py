"""File locks: only one process makes a ledger at a time, and locks must have an effect."""

from __future__ import annotations

import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from skdp.exceptions import BudgetClosedError
from skdp.ledger.connections import clear_errors, uri_of
from skdp.ledger.fork_lock import gate

try:
    import fcntl
except ImportError:  # Windows: locks are mandatory there, and open files cannot be deleted
    fcntl = None  # type: ignore[assignment]

__all__ = ["check_locks", "creating"]

_RESERVED_BYTE = 0x40000001  # the byte by whose lock SQLite writes
_LOCK_OF_SQLITE = "hhqqi4x"  # struct flock: type, whence, start, length, process
_CHILD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None, uri=True)
try: connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError: print("locked")
"""


@contextmanager
def creating(path: str) -> Iterator[None]:
    """Hold the folder's lock; without a database, remove the companions of a deleted one.

    A handle on the deleted database would otherwise share ``-shm`` with the new one.
    """
    if fcntl is None:
        yield
        return
    with _folder_of(path) as folder:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            check_locks(path)
            _remove_companions(Path(path).resolve())
        except OSError as error:
            raise BudgetClosedError(
                f"The ledger {path} cannot be used: {error}. Its folder must be writable, on a "
                "file system with locks for files and folders."
            ) from error
        yield


@contextmanager
def _folder_of(path: str) -> Iterator[int]:
    try:
        folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    except OSError as error:
        raise BudgetClosedError(f"The ledger {path} cannot be used: {error}.") from error
    try:
        yield folder
    finally:
        os.close(folder)


def _remove_companions(path: Path) -> None:
    if not path.exists():
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def check_locks(path: str) -> None:
    """Raise BudgetClosedError unless locks in the folder of `path`, held by the caller, work.

    On some network and user-space file systems locks have no effect, so two processes
    would overwrite each other's releases. Two tests: take the lock of the folder again, and query
    SQLite's lock on a file of its own.
    """
    with _folder_of(path) as again:
        try:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            raise _unlockable(path, "a held lock was granted again")
    with tempfile.TemporaryDirectory(prefix=".skdp-lock-", dir=Path(path).resolve().parent) as own:
        if not gate.run(partial(_sqlite_excludes, str(Path(own) / "probe.db"), path)):
            raise _unlockable(path, "a lock that SQLite holds has no effect")


def _sqlite_excludes(probe: str, path: str) -> bool:
    """Return whether other processes see the lock of a write transaction on `probe`."""
    with clear_errors(path), closing(sqlite3.connect(uri_of(probe, "rwc"), uri=True)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        seen = _is_locked(probe)
        connection.execute("ROLLBACK")
    return seen


def _is_locked(probe: str) -> bool:
    """Return whether SQLite's lock is held, as another process sees it."""
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return _is_locked_for_a_child(probe)
    wanted = struct.pack(_LOCK_OF_SQLITE, fcntl.F_WRLCK, os.SEEK_SET, _RESERVED_BYTE, 1, 0)
    with open(probe, "rb+") as other:
        found = fcntl.fcntl(other, fcntl.F_OFD_GETLK, wanted)
    return bool(struct.unpack(_LOCK_OF_SQLITE, found)[0] != fcntl.F_UNLCK)


def _is_locked_for_a_child(probe: str) -> bool:
    """Query the lock from a child process, for systems without locks per descriptor."""
    command = [sys.executable, "-c", _CHILD, uri_of(probe, "rw")]
    return subprocess.run(command, capture_output=True, check=True).stdout.startswith(b"locked")


def _unlockable(path: str, why: str) -> BudgetClosedError:
    return BudgetClosedError(
        f"The ledger {path} cannot be used: files in its folder cannot be locked ({why}), so "
        "releases of several processes could be lost. Put it on a local disk."
    )
