"""All that a fitted estimator holds, as a flat list of numbers and texts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

__all__ = ["leaves"]

_DEEPEST = 6


def leaves(fitted: Any) -> dict[str, Any]:
    """Return every number and text that a fit has set, by its path."""
    given = fitted.get_params(deep=False) if hasattr(fitted, "get_params") else {}
    found: dict[str, Any] = {}
    for name, value in vars(fitted).items():
        if name not in given:
            _add(found, name, value, 0)
    return found


def _add(found: dict[str, Any], path: str, value: Any, depth: int) -> None:
    if isinstance(value, np.ndarray) and value.dtype != object:
        found[f"{path}.shape"] = str(value.shape)
        for i, number in enumerate(value.ravel().tolist()):
            found[f"{path}[{i}]"] = repr(number)
    elif depth == _DEEPEST or value is None or isinstance(value, str | bytes | int | float):
        found[path] = repr(value) if depth < _DEEPEST else type(value).__name__
    else:
        inner = _parts(value)
        found[f"{path}.size"] = str(len(inner))
        for name, part in inner.items():
            _add(found, f"{path}.{name}", part, depth + 1)


def _parts(value: Any) -> dict[str, Any]:
    """Return what an object is made of, by name."""
    if isinstance(value, dict):
        return {str(name): part for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return {str(i): part for i, part in enumerate(value)}
    if isinstance(value, set | frozenset):
        return {str(i): part for i, part in enumerate(sorted(map(repr, value)))}
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
    return dict(vars(value)) if hasattr(value, "__dict__") else {"type": type(value).__name__}
