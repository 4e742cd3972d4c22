"""The tables of a ledger, in SQL for every storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.chain import Head, first_head, next_hash
from skdp.ledger.fractions import Amounts, read, write
from skdp.ledger.release import Release, content_of, release_from
from skdp.ledger.totals import EVERY, PEAK, Totals, scope_of

__all__ = ["FORMAT", "Account", "Found", "Tables"]

FORMAT = 2
TABLES = (
    """CREATE TABLE terms (epsilon DOUBLE PRECISION, delta DOUBLE PRECISION, composition TEXT,
    neighboring TEXT, slack DOUBLE PRECISION, tv DOUBLE PRECISION, orders TEXT, identity TEXT,
    checksum TEXT)""",
    """CREATE TABLE releases (id BIGINT PRIMARY KEY, time TEXT NOT NULL, content TEXT NOT NULL,
    hash TEXT NOT NULL)""",
    """CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION)""",
    """CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope))""",
)
_OF, _STRICT, _RECORD = " of a ", "strict ", "record"
_TERM_NAMES = ("epsilon", "delta", "composition", "neighboring", "slack", "tv", "orders")
_SELECT_TERMS = f"""
SELECT {", ".join(_TERM_NAMES)}, identity, checksum,
    (SELECT max(id) FROM releases),
    (SELECT hash FROM releases WHERE id = (SELECT max(id) FROM releases)),
    (SELECT hash FROM releases WHERE id = ?)
FROM terms
"""
_WRITE_TOTALS = """
INSERT INTO totals (account, scope, amounts) VALUES (?, ?, ?)
    ON CONFLICT (account, scope) DO UPDATE SET amounts = excluded.amounts
"""

Account = tuple[str, float, float]
"""The name of a share, its ε and its δ."""


class Found(NamedTuple):
    """The terms and the head of a ledger, and its head at an earlier number."""

    terms: dict[str, object]
    identity: str
    head: Head
    earlier: Head


class Tables(ABC):
    """The tables of one ledger through an open connection; messages show its address."""

    def __init__(self, connection: Any, address: str) -> None:
        self.connection = connection
        self.address = address

    @abstractmethod
    def execute(self, query: str, values: Iterable[object] = ()) -> Any:
        """Run a query with placeholders ``?``; return its cursor."""

    @abstractmethod
    def append(self, head: Head, release: Release, cost: Amounts, key: str) -> Head:
        """Append a release after `head` and add its cost to the totals; return the new head."""

    def make(self, terms: dict[str, object]) -> bool:
        """Write the terms unless there are some; return whether it wrote."""
        if self.execute("SELECT 1 FROM terms").fetchone() is not None:
            return False
        values = [_as_stored(terms)[name] for name in _TERM_NAMES]
        row = (*values, identity := uuid4().hex, _checksum(values, identity))
        self.execute(f"INSERT INTO terms VALUES ({', '.join('?' * len(row))})", row)
        return True

    def look(self, number: int = 0) -> Found:
        """Return the terms, the identity, the head, and the head at an earlier number."""
        with self.damage("its terms"):
            row = self.execute(_SELECT_TERMS, (number,)).fetchone()
            *values, identity, checksum, last, last_hash, earlier = row
            if checksum != _checksum(values, identity):
                raise ValueError("another checksum")
            terms = _as_read(dict(zip(_TERM_NAMES, values, strict=True)))
            start = first_head(terms)
            head = start if last is None else Head(last, last_hash)
            return Found(terms, identity, head, Head(number, earlier) if number else start)

    def accounts(self) -> list[Account]:
        """Return (name, ε, δ) of every share."""
        with self.damage("its shares"):
            rows = self.execute("SELECT name, epsilon, delta FROM accounts")
            accounts = sorted((name.strip(), e + 0.0, d + 0.0) for name, e, d in rows)
            if not all(epsilon > 0.0 and 0.0 <= delta < 1.0 for _, epsilon, delta in accounts):
                raise ValueError("not a limit")
            return accounts

    def add_account(self, account: Account) -> Account:
        """Write a share unless one of this name exists; return the existing one."""
        query = "INSERT INTO accounts VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        self.execute(query, account)
        return self.account(account[0])

    def account(self, name: str) -> Account:
        query = "SELECT name, epsilon, delta FROM accounts WHERE name = ?"
        found: Account = self.execute(query, (name,)).fetchone()
        return found

    def releases(self) -> Iterator[Release]:
        """Yield all releases in order, and check their hash chain."""
        number, last = first_head(self.look().terms)
        for row in self.execute("SELECT id, time, content, hash FROM releases ORDER BY id"):
            with self.damage(f"release {number + 1}"):
                found, time, content, written = row
                if found != number + 1 or written != next_hash(last, time, content):
                    raise self.edited(number + 1)
                release = release_from(time, content)
            number, last = found, written
            yield release

    def edited(self, number: int) -> BudgetClosedError:
        """Return the error for a release that breaks the chain."""
        return BudgetClosedError(
            f"The ledger {self.address} cannot be used: the hash of release {number} does not "
            "match, so the ledger was edited or a release was removed."
        )

    def write(self, head: Head, release: Release) -> Head:
        """Write a release after `head`, without its cost; return the new head."""
        content = content_of(release)
        new = Head(head.number + 1, next_hash(head.hash, release.time, content))
        query = "INSERT INTO releases (id, time, content, hash) VALUES (?, ?, ?, ?)"
        self.execute(query, (new.number, release.time, content, new.hash))
        return new

    def totals(self, account: str, part: str | None = None) -> Totals:
        """Return the sums of an account that a release on `part` needs."""
        query = "SELECT scope, amounts FROM totals WHERE account = ? AND scope IN (?, ?, ?)"
        rows = self.execute(query, (account, EVERY, PEAK, scope_of(part)))
        with self.damage("its totals"):
            return Totals({scope: read(amounts) for scope, amounts in rows})

    def scopes(self, account: str) -> set[str]:
        """Return what the sums of an account are of; none if nothing was spent from it."""
        rows = self.execute("SELECT scope FROM totals WHERE account = ?", (account,))
        return {scope for (scope,) in rows}

    def all_totals(self) -> dict[str, Totals]:
        """Return the stored sums of every account."""
        totals: dict[str, Totals] = {}
        with self.damage("its totals"):
            for account, scope, text in self.execute("SELECT * FROM totals"):
                totals.setdefault(account, Totals()).scopes[scope] = read(text)
        return totals

    def save(self, account: str, totals: Totals) -> None:
        for scope, amounts in totals.scopes.items():
            self.execute(_WRITE_TOTALS, (account, scope, write(amounts)))

    @contextmanager
    def damage(self, what: str) -> Iterator[None]:
        """Turn errors from reading a damaged ledger into `BudgetClosedError`."""
        try:
            yield
        except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
            raise BudgetClosedError(
                f"The ledger {self.address} cannot be used: {what} cannot be read."
            ) from error


def _as_stored(terms: dict[str, object]) -> dict[str, object]:
    """Return the terms, with unit and strict as parts of the relation and the composition.

    So the tables are those of all ledgers, and a version without these terms rejects the ledger.
    """
    unit, relation = terms["unit"], terms["neighboring"]
    composition = f"{_STRICT * bool(terms['strict'])}{terms['composition']}"
    relation = relation if unit == _RECORD else f"{relation}{_OF}{unit}"
    return terms | {"neighboring": relation, "composition": composition}


def _as_read(stored: dict[str, Any]) -> dict[str, Any]:
    relation, _, unit = stored["neighboring"].partition(_OF)
    composition = stored["composition"].removeprefix(_STRICT)
    strict = composition != stored["composition"]
    covered = {"neighboring": relation, "unit": unit or _RECORD}
    return stored | covered | {"composition": composition, "strict": strict}


def _checksum(values: list[object], identity: object) -> str:
    return sha256(repr([*values, identity]).encode()).hexdigest()
