"""Base class of the storages of a ledger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from skdp.ledger.tables import Tables

__all__ = ["TIMEOUT", "Storage"]

TIMEOUT = 60.0
"""Seconds that a spend may take, unless the user says otherwise."""

T = TypeVar("T")


class Storage(ABC):
    """The place of a ledger, for every thread and process that has its address.

    Copies and pickles hold the address, without a password, and the seconds that a use may take.
    """

    def __init__(self, address: str, timeout: float = TIMEOUT) -> None:
        self.address = address
        self.timeout = timeout

    @abstractmethod
    def make(self, action: Callable[[Tables], None]) -> None:
        """Make the tables and call `action` on them, unless there is a ledger.

        `action` sees no writes of others meanwhile. After an error nothing of a new ledger remains.
        """

    @abstractmethod
    def read(self, action: Callable[[Tables], T]) -> T:
        """Return `action` of the tables, which do not change meanwhile."""

    @abstractmethod
    def write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        """Return `action` of the tables, in one exclusive transaction, durable on return.

        `before_commit` is called just before the commit; after a later error the outcome is
        unknown. `action` may be called again if certainly nothing of its first call was recorded.
        `key` identifies the release that it appends.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connections of this process; the next use opens new ones."""

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address, "timeout": self.timeout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
