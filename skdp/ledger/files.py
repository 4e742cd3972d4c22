"""The file of a ledger: a temporary or new one, and checks of an existing one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from os import PathLike
from pathlib import Path

from skdp.exceptions import BudgetClosedError
from skdp.ledger.connections import clear_errors
from skdp.ledger.fork_lock import gate
from skdp.ledger.locks import creating
from skdp.ledger.server.address import is_address
from skdp.ledger.tables import FORMAT, check_format

__all__ = ["APPLICATION", "TemporaryFolder", "is_ledger", "place_of", "whole_or_absent"]

APPLICATION = 0x736B6470
"""The ASCII codes of skdp, which SQLite keeps in the header of the file."""

_HEADER = ("application_id", "user_version")


class TemporaryFolder:
    """A folder for a ledger, removed with this object by the process that made it."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="skdp-")
        self.ledger = Path(folder) / "ledger.db"
        weakref.finalize(self, _remove_in_creator, folder, os.getpid())


def _remove_in_creator(folder: str, creator: int) -> None:
    if os.getpid() == creator:
        shutil.rmtree(folder, ignore_errors=True)


def place_of(path: str | PathLike[str]) -> str:
    """Return an absolute path, or the address of a server as it is."""
    if path == ":memory:":
        raise ValueError(
            "A ledger cannot be in memory, because other processes could not open it. Pass "
            "path=None for a temporary ledger."
        )
    return path if is_address(path) else str(Path(path).expanduser().resolve())


@contextmanager
def whole_or_absent(path: str | PathLike[str]) -> Iterator[str]:
    """Yield a path for a draft of a ledger, and move the draft to `path` once it is complete.

    A server makes a ledger in one transaction, so its address is yielded as it is.
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


def is_ledger(path: str) -> bool:
    """Return whether `path` holds a ledger; raise BudgetClosedError if it holds anything else.

    Nothing is touched. SQLite opens the database as immutable: it takes no lock, replays no log and
    makes no file. (Closing a file that was read without SQLite would release the locks of this
    process.) Without a log nothing is missed; if there is one, the database is opened to be read.
    """
    with clear_errors(path):
        if not os.path.exists(path):
            return False
        if not os.path.getsize(path):
            _refuse_leftovers(path)
            return False
        found = gate.run(partial(_header, path, "mode=ro&immutable=1"))
        if found[0] == APPLICATION and os.path.exists(f"{path}-wal"):
            found = gate.run(partial(_header, path, "mode=ro"))
    if found[0] != APPLICATION:
        raise BudgetClosedError(
            f"{path} is a database of another program, not a ledger. It was left as it is; choose "
            "another path."
        )
    if found[1] not in range(1, FORMAT):
        check_format(path, found[1])
    return True


def _header(path: str, how: str) -> list[int]:
    address = f"{Path(path).absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        # Otherwise a growing file seems corrupt.
        connection.execute("PRAGMA writable_schema = ON")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _HEADER]


def _refuse_leftovers(path: str) -> None:
    """Raise if an empty file has a log beside it: a new ledger would discard the log."""
    logs = [f"{path}{suffix}" for suffix in ("-wal", "-journal")]
    if any(os.path.exists(log) and os.path.getsize(log) for log in logs):
        raise BudgetClosedError(
            f"The ledger {path} cannot be used: it is empty and has a log beside it, so it was cut "
            "short."
        )
