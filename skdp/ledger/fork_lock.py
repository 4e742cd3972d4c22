"""Many may use ledgers at once; a fork, or who closes connections, is alone."""

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
    """One lock for all ledgers of a process, held for moments only, so that none waits in a ring.

    A thread that is inside may come in again; while somebody waits to be alone, no other thread
    may. Who is alone may be inside: a thread that forks in the middle of its own use
    loses its connection.
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
        """Return a lock that keeps forks out and waits for nobody inside: for finalizers."""
        return self._free

    def shut(self) -> None:
        """Wait until nobody else is inside, and let nobody in."""
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
        """End what `shut` began."""
        self._free.notify_all()
        self._free.release()

    def open_in_child(self) -> None:
        """End, in a forked process, what its parent began: the other threads are not there."""
        me = threading.get_ident()
        self._free, self._waiting = threading.Condition(), 0
        self._inside = Counter({me: self._inside[me]} if me in self._inside else {})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be alone for a while."""
        self.shut()
        try:
            yield
        finally:
            self.open()


gate = Gate()


class _Open(Protocol):
    def close(self) -> None:
        """Close what is open; it may be closed already."""


_open: weakref.WeakSet[_Open] = weakref.WeakSet()


def close_before_fork(connection: _Open) -> None:
    """Have a connection closed before this process forks.

    SQLite's locks do not survive a fork, its idea of them does; a server would not notice that
    this process has died while a child holds the connection.
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
