"""The ledger of one budget, and the contract of what stores it: transactions on five tables."""

from __future__ import annotations

import json
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.gate import check_may_write, gate
from skdp.ledger.release import (
    EVERY,
    KIND,
    PEAK,
    UNREADABLE,
    Account,
    Amounts,
    Entry,
    Head,
    Release,
    Totals,
    Verification,
    accounts_of,
    content_of,
    costs_of,
    digest_of,
    first_head,
    owns,
    read,
    scope_of,
    sums_in,
    text_of,
    unusable,
)

FORMAT = 1
TIMEOUT = 60.0
"""Seconds that a spend may take, unless the user says otherwise."""
FULL_EVERY = 100
"""Every this many openings a process checks all entries again."""
_IS_NOTICE = f"substr(content, 1, {len(KIND)}) = '{KIND}'"  # that an entry is no release
_TABLES = (
    """CREATE TABLE ledger.terms (terms TEXT, identity TEXT, measures TEXT, place TEXT, home TEXT,
    closed TEXT, checksum TEXT)""",
    """CREATE TABLE ledger.entries (id BIGINT PRIMARY KEY, time TEXT NOT NULL,
    content TEXT NOT NULL, hash TEXT NOT NULL, key TEXT UNIQUE, seal TEXT)""",
    """CREATE TABLE ledger.accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION, limits TEXT, role TEXT)""",
    """CREATE TABLE ledger.totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope))""",
    f"CREATE INDEX notices ON ledger.entries (id) WHERE {_IS_NOTICE}",
)
_STATE = ("terms", "identity", "measures", "place", "home", "closed")
_COLUMNS = ", ".join(_STATE)
_LOOK = f"""
SELECT {_COLUMNS}, checksum, $place, id, hash, seal,
    (SELECT hash FROM ledger.entries WHERE id = ?)
FROM ledger.terms LEFT JOIN ledger.entries ON id = (SELECT max(id) FROM ledger.entries)
"""
_PAGE = 1000  # entries that are read at once
_READ = "SELECT id, time, content, seal, hash FROM ledger.entries"
_ENTRIES = f"{_READ} WHERE id > ? ORDER BY id LIMIT {_PAGE}"
_NOTICES = f"{_READ} WHERE {_IS_NOTICE} ORDER BY id"
_WRITE_ENTRY = "INSERT INTO ledger.entries VALUES (?, ?, ?, ?, ?, ?)"
_WRITE_TOTALS = """
INSERT INTO ledger.totals (account, scope, amounts) VALUES (?, ?, ?)
    ON CONFLICT (account, scope) DO UPDATE SET amounts = excluded.amounts
"""
_GROUPS = f"""
SELECT one.id, one.time, one.content, one.seal, one.hash, other.time, number
FROM (SELECT min(id) AS first, max(id) AS last, count(*) AS number
        FROM ledger.entries WHERE NOT ({_IS_NOTICE}) GROUP BY content) AS counts
    JOIN ledger.entries AS one ON one.id = first JOIN ledger.entries AS other ON other.id = last
ORDER BY first
"""

T = TypeVar("T")


class Found(NamedTuple):
    """The terms and the state of a ledger, its head, and its head at an earlier number.

    `place` is where the ledger was made or adopted, `here` where it is; `home` is its last known
    address. The two places differ in a copy. `seal` is that of the last entry.
    """

    terms: dict[str, Any]
    identity: str
    measures: tuple[str, ...]
    place: str
    home: str
    closed: str | None
    here: str
    head: Head
    seal: str | None
    earlier: Head


class Group(NamedTuple):
    """Releases with the same content: the first, the time of the last, and their number."""

    first: Entry
    last_time: str
    number: int


class SpendRequest(NamedTuple):
    """A release to check, the sums of its accounts `before` it, and the number of earlier ones."""

    release: Release
    before: dict[str, Totals]
    number: int


Check: TypeAlias = Callable[[SpendRequest], object]
Steps: TypeAlias = Sequence[Callable[[], object]]


class Tables:
    """The tables of one ledger through the open connection of one thread.

    Queries have placeholders ``?`` and tables of a schema called ledger. A dialect has `names`, the
    replacements of these and of ``$place``.
    """

    role = ""
    """Who writes, as the storage knows; "" if it does not."""

    def __init__(self, connection: Any, address: str, names: dict[str, str]) -> None:
        self.connection, self.address, self._names = connection, address, [*names.items()]
        self.process, self.generation = os.getpid(), gate.generation
        self._finalizer = weakref.finalize(self, gate.drop, connection, self.process)
        self._finalizer.atexit = False
        gate.own(connection)

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._finalizer()

    def create(self) -> None:
        for statement in _TABLES:
            self.execute(statement)

    def check_pages(self) -> None:  # a server checks its own pages
        """Raise BudgetClosedError if the storage itself is damaged."""

    def check_owner(self) -> None:  # who may write to a file owns the ledger
        """Raise BudgetClosedError unless this user may change the ledger."""

    def execute(self, query: str, values: Iterable[object] = ()) -> Any:
        for name, text in self._names:
            query = query.replace(name, text)
        return self.connection.execute(query, tuple(values))

    def fill(self, terms: Mapping[str, Any], measures: tuple[str, ...]) -> None:
        self.execute("INSERT INTO ledger.terms (identity) VALUES (?)", (uuid4().hex,))
        self.settle(terms=text_of(terms), measures=json.dumps(measures))

    def settle(self, **changed: str | None) -> None:
        """Change the state of the ledger; its place is here from now on."""
        *values, place = self.execute(f"SELECT {_COLUMNS}, $place FROM ledger.terms").fetchone()
        known = dict(zip(_STATE, values, strict=True)) | {"place": place, "home": self.address}
        row = [*(known | changed).values()]
        names = ", ".join(f"{name} = ?" for name in (*_STATE, "checksum"))
        self.execute(f"UPDATE ledger.terms SET {names}", [*row, digest_of(repr(row))])

    def look(self, number: int = 0) -> Found:
        """Return the terms, the state, the head, and the head at an earlier number."""
        with self.damage("its terms"):
            row = self.execute(_LOOK, (number,)).fetchone()
            *values, checksum, here, last, last_hash, seal, earlier = row
            if checksum != digest_of(repr(values)):
                raise ValueError("another checksum")
            text, identity, measures, place, home, closed = values
            start = Head(0, digest_of(text))
            head = start if last is None else Head(last, last_hash)
            then = Head(number, earlier) if number else start
            terms, named = json.loads(text), tuple(json.loads(measures))
            return Found(terms, identity, named, place, home, closed, here, head, seal, then)

    def shares(self) -> dict[str, tuple[float, float, Amounts]]:
        """Return the ε, the δ and the limits of the budget, under "", and of each share."""
        with self.damage("its shares"):
            rows = self.execute("SELECT name, epsilon, delta, limits FROM ledger.accounts")
            found = {name + "": (e + 0.0, d + 0.0, read(limits)) for name, e, d, limits in rows}
            if not all(e > 0.0 and 0.0 <= d < 1.0 for e, d, _ in found.values()):
                raise ValueError("not a limit")
            return dict(sorted(found.items()))

    def add_share(self, account: Account, limits: Amounts) -> None:
        """Write the limits of a share, or of the budget."""
        query = "INSERT INTO ledger.accounts VALUES (?, ?, ?, ?, ?)"
        self.execute(query, (*account, " ".join(map(str, limits)), self.role))

    def entries(self, after: Head) -> Iterator[Entry]:
        """Yield the entries after a head, and check their hash chain."""
        (number, last), at = after, after.number if after.number else -1
        while page := self.execute(_ENTRIES, (at,)).fetchall():
            for entry in map(Entry._make, page):
                with self.damage(f"release {number + 1}"):
                    expected = digest_of(last, entry.time, entry.content, entry.seal)
                    if (entry.number, entry.hash) != (number + 1, expected):
                        why = "so the ledger was edited or a release was removed"
                        said = f"the hash of release {number + 1} does not match, {why}"
                        raise unusable(self.address, said)
                yield entry
                number, last = entry.number, entry.hash
            at = number

    def append(
        self,
        found: Found,
        content: str,
        sums: Mapping[str, Totals],
        facts: dict[str, Any] | None = None,
        *,
        time: str | None = None,
        seal: str | None = None,
    ) -> Head:
        """Append an entry and write the `sums` after it; return the new head.

        A new release has `facts`, which are sealed with the sums. An imported entry has its `seal`.
        """
        texts = {
            name: {scope: " ".join(map(str, amounts)) for scope, amounts in changed.items()}
            for name, changed in sums.items()
        }
        for name, own in texts.items():
            for scope, text in own.items():
                self.execute(_WRITE_TOTALS, (name, scope, text))
        facts, (number, last) = facts or {}, found.head
        seal = seal or json.dumps(facts | {"role": self.role, "totals": texts})
        time = datetime.now(UTC).isoformat() if time is None else time
        head = Head(number + 1, digest_of(last, time, content, seal))
        self.execute(_WRITE_ENTRY, (head.number, time, content, head.hash, facts.get("key"), seal))
        return head

    def totals(self, account: str, part: str | None, size: int) -> Totals:
        """Return the sums of an account, of `size` numbers each, that a release on `part` needs."""
        query = "SELECT scope, amounts FROM ledger.totals WHERE account = ? AND scope IN (?, ?, ?)"
        rows = self.execute(query, (account, EVERY, PEAK, scope_of(part)))
        with self.damage("its totals"):
            found = Totals({scope: read(amounts) for scope, amounts in rows})
            if {*map(len, found.values())} - {size}:
                raise ValueError("sums of another number")
            return found

    def all_totals(self) -> dict[str, Totals]:
        totals: dict[str, Totals] = {}
        with self.damage("its totals"):
            query = "SELECT account, scope, amounts FROM ledger.totals"
            for account, scope, text in self.execute(query):
                totals.setdefault(account, Totals())[scope] = read(text)
        return totals

    def notices(self) -> list[Entry]:
        """Return the entries that are no releases."""
        return [*map(Entry._make, self.execute(_NOTICES))]

    def groups(self) -> list[Group]:
        """Return the groups of equal releases, by the first."""
        return [Group(Entry(*row[:5]), *row[5:]) for row in self.execute(_GROUPS)]

    @contextmanager
    def damage(self, what: str) -> Iterator[None]:
        """Turn errors from reading a damaged ledger into `BudgetClosedError`."""
        try:
            yield
        except BudgetClosedError:
            raise
        except UNREADABLE as error:
            raise unusable(self.address, f"{what} cannot be read") from error


class Storage(ABC):
    """The place of a ledger, for every thread and process that has its address.

    Copies and pickles hold the address, without a password, and the seconds that a use may take. A
    storage that `is_temporary` ends with its budget, so it need not survive the machine.
    """

    own: threading.local
    """The open `tables` of each thread."""

    def __init__(self, address: str, timeout: float = TIMEOUT, is_temporary: bool = False) -> None:
        self.address, self.timeout, self.is_temporary = address, timeout, is_temporary

    @abstractmethod
    def exists(self) -> bool:
        """Return whether the ledger exists; raise BudgetClosedError for other data there."""

    @abstractmethod
    def make(self, action: Callable[[Any], None]) -> None:
        """Make the tables and call `action` on them, unless there is a ledger.

        `action` sees no writes of others meanwhile. After an error nothing of a new ledger remains.
        """

    @abstractmethod
    def read(self, action: Callable[[Any], T]) -> T:
        """Return `action` of the tables, which do not change meanwhile."""

    @abstractmethod
    def write(self, action: Callable[[Any], T], before_commit: Steps = (), key: str = "") -> T:
        """Return `action` of the tables, in one exclusive transaction, durable on return.

        `before_commit` are called just before the commit; after a later error the outcome is
        unknown. `action` may be called again if certainly nothing of its first call was recorded.
        `key` identifies the release that it appends.
        """

    def known_terms(self) -> dict[str, Any]:
        """Return the terms of an existing ledger, whatever they are."""
        if not self.exists():
            raise BudgetClosedError(f"The ledger {self.address} does not exist.")
        terms: dict[str, Any] = self.read(lambda tables: tables.look().terms)
        return terms

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("address", "timeout", "is_temporary")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


class Ledger:
    """The releases of one budget, each appended in one transaction or not at all.

    A `Ledger` may be copied, pickled and used from any thread and process. Every call checks the
    `terms`; the Rényi orders of an existing ledger replace the given ones. `rules` is a filter of
    `skdp.budget`.
    """

    def __init__(self, storage: Storage, terms: dict[str, Any], rules: Any) -> None:
        self.storage, self.terms, self.rules = storage, terms, rules
        self.identity: str | None = None
        self._seen: Head | None = None

    @property
    def path(self) -> str:
        return self.storage.address

    def create(self, entries: Sequence[Entry] = (), shares: list[Account] | None = None) -> None:
        """Make the ledger, or open an existing one; with `shares` and `entries` it must not exist.

        Opening checks its terms. It checks hashes and totals of all releases the first time, and
        later those of the releases since.
        """
        check_may_write(None)
        made: list[bool] = []

        def fill(tables: Tables) -> None:
            self._fill(tables, entries, shares or ())
            made.append(True)

        self.storage.make(fill)
        if shares is not None and not made:
            raise ValueError(f"{self.path} exists already.")
        terms = self.storage.known_terms()
        self.terms = self.terms | {"orders": terms["orders"]}
        self.rules = replace(self.rules, orders=tuple(terms["orders"]))
        self._check_same(terms)
        self.storage.read(self._check_whole)

    def append(self, release: Release, check: Check, before_commit: Steps = ()) -> None:
        """Append a release unless `check(request)` raises.

        The check and the entry are one transaction, durable on return. After an error that comes
        after the calls of `before_commit` the outcome is unknown.
        """
        check_may_write(self.identity)
        key = uuid4().hex
        action = partial(self._append, release, check, key)
        self._seen = self.storage.write(action, before_commit, key)

    def releases(self) -> list[Release]:
        def act(tables: Tables) -> list[Release]:
            found = []
            for entry in tables.entries(first_head(self.terms)):
                if entry.is_release:
                    with tables.damage(f"release {entry.number}"):
                        found.append(entry.release)
            return found

        return self._read(act)

    def entries(self) -> list[Entry]:
        return self._read(lambda tables: list(tables.entries(first_head(self.terms))))

    def groups(self, account: str) -> tuple[list[Group], list[Entry]]:
        """Return the groups of equal releases of an account, and the other entries."""
        notices, groups = self._read(lambda tables: (tables.notices(), tables.groups()))
        return [one for one in groups if owns(account, one.first.account)], notices

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the running totals of an account that a release on `part` needs."""
        return self._read(lambda tables: tables.totals(account, part, len(self.rules.measures)))

    def scopes(self, account: str = "") -> set[str]:
        """Return the keys of all sums of an account; none if nothing was spent from it."""
        query = "SELECT scope FROM ledger.totals WHERE account = ?"
        return self._read(lambda tables: {row[0] for row in tables.execute(query, (account,))})

    def head(self) -> Head:
        return self._read(lambda tables: tables.look().head)

    def has_passed(self, head: str) -> bool:
        """Return whether `head` is the head of the first entries, by the stored hashes."""
        number = head.partition("-")[0]
        if not (number.isdecimal() and number.isascii() and len(number) < 19):
            return False
        return head == str(self._read(lambda tables: tables.look(int(number)).earlier))

    def verify(self) -> Head:
        return self.storage.read(partial(self._check_whole, is_full=True))

    def shares(self) -> list[Account]:
        """Return (name, ε, δ) of every share."""
        return self._read(_shares_in)

    def open_share(self, account: Account, limits: Amounts) -> None:
        """Write the limit of a share; an existing share of this name must have the same limit."""
        check_may_write(self.identity)
        name, epsilon, delta = account

        def act(tables: Tables) -> None:
            self._check_terms(tables, to_write=True)
            if (known := tables.shares().get(name)) is None:
                tables.add_share(account, limits)
            elif known[:2] != account[1:]:
                raise ValueError(
                    f"The share {name!r} has epsilon={known[0]}, delta={known[1]}, not "
                    f"epsilon={epsilon}, delta={delta}."
                )

        self.storage.write(act)

    def _read(self, action: Callable[[Tables], T]) -> T:
        def checked(tables: Tables) -> T:
            self._check_terms(tables)
            return action(tables)

        return self.storage.read(checked)

    def _fill(self, tables: Tables, entries: Sequence[Entry], shares: Sequence[Account]) -> None:
        """Fill new tables with terms, shares and entries."""
        tables.fill(self.terms, self.rules.measures)
        found = tables.look()
        for name, rule in self.rules.rules_of(shares).items():  # a share after its parent
            tables.add_share((name, rule.epsilon, rule.delta), rule.ceilings)
        for one in entries:
            with tables.damage(f"release {one.number}"):
                sums = sums_in(one.seal)
            head = tables.append(found, one.content, sums, time=one.time, seal=one.seal)
            found = found._replace(head=head)
        Verification.of(tables)

    def _append(self, release: Release, check: Check, key: str, tables: Tables) -> Head:
        found = self._check_terms(tables, to_write=True)
        part, size = release.part, len(self.rules.measures)
        totals = {name: tables.totals(name, part, size) for name in accounts_of(release.account)}
        with tables.damage("its totals"):  # the last hash covers sums
            for account, sums in sums_in(found.seal or "{}").items():
                stored = totals.get(account, sums)
                if any(stored.get(scope, one) != one for scope, one in sums.items()):
                    raise ValueError("another sum")
        check(SpendRequest(release, totals, found.head.number))
        cost = costs_of(self.rules.measures, vars(release))
        after = {name: before.add(part, cost) for name, before in totals.items()}
        facts = {"key": key, "process": release.process, "tag": release.tag}
        return tables.append(found, content_of(release), after, facts, time=release.time)

    def _check_whole(self, tables: Tables, is_full: bool = False) -> Head:
        found = self._check_terms(tables)
        key = found.identity, found.here
        known, n_openings = _verified_before.get(key, (None, 0))
        if known and tables.look(known.head.number).earlier != known.head:
            known = None  # an older copy is at its place
        if is_full or known is None or n_openings + 1 >= FULL_EVERY:
            tables.check_pages()
            known, n_openings = None, -1
        known = deepcopy(known) or Verification(self.terms, found.measures)
        with tables.damage("its shares"):
            rules = self.rules.rules_of(_shares_in(tables)).items()
            if tables.shares() != {k: (one.epsilon, one.delta, one.ceilings) for k, one in rules}:
                raise ValueError("other limits")
        known.follow(tables)
        known.compare(tables)
        _verified_before[key] = known, n_openings + 1
        return known.head

    def _check_same(self, found: dict[str, Any]) -> None:
        if found != self.terms:
            names = sorted({*found, *self.terms})
            differing = [name for name in names if found.get(name) != self.terms.get(name)]
            made, asked = (
                ", ".join(f"{name}={one.get(name)!r}" for name in differing)
                for one in (found, self.terms)
            )
            raise ValueError(f"The ledger {self.path} was made for {made}, not for {asked}.")

    def _check_terms(self, tables: Tables, *, to_write: bool = False) -> Found:
        """Return the state of the ledger, after checks that it is this one, here and open.

        Its head must extend the last head seen here.
        """
        seen = self._seen
        found = tables.look(seen.number if seen else 0)
        if found.terms != self.terms:
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


def _shares_in(tables: Tables) -> list[Account]:
    return [(name, e, d) for name, (e, d, _) in tables.shares().items() if name]


def of_format(address: str, number: object) -> BudgetClosedError:
    """Return the error for a ledger of another format."""
    return BudgetClosedError(
        f"The ledger {address} has format {number}; this version of skdp reads format {FORMAT}."
    )


def replaced(path: str) -> BudgetClosedError:
    """Return the error for another ledger at the path."""
    return BudgetClosedError(
        f"The ledger {path} was edited, or replaced by another one or by an older copy. If it is "
        "whole, a new PrivacyBudget continues it."
    )


_verified_before: dict[tuple[str, str], tuple[Verification, int]] = {}
"""What this process has verified of each ledger, and how often it has opened it since."""
