"""Making a ledger's file: one maker at a time, and nothing left over from a deleted one."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skdp.exceptions import BudgetClosedError

try:
    import fcntl
except ImportError:  # Windows does not delete open files, so nothing is ever left over there.
    fcntl = None  # type: ignore[assignment]

__all__ = ["creating", "temporary_path"]


@contextmanager
def creating(path: str) -> Iterator[None]:
    """Hold the folder's lock; if there is no database, remove a deleted one's companions.

    A handle that still has the deleted database open would share ``-shm`` with the new one.
    """
    if fcntl is None:
        yield
        return
    try:
        folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    except OSError as error:
        raise BudgetClosedError(f"The ledger {path} cannot be used: {error}.") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        _remove_companions(Path(path).resolve())
        yield
    finally:
        os.close(folder)


def _remove_companions(path: Path) -> None:
    if not path.exists():
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def temporary_path(owner: Any) -> Path:
    """Return a path that is removed with `owner`, by the process that made it."""
    folder = tempfile.mkdtemp(prefix="skdp-")
    weakref.finalize(owner, _remove_in_creator, folder, os.getpid())
    return Path(folder) / "ledger.db"


def _remove_in_creator(folder: str, creator: int) -> None:
    if os.getpid() == creator:
        shutil.rmtree(folder, ignore_errors=True)
