"""A ledger in which nothing is ever written, for fits to data that are nobody's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from skdp.ledger.release import Release
from skdp.ledger.store import Ledger, SpendRequest
from skdp.ledger.tables import Account
from skdp.ledger.totals import Totals, accounts_of

__all__ = ["BlankLedger"]


class BlankLedger(Ledger):
    """A ledger that checks each release as if it were its first, and forgets it.

    Parameters
    ----------
    like : Ledger
        Whose terms it has; it is neither read nor written.
    """

    def __init__(self, like: Ledger) -> None:
        self.terms, self.cost, self.nothing = dict(like.terms), like.cost, like.nothing
        self.identity = uuid4().hex

    @property
    def path(self) -> str:
        """Where it is."""
        return "nowhere"

    def append(
        self,
        release: Release,
        check: Callable[[SpendRequest], None],
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Check a release."""
        check(SpendRequest(release, {name: Totals() for name in accounts_of(release.account)}, 0))
        if before_commit is not None:
            before_commit()

    def releases(self, collect: Callable[[Iterator[Release]], Any] = list) -> Any:
        """Return what `collect` makes of no release."""
        return collect(iter(()))

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return sums of nothing."""
        return Totals()

    def accounts(self) -> list[Account]:
        """Return no shares."""
        return []

    def open_account(self, name: str, epsilon: float, delta: float) -> None:
        """Let a share be opened."""
