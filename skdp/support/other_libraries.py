"""Guards of a fit against other libraries.

Their errors and warnings are reduced to public facts. Methods of scikit-learn and skdp that they
have replaced, as autologgers do, are named. Callbacks of scikit-learn 1.9 and later hear of steps,
and get no rows and no models.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from opcode import opmap
from threading import current_thread, main_thread
from types import FrameType, FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.utils._param_validation import InvalidParameterError

from skdp import exceptions
from skdp.exceptions import PrivacyLeakError

_OF_PARAMETERS = (InvalidParameterError, UnsetMetadataPassedError, OSError)  # not of data

# Messages of scikit-learn and NumPy that quote parameters, or types, names and numbers of columns.
_PUBLIC = re.compile(
    r"Parameter (grid|array|distribution) "
    r"|X has \d+ features, but \w+ is expecting \d+ features as input"
    r"|The feature names should match those that were passed"
    r"|Feature names are only supported if all input features have string names"
    r"|Found array with (dim \d|0 sample)"
    r"|Sparse data was passed"
    r"|Unknown label type: (continuous|unknown|multilabel|multiclass-multioutput)"
    r"|(This \w+ estimator )?requires y to be passed, but the target y is None"
    r"|Expected array-like \(array or non-string sequence\), got None"
    r"|float\(\) argument must be a string or a real number, not '\w+'"
    r"|int too large to convert to float|Input \w+ contains (NaN|infinity)"
    r"|This \w+ instance is not fitted yet"
    r"|Pipeline\.fit(_transform)? does not accept the \w+ parameter"
    r"|[\w.]+\(\) got an unexpected keyword argument '\w+'"
)
# Messages that end with values or the number of rows, and the part that is shown.
_SHORTENED = {
    re.compile(r"(Found array with 0 feature\(s\)) \(shape=\(\d+, 0\)\)(.*)", re.DOTALL): (
        r"\1 (shape=(, 0))\2"
    ),
    re.compile(r"(y should be a 1d array).*", re.DOTALL): r"\1: one value for each row of X.",
    re.compile(
        r"(Complex data not supported).*", re.DOTALL
    ): r"\1: columns must hold real numbers.",
}
_REPLACED = (
    "The data cannot be read. X must be a table with one row for each record, and any other column "
    "must have one value for each row, all of one type that can be compared. To see the original "
    "error, which may quote private values, call this with made-up data of the same types."
)


@contextmanager
def public_words() -> Iterator[None]:
    """Replace errors of other libraries about private columns, and silence warnings.

    Such an error may quote a value or the number of rows. Errors that skdp raises itself pass, and
    those of `skdp.exceptions` from any module. The warnings appear for some data and not for
    others. No error keeps the one that it replaces.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # It appears if more than half of all labels differ, and so reveals the number of rows.
            warnings.filterwarnings("ignore", message="The number of unique classes is greater")
            # From NumPy, for numbers that are too large or too small.
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            yield
    except Exception as error:
        shown = public_error(error)
        try:
            raise shown from None
        finally:
            shown.__context__ = None


def public_error(error: Exception) -> Exception:
    """Return the error if it is public, and otherwise one without values."""
    declared = any(kind.__module__ == exceptions.__name__ for kind in type(error).__mro__)
    is_known = declared or isinstance(error, _OF_PARAMETERS) or _is_own(error)
    if is_known or _PUBLIC.match(str(error)):
        return error
    if isinstance(error, MemoryError):  # NumPy's quotes the shape
        return MemoryError("There is not enough memory to read the data.")
    kind = TypeError if isinstance(error, TypeError) else ValueError
    for pattern, shown in _SHORTENED.items():
        if found := pattern.match(str(error)):
            return kind(found.expand(shown))
    return kind(_REPLACED)


def _is_own(error: Exception) -> bool:
    """Return whether the error comes from a `raise` statement of this library.

    The last frame of an error of compiled code is its caller, so the frame alone does not tell.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "skdp":
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"]


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
        if (method := members.get(name)) is not None
        and (by := (_of_function if type(method) is FunctionType else _stranger)(method))
    ]


def _fitting() -> Iterator[object]:
    """Yield the estimators whose methods are running in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name in _METHODS and code.co_argcount:
            yield frame.f_locals.get(code.co_varnames[0])
        frame = frame.f_back


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


_LINES = 10


class ProgressBar:
    """Show public numbers of steps under a public title."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None

    def __call__(self, step: int, n_steps: int) -> None:
        """Show that `step` of `n_steps` steps are done."""
        tqdm = _tqdm()
        if tqdm is None:
            if step * _LINES // n_steps > (step - 1) * _LINES // n_steps:
                print(f"[{self._title}] step {step} of {n_steps}")
            return
        if self._bar is None:
            self._bar = tqdm(total=n_steps, desc=self._title, unit="step")
        self._bar.update(step - self._bar.n)
        if step >= n_steps:
            self._bar.close()
            self._bar = None


def _tqdm() -> Any:
    """Return the bar for a terminal or a notebook, None if tqdm is not installed."""
    with warnings.catch_warnings(action="ignore"):  # notebooks without widgets show text
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
    return tqdm


try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8 and earlier has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks can be set."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method itself."""
        return method


def check_callbacks(estimator: BaseEstimator) -> None:
    """Raise ValueError for a callback that asks for rows or fitted models."""
    for said in curious_callbacks(estimator):
        raise ValueError(f"{said} Nothing was spent.")


def curious_callbacks(estimator: BaseEstimator) -> Iterator[str]:
    """Yield a sentence about each callback that asks for rows or fitted models."""
    for callback in getattr(estimator, "_skl_callbacks", ()):
        for hook in (callback.on_fit_task_begin, callback.on_fit_task_end):
            parameters = inspect.signature(hook).parameters.values()
            if asked := [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]:
                yield (
                    f"{type(callback).__name__} asks for {asked} during the fit. What it computes "
                    "from private rows, such as a score, would be exact. Use callbacks without "
                    "these parameters, such as ProgressBar, and skdp.metrics for scores."
                )


@with_callbacks
def fit_as_task(estimator: BaseEstimator, fit: Callable[..., Any], *data: Any, **more: Any) -> Any:
    """Fit, and tell the callbacks of the beginning and the end."""
    check_callbacks(estimator)
    task = estimator._init_callback_context(max_subtasks=None)
    task.call_on_fit_task_begin(estimator=estimator)
    found = fit(*data, **more)
    task.call_on_fit_task_end(estimator=estimator)
    return found


class StepsTask:
    """Show public numbers of steps to the callbacks of a fit, as the subtask "steps"."""

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator, self._done = estimator, 0
        self._task: Any = None

    def __call__(self, step: int, n_steps: int) -> None:
        """Show that `step` of `n_steps` steps are done."""
        context = self._estimator._callback_fit_ctx
        if self._task is None:
            self._task = context.subcontext(task_name="steps", max_subtasks=n_steps)
            self._task.call_on_fit_task_begin(estimator=self._estimator)
        for _ in range(step - self._done):
            one = self._task.subcontext(task_name="step")
            one.call_on_fit_task_begin(estimator=self._estimator)
            # A callback may ask to stop. A release of fewer steps would not be the planned one.
            one.call_on_fit_task_end(estimator=self._estimator)
        self._done = step
        if step >= n_steps:
            self._task.call_on_fit_task_end(estimator=self._estimator)
            self._task, self._done = None, 0
