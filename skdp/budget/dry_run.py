"""Dry runs: releases are checked and remembered, but not written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from skdp.ledger.chain import Head, head_of
from skdp.ledger.release import Release
from skdp.ledger.store import Ledger, SpendRequest
from skdp.ledger.totals import Totals, accounts_of, all_totals
from skdp.privacy import Neighboring

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


Handle = TypeVar("Handle", bound=Spender)


class DryRun(Ledger):
    """A ledger that checks and remembers releases, but writes nothing.

    It copies the terms of `like`, and its releases if they have `begun`. It has no connection to
    that ledger, so no copy ever spends from there. If it `reads`, a fit goes on after its spend and
    reads its rows, which must be synthetic.
    """

    def __init__(self, like: Ledger, *, reads: bool = False, begun: bool = True) -> None:
        self.terms, self.cost, self.nothing = dict(like.terms), like.cost, like.nothing
        self.identity, self.reads = like.identity, reads
        self._releases: list[Release] = like.releases() if begun else []
        self._n_before = len(self._releases)
        self._sums = all_totals(self._releases, self.cost)
        self._is_over = False

    def end(self) -> None:
        """Reject further spends: a kept handle would release without spending."""
        self._is_over = True

    @property
    def planned(self) -> list[Release]:
        """The releases that would have been spent."""
        return self._releases[self._n_before :]

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
        before = {name: self.totals(name) for name in accounts_of(release.account)}
        check(SpendRequest(release, before, len(self._releases)))
        self._releases.append(release)
        for account in before:
            self._sums.setdefault(account, Totals()).add(release.part, self.cost(release))

    def releases(self, collect: Callable[[Iterator[Release]], Any] = list) -> Any:
        return collect(iter(self._releases))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        return self._sums.get(account, Totals())

    def scopes(self, account: str = "") -> set[str]:
        return {*self.totals(account).scopes}

    def head(self) -> Head:
        return head_of(self.terms, self._releases)

    def open_account(self, name: str, epsilon: float, delta: float) -> None:
        """Accept every share."""


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
