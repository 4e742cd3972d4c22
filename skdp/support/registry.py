"""Classes by name, some of which are imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

__all__ = ["Registry"]

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
