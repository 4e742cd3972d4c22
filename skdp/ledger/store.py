"""The ledger of one budget: its terms, its releases and their sums, in any storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import Any, TypeVar
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Head
from skdp.ledger.connections import replaced
from skdp.ledger.file_storage import FileStorage
from skdp.ledger.fractions import Amounts, add
from skdp.ledger.release import Release
from skdp.ledger.server.address import is_address
from skdp.ledger.storage import Storage
from skdp.ledger.tables import Account, Tables
from skdp.ledger.totals import Totals, accounts_of, all_totals

__all__ = ["Ledger", "SpendRequest", "no_spends"]

_DEFAULTS: dict[str, object] = {
    "slack": 0.0,
    "tv": 0.0,
    "unit": "record",
    "strict": False,
    "orders": "[]",
}

_HERE = local()  # per thread
T = TypeVar("T")


@contextmanager
def no_spends(identity: str | None) -> Iterator[None]:
    """Reject all spends of this thread from a ledger."""
    refused = vars(_HERE).setdefault("refused", [])
    refused.append(identity)
    try:
        yield
    finally:
        refused.remove(identity)


@dataclass(frozen=True)
class SpendRequest:
    """A release to check, the sums of its accounts `before` it, and the number of earlier ones."""

    release: Release
    before: dict[str, Totals]
    number: int


def _storage_at(path: str, is_temporary: bool) -> Storage:
    if not is_address(path):
        return FileStorage(path, is_temporary)
    try:
        from skdp.ledger.server.storage import ServerStorage
    except ImportError as error:
        raise ValueError(
            "A ledger on a server needs psycopg, the extra 'server' of skdp: pip install "
            "skdp[server]."
        ) from error
    return ServerStorage(path)


def _free(release: Release) -> Amounts:
    return ()


class Ledger:
    """The releases of one budget, each appended in one transaction or not at all.

    Parameters
    ----------
    path : str
        The path of an SQLite database, or the address of a PostgreSQL server. Each thread and
        process opens it once; a `Ledger` may be copied, pickled and used from any of them.
    terms : dict
        The terms of the ledger, which every call checks. The Rényi orders of an existing ledger
        replace the given ones.
    cost : callable
        Returns the numbers that a release adds to the running totals.
    nothing : tuple of numbers
        The running totals of an empty ledger.
    is_temporary : bool
        Whether the file ends with the budget that made it, so that flushing it to the disk is of no
        use. Never for a path that a user named.
    """

    def __init__(
        self,
        path: str,
        terms: dict[str, object],
        cost: Callable[[Release], Amounts] = _free,
        nothing: Amounts = (),
        *,
        is_temporary: bool = False,
    ) -> None:
        self.storage = _storage_at(path, is_temporary)
        self.terms: dict[str, object] = _DEFAULTS | terms
        self.cost = cost
        self.nothing = nothing
        self.identity: str | None = None
        self._seen: Head | None = None

    @property
    def path(self) -> str:
        """The path or the address, without a password."""
        return self.storage.address

    def create(self) -> None:
        """Make the ledger, or check an existing one: its terms, its hash chain and its totals."""
        self.storage.make(self._open)

    def create_from(self, releases: Iterable[Release], accounts: Iterable[Account]) -> None:
        """Make the ledger with these releases and shares; it must not exist."""
        self.storage.make(partial(self._fill, list(releases), list(accounts)))

    def append(
        self,
        release: Release,
        check: Callable[[SpendRequest], None],
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Append a release unless `check(request)` raises.

        The check and the entry are one transaction, durable on return. After an error that comes
        after the call of `before_commit` the outcome is unknown.
        """
        if self.identity in vars(_HERE).get("refused", ()):
            raise ValueError(
                "The estimator refers to the budget outside of its parameters, so price would "
                "spend from it. Pass the budget as a parameter."
            )
        key = uuid4().hex
        self._seen = self.storage.write(
            partial(self._append, release, check, key), before_commit, key
        )

    def releases(self, collect: Callable[[Iterator[Release]], Any] = list) -> Any:
        """Return `collect` of all releases, oldest first."""
        return self._read(lambda tables: collect(tables.releases()))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the running totals of an account that a release on `part` needs."""
        return self._read(lambda tables: self._totals(tables, account, part))

    def scopes(self, account: str = "") -> set[str]:
        """Return the keys of all sums of an account; none if nothing was spent from it."""
        return self._read(lambda tables: tables.scopes(account))

    def head(self) -> Head:
        """Return the number of releases, and the hash of all of them and the terms."""
        return self._read(lambda tables: tables.look().head)

    def accounts(self) -> list[Account]:
        """Return (name, ε, δ) of every share."""
        return self._read(lambda tables: tables.accounts())

    def open_account(self, name: str, epsilon: float, delta: float) -> None:
        """Write the limit of a share; an existing share of this name must have the same limit."""
        found = self.storage.write(partial(self._open_account, (name, epsilon, delta)))
        if found != (name, epsilon, delta):
            raise ValueError(
                f"The share {name!r} has epsilon={found[1]}, delta={found[2]}, not "
                f"epsilon={epsilon}, delta={delta}."
            )

    def close(self) -> None:
        """Close the connections of this process."""
        self.storage.close()

    def _read(self, action: Callable[[Tables], T]) -> T:
        def checked(tables: Tables) -> T:
            self._check_terms(tables)
            return action(tables)

        return self.storage.read(checked)

    def _open_account(self, account: Account, tables: Tables) -> Account:
        self._check_terms(tables)
        return tables.add_account(account)

    def _append(
        self, release: Release, check: Callable[[SpendRequest], None], key: str, tables: Tables
    ) -> Head:
        head = self._check_terms(tables)
        accounts = accounts_of(release.account)
        totals = {name: self._totals(tables, name, release.part) for name in accounts}
        check(SpendRequest(release, totals, head.number))
        return tables.append(head, release, self.cost(release), key)

    def _totals(self, tables: Tables, account: str, part: str | None) -> Totals:
        totals = tables.totals(account, part)
        with tables.damage("its totals"):
            for amounts in totals.scopes.values():
                add(amounts, self.nothing)  # raises unless their number is the same
        return totals

    def _open(self, tables: Tables) -> None:
        tables.make(self.terms)
        self.terms = self.terms | {"orders": tables.look().terms["orders"]}
        self._check_terms(tables)
        self._check_whole(tables)

    def _fill(self, releases: list[Release], accounts: list[Account], tables: Tables) -> None:
        if not tables.make(self.terms):
            raise ValueError(f"{self.path} exists already.")
        head = tables.look().head
        for release in releases:
            head = tables.write(head, release)
        for name, totals in all_totals(releases, self.cost).items():
            tables.save(name, totals)
        for account in sorted(accounts):  # a share after its parent
            tables.add_account(account)
        self._check_whole(tables)

    def _check_whole(self, tables: Tables) -> None:
        tables.accounts()
        with tables.damage("its rows"):
            summed = all_totals(tables.releases(), self.cost)
        if summed != tables.all_totals():
            raise BudgetClosedError(
                f"The ledger {self.path} cannot be used: its running totals are not the sums of "
                "its rows, so it was edited by another program."
            )

    def _check_terms(self, tables: Tables) -> Head:
        """Return the head of the chain, after a check that it extends the last head seen here."""
        seen = self._seen
        found = tables.look(seen.number if seen else 0)
        if found.terms != self.terms:
            made, asked = _differing(found.terms, self.terms)
            raise ValueError(f"The ledger {self.path} was made for {made}, not for {asked}.")
        if self.identity not in (None, found.identity) or seen not in (None, found.earlier):
            raise replaced(self.path)
        self.identity, self._seen = found.identity, found.head
        return found.head


def _differing(*terms: dict[str, object]) -> Iterator[str]:
    """Yield the differing terms of each of two ledgers."""
    names = sorted({*terms[0], *terms[1]})
    differing = [name for name in names if terms[0].get(name) != terms[1].get(name)]
    for one in terms:
        yield ", ".join(f"{name}={one.get(name)!r}" for name in differing)
