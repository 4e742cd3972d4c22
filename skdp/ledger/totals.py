"""Running sums of costs, per account and part, stored beside the rows."""

from __future__ import annotations

from collections.abc import Iterator

from skdp.ledger.fractions import Amounts, add, write

__all__ = ["EVERY", "PEAK", "Totals", "accounts_of", "scope_of"]

EVERY = "every part"
PEAK = "largest part"


class Totals:
    """The sums of one account: of releases on every part, on one part, and on the largest part.

    `worst` decides: the sum of releases on every part plus the largest sum of a part. The largest
    is stored, not recomputed: sums only grow, so it is the largest sum ever seen.
    """

    def __init__(self, scopes: dict[str, Amounts] | None = None) -> None:
        self.scopes = dict(scopes or {})

    def add(self, part: str | None, cost: Amounts) -> list[str]:
        """Add a cost; return the scopes whose sums may have changed."""
        scope = scope_of(part)
        before = self.scopes.get(scope)
        own = self.scopes[scope] = cost if before is None else add(before, cost)
        if part is None:
            return [scope]
        self.scopes[PEAK] = tuple(map(max, zip(self.scopes.get(PEAK, own), own, strict=True)))
        return [scope, PEAK]

    def written(self) -> dict[str, str]:
        """Return the sums as text, by scope."""
        return {scope: write(amounts) for scope, amounts in self.scopes.items()}

    def worst(self, nothing: Amounts, part: str | None = None) -> Amounts:
        """Return the sums on every part plus those on the largest part, or on `part`.

        `nothing` are the sums of an empty ledger.
        """
        scope = PEAK if part is None else scope_of(part)
        return add(self.scopes.get(EVERY, nothing), self.scopes.get(scope, nothing))

    def of_every(self, nothing: Amounts) -> Amounts:
        """Return the sums of releases on every part."""
        return self.scopes.get(EVERY, nothing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Totals) and self.scopes == other.scopes

    __hash__ = None  # type: ignore[assignment]


def accounts_of(account: str) -> Iterator[str]:
    """Yield the accounts of a release: the budget, then each share inwards."""
    yield ""
    names = account.split("/") if account else []
    for depth in range(len(names)):
        yield "/".join(names[: depth + 1])


def scope_of(part: str | None) -> str:
    """Return the key of the sums of a part."""
    return EVERY if part is None else f"part {part}"
