"""Methods of scikit-learn and skdp that another library has replaced, such as an autologger."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import current_thread, main_thread
from types import FrameType, FunctionType
from typing import Any

from sklearn.base import BaseEstimator

from skdp.exceptions import PrivacyLeakError

__all__ = ["allow_replaced_fit", "check_no_fit_is_replaced", "loaded_replacements", "replaced_in"]

_METHODS = ("fit", "fit_transform", "fit_predict", "partial_fit")
_ALLOWED: ContextVar[bool] = ContextVar("allow_replaced_fit", default=False)
_COMPILED = ("builtins", "_cython", "cython")  # types of methods that are no Python functions


@contextmanager
def allow_replaced_fit() -> Iterator[None]:
    """Accept methods that another library has replaced, within a ``with`` statement.

    Otherwise a private fit below such a method raises `PrivacyLeakError` before it spends, because
    autologgers record exact scores and digests of the rows. Use this for profilers and mocks, which
    record nothing. Worker threads do not inherit the permission.

    Examples
    --------
    >>> from unittest import mock
    >>> from sklearn.pipeline import Pipeline, make_pipeline
    >>> from skdp import DPLogisticRegression
    >>> from skdp.pipeline import allow_replaced_fit
    >>> model, X, y = make_pipeline(DPLogisticRegression()), [[0.1], [0.2]] * 200, [0, 1] * 200
    >>> with mock.patch.object(Pipeline, "fit", autospec=True, side_effect=Pipeline.fit) as fit:
    ...     with allow_replaced_fit():
    ...         fitted = model.fit(X, y)
    >>> fit.call_count
    1
    """
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def check_no_fit_is_replaced(*estimators: object) -> None:
    """Raise PrivacyLeakError if an estimator whose fit is running has a replaced method.

    A thread does not know the fits above it, so there all loaded classes count.
    """
    found = [one for estimator in (*estimators, *_fitting()) for one in replaced_in(estimator)]
    where = ""
    if current_thread() is not main_thread():
        found += loaded_replacements()
        where = " in this worker thread (it inherits no permission), or with n_jobs=None"
    for said in found:
        raise PrivacyLeakError(
            f"{said}, which may record exact scores, counts or digests of private rows. Switch "
            "that off, for example by mlflow.sklearn.autolog(disable=True). If it records nothing, "
            "as a profiler or a mock, fit within `with skdp.pipeline.allow_replaced_fit():`"
            f"{where}."
        )


def replaced_in(estimator: object) -> list[str]:
    """Return sentences about the replaced methods of an estimator.

    An override in a subclass is no replacement.
    """
    kinds = _home_bases(type(estimator))  # type: ignore[arg-type]  # a class is hashable
    places: list[tuple[type, Mapping[str, Any]]] = [(kind, vars(kind)) for kind in kinds]
    if type(estimator) in kinds:  # its instances override nothing either
        places.append((type(estimator), getattr(estimator, "__dict__", {})))
    return _replaced(places)


@lru_cache(maxsize=1024)
def _home_bases(kind: type) -> tuple[type, ...]:
    return tuple(one for one in kind.__mro__ if _is_home(one.__module__))


def loaded_replacements() -> list[str]:
    """Return sentences about the replaced methods of all loaded classes."""
    kinds, todo = set[type](), [BaseEstimator]
    while todo:
        new = set(todo.pop().__subclasses__()) - kinds
        kinds |= new
        todo += new
    own = sorted((one for one in kinds if _is_home(one.__module__)), key=lambda one: one.__name__)
    return _replaced([(kind, vars(kind)) for kind in own])


def _replaced(places: Sequence[tuple[type, Mapping[str, Any]]]) -> list[str]:
    if _ALLOWED.get():
        return []
    return [
        f"{kind.__name__}.{name} was replaced by {by}"
        for kind, members in places
        for name in _METHODS
        if name in members and (by := _maker(members[name])) is not None
    ]


def _fitting() -> Iterator[object]:
    """Yield the estimators whose methods are running in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name in _METHODS and code.co_argcount:
            yield frame.f_locals.get(code.co_varnames[0])
        frame = frame.f_back


def _maker(method: Any) -> str | None:
    return _of_function(method) if type(method) is FunctionType else _stranger(method)


def _stranger(method: Any) -> str | None:
    """Return the module, of another library, of a method or of a function that it wraps.

    `functools.wraps` copies `__module__`, so the module of the code decides. A descriptor, such as
    that of `available_if`, may keep its identity while its function is replaced. Mocks, partial
    functions and proxies have types of other modules.
    """
    while method is not None:
        module = str(type(method).__module__)
        if type(method) is FunctionType:
            module = str(method.__globals__.get("__name__", "an unknown module"))
        elif module.startswith(_COMPILED):
            module = str(getattr(method, "__module__", None) or "sklearn")
        if not _is_home(module):
            return module
        inner = (vars(method) if hasattr(method, "__dict__") else {}).get
        method = inner("fn") or inner("__wrapped__") or getattr(method, "fget", None)
    return None


_of_function = lru_cache(maxsize=4096)(_stranger)  # what a function wraps does not change


def _is_home(module: str) -> bool:
    return module.startswith(("sklearn.", "skdp.")) or module in ("sklearn", "skdp")
