"""Spends that are refused: of one thread from one ledger, and all those of a check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial, wraps
from inspect import signature
from multiprocessing.process import BaseProcess, current_process
from subprocess import Popen
from threading import Lock, Thread, current_thread, local
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["check_may_write", "no_spends", "without_spends"]

_HERE = local()  # per thread
_OWN: WeakSet[Thread] = WeakSet()  # the threads of checks
_TOKEN = "SKDP_CHECK"
"""Marks the child processes of a check: in their configuration, or in their environment."""
T = TypeVar("T")


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
