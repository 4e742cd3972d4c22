"""Dry runs: releases are checked and remembered, but not written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from skdp.ledger.chain import Entry, Head, first_head, next_hash
from skdp.ledger.costs import Account
from skdp.ledger.fractions import Amounts
from skdp.ledger.release import Release, content_of
from skdp.ledger.store import Ledger, SpendRequest
from skdp.ledger.tables import Group
from skdp.ledger.totals import EVERY, PEAK, Totals, accounts_of, scope_of
from skdp.privacy import Neighboring, Unit

__all__ = ["DryRun", "Spender", "StandIns"]


class Spender(Protocol):
    """A budget or a share."""

    _ledger: Ledger

    @property
    def _parent(self) -> Spender | None: ...

    @property
    def delta(self) -> float: ...

    @property
    def neighboring(self) -> Neighboring: ...

    @property
    def unit(self) -> Unit: ...


Handle = TypeVar("Handle", bound=Spender)


class DryRun(Ledger):
    """A ledger that checks and remembers releases, but writes nothing.

    It copies the terms of `like`, and goes on from its sums if they have `begun`. It only reads
    from that ledger. If it `reads`, a fit goes on after its spend and reads its rows, which must be
    synthetic.
    """

    def __init__(self, like: Ledger, *, reads: bool = False, begun: bool = True) -> None:
        self.terms, self.rules = dict(like.terms), like.rules
        self.identity, self.reads = like.identity, reads
        self.planned: list[Release] = []
        """The releases that would have been spent."""
        self._like = like if begun else None
        self._sums: dict[str, Totals] = {}
        self._is_over = False

    def end(self) -> None:
        """Reject further spends: a kept handle would release without spending."""
        self._is_over = True

    def handle(self, budget: Handle, **changed: object) -> Handle:
        """Return a copy of a budget or a share that spends from this ledger."""
        parent = None if budget._parent is None else self.handle(budget._parent, **changed)
        made = object.__new__(type(budget))
        vars(made).update(vars(budget), _ledger=self, _parent=parent, _folder=None, **changed)
        return made

    def append(
        self,
        release: Release,
        check: Callable[[SpendRequest], None],
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Check a release and remember it; nothing is committed."""
        if self._is_over:
            raise ValueError("The dry run is over. Pass the budget itself to spend from it.")
        accounts = [*accounts_of(release.account)]
        before = {name: self.totals(name, release.part) for name in accounts}
        check(SpendRequest(release, before, self.head().number))
        self.remember(release)

    def remember(self, release: Release) -> None:
        """Remember a release without a check."""
        self.planned.append(release)
        for account in accounts_of(release.account):
            self.totals(account, release.part).add(release.part, self.cost(release))

    def releases(self, collect: Callable[[Iterator[Release]], Any] = list) -> Any:
        earlier = [] if self._like is None else self._like.releases()
        return collect(iter([*earlier, *self.planned]))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the sums of an account; those before the dry run are read once."""
        known = self._sums.setdefault(account, Totals())
        wanted = {EVERY, PEAK, scope_of(part)}
        if self._like is not None and not wanted <= known.scopes.keys():
            scopes = self._like.totals(account, part).scopes
            known.scopes = dict.fromkeys(wanted, self.nothing) | scopes | known.scopes
        return known

    def scopes(self, account: str = "") -> set[str]:
        earlier = set() if self._like is None else self._like.scopes(account)
        own = self._sums.get(account, Totals()).scopes
        return earlier | {scope for scope, sums in own.items() if any(sums)}

    def groups(self, *, of_releases: bool) -> list[Group]:
        earlier = [] if self._like is None else self._like.groups(of_releases=of_releases)
        planned = self.planned if of_releases else []
        return earlier + [Group(_entry(one), one.time, 1) for one in planned]

    def head(self) -> Head:
        number, last = first_head(self.terms) if self._like is None else self._like.head()
        for release in self.planned:
            number, last = number + 1, next_hash(last, *_entry(release)[1:4])
        return Head(number, last)

    def open_account(self, account: Account, limits: Amounts) -> None:
        """Accept every share."""


def _entry(release: Release) -> Entry:
    return Entry(0, release.time, content_of(release), "{}")


class StandIns(dict[int, object]):
    """A memo for `copy.deepcopy` that replaces each budget, however deep, by a dry run.

    Replacements differ from the budget in the attributes `changed`.
    """

    def __init__(self, dry_run: Callable[[Ledger], DryRun] = DryRun, **changed: object) -> None:
        super().__init__()
        self.runs: dict[str | None, DryRun] = {}
        self._dry_run, self._changed = dry_run, changed

    def stand_in(self, budget: Handle) -> Handle:
        """Return the replacement of a budget; all handles on one ledger share one dry run."""
        ledger = budget._ledger
        if ledger.identity not in self.runs:
            self.runs[ledger.identity] = self._dry_run(ledger)
        return self.runs[ledger.identity].handle(budget, **self._changed)
