"""Who may use ledgers now: threads while another one forks, and those of checks and dry runs.

Uses of connections are shared; a fork is exclusive. Everything that calls SQLite passes the gate,
also connections that are closed at once: SQLite has locks within a process, and a fork while a
thread holds one would leave it locked in the child.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial, wraps
from inspect import signature
from multiprocessing.process import BaseProcess, current_process
from subprocess import Popen
from threading import Lock, Thread, current_thread, local
from types import CodeType
from typing import Any, TypeVar
from weakref import WeakSet

_POLL_SECONDS = 0.001
_FORK_SECONDS = 10.0  # after which a fork that has not ended is taken for one that failed

T = TypeVar("T")
_SHUT: Any = object()


class Gate:
    """The one gate of a process to all its ledgers.

    There is no counter and no lock that an interrupt could leave behind. Whether a thread is inside
    is read off its stack: the frame of `_inside` is there as long as the action runs, however it
    ends. A thread inside may enter again. A thread that forks waits for the others to leave and
    keeps new ones out; if it is inside itself, it loses its connection.
    """

    def __init__(self) -> None:
        self.generation = 0
        """The number of forks so far; connections of earlier generations are closed."""
        self._alone: dict[int, float] = {}  # by thread: until when its fork may take
        self._open: set[Any] = set()  # connections that have a method close
        self._dead: list[Any] = []

    def run(self, action: Callable[[], T]) -> T:
        """Return the result of an action, during which no fork happens."""
        if self._dead:
            self._bury()
        while (result := self._inside(action)) is _SHUT:
            time.sleep(_POLL_SECONDS)
        return result

    def is_nested(self) -> bool:
        """Return whether this thread has entered more than once."""
        return _count(sys._getframe(), _INSIDE) > 1

    def own(self, connection: Any) -> None:
        """Remember an open connection: it must be closed before this process forks.

        A child inherits SQLite's record of its locks, but not the locks. A server would not notice
        that this process died while a child holds the connection.
        """
        self._open.add(connection)

    def drop(self, connection: Any, process: int) -> None:
        """Close an unused connection; called by finalizers, so it never waits.

        If a thread is alone, the next one to enter closes it, unless a fork has closed it.
        """
        if process == os.getpid():
            self._dead.append(connection)
            self._bury()

    def before_fork(self) -> None:
        me = threading.get_ident()
        self._shut(me)
        self.generation += 1
        for connection in list(self._open):
            self._close(connection)
        self._alone[me] = time.monotonic() + _FORK_SECONDS

    def after_fork(self) -> None:
        self._alone.pop(threading.get_ident(), None)

    def after_fork_in_child(self) -> None:
        self._alone.clear()
        self._open.clear()
        self._dead.clear()

    def _inside(self, action: Callable[[], T]) -> T:
        """Run the action unless another thread is alone.

        This frame is on the stack before it looks, and a thread announces that it is alone before
        it looks at stacks. So one of the two sees the other.
        """
        # A thread that waits to be alone stays outside, too: others that are alone do not look at
        # its stack, and a finalizer may run while it waits.
        if self._alone and (living := self._living()):
            me = threading.get_ident()
            if living[0] != me and (me in living or not self.is_nested()):
                return _SHUT
        return action()

    def _living(self) -> list[int]:
        """Return the threads that are alone or wait for it, in order, and forget the others."""
        for thread, until in list(self._alone.items()):
            frame = sys._current_frames().get(thread)
            if time.monotonic() > until and not _count(frame, _FORKING):
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
                self._close(self._dead.pop())

    def _close(self, connection: Any) -> None:
        with suppress(Exception):
            connection.close()
        self._open.discard(connection)


_INSIDE = frozenset([Gate._inside.__code__])
_FORKING = frozenset([Gate.before_fork.__code__])


def _count(frame: Any, codes: frozenset[CodeType]) -> int:
    """Count the frames of a stack that run one of the code objects."""
    count = 0
    while frame is not None:
        count += frame.f_code in codes
        frame = frame.f_back
    return count


gate = Gate()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=gate.before_fork,
        after_in_parent=gate.after_fork,
        after_in_child=gate.after_fork_in_child,
    )


# --- Spends that are refused: of one thread from one ledger, and all those of a check ---

_HERE = local()  # per thread
_OWN: WeakSet[Thread] = WeakSet()  # the threads of checks
_TOKEN = "SKDP_CHECK"
"""Marks the child processes of a check: in their configuration, or in their environment."""


def check_may_write(identity: str | None) -> None:
    """Raise ValueError if this thread, or this process, may not write to a ledger."""
    if identity in vars(_HERE).get("refused", ()):
        raise ValueError(
            "The estimator refers to the budget outside of its parameters, so price would "
            "spend from it. Pass the budget as a parameter."
        )
    if _is_of_check():
        raise ValueError(
            "check_pipeline never spends, and this is a fit of a check, or a thread or process "
            "that it started."
        )


@contextmanager
def no_spends(identity: str | None) -> Iterator[None]:
    """Reject all spends of this thread from a ledger."""
    refused = vars(_HERE).setdefault("refused", [])
    refused.append(identity)
    try:
        yield
    finally:
        refused.remove(identity)


def without_spends(function: Callable[[], T]) -> T:
    """Return the result of a function that can write to no ledger, in any thread or process.

    It runs in a thread of its own. Threads and processes that it starts are marked for as long as
    they live, so other threads can spend meanwhile. Of pools of threads, only the work that it
    submits is marked, because others may use the workers. Worker processes that exist already have
    no mark, so joblib must not use them: below a thread and another loop it starts none.
    """
    if _is_of_check():
        return function()
    from joblib.parallel import SequentialBackend, parallel_config

    result: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            with _marking(), parallel_config(backend=SequentialBackend(nesting_level=1)):
                result.set_result(context.run(function))
        except BaseException as error:
            result.set_exception(error)

    _OWN.add(thread := Thread(target=run, daemon=True))
    thread.start()
    return result.result()


def _is_of_check() -> bool:
    config: dict[str, object] = current_process()._config  # type: ignore[attr-defined]
    is_own = current_thread() in _OWN or vars(_HERE).get("works_for_check", False)
    return is_own or _TOKEN in config or _TOKEN in os.environ


_POOLS = ((ThreadPoolExecutor, "__init__"), (ThreadPoolExecutor, "submit"))
_STARTS = ((Thread, "start"), (BaseProcess, "start"), (Popen, "__init__"), *_POOLS)
_LOCK, _ORIGINALS, _RUNNING = Lock(), list[Any](), list[None]()


@contextmanager
def _marking() -> Iterator[None]:
    """Mark the threads and processes that checks start; the last check to end restores all."""
    with _LOCK:
        if not _RUNNING:
            _ORIGINALS[:] = [getattr(kind, name) for kind, name in _STARTS]
            _set(map(_marked, _ORIGINALS))
        _RUNNING.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _RUNNING.pop()
            if not _RUNNING:
                _set(_ORIGINALS)


def _set(methods: Iterable[Any]) -> None:
    for (kind, name), method in zip(_STARTS, methods, strict=True):
        setattr(kind, name, method)


def _marked(start: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(start)
    def started(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_of_check():
            return start(self, *args, **kwargs)
        if isinstance(self, ThreadPoolExecutor):
            return _in_pool(start, self, *args, **kwargs)
        if isinstance(self, BaseProcess):
            self._config[_TOKEN] = True  # type: ignore[attr-defined]
        elif isinstance(self, Popen):
            kwargs["env"] = {**(kwargs.get("env") or os.environ), _TOKEN: "1"}
        elif not vars(_HERE).get("makes_workers", False):
            _OWN.add(self)
        return start(self, *args, **kwargs)

    return started


def _in_pool(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a method of a pool, with a mark on the function that its workers will call."""
    bound = signature(method).bind(*args, **kwargs)
    for name in {"fn", "initializer"} & bound.arguments.keys():
        if (function := bound.arguments[name]) is not None:
            bound.arguments[name] = partial(_with, "works_for_check", function)
    return _with("makes_workers", partial(method, *bound.args, **bound.kwargs))


def _with(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function while this thread has an attribute."""
    before = vars(_HERE).get(name, False)
    setattr(_HERE, name, True)
    try:
        return function(*args, **kwargs)
    finally:
        setattr(_HERE, name, before)
