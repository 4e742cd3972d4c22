"""All numbers and strings in a fitted estimator, as a flat dict."""

from __future__ import annotations

import datetime
from collections import deque
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import TypeAlias

import numpy as np

from skdp.budget import BudgetHandle
from skdp.support.types import MatrixLike

_DEEPEST = 8
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_TEXTS = (str, bytes, bytearray, int, float, complex, range, Decimal, Fraction, np.generic, *_TIMES)
_OPAQUE = (BudgetHandle, ModuleType, type)  # not learned from rows


Parts: TypeAlias = dict[object, object]


def leaves(fitted: object) -> dict[str, str]:
    """Return every number and string in an estimator, by its path.

    Parameters are included because a fit may overwrite them, and names of attributes because they
    may be learned.
    """
    found: dict[str, str] = {}
    _add_parts(found, "", fitted, (id(fitted),))
    return found


def _add(found: dict[str, str], path: str, value: object, above: tuple[int, ...]) -> None:
    if value is None or isinstance(value, _TEXTS):
        found[path] = repr(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        _add_array(found, path, value)
    elif isinstance(value, _OPAQUE) or id(value) in above or len(above) > _DEEPEST:
        found[path] = type(value).__name__
    else:
        _add_parts(found, path, value, (*above, id(value)))


def _add_array(found: dict[str, str], path: str, value: np.ndarray) -> None:
    found[f"{path}.shape"] = str(value.shape)
    for i, number in enumerate(np.asarray(value).ravel().tolist()):
        found[f"{path}[{i}]"] = repr(number)
    if isinstance(value, np.ma.MaskedArray):
        _add_array(found, f"{path}.mask", np.ma.getmaskarray(value))


def _add_parts(found: dict[str, str], path: str, value: object, above: tuple[int, ...]) -> None:
    parts = _parts(value)
    found[f"{path}.names"] = repr([str(name) for name in parts])
    for name, part in parts.items():
        _add(found, f"{path}.{name}" if path else str(name), part, above)


def _parts(value: object) -> Parts:
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple | deque | np.ndarray):
        return dict(enumerate(np.ravel(value) if isinstance(value, np.ndarray) else value))
    if isinstance(value, set | frozenset):
        return dict(enumerate(sorted(map(repr, value))))
    if isinstance(value, FunctionType | MethodType | partial):
        return _parts_of_function(value)
    return _parts_of_table(value) if hasattr(value, "to_numpy") else _parts_of_object(value)


def _parts_of_function(value: object) -> Parts:
    """Return the defaults and the closure of a function."""
    names = ("__self__", "__defaults__", "__kwdefaults__", "func", "args", "keywords")
    kept: Parts = {name: getattr(value, name, None) for name in names}
    for i, cell in enumerate(getattr(value, "__closure__", None) or ()):
        with suppress(ValueError):  # a cell that is empty
            kept[f"closure {i}"] = cell.cell_contents
    return kept


def _parts_of_table(value: MatrixLike) -> Parts:
    """Return the values and names of a pandas or polars frame or series."""
    names = [name for name in ("index", "columns", "name") if hasattr(value, name)]
    return {"values": value.to_numpy(), **{name: getattr(value, name) for name in names}}


def _parts_of_object(value: object) -> Parts:
    """Return the attributes, or else the contents of the pickle."""
    named = dict(getattr(value, "__dict__", {}))
    for slots in (getattr(kind, "__slots__", ()) for kind in type(value).__mro__):
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                named[name] = getattr(value, name)
    if not named:
        with suppress(Exception):  # it has no pickle
            named = dict(enumerate(value.__reduce_ex__(2)))
    return named
