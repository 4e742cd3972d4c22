"""What a ledger is made of, checks of a whole one, and how a copy takes its place."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from skdp.exceptions import BudgetClosedError
from skdp.ledger.gate import check_may_write
from skdp.privacy import Neighboring
from skdp.support.validation import check_delta

VERSION: str = sys.modules["skdp"].__version__
"""Version of this library."""
UNREADABLE = (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, RecursionError)
"""Errors that content may cause which another program has edited."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """The cost of one release, and its time. All of it is *public*.

    Parameters
    ----------
    label : str
        *Public.* Name of the release, such as the class of an estimator.
    epsilon : float
        *Public.* The release is (`epsilon`, `delta`)-DP; basic composition adds this pair.
    delta : float
        *Public.* The δ of this pair.
    gdp_mu : float
        *Public.* With `slack` and `tv` 0 the release is `gdp_mu`-Gaussian DP. Gaussian composition
        adds its square. ``inf`` if unknown.
    neighboring : str
        *Public.* The neighboring relation of all costs.
    event : dict
        *Public.* The event, for `skdp.privacy.event_from_dict`.
    time : str
        *Public.* UTC, ISO 8601. For information only: clocks may go backwards.
    process : int
        *Public.* Identifier of the process that spent.
    tag : str
        *Public.* A note of the caller.
    part : str or None
        *Public.* The partition that was read. ``None``: all.
    account : str
        *Public.* The share that it was spent from. "" is the budget itself.
    slack : float
        *Public.* The privacy curve lies below that of `gdp_mu` plus `slack`.
    tv : float
        *Public.* This holds for an output within this total variation of the released one.
    zcdp_rho, pure_epsilon : float
        *Public.* Costs under ``"zcdp"`` and ``"pure"``, ``inf`` for another kind of release.
    renyi : tuple of float
        *Public.* Costs under ``"rdp"``: Rényi divergences at its orders.
    theorem : str
        *Public.* The theorem that proves the event, with its source; "" if none is stated.
    version : str
        *Public.* Version of skdp that made the release.
    exact : bool
        *Public.* Whether the theorem holds for the numbers that a computer adds.
    role : str
        *Public.* Who made the entry, as a server knows: its ``session_user``. "" in a file.
    n : int or None
        *Public.* Number of records that were read: of rows, or of persons. Always None under
        ``add_remove_one``, where it is private.

    Examples
    --------
    >>> from skdp import PrivacyBudget
    >>> from skdp.budget import Release
    >>> from skdp.statistics import count
    >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    >>> found = count([True, False] * 500, epsilon=1.0, budget=budget)
    >>> (row,) = budget.history()
    >>> release = Release(**row)
    >>> release.label, round(release.gdp_mu, 3), release.n
    ('statistics.count', 0.268, 1000)
    >>> release.event["kind"], release.theorem
    ('GDPEvent', 'additive noise, composition')
    """

    label: str
    epsilon: float
    delta: float
    gdp_mu: float
    neighboring: str
    event: dict[str, Any]
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    process: int = field(default_factory=os.getpid)
    tag: str = ""
    part: str | None = None
    account: str = ""
    slack: float = 0.0
    tv: float = 0.0
    zcdp_rho: float = math.inf
    pure_epsilon: float = math.inf
    renyi: tuple[float, ...] = ()
    theorem: str = ""
    version: str = ""
    exact: bool = False
    role: str = ""
    n: int | None = None

    def __post_init__(self) -> None:
        check_delta(self.delta)
        numbers = [getattr(self, name) for name in _NUMBERS if name != "renyi"]
        if not all(one >= 0.0 for one in (*numbers, *self.renyi)):
            raise ValueError(f"A cost is negative or not a number: {self!r}.")
        texts = [getattr(self, name) for name in _TEXTS]
        texts.append("" if self.part is None else self.part)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"label, tag and part must be strings, got {texts}.")
        if not isinstance(self.exact, bool):
            raise ValueError(f"exact must be True or False, got {self.exact!r}.")
        if self.n is not None and (type(self.n) is not int or self.n < 0):
            raise ValueError(f"n must be the number of records or None, got {self.n!r}.")
        if self.n is not None and not Neighboring(self.neighboring).count_is_public:
            raise ValueError(f"n is private under {self.neighboring!r}. Leave it out.")

    def as_row(self) -> dict[str, Any]:
        """Return the release as a plain dictionary.

        Returns
        -------
        dict
            The fields by name.
        """
        return asdict(self)


_FIELDS = {field.name: field.type for field in fields(Release)}
_NUMBERS = [name for name, kind in _FIELDS.items() if "float" in str(kind)]
_TEXTS = [name for name, kind in _FIELDS.items() if kind == "str"]
_OF_ENTRY = ("time", "process", "tag", "role")  # the other fields may be those of many entries


def content_of(release: Release) -> str:
    """Return the content of a release as strict JSON in ASCII; equal for equal releases."""
    data = {name: getattr(release, name) for name in _FIELDS if name not in _OF_ENTRY}
    data |= {name: float(data[name]) for name in _NUMBERS if name != "renyi"}
    return json.dumps(finite(data), allow_nan=False)


def release_from(content: str, more: Mapping[str, Any]) -> Release:
    """Read the result of `content_of`; `more` are other fields."""
    data = json.loads(content) | more
    given = {k: number(v) if k in _NUMBERS else v for k, v in data.items()}
    if isinstance(n := given.get("n"), float) and n.is_integer():
        given["n"] = int(n)  # a server accepts 5e0
    return Release(**given)


def number(value: object) -> Any:
    """Read a number, or a list of numbers, that `finite` wrote."""
    if isinstance(value, list):
        return tuple(map(number, value))
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number.")
    return float(value)


def finite(value: Any) -> Any:
    """Replace infinities in plain data by strings."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def unusable(address: str, why: object) -> BudgetClosedError:
    """Return the error for a ledger that cannot be used."""
    return BudgetClosedError(f"The ledger {address} cannot be used: {why}.")


Amounts = tuple[Decimal, ...]
"""Exact numbers, one per limit of a filter; ``Infinity`` is above every limit."""
Account = tuple[str, float, float]
"""The name of a share, its ε and its δ."""
EXACT = Context(prec=20_000, traps=[Inexact])  # digits: a cost has at most 1400
ZERO = Decimal(0)
_SQUARE = "square "


def decimal(number: float) -> Decimal:
    """Return the exact value of the printed number."""
    return Decimal(repr(float(number)))


def down(exact: Decimal, toward: float = 0.0) -> float:
    """Return the nearest float that prints no more (or, toward ``inf``, no less) than `exact`."""
    number = float(exact)
    wrong = decimal(number) < exact if toward > number else decimal(number) > exact
    return math.nextafter(number, toward) if wrong else number


def minus(limits: Amounts, totals: Amounts) -> Amounts:
    """Return the differences, at least 0."""
    pairs = zip(limits, totals, strict=True)
    return tuple([EXACT.subtract(a, b) if a > b else ZERO for a, b in pairs])


def read(text: str) -> Amounts:
    """Read decimals between spaces."""
    amounts = tuple(map(Decimal, text.split()))
    if any(map(Decimal.is_nan, amounts)):
        raise ValueError("an amount is not a number")
    return amounts


def costs_of(measures: Sequence[str], fields: Mapping[str, Any]) -> Amounts:
    """Return the costs by the fields of a release; a missing field costs ``inf``.

    A measure is a field that adds up: ``"slack"``, ``"square gdp_mu"``, ``"renyi.0"``. A cost is
    the printed decimal number, or its square, so every storage computes the same. The printed
    number may be below the float by a relative 2^-53. The limits have margins for that.
    """
    costs = []
    for measure in measures:
        name, _, index = measure.removeprefix(_SQUARE).partition(".")
        value = fields.get(name, math.inf)
        if index:
            value = value[int(index)] if int(index) < len(value) else math.inf
        cost = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
        costs.append(EXACT.multiply(cost, cost) if measure.startswith(_SQUARE) else cost)
    return tuple(costs)


EVERY = "every part"
PEAK = "largest part"


class Totals(dict[str, Amounts]):
    """The sums of one account: of releases on every part, on one part, and on the largest part.

    `worst` decides: the sum of releases on every part plus the largest sum of a part. The largest
    is stored, not recomputed: sums only grow, so it is the largest sum ever seen.
    """

    def add(self, part: str | None, cost: Amounts) -> Totals:
        """Add a cost; return the sums by scope that may have changed."""
        scope = scope_of(part)
        before = self.get(scope)
        changed = Totals({scope: tuple(map(EXACT.add, before, cost)) if before else cost})
        if part is not None:
            own = changed[scope]
            changed[PEAK] = tuple(map(max, self.get(PEAK, own), own))
        self.update(changed)
        return changed

    def worst(self, nothing: Amounts, part: str | None = None) -> Amounts:
        """Return the sums on every part plus those on the largest part, or on `part`.

        `nothing` are the sums of an empty ledger.
        """
        scope = PEAK if part is None else scope_of(part)
        return tuple(map(EXACT.add, self.get(EVERY, nothing), self.get(scope, nothing)))


def accounts_of(account: str) -> list[str]:
    """Return the accounts of a release: the budget, then each share inwards."""
    names = account.split("/") if account else []
    return ["/".join(names[:depth]) for depth in range(len(names) + 1)]


def owns(account: str, other: str) -> bool:
    """Return whether another account is this one or a share of it."""
    return not account or f"{other}/".startswith(f"{account}/")


def scope_of(part: str | None) -> str:
    """Return the key of the sums of a part."""
    return EVERY if part is None else f"part {part}"


KIND = '{"entry": '  # how the content of an entry that is not a release begins


class Head(NamedTuple):
    """The end of a chain: the number of entries, and the hash of the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}-{self.hash}"


class Entry(NamedTuple):
    """One row of a ledger, as it is written. The seal says who wrote it, and the sums after it."""

    number: int
    time: str
    content: str
    seal: str
    hash: str = ""

    @property
    def is_release(self) -> bool:
        """Whether the entry is a release: others are adoptions and closings."""
        return not self.content.startswith(KIND)

    @property
    def account(self) -> str:
        """The share that a release was spent from."""
        return str(json.loads(self.content)["account"])

    @property
    def release(self) -> Release:
        facts = {k: v for k, v in json.loads(self.seal).items() if k not in ("totals", "key")}
        return release_from(self.content, facts | {"time": self.time})

    def as_row(self) -> dict[str, Any]:
        facts = json.loads(self.seal)
        row = {"number": self.number, "hash": self.hash, "key": facts.get("key"), "kind": "release"}
        if self.is_release:
            return row | self.release.as_row()
        data = json.loads(self.content)
        kind = {"time": self.time, "role": facts.get("role", ""), "kind": data.pop("entry")}
        return row | kind | data


def sums_in(seal: str) -> dict[str, Totals]:
    """Return the sums after an entry, by account and scope."""
    return {
        account: Totals({scope: read(text) for scope, text in scopes.items()})
        for account, scopes in json.loads(seal).get("totals", {}).items()
    }


def text_of(terms: Mapping[str, object]) -> str:
    """Return the terms as a ledger stores them."""
    return json.dumps(terms, sort_keys=True)


def first_head(terms: Mapping[str, object]) -> Head:
    """Return the head of an empty ledger with these terms."""
    return Head(0, digest_of(text_of(terms)))


def digest_of(*texts: str) -> str:
    """Return the hash of texts, a line each.

    That of an entry is the hash of the last entry, its time, content and seal; a server computes
    the same in SQL.
    """
    return sha256("\n".join(texts).encode()).hexdigest()


def head_of(terms: Mapping[str, object], entries: Iterable[Entry]) -> Head:
    """Return the head of a ledger with these terms and entries."""
    number, last = first_head(terms)
    for entry in entries:
        number, last = number + 1, digest_of(last, entry.time, entry.content, entry.seal)
    return Head(number, last)


class Verification:
    """The sums of a ledger up to a head, added up from its entries.

    `tables` are those of `skdp.ledger.store`.
    """

    def __init__(self, terms: dict[str, Any], measures: tuple[str, ...]) -> None:
        self.head, self.measures = first_head(terms), measures
        self.totals: dict[str, Totals] = {}

    @classmethod
    def of(cls, tables: Any) -> Verification:
        """Return the totals of all entries of a ledger."""
        found = tables.look()
        known = cls(found.terms, found.measures)
        known.follow(tables)
        known.compare(tables)
        return known

    def follow(self, tables: Any) -> None:
        """Add up the entries after the head; raise BudgetClosedError at the first bad one."""
        for entry in tables.entries(self.head):
            with tables.damage(f"release {entry.number}"):
                self._add(entry)
            self.head = Head(entry.number, entry.hash)

    def compare(self, tables: Any) -> None:
        """Raise BudgetClosedError unless the stored sums are those of the entries."""
        if self.totals != tables.all_totals():
            what = "its running totals are not the sums of its rows"
            raise unusable(tables.address, f"{what}, so it was edited by another program")

    def _add(self, entry: Entry) -> None:
        """Add the cost of an entry to the sums of its accounts."""
        sums: dict[str, Totals] = {}
        if entry.is_release:
            account, part, cost = _read(entry.content, self.measures)
            for name in accounts_of(account):
                sums[name] = self.totals.setdefault(name, Totals()).add(part, cost)
        elif json.loads(entry.content)["entry"] not in ("adoption", "closing"):
            raise ValueError("an entry of another kind")
        if sums_in(entry.seal) != sums:
            raise ValueError("other sums")


@lru_cache(maxsize=1000)
def _read(content: str, measures: tuple[str, ...]) -> tuple[str, str | None, Amounts]:
    """Return the account, the part and the costs, of all digits, as a server adds them up."""
    release = release_from(content, {"time": ""})
    data = json.loads(content, parse_float=Decimal, parse_int=Decimal)
    return release.account, release.part, costs_of(measures, data)


def adopt(storage: Any, reason: str) -> None:
    """Let a copy go on as a ledger of its own, and close the other copy if it can be reached.

    Raise ValueError if the ledger is where it was made.
    """
    check_may_write(None)
    storage.read(Verification.of)
    found = storage.read(lambda tables: tables.look())
    if found.here == found.place:
        raise ValueError(f"The ledger {storage.address} is not a copy.")
    other = "not reachable"
    if found.home != storage.address:
        try:
            home = type(storage)(found.home, storage.timeout)
            home.write(partial(_close, found.identity, found.place, reason))
            other = "closed"
        except (BudgetClosedError, ValueError):
            pass  # it was moved or deleted, is on another machine, or another ledger is there
    storage.write(partial(_adopt, found.place, reason, other))


def _close(identity: str, place: str, reason: str, tables: Any) -> None:
    tables.check_owner()
    found = tables.look()
    if (found.identity, found.here, found.place) != (identity, place, place):
        raise BudgetClosedError(f"{tables.address} holds another ledger.")
    if found.closed is None:
        tables.append(found, json.dumps({"entry": "closing", "reason": reason}), {})
        tables.settle(closed=reason)


def _adopt(place: str, reason: str, other: str, tables: Any) -> None:
    tables.check_owner()
    found = tables.look()
    if found.here == found.place:
        return  # another process was faster
    facts = {"entry": "adoption", "reason": reason, "from": place, "to": found.here, "other": other}
    tables.append(found, json.dumps(facts), {})
    tables.settle(identity=uuid4().hex, closed=None)
