"""The published attributes of a result, as plain values that can be compared bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skdp.budget import BudgetHandle

__all__ = ["published"]


def published(result: Any) -> Any:
    """Return all attributes of a result, and recursively their attributes, as bytes."""
    return _plain(result, ())


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    if isinstance(value, BudgetHandle) or id(value) in above:
        return type(value).__name__
    inside = (*above, id(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float | np.floating):
        return np.float64(value).tobytes()
    if value is None or isinstance(value, str | bytes | int | complex | np.generic | type):
        return repr(value)
    if isinstance(value, Mapping):
        return {repr(key): _plain(one, inside) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray | set | frozenset):
        return [_plain(one, inside) for one in value]
    if isinstance(value, partial):
        return [_plain(one, inside) for one in (value.func, value.args, value.keywords)]
    if isinstance(value, np.random.Generator):
        return "generator"
    if callable(value) and hasattr(value, "__qualname__"):
        closed = getattr(value, "__closure__", None) or ()
        return value.__qualname__, [_plain(cell.cell_contents, inside) for cell in closed]
    if not isinstance(value, BaseEstimator) and hasattr(value, "to_numpy"):
        return _plain(value.to_numpy(), inside)
    if hasattr(value, "__dict__"):
        return type(value).__name__, _plain(vars(value), inside)
    slots = getattr(type(value), "__slots__", ())
    return type(value).__name__, [_plain(getattr(value, name), inside) for name in slots]
