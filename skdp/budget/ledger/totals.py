"""Running sums of costs, for each account and part, kept beside the rows they add up."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from skdp.budget._fractions import Amounts, add, read, write
from skdp.budget.ledger.schema import damage
from skdp.budget.release import Release

__all__ = ["Totals", "accounts_of", "all_totals", "load", "load_all", "save"]

_EVERY = "every part"
_PEAK = "largest part"
_READ = "SELECT scope, amounts FROM totals WHERE account = ? AND scope IN (?, ?, ?)"
_WRITE = "INSERT OR REPLACE INTO totals (account, scope, amounts) VALUES (?, ?, ?)"


class Totals:
    """The sums of one account: of releases on every part, of one part, and of the largest part.

    The number that counts is `worst`, the sum over every part plus that of the largest part. It is
    kept, not recomputed: sums only grow, so the largest part is the largest sum ever seen.
    """

    def __init__(self, scopes: dict[str, Amounts] | None = None) -> None:
        self.scopes = dict(scopes or {})

    def add(self, part: str | None, cost: Amounts) -> None:
        """Add one more release."""
        zero = (Fraction(0),) * len(cost)
        scope = _scope(part)
        self.scopes[scope] = add(self.scopes.get(scope, zero), cost)
        if part is not None:
            both = zip(self.scopes.get(_PEAK, zero), self.scopes[scope], strict=True)
            self.scopes[_PEAK] = tuple(map(max, both))

    def worst(self, nothing: Amounts, part: str | None = None) -> Amounts:
        """Return the largest sums over the parts, or those of one part, with every part's.

        `nothing` is what an empty ledger sums up to.
        """
        scope = _PEAK if part is None else _scope(part)
        return add(self.scopes.get(_EVERY, nothing), self.scopes.get(scope, nothing))

    def of_every(self, nothing: Amounts) -> Amounts:
        """Return the sums of the releases that read every part."""
        return self.scopes.get(_EVERY, nothing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Totals) and self.scopes == other.scopes

    __hash__ = None  # type: ignore[assignment]


def accounts_of(account: str) -> Iterator[str]:
    """Yield the accounts that a release counts for: the whole budget, then each share inwards."""
    yield ""
    names = account.split("/") if account else []
    for depth in range(len(names)):
        yield "/".join(names[: depth + 1])


def load(connection: sqlite3.Connection, account: str, part: str | None = None) -> Totals:
    """Return the sums of an account that concern a release on `part`."""
    rows = connection.execute(_READ, (account, _EVERY, _PEAK, _scope(part)))
    with damage("its totals"):
        return Totals({scope: read(amounts) for scope, amounts in rows})


def load_all(connection: sqlite3.Connection) -> dict[str, Totals]:
    """Return the sums of every account as they are written."""
    totals: dict[str, Totals] = {}
    with damage("its totals"):
        for account, scope, text in connection.execute("SELECT * FROM totals"):
            totals.setdefault(account, Totals()).scopes[scope] = read(text)
    return totals


def save(connection: sqlite3.Connection, account: str, totals: Totals) -> None:
    """Write the sums of an account."""
    for scope, amounts in totals.scopes.items():
        connection.execute(_WRITE, (account, scope, write(amounts)))


def all_totals(
    releases: Iterable[Release], cost: Callable[[Release], Amounts]
) -> dict[str, Totals]:
    """Return the sums of every account, added up from the rows."""
    totals: dict[str, Totals] = {}
    for release in releases:
        amounts = cost(release)
        for account in accounts_of(release.account):
            totals.setdefault(account, Totals()).add(release.part, amounts)
    return totals


def _scope(part: str | None) -> str:
    return _EVERY if part is None else f"part {part}"
