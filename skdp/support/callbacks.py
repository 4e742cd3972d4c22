"""Callbacks of scikit-learn 1.9 and later: they hear of steps, and get no rows and no models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.base import BaseEstimator

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8 and earlier has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks can be set."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method itself."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "StepsTask",
    "check_callbacks",
    "curious_callbacks",
    "fit_as_task",
]


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
