"""Data that can be read without running code of its own, so that no read after a spend fails."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["check_plain"]

_TRUSTED = {
    "abc",
    "builtins",
    "collections",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "ipaddress",
}
_TRUSTED |= {"numbers", "numpy", "pandas", "pathlib", "polars", "pyarrow", "typing", "uuid"}
_RUN_BY_READERS = frozenset(
    f"__{name}__"
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "float", "int", "index", "complex"),
        *("len", "iter", "getitem", "contains", "getattr", "getattribute", "class"),
        *("array", "array_ufunc", "array_function", "array_interface", "array_struct"),
    )
)
_FOREIGN = (
    "The data hold objects of a class with its own comparison, hash or conversion. Convert them to "
    "strings, numbers, truth values or dates first."
)


def check_plain(*tables: Any) -> None:
    """Raise ValueError if Python objects in the data may run code of their own when they are read.

    Such code may raise an error after the spend, or quote the value in its message. No message
    says of which class an object is, which is private.
    """
    if not all(_is_plain(kind) for table in tables for kind in _kinds(table)):
        raise ValueError(_FOREIGN)


def _kinds(table: Any) -> set[type]:
    """Return the classes of the Python objects in a table, a column or a list."""
    if isinstance(table, (list, tuple)):
        return _kinds_among(table)
    if hasattr(table, "iloc") and np.ndim(table) == 2:
        some = (j for j, dtype in enumerate(table.dtypes) if getattr(dtype, "kind", "O") == "O")
        return set().union(*(_kinds(table.iloc[:, j]) for j in some))
    if hasattr(table, "get_columns"):  # a frame of polars
        return set().union(*map(_kinds, table.get_columns()))
    dtype: Any = getattr(table, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(dtype.categories, "dtype"):
        return _kinds(dtype.categories)
    if "object" not in str(dtype).lower():
        return set()
    values = table.data if sparse.issparse(table) else table
    return _kinds_among([*(values.flat if isinstance(values, np.ndarray) else values)])


def _kinds_among(values: Collection[Any]) -> set[type]:
    """Return the classes of values, and of those within lists, tuples and arrays among them."""
    kinds = {*map(type, values)}
    if any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds):
        inner = (value for value in values if isinstance(value, (list, tuple, np.ndarray)))
        return kinds.union(*map(_kinds, inner))
    return kinds


@lru_cache(maxsize=1024)
def _is_plain(kind: type) -> bool:
    """Return whether whatever a reader runs of a class is Python's own, or a known library's."""
    own = [one for one in kind.__mro__ if not _is_trusted(one)]
    return not any(_RUN_BY_READERS & vars(one).keys() for one in own)


def _is_trusted(kind: type) -> bool:
    return str(getattr(kind, "__module__", "")).partition(".")[0] in _TRUSTED
