"""A ledger in a file, for the threads and processes of one machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from sqlite3 import Connection
from typing import Any, TypeVar

from skdp.exceptions import BudgetClosedError
from skdp.ledger.connections import Connections, clear_errors, connect
from skdp.ledger.file_tables import FileTables, mark, transaction
from skdp.ledger.files import refuse_foreign
from skdp.ledger.fork_lock import gate
from skdp.ledger.locks import creating
from skdp.ledger.storage import Storage
from skdp.ledger.tables import Tables

__all__ = ["FileStorage"]

T = TypeVar("T")


class FileStorage(Storage):
    """An SQLite database, which each thread and process opens once.

    Parameters
    ----------
    address : str
        The path of the file.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.connections = Connections(address)

    def make(self, action: Callable[[Tables], None]) -> None:
        with (
            gate,
            creating(self.address),
            clear_errors(self.address),
            closing(self._open_or_make()) as connection,
        ):
            self.connections.remember()
            mark(connection)
            with transaction(connection):
                self._check_pages(connection)
                action(FileTables(connection, self.address))

    def read(self, action: Callable[[Tables], T]) -> T:
        with self.connections.use() as connection:
            return action(FileTables(connection, self.address))

    def write(
        self,
        action: Callable[[Tables], T],
        before_commit: Callable[[], None] | None = None,
        key: str = "",
    ) -> T:
        with self.connections.use(to_write=True) as connection, transaction(connection):
            result = action(FileTables(connection, self.address))
            if before_commit is not None:
                before_commit()
        return result

    def close(self) -> None:
        self.connections.close()

    def _open_or_make(self) -> Connection:
        refuse_foreign(self.address)
        return connect(self.address, "rwc")

    def _check_pages(self, connection: Connection) -> None:
        if (state := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise BudgetClosedError(f"The ledger {self.address} cannot be used: {state}.")

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
