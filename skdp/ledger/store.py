"""The ledger of one budget: its terms, its releases and their sums, in any storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.administration import adopt, quarantine, quarantined, skipped_in
from skdp.ledger.chain import Entry, Head, first_head
from skdp.ledger.connections import replaced
from skdp.ledger.costs import FREE, Account, Rules, costs_of
from skdp.ledger.file_storage import FileStorage
from skdp.ledger.files import is_ledger
from skdp.ledger.fractions import Amounts
from skdp.ledger.migration import migrate
from skdp.ledger.no_spends import check_may_write
from skdp.ledger.release import Release
from skdp.ledger.server.address import is_address
from skdp.ledger.storage import TIMEOUT, Storage
from skdp.ledger.tables import Found, Group, Tables
from skdp.ledger.totals import Totals, accounts_of
from skdp.ledger.verification import Verification, recall, remember, scopes_in

__all__ = ["Ledger", "SpendRequest"]

_DEFAULTS: dict[str, object] = {
    "slack": 0.0,
    "tv": 0.0,
    "unit": "record",
    "strict": False,
    "exact": False,
    "orders": "[]",
}

T = TypeVar("T")


@dataclass(frozen=True)
class SpendRequest:
    """A release to check, the sums of its accounts `before` it, and the number of earlier ones."""

    release: Release
    before: dict[str, Totals]
    number: int


def _storage_at(path: str, timeout: float, is_temporary: bool) -> Storage:
    if not is_address(path):
        return FileStorage(path, timeout, is_temporary)
    try:
        from skdp.ledger.server.storage import ServerStorage
    except ImportError as error:
        raise ValueError(
            "A ledger on a server needs psycopg, the extra 'server' of skdp: pip install "
            "skdp[server]."
        ) from error
    return ServerStorage(path, timeout)


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
    rules : Rules
        What adds up, and the limits of accounts.
    is_temporary : bool
        Whether the file ends with the budget that made it, so that flushing it to the disk is of no
        use. Never for a path that a user named.
    timeout : float
        Seconds that one call may wait for others or for the server.
    """

    def __init__(
        self,
        path: str,
        terms: dict[str, object],
        rules: Rules = FREE,
        *,
        is_temporary: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        self.storage = _storage_at(path, timeout, is_temporary)
        self.terms: dict[str, object] = _DEFAULTS | terms
        self.rules = rules
        self.identity: str | None = None
        self._seen: Head | None = None

    @property
    def path(self) -> str:
        """The path or the address, without a password."""
        return self.storage.address

    @property
    def nothing(self) -> Amounts:
        """The running totals of an empty ledger."""
        return (Fraction(0),) * len(self.rules.measures)

    def cost(self, release: Release) -> Amounts:
        """Return the numbers that a release adds to the running totals."""
        return costs_of(self.rules.measures, vars(release))

    def create(self) -> None:
        """Make the ledger, or open an existing one.

        Opening checks its terms. It checks hashes and totals of all releases the first time, and
        later those of the releases since.
        """
        check_may_write(None)
        self.storage.make(self._make)
        self.open()

    def open(self) -> None:
        """Open an existing ledger, and migrate it if its format is older."""
        self.prepare()
        self.storage.read(self._check_whole)

    def known_terms(self) -> dict[str, object]:
        """Return the terms of an existing ledger, whatever they are."""
        if not is_address(self.path) and not is_ledger(self.path):
            raise BudgetClosedError(f"The ledger {self.path} does not exist.")
        return self.storage.read(lambda tables: tables.known_terms())

    def adopt(self, reason: str) -> None:
        """Let a copy go on as a ledger of its own."""
        self.prepare()
        adopt(self.storage, reason, lambda path: _storage_at(path, self.storage.timeout, False))

    def quarantine(self, number: int, reason: str, cost: Amounts | None) -> None:
        """Count an entry that cannot be read as `cost`, or as all that was left."""
        self.prepare(frozenset([number]))
        quarantine(self.storage, number, reason, cost)

    def prepare(self, skipped: frozenset[int] = frozenset()) -> None:
        """Check the terms, and migrate the ledger; entries in `skipped` need not be readable."""
        check_may_write(None)
        self._know_orders()
        migrate(self.storage, self.terms, self.rules, skipped)

    def create_from(
        self,
        entries: Sequence[Entry],
        accounts: Iterable[Account],
        home: str,
    ) -> None:
        """Make the ledger with these entries and shares, for a `home`; it must not exist."""
        made: list[bool] = []
        self.storage.make(partial(self._fill, entries, list(accounts), home, made))
        if not made:
            raise ValueError(f"{self.path} exists already.")
        self.open()
        self.close()  # a draft is renamed

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
        check_may_write(self.identity)
        key = uuid4().hex
        self._seen = self.storage.write(
            partial(self._append, release, check, key), before_commit, key
        )

    def releases(self, collect: Callable[[Iterator[Release]], Any] = list) -> Any:
        """Return `collect` of all releases, oldest first."""
        return self._read(lambda tables: collect(self._releases(tables)))

    def entries(self) -> list[Entry]:
        """Return all entries as they are written, oldest first."""
        return self._read(lambda tables: list(tables.entries(first_head(self.terms))))

    def groups(self, *, of_releases: bool) -> list[Group]:
        """Return the groups of equal releases, or of other entries, by their first."""
        return self._read(lambda tables: tables.groups(of_releases=of_releases))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the running totals of an account that a release on `part` needs."""
        return self._read(lambda tables: self._totals(tables, account, part))

    def scopes(self, account: str = "") -> set[str]:
        """Return the keys of all sums of an account; none if nothing was spent from it."""
        return self._read(lambda tables: tables.scopes(account))

    def head(self) -> Head:
        """Return the number of entries, and the hash of all of them and the terms."""
        return self._read(lambda tables: tables.look().head)

    def has_passed(self, head: str) -> bool:
        """Return whether `head` is the head of the first entries, by the stored hashes."""
        number = head.partition("-")[0]
        if not (number.isdecimal() and number.isascii() and len(number) < 19):
            return False
        return head == str(self._read(lambda tables: tables.look(int(number)).earlier))

    def verify(self) -> Head:
        """Check all entries; return the head."""
        return self.storage.read(partial(self._check_whole, is_full=True))

    def accounts(self) -> list[Account]:
        """Return (name, ε, δ) of every share."""
        return self._read(lambda tables: tables.accounts())

    def open_account(self, account: Account, limits: Amounts) -> None:
        """Write the limit of a share; an existing share of this name must have the same limit."""
        check_may_write(self.identity)
        name, epsilon, delta = account
        found = self.storage.write(partial(self._open_account, account, limits))
        if found != account:
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

    def _make(self, tables: Tables) -> None:
        tables.make(self.terms, self.rules.measures)
        self._add_limits(tables, [])

    def _add_limits(self, tables: Tables, shares: list[Account]) -> None:
        limits = self.rules.limits_of(shares)
        budget = ("", self.terms["epsilon"], self.terms["delta"])
        for account in (budget, *sorted(shares)):  # a share after its parent
            tables.add_account(tables.look(), account, limits[account[0]])  # type: ignore[arg-type]

    def _open_account(self, account: Account, limits: Amounts, tables: Tables) -> Account:
        found = self._check_terms(tables, to_write=True)
        if tables.account(account[0]) is None:
            tables.add_account(found, account, limits)
        return tables.account(account[0])

    def _append(
        self, release: Release, check: Callable[[SpendRequest], None], key: str, tables: Tables
    ) -> Head:
        found = self._check_terms(tables, to_write=True)
        accounts = accounts_of(release.account)
        totals = {name: self._totals(tables, name, release.part) for name in accounts}
        self._compare(tables, found, totals)
        check(SpendRequest(release, totals, found.head.number))
        return tables.append(found, release, self.cost(release), key)

    def _compare(self, tables: Tables, found: Found, totals: dict[str, Totals]) -> None:
        """Raise BudgetClosedError if the sums are not those that the last hash covers."""
        with tables.damage("its totals"):
            for account, scopes in scopes_in(found.seal).items():
                stored = totals.get(account, Totals()).scopes
                if any(stored.get(scope, sums) != sums for scope, sums in scopes.items()):
                    raise ValueError("another sum")

    def _totals(self, tables: Tables, account: str, part: str | None) -> Totals:
        totals = tables.totals(account, part)
        with tables.damage("its totals"):
            if any(len(sums) != len(self.rules.measures) for sums in totals.scopes.values()):
                raise ValueError("sums of another number")
        return totals

    def _releases(self, tables: Tables) -> Iterator[Release]:
        skipped = quarantined(tables)
        for entry in tables.entries(first_head(self.terms)):
            if entry.is_release and entry.number not in skipped:
                with tables.damage(f"release {entry.number}"):
                    release = entry.release
                yield release

    def _fill(
        self,
        entries: Sequence[Entry],
        accounts: list[Account],
        home: str,
        made: list[bool],
        tables: Tables,
    ) -> None:
        tables.make(self.terms, self.rules.measures)
        tables.settle(home=home)
        self._add_limits(tables, accounts)
        head = first_head(self.terms)
        for entry in entries:
            head = tables.write(head, entry, None)
        known = Verification(self.terms, self.rules.measures, skipped_in(entries))
        known.follow(tables)
        tables.fill(known.totals, known.groups)
        made.append(True)

    def _know_orders(self) -> None:
        """Take the Rényi orders of the ledger."""
        terms = self.storage.read(lambda tables: tables.known_terms())
        self.terms = self.terms | {"orders": terms["orders"]}
        self.rules = self.rules.for_orders(str(terms["orders"]))
        self._check_same(terms)

    def _check_whole(self, tables: Tables, is_full: bool = False) -> Head:
        found = self._check_terms(tables)
        key = found.identity, found.here
        known = None if is_full else recall(key)
        if known is not None and tables.look(known.head.number).earlier != known.head:
            known = None  # an older copy is at its place
        is_full = known is None
        if is_full:
            tables.check_pages()
        known = known or Verification(self.terms, found.measures, quarantined(tables))
        self._check_limits(tables)
        known.follow(tables)
        known.compare(tables, groups=is_full)
        remember(key, known, is_full=is_full)
        return known.head

    def _check_limits(self, tables: Tables) -> None:
        """Raise BudgetClosedError unless the stored limits are those of the terms and shares."""
        with tables.damage("its shares"):
            if tables.limits() != self.rules.limits_of(tables.accounts()):
                raise ValueError("other limits")

    def _check_same(self, found: dict[str, object]) -> None:
        if found != self.terms:
            made, asked = _differing(found, self.terms)
            raise ValueError(f"The ledger {self.path} was made for {made}, not for {asked}.")

    def _check_terms(self, tables: Tables, *, to_write: bool = False) -> Found:
        """Return the state of the ledger, after checks that it is this one, here and open.

        Its head must extend the last head seen here.
        """
        seen = self._seen
        found = tables.look(seen.number if seen else 0)
        self._check_same(found.terms)
        if self.identity not in (None, found.identity) or seen not in (None, found.earlier):
            raise replaced(self.path)
        if found.here != found.place:
            raise BudgetClosedError(
                f"The ledger {self.path} is a copy of another one, which may still be in use. If "
                "it is to take its place, call PrivacyBudget.adopt(path, reason=...)."
            )
        if to_write and found.closed is not None:
            raise BudgetClosedError(
                f"The ledger {self.path} is closed: a copy of it was adopted ({found.closed})."
            )
        self.identity, self._seen = found.identity, found.head
        return found


def _differing(*terms: dict[str, object]) -> Iterator[str]:
    """Yield the differing terms of each of two ledgers."""
    names = sorted({*terms[0], *terms[1]})
    differing = [name for name in names if terms[0].get(name) != terms[1].get(name)]
    for one in terms:
        yield ", ".join(f"{name}={one.get(name)!r}" for name in differing)
