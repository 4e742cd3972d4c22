"""A ledger in a file, for the threads and processes of one machine: the dialect of SQLite."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from skdp.exceptions import BudgetClosedError
from skdp.ledger.gate import gate
from skdp.ledger.release import unusable
from skdp.ledger.server.address import is_address
from skdp.ledger.store import FORMAT, TIMEOUT, Steps, Storage, Tables, of_format, replaced

try:
    import fcntl
except ImportError:  # Windows: locks are mandatory there, and open files cannot be deleted
    fcntl = None  # type: ignore[assignment]

APPLICATION = 0x736B6470
"""The ASCII codes of skdp, which SQLite keeps in the header of the file."""

_HEADER = {"application_id": APPLICATION, "user_version": FORMAT}
_ERRORS = (sqlite3.Error, OSError, UnicodeDecodeError)  # the last: not UTF-8
_FILES = ("", "-wal", "-shm", "-journal")
_IN_THE_MAKING = "-skdp-new"  # at the end of the names of files that are not whole yet
_SMALLEST = 512  # bytes of the smallest SQLite database
_DURABLE = ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON")
_TEMPORARY = ("synchronous=OFF",)  # it is removed with its budget, so flushing is of no use
_RESERVED_BYTE = 0x40000001  # the byte by whose lock SQLite writes
_LOCK_OF_SQLITE = "hhqqi4x"  # struct flock: type, whence, start, length, process
_CHILD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None, uri=True)
try: connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError: print("locked")
"""

T = TypeVar("T")
Place: TypeAlias = str | PathLike[str] | Storage
"""A path, the address of a server, or what is there."""
Files = list[tuple[int, int] | None]
"""Device and inode of a database and of its companions."""


class FileStorage(Storage):
    """An SQLite database, which each thread and process opens once; its address is a path.

    Each use compares the files at the path with the open ones, so a deleted, replaced or truncated
    file is noticed before anything is read.
    """

    def __init__(self, address: str, timeout: float = TIMEOUT, is_temporary: bool = False) -> None:
        super().__init__(address, timeout, is_temporary)
        self.own = threading.local()
        self._first_file: tuple[int, int] | None = None

    def exists(self) -> bool:
        """Return whether the ledger exists; raise BudgetClosedError for other data there.

        Nothing is touched. SQLite opens the database as immutable: it takes no lock, replays no log
        and makes no file. (Closing a file that was read without SQLite would release the locks of
        this process.)
        """
        path = self.address
        with _clear_errors(path):
            if not os.path.exists(path):
                return False
            if not os.path.getsize(path):
                logs = [log for log in (f"{path}-wal", f"{path}-journal") if os.path.exists(log)]
                if any(map(os.path.getsize, logs)):  # a new ledger would discard the log
                    raise unusable(path, "it is empty and has a log beside it, so it was cut short")
                return False
            application, number = gate.run(partial(_header, path))
        if application != APPLICATION:
            raise BudgetClosedError(
                f"{path} is a database of another program, not a ledger. It was left as it is; "
                "choose another path."
            )
        if number != FORMAT:
            raise of_format(path, number)
        return True

    def make(self, action: Callable[[Any], None]) -> None:
        if self.address.endswith(_IN_THE_MAKING):
            raise ValueError(
                f"{self.address} would be taken for a file in the making, by its last letters. "
                "Choose another name. Nothing was made."
            )
        with _creating(self.address):
            if not self.exists():
                gate.run(partial(self._make, action))

    def read(self, action: Callable[[Any], T]) -> T:
        return gate.run(partial(self._transact, "BEGIN", action))

    def write(self, action: Callable[[Any], T], before_commit: Steps = (), key: str = "") -> T:
        return gate.run(partial(self._transact, "BEGIN IMMEDIATE", action, before_commit))

    def _transact(self, begin: str, action: Callable[[Any], T], before_commit: Steps = ()) -> T:
        """Write everything or nothing, and check the files before and after.

        This is one function, not a context manager: an interrupt between the two halves of a
        context manager would leave the transaction open.
        """
        connection: Any = None
        try:
            tables = self._opened(to_write=begin != "BEGIN")
            connection = tables.connection
            if connection.in_transaction and not gate.is_nested():
                connection.execute("ROLLBACK")  # an interrupt has left a transaction open
            if connection.in_transaction and begin == "BEGIN":
                connection = None  # a look during one's own spend
                result = action(tables)
            else:
                connection.execute(begin)
                result = action(tables)
                for step in before_commit:
                    step()
                connection.execute("COMMIT")
            if (files := _files_at(self.address)[0]) != tables.files or None in files:
                raise tables.changed(files)
            return result
        except BaseException as error:
            with suppress(sqlite3.Error):  # a fork may have closed it
                if connection is not None and connection.in_transaction:
                    connection.execute("ROLLBACK")
            if isinstance(error, _ERRORS):
                raise unusable(self.address, error) from error
            raise

    def _opened(self, to_write: bool) -> FileTables:
        """Return this thread's tables; a fork has closed those of before."""
        files, found = _files_at(self.address)
        if to_write and not found.st_mode & 0o222:
            raise BudgetClosedError(f"The ledger {self.address} is read-only.")
        self._first_file = self._first_file or files[0]
        if files[0] != self._first_file:
            raise replaced(self.address)
        tables: FileTables | None = getattr(self.own, "tables", None)
        if tables is None or tables.generation != gate.generation:
            mode = "rw" if os.access(self.address, os.W_OK) else "ro"
            self.own.tables = tables = FileTables(self, mode, files[0])
            files, found = _files_at(self.address)  # the companions are made by opening
        if tables.process != os.getpid():
            raise BudgetClosedError(
                f"The ledger {self.address} was opened by another process before a fork."
            )
        if found.st_size < max(tables.size, _SMALLEST):
            raise unusable(self.address, "the file was cut short")
        tables.size = found.st_size
        if files != tables.files or None in files:
            raise tables.changed(files)
        return tables

    def _make(self, action: Callable[[FileTables], None]) -> None:
        """Fill a file beside the path, and move it there when it is whole and on the disk."""
        new = FileStorage(f"{self.address}{_IN_THE_MAKING}", self.timeout, self.is_temporary)
        try:
            with _clear_errors(self.address):
                _remove(new.address, *_FILES)  # a maker may have died
                with closing(FileTables(new, "rwc")) as tables:
                    tables.address = self.address
                    tables.execute("PRAGMA journal_mode=MEMORY")  # no other process uses it yet
                    tables.execute("BEGIN IMMEDIATE")
                    for name, number in _HEADER.items():
                        tables.execute(f"PRAGMA {name} = {number}")
                    tables.create()
                    action(tables)
                    tables.execute("COMMIT")
                    tables.execute("PRAGMA journal_mode=WAL")
                _take_place(new.address, self.address)
        finally:
            with suppress(OSError):
                _remove(new.address, *_FILES)


def _take_place(new: str, address: str) -> None:
    """Move a file to an address, with the permissions of an empty file that was prepared there."""
    with suppress(FileNotFoundError):
        if os.stat(address).st_nlink > 1:
            raise BudgetClosedError(
                f"{address} is an empty file with another name (a hard link), which would stay "
                "empty. Remove one of both names. Nothing was made."
            )
        shutil.copymode(address, new)
    os.replace(new, address)


class FileTables(Tables):
    """The tables of a ledger through a connection to an SQLite file.

    SQLite keeps the two companions of a database while it is open. If one differs, it was deleted,
    and other processes would not see the locks of this connection.
    """

    def __init__(self, storage: FileStorage, mode: str, file: Any = None) -> None:
        path, connection = storage.address, _connect(storage, mode)
        files, found = _files_at(path)
        self.files, self.size = [file or files[0], *files[1:]], 0  # the file before it was opened
        # A copy has another volume or inode, wherever it is mounted.
        volume = os.statvfs(path).f_fsid if hasattr(os, "statvfs") else 0
        place = f"'{volume or found.st_dev:x}/{found.st_ino:x}'"
        super().__init__(connection, path, {"ledger.": "", "$place": place})

    def check_pages(self) -> None:
        if (state := self.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise unusable(self.address, state)

    def changed(self, files: Files) -> BudgetClosedError:
        """Return the error for other files at the path than those that are open."""
        if files[0] != self.files[0]:
            return BudgetClosedError(
                f"The ledger {self.address} was replaced while it was in use. "
                "Spends in the meantime are in the old file."
            )
        return unusable(
            self.address,
            "its -wal or -shm file was deleted or replaced while it was open. Close all handles on "
            "it and make a new PrivacyBudget to go on",
        )


def _files_at(path: str) -> tuple[Files, os.stat_result]:
    """Return facts of a database and its companion files, and their identities or None."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise BudgetClosedError(
            f"The ledger {path} does not exist: it was deleted, or it was the temporary ledger "
            "of a budget that no longer exists."
        ) from None
    files: Files = [(found.st_dev, found.st_ino)]
    for suffix in ("-wal", "-shm"):
        try:
            one = os.stat(f"{path}{suffix}")
            files.append((one.st_dev, one.st_ino))
        except OSError:
            files.append(None)
    return files, found


def _connect(storage: FileStorage, mode: str) -> sqlite3.Connection:
    """Open a database; mode ``"ro"``, ``"rw"`` or ``"rwc"``.

    Each commit is copied from the log into the database at once, or with the next commit if a
    reader is active. So deleting the log does not delete spends. This costs one more flush; a
    rollback journal costs three, and blocks readers. A temporary ledger is not flushed to the disk:
    it survives the end of a process, but not of the machine.
    """
    how: dict[str, Any] = {"uri": True, "isolation_level": None, "check_same_thread": False}
    connection = sqlite3.connect(uri_of(storage.address, mode), timeout=storage.timeout, **how)
    durability = _TEMPORARY if storage.is_temporary else _DURABLE
    for pragma in (*durability, "wal_autocheckpoint=1", "schema_version"):
        connection.execute(f"PRAGMA {pragma}")  # the last one reads, which opens the log
    return connection


def uri_of(path: str, mode: str) -> str:
    """Return the SQLite URI of `path`."""
    return f"{Path(path).absolute().as_uri()}?mode={mode}"


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into `BudgetClosedError`."""
    try:
        yield
    except _ERRORS as error:
        raise unusable(path, error) from error


def _remove_in_creator(folder: str, creator: int) -> None:
    if os.getpid() == creator:
        shutil.rmtree(folder, ignore_errors=True)


def _header(path: str) -> list[int]:
    with closing(sqlite3.connect(uri_of(path, "ro&immutable=1"), uri=True)) as connection:
        # Otherwise a growing file seems corrupt.
        connection.execute("PRAGMA writable_schema = ON")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _HEADER]


@contextmanager
def _creating(path: str) -> Iterator[None]:
    """Hold the folder's lock; without a database, remove the companions of a deleted one.

    A handle on the deleted database would otherwise share ``-shm`` with the new one.
    """
    if fcntl is None:
        yield
        return
    with _folder_of(path) as folder:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            _check_locks(path)
            if not os.path.exists(path):
                _remove(path, "-wal", "-shm")
        except OSError as error:
            need = "Its folder must be writable, on a file system with locks for files and folders"
            raise unusable(path, f"{error}. {need}") from error
        yield


def _remove(path: str, *suffixes: str) -> None:
    for suffix in suffixes:
        Path(f"{Path(path).resolve()}{suffix}").unlink(missing_ok=True)


@contextmanager
def _folder_of(path: str) -> Iterator[int]:
    with _clear_errors(path):
        folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    try:
        yield folder
    finally:
        os.close(folder)


def _check_locks(path: str) -> None:
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
    address = uri_of(probe, "rwc")
    with _clear_errors(path), closing(sqlite3.connect(address, uri=True)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        return _is_locked(probe)


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
    lost = "so releases of several processes could be lost. Put it on a local disk"
    return unusable(path, f"files in its folder cannot be locked ({why}), {lost}")


def storage_at(path: Place | None, timeout: float = TIMEOUT) -> Storage:
    """Return the storage at a path or at the address of a server, or in a temporary folder."""
    if isinstance(path, Storage):
        return path
    if path is None:
        folder = Path(tempfile.mkdtemp(prefix="skdp-")).resolve()
        storage = FileStorage(str(folder / "ledger.db"), timeout, is_temporary=True)
        weakref.finalize(storage, _remove_in_creator, str(folder), os.getpid())
        return storage
    if path == ":memory:":
        raise ValueError(
            "A ledger cannot be in memory, because other processes could not open it. Pass "
            "path=None for a temporary ledger."
        )
    if not is_address(path):
        return FileStorage(str(Path(path).expanduser().resolve()), timeout)
    try:
        from skdp.ledger.server.storage import ServerStorage
    except ImportError as error:
        raise ValueError(
            "A ledger on a server needs psycopg, the extra 'server' of skdp: pip install "
            "skdp[server]."
        ) from error
    return ServerStorage(path, timeout)
