"""What a refusal says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from skdp.budget.filters import FILTERS, Amount, Filter
from skdp.budget.release import Release

__all__ = ["shortfall"]

_MOST_ROWS = 5_000  # a longer ledger is not added up again for the sake of a message
_COMPARABLE = ("gdp", "basic", "zcdp")


def shortfall(
    rule: Filter,
    account: str,
    wanted: Release,
    left: Amount,
    releases: Callable[[], Iterable[Release]],
) -> str:
    """Return what is asked, what there is, what is left, and which composition would do."""
    owner = f"the share {account!r}" if account else "the budget"
    return (
        f"{wanted.label} costs epsilon={wanted.epsilon:.6g} at delta={wanted.delta:g}, but of "
        f"{owner}'s epsilon={rule.epsilon:g}, delta={rule.delta:g} only "
        f"epsilon={left.epsilon:.6g} at delta={left.delta:.6g} is left for one more release."
        f"{_hint(rule, list(islice(releases(), _MOST_ROWS + 1)))} Nothing was read or spent."
    )


def _hint(rule: Filter, releases: list[Release]) -> str:
    if rule.delta == 0.0 or len(releases) > _MOST_ROWS:
        return ""
    for name in _COMPARABLE:
        kind = FILTERS[name]
        if not isinstance(rule, kind) and kind(rule.epsilon, rule.delta).admits(releases):
            return f" composition={name!r} would have admitted it."
    return ""
