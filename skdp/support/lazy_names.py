"""Packages whose names are imported on first use.

The ``__init__`` of such a package imports its names for type checkers only and tells `lazy_names`
where they live. To import one estimator is then not to import all algorithms, ledgers and
accountants. Code that needs such a package within functions only imports it as a whole and
writes, for example, ``accounting.gdp_mu``.

A name must differ from those of the package's modules: the import of a module sets its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Generic, TypeVar


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    `homes` has the public names that each module defines. Modules are named in full.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def look_up(name: str) -> object:
        module = sys.modules[package]  # from which Python suggests names
        if name not in home_of:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=module)
        found = getattr(import_module(home_of[name]), name)
        setattr(module, name, found)  # the next time, Python finds it by itself
        return found

    return sorted(home_of), look_up, lambda: sorted({*home_of, *vars(sys.modules[package])})


T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Classes by name, in the order in which they were entered.

    An entry is a class, or its import path ``"module:Class"``. A lookup imports the class; names,
    `len`, `in` and `name_of` import nothing.
    """

    def __init__(self, entries: Mapping[str, type[T] | str]) -> None:
        self._entries = dict(entries)
        self._names = {_path_of(entry): name for name, entry in self._entries.items()}

    def __getitem__(self, name: str) -> type[T]:
        entry = self._entries[name]
        if not isinstance(entry, str):
            return entry
        module, kind = entry.split(":")
        return getattr(import_module(module), kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # `Mapping` would look the name up, and so import

    def __or__(self, other: Registry[T]) -> Registry[T]:
        return Registry(self._entries | other._entries)

    def __repr__(self) -> str:
        return f"Registry({list(self)})"

    def name_of(self, kind: type) -> str | None:
        """Return the name of a class, or None; its subclasses have no name."""
        return self._names.get(_path_of(kind))


def _path_of(entry: type | str) -> str:
    return entry if isinstance(entry, str) else f"{entry.__module__}:{entry.__qualname__}"
