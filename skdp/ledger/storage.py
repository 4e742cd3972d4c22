"""What every storage of a ledger offers: a place that is made, read, and appended to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from skdp.ledger.tables import Tables

__all__ = ["Storage"]

T = TypeVar("T")


class Storage(ABC):
    """The place of a ledger, for every thread and process that has its address.

    It may be copied and pickled; connections and secrets are not part of it.

    Parameters
    ----------
    address : str
        Where it is, without a password.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    @abstractmethod
    def make(self, action: Callable[[Tables], None]) -> None:
        """Call `action` on the tables, which are empty if there was no ledger.

        Nobody else writes meanwhile, or what they write is not seen. After an error nothing of a
        new ledger is there.
        """

    @abstractmethod
    def read(self, action: Callable[[Tables], T]) -> T:
        """Return what `action` finds in the tables."""

    @abstractmethod
    def write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        """Return what `action` finds and writes in one transaction, while nobody else writes.

        All is durable when this returns. `before_commit` is called when everything is written
        but for the commit; an error after that leaves open whether it was. `action` may be called
        again, where it is certain that nothing of the call before was recorded; `key` is
        what it appends a release under.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connections of this process; the next use opens new ones."""

    @abstractmethod
    def __getstate__(self) -> dict[str, Any]:
        """Return the address alone."""
