"""Readers-writer lock: using ledgers is shared, forking and closing are exclusive."""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Gate", "close_before_fork", "gate"]


class Gate:
    """One lock for all ledgers of a process, held briefly, so there is no deadlock.

    A thread that holds the shared lock may take it again. While a thread waits for the exclusive
    lock, no other thread may take the shared one. A thread may hold both: one that forks in the
    middle of its own use loses its connection.
    """

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside: Counter[int] = Counter()
        self._waiting = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._free:
            self._free.wait_for(lambda: not self._waiting or me in self._inside)
            self._inside[me] += 1

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._free:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._free.notify_all()

    def moment(self) -> threading.Condition:
        """Return a lock that blocks forks but does not wait for users, for finalizers."""
        return self._free

    def shut(self) -> None:
        """Take the exclusive lock."""
        me = threading.get_ident()
        self._free.acquire()
        self._waiting += 1
        try:
            self._free.wait_for(lambda: self._inside.keys() <= {me})
        except BaseException:
            self._waiting -= 1
            self.open()
            raise
        self._waiting -= 1

    def open(self) -> None:
        """Release the exclusive lock."""
        self._free.notify_all()
        self._free.release()

    def open_in_child(self) -> None:
        """Release the exclusive lock of the parent in a forked process, which has one thread."""
        me = threading.get_ident()
        self._free, self._waiting = threading.Condition(), 0
        self._inside = Counter({me: self._inside[me]} if me in self._inside else {})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the exclusive lock."""
        self.shut()
        try:
            yield
        finally:
            self.open()


gate = Gate()


class _Open(Protocol):
    def close(self) -> None:
        """Close the connection, which may be closed already."""


_open: weakref.WeakSet[_Open] = weakref.WeakSet()


def close_before_fork(connection: _Open) -> None:
    """Register a connection that must be closed before this process forks.

    A child inherits SQLite's record of its locks, but not the locks. A server would not notice that
    this process died while a child holds the connection.
    """
    _open.add(connection)


def _before_fork() -> None:
    gate.shut()
    for connection in list(_open):
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=gate.open, after_in_child=gate.open_in_child
    )
