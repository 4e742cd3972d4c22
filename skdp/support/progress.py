"""Progress of a long fit: a bar of tqdm if it is installed, otherwise occasional lines."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["ProgressBar"]

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
