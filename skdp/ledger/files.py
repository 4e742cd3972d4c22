"""The file of a ledger: a temporary one, a new one, and one that is somebody else's."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from skdp.exceptions import BudgetClosedError
from skdp.ledger.connections import clear_errors
from skdp.ledger.file_tables import APPLICATION, FORMATS
from skdp.ledger.locks import creating
from skdp.ledger.server.address import is_address

__all__ = ["TemporaryFolder", "place_of", "refuse_foreign", "whole_or_absent"]

_HEADER = ("application_id", "user_version")


class TemporaryFolder:
    """A folder for a ledger that is removed with this object, by the process that made it."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="skdp-")
        self.ledger = Path(folder) / "ledger.db"
        weakref.finalize(self, _remove_in_creator, folder, os.getpid())


def _remove_in_creator(folder: str, creator: int) -> None:
    if os.getpid() == creator:
        shutil.rmtree(folder, ignore_errors=True)


def place_of(path: Any) -> str:
    """Return a path as it is from any folder; the address of a server is one."""
    return path if is_address(path) else str(Path(path).expanduser().resolve())


@contextmanager
def whole_or_absent(path: Any) -> Iterator[str]:
    """Lend a path to write a ledger to, which then moves to `path`: not before it is whole.

    On a server, what is written is whole or absent by itself.
    """
    if is_address(path):
        yield path
        return
    target = Path(place_of(path))
    _refuse_existing(target)
    with tempfile.TemporaryDirectory(prefix=".import-", dir=target.parent) as folder:
        draft = Path(folder) / target.name
        yield str(draft)
        with creating(str(target)):
            _refuse_existing(target)
            draft.rename(target)


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise ValueError(f"{target} exists already.")


def refuse_foreign(path: str) -> None:
    """Raise BudgetClosedError if `path` holds anything but a ledger, without touching it.

    SQLite reads the header from the database alone, as if it could never change: it takes no
    lock, replays no log and makes no file. (Reading the file without SQLite would give up the
    locks of this process when it is closed.)
    """
    with clear_errors(path):
        if not os.path.exists(path):
            return
        if not os.path.getsize(path):
            _refuse_leftovers(path)
            return
        with closing(_as_it_is(path)) as connection:
            connection.execute("PRAGMA writable_schema = ON")  # else a file that grows is corrupt
            found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _HEADER]
    if found[0] != APPLICATION:
        raise BudgetClosedError(
            f"{path} is a database of another program, not a ledger. It was left as it is; choose "
            "another path."
        )
    if found[1] not in FORMATS:
        raise BudgetClosedError(
            f"The ledger {path} has format {found[1]}; this version of skdp reads format "
            f"{FORMATS[-1]} and before."
        )


def _as_it_is(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _refuse_leftovers(path: str) -> None:
    """Raise if an empty file stands beside a log: what was in it would be lost with the log."""
    logs = [f"{path}{suffix}" for suffix in ("-wal", "-journal")]
    if any(os.path.exists(log) and os.path.getsize(log) for log in logs):
        raise BudgetClosedError(
            f"The ledger {path} cannot be used: it is empty and has a log beside it, so it was cut "
            "short."
        )
