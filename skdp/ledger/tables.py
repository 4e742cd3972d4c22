"""The tables of a ledger, in SQL for every storage."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Entry, Head, first_head, next_hash
from skdp.ledger.costs import Account
from skdp.ledger.fractions import Amounts, read, write
from skdp.ledger.release import Release
from skdp.ledger.totals import EVERY, PEAK, Totals, accounts_of, scope_of

__all__ = [
    "FORMAT",
    "FROM_SECOND",
    "UNREADABLE",
    "Found",
    "Group",
    "Tables",
    "check_format",
    "digest_of",
]

FORMAT = 3
UNREADABLE = (
    *(TypeError, ValueError, AttributeError),
    *(ArithmeticError, LookupError, RecursionError),
)
"""Errors that content may cause which another program has edited."""
TABLES = (
    """CREATE TABLE ledger.terms (epsilon DOUBLE PRECISION, delta DOUBLE PRECISION,
    composition TEXT, neighboring TEXT, slack DOUBLE PRECISION, tv DOUBLE PRECISION, orders TEXT,
    identity TEXT, checksum TEXT, measures TEXT, place TEXT, home TEXT, closed TEXT)""",
    """CREATE TABLE ledger.entries (id BIGINT PRIMARY KEY, time TEXT NOT NULL,
    content TEXT NOT NULL, hash TEXT NOT NULL, key TEXT, seal TEXT)""",
    """CREATE TABLE ledger.accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION, limits TEXT, role TEXT)""",
    """CREATE TABLE ledger.totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope))""",
)
NEW_TABLES = (
    """CREATE TABLE ledger.groups (digest TEXT PRIMARY KEY, account TEXT, first BIGINT NOT NULL,
    last BIGINT NOT NULL, number BIGINT NOT NULL)""",
    "CREATE UNIQUE INDEX entries_key ON ledger.entries (key)",
)
FROM_SECOND = (
    "ALTER TABLE ledger.releases RENAME TO entries",  # so no older version writes to it
    *(f"ALTER TABLE ledger.entries ADD COLUMN {name} TEXT" for name in ("key", "seal")),
    *(f"ALTER TABLE ledger.accounts ADD COLUMN {name} TEXT" for name in ("limits", "role")),
    *(
        f"ALTER TABLE ledger.terms ADD COLUMN {name} TEXT"
        for name in ("measures", "place", "home", "closed")
    ),
)
_OF, _EXACT, _STRICT, _RECORD = " of a ", "exact ", "strict ", "record"
_TERM_NAMES = ("epsilon", "delta", "composition", "neighboring", "slack", "tv", "orders")
_OTHERS = ("identity", "measures", "place", "home", "closed")
_LOOK = f"""
SELECT {", ".join((*_TERM_NAMES, *_OTHERS))}, checksum, $place, $format, id, hash, seal,
    (SELECT hash FROM ledger.entries WHERE id = ?)
FROM ledger.terms LEFT JOIN ledger.entries ON id = (SELECT max(id) FROM ledger.entries)
"""
_WRITE_TOTALS = """
INSERT INTO ledger.totals (account, scope, amounts) VALUES (?, ?, ?)
    ON CONFLICT (account, scope) DO UPDATE SET amounts = excluded.amounts
"""
_GROUP = """
INSERT INTO ledger.groups AS old (digest, account, first, last, number) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (digest) DO UPDATE
    SET last = excluded.last, number = old.number + excluded.number
"""
_PAGE = 1000  # entries that are read at once


class Found(NamedTuple):
    """The terms and the state of a ledger, its head, and its head at an earlier number.

    `place` is where the ledger was made or adopted, `here` where it is; `home` is its last known
    address. The two places differ in a copy.
    """

    terms: dict[str, object]
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
    """Entries with the same content: the first, the time of the last, and their number."""

    first: Entry
    last_time: str
    number: int


class Tables(ABC):
    """The tables of one ledger through an open connection; messages show its address."""

    from_second = FROM_SECOND
    """Statements that add what tables of format 2 lack."""
    _names: tuple[tuple[str, str], ...]
    """Replacements in queries: the schema, and expressions for the place and the format."""

    def __init__(self, connection: Any, address: str) -> None:
        self.connection = connection
        self.address = address

    def execute(self, query: str, values: Iterable[object] = ()) -> Any:
        """Run a query with placeholders ``?``, all its tables qualified; return its cursor."""
        return self.connection.execute(_replaced(query, self._names), tuple(values))

    @abstractmethod
    def append(self, found: Found, release: Release, cost: Amounts, key: str) -> Head:
        """Append a release after the head and add its cost to the totals; return the new head."""

    @abstractmethod
    def format(self) -> int:
        """Return the number of the format, 0 if there is no ledger."""

    def check_owner(self) -> None:  # noqa: B027  # who may write to a file owns the ledger
        """Raise BudgetClosedError unless this user may change the ledger."""

    def make(self, terms: dict[str, object], measures: tuple[str, ...]) -> None:
        """Write the terms into empty tables."""
        values = [_as_stored(terms)[name] for name in _TERM_NAMES]
        self.execute(f"INSERT INTO ledger.terms ({', '.join(_TERM_NAMES)}) VALUES "
                     f"({', '.join('?' * len(values))})", values)  # fmt: skip
        self.settle(identity=self.new_identity(), measures=json.dumps(measures))

    def new_identity(self) -> str:
        """Return an identity that no ledger has."""
        return uuid4().hex

    def settle(self, **changed: str | None) -> None:
        """Change the identity and the state of the ledger; its place is here from now on."""
        (place,) = self.execute("SELECT $place").fetchone()
        query = f"SELECT {', '.join((*_TERM_NAMES, *_OTHERS))} FROM ledger.terms"
        values = list(self.execute(query).fetchone())
        known = dict(zip(_OTHERS, values[len(_TERM_NAMES) :], strict=True))
        row = [*(known | {"place": place, "home": self.address} | changed).values()]
        row.append(_checksum([*values[: len(_TERM_NAMES)], *row]))
        names = ", ".join(f"{name} = ?" for name in (*_OTHERS, "checksum"))
        self.execute(f"UPDATE ledger.terms SET {names}", row)

    def look(self, number: int = 0) -> Found:
        """Return the terms, the state, the head, and the head at an earlier number."""
        with self.damage("its terms"):
            row = self.execute(_LOOK, (number,)).fetchone()
            *values, checksum, here, version, last, last_hash, seal, earlier = row
            check_format(self.address, version)
            if checksum != _checksum(values):
                raise ValueError("another checksum")
            terms = _as_read(dict(zip(_TERM_NAMES, values, strict=False)))
            identity, measures, place, home, closed = values[len(_TERM_NAMES) :]
            start = first_head(terms)
            head = start if last is None else Head(last, last_hash)
            then = Head(number, earlier) if number else start
            named = tuple(json.loads(measures))
            return Found(terms, identity, named, place, home, closed, here, head, seal, then)

    def chain_columns(self) -> None:  # noqa: B027  # only files had format 1
        """Bring a ledger of format 1 to format 2."""

    def known_terms(self) -> dict[str, object]:
        """Return the terms of a ledger of any format."""
        if not (number := self.format()):
            raise BudgetClosedError(f"The ledger {self.address} does not exist.")
        if number not in range(1, FORMAT):
            check_format(self.address, number)
            return self.look().terms
        return self.old_terms()

    def check_pages(self) -> None:  # noqa: B027  # a server checks its own pages
        """Raise BudgetClosedError if the storage itself is damaged."""

    def old_terms(self) -> dict[str, object]:
        """Return the terms of a ledger of format 1 or 2."""
        with self.damage("its terms"):
            query = f"SELECT {', '.join(_TERM_NAMES)}, identity, checksum FROM ledger.terms"
            *values, checksum = self.execute(query).fetchone()
            if checksum != sha256(repr(values).encode()).hexdigest():
                raise ValueError("another checksum")
            return _as_read(dict(zip(_TERM_NAMES, values, strict=False)))

    def widen(self, measures: tuple[str, ...]) -> None:
        """Change the tables of format 2 into those of this format; the entries stay."""
        for statement in (*self.from_second, *NEW_TABLES):
            self.execute(statement)
        self.settle(measures=json.dumps(measures))

    def accounts(self) -> list[Account]:
        """Return (name, ε, δ) of every share."""
        with self.damage("its shares"):
            rows = self.execute("SELECT name, epsilon, delta FROM ledger.accounts WHERE name <> ''")
            accounts = sorted((name + "", e + 0.0, d + 0.0) for name, e, d in rows)
            if not all(epsilon > 0.0 and 0.0 <= delta < 1.0 for _, epsilon, delta in accounts):
                raise ValueError("not a limit")
            return accounts

    def limits(self) -> dict[str, Amounts]:
        """Return the limits of the budget and of each share."""
        with self.damage("its shares"):
            rows = self.execute("SELECT name, limits FROM ledger.accounts")
            return {name: read(limits) for name, limits in rows}

    def add_account(self, found: Found, account: Account, limits: Amounts) -> None:
        """Write the limits of a share, or of the budget, unless it has some."""
        query = (
            "INSERT INTO ledger.accounts (name, epsilon, delta, limits, role) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET limits = coalesce(accounts.limits, excluded.limits)"
        )
        self.execute(query, (*account, write(limits), self.role()))

    def account(self, name: str) -> Account:
        query = "SELECT name, epsilon, delta FROM ledger.accounts WHERE name = ?"
        found: Account = self.execute(query, (name,)).fetchone()
        return found

    def role(self) -> str:
        """Return who writes, as the storage knows; "" if it does not."""
        return ""

    def entries(self, after: Head, table: str = "entries") -> Iterator[Entry]:
        """Yield the entries after a head, and check their hash chain.

        Entries with a seal are never followed by entries without one.
        """
        query = (
            f"SELECT id, time, content, {'seal' if table == 'entries' else 'NULL'}, hash "
            f"FROM ledger.{table} WHERE id > ? ORDER BY id LIMIT {_PAGE}"
        )
        (number, last), at, sealed = after, after.number if after.number else -1, False
        while page := self.execute(query, (at,)).fetchall():
            for entry in map(Entry._make, page):
                with self.damage(f"release {number + 1}"):
                    expected = next_hash(last, entry.time, entry.content, entry.seal)
                    if (entry.number, entry.hash) != (number + 1, expected) or (
                        sealed and entry.seal is None
                    ):
                        raise self.edited(number + 1)
                yield entry
                (number, last), sealed = (entry.number, entry.hash), entry.seal is not None
            at = number

    def edited(self, number: int) -> BudgetClosedError:
        """Return the error for an entry that breaks the chain."""
        return BudgetClosedError(
            f"The ledger {self.address} cannot be used: the hash of release {number} does not "
            "match, so the ledger was edited or a release was removed."
        )

    def write(self, head: Head, entry: Entry, account: str | None, key: str | None = None) -> Head:
        """Write an entry after `head`, without its cost; return the new head."""
        new = Head(head.number + 1, next_hash(head.hash, entry.time, entry.content, entry.seal))
        query = "INSERT INTO ledger.entries (id, time, content, seal, hash, key) VALUES " \
                "(?, ?, ?, ?, ?, ?)"  # fmt: skip
        values = (new.number, entry.time, entry.content, entry.seal, new.hash, key)
        self.execute(query, values)
        one = (digest_of(entry.content), account, new.number, new.number, 1)
        self.execute(_GROUP, one)
        return new

    def fill(self, totals: dict[str, Totals], groups: Mapping[str, tuple[object, ...]]) -> None:
        """Replace all sums and groups."""
        for table in ("totals", "groups"):
            self.execute(f"DELETE FROM ledger.{table}")
        for name, sums in totals.items():
            self.save(name, sums.written())
        for digest, group in groups.items():
            self.execute(_GROUP, (digest, *group))

    def write_sealed(
        self,
        head: Head,
        content: str,
        facts: dict[str, Any],
        *,
        time: str | None = None,
        account: str | None = None,
        part: str | None = None,
        cost: Amounts = (),
        key: str | None = None,
    ) -> Head:
        """Write an entry with its cost and its seal; return the new head.

        Only releases have a `key`.
        """
        sums = {}
        for name in () if account is None else accounts_of(account):
            totals = self.totals(name, part)
            touched = totals.add(part, cost)
            sums[name] = {scope: write(totals.scopes[scope]) for scope in touched}
            self.save(name, sums[name])
        who = {"key": key} if key else {}
        seal = json.dumps(who | facts | {"role": self.role(), "totals": sums})
        now = datetime.now(UTC).isoformat() if time is None else time
        return self.write(head, Entry(0, now, content, seal), account if key else None, key)

    def holds(self, key: str) -> bool:
        """Return whether an entry was appended under this key."""
        query = "SELECT 1 FROM ledger.entries WHERE key = ?"
        return self.execute(query, (key,)).fetchone() is not None

    def totals(self, account: str, part: str | None = None) -> Totals:
        """Return the sums of an account that a release on `part` needs."""
        query = "SELECT scope, amounts FROM ledger.totals WHERE account = ? AND scope IN (?, ?, ?)"
        rows = self.execute(query, (account, EVERY, PEAK, scope_of(part)))
        with self.damage("its totals"):
            return Totals({scope: read(amounts) for scope, amounts in rows})

    def scopes(self, account: str) -> set[str]:
        """Return the scopes of the sums of an account; none if nothing was spent from it."""
        rows = self.execute("SELECT scope FROM ledger.totals WHERE account = ?", (account,))
        return {scope for (scope,) in rows}

    def all_totals(self) -> dict[str, Totals]:
        """Return the stored sums of every account."""
        totals: dict[str, Totals] = {}
        with self.damage("its totals"):
            query = "SELECT account, scope, amounts FROM ledger.totals"
            for account, scope, text in self.execute(query):
                totals.setdefault(account, Totals()).scopes[scope] = read(text)
        return totals

    def save(self, account: str, sums: dict[str, str]) -> None:
        """Write sums by scope."""
        for scope, amounts in sums.items():
            self.execute(_WRITE_TOTALS, (account, scope, amounts))

    def groups(self, *, of_releases: bool | None = None) -> list[Group]:
        """Return the groups of equal entries by their first, of releases only or of others."""
        kind = {None: "", True: "WHERE account IS NOT NULL", False: "WHERE account IS NULL"}
        query = (
            "SELECT one.id, one.time, one.content, one.seal, one.hash, other.time, groups.number "
            "FROM ledger.groups AS groups JOIN ledger.entries AS one ON one.id = first "
            f"JOIN ledger.entries AS other ON other.id = last {kind[of_releases]} ORDER BY first"
        )
        with self.damage("its groups"):
            rows = self.execute(query).fetchall()
            return [Group(Entry(*row[:5]), *row[5:]) for row in rows]

    def group_rows(self) -> dict[str, tuple[str | None, int, int, int]]:
        """Return (account, first, last, number) of each group by its digest."""
        rows = self.execute("SELECT digest, account, first, last, number FROM ledger.groups")
        return {digest: tuple(row) for digest, *row in rows}  # type: ignore[misc]

    @contextmanager
    def damage(self, what: str) -> Iterator[None]:
        """Turn errors from reading a damaged ledger into `BudgetClosedError`."""
        try:
            yield
        except BudgetClosedError:
            raise
        except UNREADABLE as error:
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be used: {what} cannot be read."
            ) from error


def check_format(address: str, number: object) -> None:
    """Raise BudgetClosedError unless this version reads and writes the format."""
    if number != FORMAT:
        raise BudgetClosedError(
            f"The ledger {address} has format {number}; this version of skdp reads format "
            f"{FORMAT} and before."
        )


def digest_of(content: str) -> str:
    """Return the key of the group of entries with this content."""
    return sha256(content.encode()).hexdigest()


@cache
def _replaced(query: str, names: tuple[tuple[str, str], ...]) -> str:
    for name, text in names:
        query = query.replace(name, text)
    return query


def _as_stored(terms: dict[str, object]) -> dict[str, object]:
    """Return the terms, with unit, strict and exact as parts of the relation and the composition.

    So a version without these terms rejects the ledger.
    """
    unit, relation = terms["unit"], terms["neighboring"]
    flags = f"{_STRICT * bool(terms['strict'])}{_EXACT * bool(terms['exact'])}"
    composition = f"{flags}{terms['composition']}"
    relation = relation if unit == _RECORD else f"{relation}{_OF}{unit}"
    return terms | {"neighboring": relation, "composition": composition}


def _as_read(stored: dict[str, Any]) -> dict[str, Any]:
    relation, _, unit = stored["neighboring"].partition(_OF)
    without = stored["composition"].removeprefix(_STRICT)  # the server too looks for it in front
    composition = without.removeprefix(_EXACT)
    flags = {"strict": without != stored["composition"], "exact": composition != without}
    covered = {"neighboring": relation, "unit": unit or _RECORD}
    return stored | covered | {"composition": composition} | flags


def _checksum(values: list[object]) -> str:
    return sha256(repr(values).encode()).hexdigest()
