"""Checks of public parameters; each error names the parameter, the rule and the value."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

__all__ = [
    "check_choice",
    "check_count",
    "check_delta",
    "check_epsilon",
    "check_real",
    "check_size",
]


def check_real(name: str, value: Any, *, low: float, high: float = math.inf) -> float:
    """Return `value` as a float if it lies in the open interval (low, high)."""
    if not _is_real(value) or not low < value < high:
        raise ValueError(
            f"{name} must be a number in ({low:g}, {high:g}), got {value!r}. Nothing was spent."
        )
    return float(value)


def check_epsilon(epsilon: Any) -> float:
    """Return a privacy parameter ε in (0, 1e9) or ``inf`` as a float."""
    if not _is_real(epsilon) or not (0 < epsilon < 1e9 or epsilon == math.inf):
        raise ValueError(
            "epsilon must be a positive number below 1e9, or inf, which turns privacy off; "
            f"got {epsilon!r}. Nothing was spent."
        )
    return float(epsilon)


def check_delta(delta: Any) -> float:
    """Return a failure probability δ in [0, 1) as a float."""
    if not _is_real(delta) or not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta!r}. Nothing was spent.")
    return float(delta)


def check_size(name: str, value: Any) -> float:
    """Return `value` as a positive float far enough from overflow to be squared and divided."""
    return check_real(name, value, low=1e-50, high=1e50)


def check_count(name: str, value: Any) -> int:
    """Return `value` as a positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}. Nothing was spent.")
    return int(value)


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """Return `value` if it is one of `choices`."""
    if value not in tuple(choices):
        known = ", ".join(repr(str(choice)) for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}. Nothing was spent.")
    return value


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == value
