"""All that a fitted estimator holds, as a flat list of numbers and texts."""

from __future__ import annotations

import datetime
from collections import deque
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from skdp.budget import BudgetHandle

__all__ = ["leaves"]

_DEEPEST = 8
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_TEXTS = (str, bytes, bytearray, int, float, complex, range, Decimal, Fraction, np.generic, *_TIMES)
_OPAQUE = (BudgetHandle, ModuleType, type)  # not learned from rows


def leaves(fitted: Any) -> dict[str, Any]:
    """Return every number and text that an estimator holds, by its path; parameters too.

    A fit may write over a parameter, and what is learned may be the name of an attribute.
    """
    found: dict[str, Any] = {}
    _add_parts(found, "", fitted, (id(fitted),))
    return found


def _add(found: dict[str, Any], path: str, value: Any, above: tuple[int, ...]) -> None:
    if value is None or isinstance(value, _TEXTS):
        found[path] = repr(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        _add_array(found, path, value)
    elif isinstance(value, _OPAQUE) or id(value) in above or len(above) > _DEEPEST:
        found[path] = type(value).__name__
    else:
        _add_parts(found, path, value, (*above, id(value)))


def _add_array(found: dict[str, Any], path: str, value: np.ndarray) -> None:
    found[f"{path}.shape"] = str(value.shape)
    for i, number in enumerate(np.asarray(value).ravel().tolist()):
        found[f"{path}[{i}]"] = repr(number)
    if isinstance(value, np.ma.MaskedArray):
        _add_array(found, f"{path}.mask", np.ma.getmaskarray(value))


def _add_parts(found: dict[str, Any], path: str, value: Any, above: tuple[int, ...]) -> None:
    parts = _parts(value)
    found[f"{path}.names"] = repr([str(name) for name in parts])
    for name, part in parts.items():
        _add(found, f"{path}.{name}" if path else str(name), part, above)


def _parts(value: Any) -> dict[Any, Any]:
    """Return what an object is made of, by name."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple | deque | np.ndarray):
        return dict(enumerate(np.ravel(value) if isinstance(value, np.ndarray) else value))
    if isinstance(value, set | frozenset):
        return dict(enumerate(sorted(map(repr, value))))
    if isinstance(value, FunctionType | MethodType | partial):
        return _parts_of_function(value)
    return _parts_of_table(value) if hasattr(value, "to_numpy") else _parts_of_object(value)


def _parts_of_function(value: Any) -> dict[Any, Any]:
    """Return what a function keeps of the call that has made it."""
    names = ("__self__", "__defaults__", "__kwdefaults__", "func", "args", "keywords")
    kept = {name: getattr(value, name, None) for name in names}
    for i, cell in enumerate(getattr(value, "__closure__", None) or ()):
        with suppress(ValueError):  # a cell that is empty
            kept[f"closure {i}"] = cell.cell_contents
    return kept


def _parts_of_table(value: Any) -> dict[Any, Any]:
    """Return what a frame or a series holds, of pandas or polars."""
    names = [name for name in ("index", "columns", "name") if hasattr(value, name)]
    return {"values": value.to_numpy(), **{name: getattr(value, name) for name in names}}


def _parts_of_object(value: Any) -> dict[Any, Any]:
    """Return attributes, of a type without them what its pickle would hold."""
    named = dict(getattr(value, "__dict__", {}))
    for slots in (getattr(kind, "__slots__", ()) for kind in type(value).__mro__):
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                named[name] = getattr(value, name)
    if not named:
        with suppress(Exception):  # it has no pickle
            named = dict(enumerate(value.__reduce_ex__(2)))
    return named
