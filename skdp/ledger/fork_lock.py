"""Uses of connections are shared; forking and closing connections are exclusive.

Everything that calls SQLite passes the gate, also connections that are closed at once: SQLite has
locks within a process, and a fork while a thread holds one would leave it locked in the child.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import CodeType
from typing import Any, Protocol, TypeVar

__all__ = ["Gate", "gate"]

_POLL_SECONDS = 0.001
_FORK_SECONDS = 10.0  # after which a fork that has not ended is taken for one that failed

T = TypeVar("T")
_SHUT: Any = object()


class _Open(Protocol):
    def close(self) -> None:
        """Close the connection, which may be closed already."""


class Gate:
    """The one gate of a process to all its ledgers.

    There is no counter and no lock that an interrupt could leave behind. Whether a thread is inside
    is read off its stack: the frame of `_inside` is there as long as the action runs, however it
    ends. A thread inside may enter again. A thread that closes or forks waits for the others to
    leave and keeps new ones out; if it is inside itself, it loses its connection.
    """

    def __init__(self) -> None:
        self.generation = 0
        """The number of forks so far; connections of earlier generations are closed."""
        self._alone: dict[int, float] = {}  # by thread: until when its fork may take
        self._open: set[_Open] = set()
        self._dead: list[tuple[_Open, int]] = []

    def run(self, action: Callable[[], T]) -> T:
        """Return the result of an action, during which no fork happens."""
        if self._dead:
            self._bury()
        while (result := self._inside(action)) is _SHUT:
            time.sleep(_POLL_SECONDS)
        return result

    def alone(self, action: Callable[[], T]) -> T:
        """Return the result of an action, during which no other thread is inside."""
        me = threading.get_ident()
        before = self._alone.get(me)
        try:
            self._shut(me)
            return action()
        finally:
            if before is None:
                self._alone.pop(me, None)

    def is_nested(self) -> bool:
        """Return whether this thread has entered more than once."""
        return _count(sys._getframe(), _INSIDE) > 1

    def own(self, connection: _Open) -> None:
        """Remember an open connection: it must be closed before this process forks.

        A child inherits SQLite's record of its locks, but not the locks. A server would not notice
        that this process died while a child holds the connection.
        """
        self._open.add(connection)

    def drop(self, connection: _Open, process: int) -> None:
        """Close an unused connection; called by finalizers, so it never waits.

        If a thread is alone, the next one to enter closes it, unless a fork has closed it.
        """
        if process == os.getpid():
            self._dead.append((connection, process))
            self._bury()

    def before_fork(self) -> None:
        """Shut the gate and close all connections."""
        me = threading.get_ident()
        self._shut(me)
        self.generation += 1
        for connection in list(self._open):
            self._close(connection)
        self._alone[me] = time.monotonic() + _FORK_SECONDS

    def after_fork(self) -> None:
        """Open the gate in the parent."""
        self._alone.pop(threading.get_ident(), None)

    def after_fork_in_child(self) -> None:
        """Open the gate in the child, which has one thread."""
        self._alone.clear()
        self._open.clear()
        self._dead.clear()

    def _inside(self, action: Callable[[], T]) -> T:
        """Run the action unless another thread is alone.

        This frame is on the stack before it looks, and a thread announces that it is alone before
        it looks at stacks. So one of the two sees the other.
        """
        return _SHUT if self._is_shut() else action()

    def _is_shut(self) -> bool:
        """Return whether another thread is alone. A thread that waits for it stays outside, too.

        Others that are alone do not look at its stack, and a finalizer may run while it waits.
        """
        me, living = threading.get_ident(), self._living() if self._alone else []
        if me in living:
            return living[0] != me
        return bool(living) and not self.is_nested()

    def _living(self) -> list[int]:
        """Return the threads that are alone or wait for it, in order, and forget the others."""
        for thread, until in list(self._alone.items()):
            if time.monotonic() > until and not _is_in(thread, _ALONE):
                self._alone.pop(thread, None)
        return list(self._alone)

    def _shut(self, me: int) -> None:
        """Wait until this thread is the first one alone and no other one is inside."""
        self._alone.setdefault(me, 0.0)
        while self._living()[0] != me or any(
            _count(frame, _INSIDE)
            for thread, frame in sys._current_frames().items()
            if thread not in self._alone
        ):
            time.sleep(_POLL_SECONDS)

    def _bury(self) -> None:
        self._inside(self._close_dead)

    def _close_dead(self) -> None:
        with suppress(IndexError):  # another thread may be faster
            while True:
                connection, process = self._dead.pop()
                if process == os.getpid():
                    self._close(connection)

    def _close(self, connection: _Open) -> None:
        with suppress(Exception):
            connection.close()
        self._open.discard(connection)


_INSIDE = frozenset([Gate._inside.__code__])
_ALONE = frozenset([Gate.alone.__code__, Gate.before_fork.__code__])


def _count(frame: Any, codes: frozenset[CodeType]) -> int:
    """Return how many frames of a stack run one of the codes."""
    count = 0
    while frame is not None:
        count += frame.f_code in codes
        frame = frame.f_back
    return count


def _is_in(thread: int, codes: frozenset[CodeType]) -> bool:
    return _count(sys._current_frames().get(thread), codes) > 0


gate = Gate()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=gate.before_fork,
        after_in_parent=gate.after_fork,
        after_in_child=gate.after_fork_in_child,
    )
