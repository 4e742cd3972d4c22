"""Displays of a budget, and why it does not admit a release."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from skdp.budget.filters import FILTERS, Amount, Filter
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.ledger.release import EVERY, PEAK, Amounts, Release, minus, owns
from skdp.ledger.store import SpendRequest
from skdp.privacy import Neighboring, NonPrivateEvent, event_from_dict
from skdp.privacy.neighboring import Composition
from skdp.support.display import at_least, at_most

_CELLS, _DIGITS = 20, 4
_MOST_ROWS = 500  # a longer ledger is not read again for a message
_MUCH_MORE, _MOST_NAMED = 1.25, 3
_COMPARABLE = ("gdp", "basic", "zcdp")


def shown(budget: Any, *, html: bool) -> str:
    """Return a bar of the spent part and the amounts, or say that the ledger is closed."""
    name = repr(budget)
    try:
        spent, left, releases = budget.spent, budget.remaining, _releases(budget)
        head = f"; head {budget.head}" if html else ""  # a terminal has no room for it
    except BudgetClosedError:
        return f"{name}: the ledger is closed"
    account = (
        f"spent epsilon={at_least(spent.epsilon, _DIGITS):g} at delta={at_least(spent.delta):g} in "
        f"{releases}; left for one more release: epsilon={at_most(left.epsilon, _DIGITS):g} "
        f"at delta={at_most(left.delta, _DIGITS):g}{head}"
    )
    filled = min(1.0, spent.epsilon / budget.epsilon)
    if not html:
        cells = round(_CELLS * filled)
        return f"{name}\n[{'#' * cells}{'.' * (_CELLS - cells)}] {account}"
    bar = (
        '<div style="width:20em;height:.8em;border:1px solid #888;background:#eee">'
        f'<div style="width:{100.0 * filled:.4g}%;height:100%;background:#4878a8"></div></div>'
    )
    said = f"<code>{escape(name)}</code>{bar}<small>{escape(account)}</small>"
    return f'<div style="overflow-wrap:anywhere">{said}</div>'  # a head is long


def _releases(budget: Any) -> str:
    """Return the number of releases and their partitions; the ledger does not count shares.

    Both come from sums that the ledger keeps, because it may have many rows.
    """
    scopes = budget._ledger.scopes(budget._account)
    number = budget._ledger.head().number if scopes else 0
    releases = "1 release" if number == 1 else f"{number} releases"
    releases = "releases" if scopes and budget._account else releases
    named = len(scopes - {EVERY, PEAK})
    parts = f" on {named} part{'s' * (named > 1)}{' and on all' * (EVERY in scopes)}"
    return releases + (parts if named else "")


class RefusedError(BudgetExceededError):
    """One handle does not admit a release."""

    def __init__(self, handle: Any, request: SpendRequest) -> None:
        super().__init__(f"{request.release.label} is not admitted.")
        self.handle, self.request = handle, request

    def message(self) -> str:
        has_few = self.request.number <= _MOST_ROWS
        return self._shortfall(self.handle._ledger.releases() if has_few else [])

    def _shortfall(self, releases: list[Release]) -> str:
        """Return the cost and the rest, and a composition that would admit the release.

        The release is quoted at its own δ, and as the budget counts it. `releases` are those of the
        ledger, none if there are too many.
        """
        handle, wanted = self.handle, self.request.release
        rule, before = handle._filter, self.request.before[handle._account]
        owner = f"the share {handle._account!r}" if handle._account else "the budget"
        if rule.exact and not wanted.exact:
            return (
                f"{wanted.label} is not admitted, because this budget is exact: no theorem about "
                "machine numbers covers it. Use solver='auto' or 'noisy_gd' with a smooth loss, "
                "and no kernel features."
            )
        if rule.parts_differ(before, wanted.part):
            return (
                f"{wanted.label} reads all partitions, which {owner} no longer admits: the first "
                f"release on one partition exceeded the limits of composition={rule.composition!r},"
                " so its epsilon and delta are added up. Use a single partition, or "
                "composition='basic'."
            )
        rows = [one for one in releases[: self.request.number] if owns(handle._account, one)]
        sums = before.worst(rule.nothing, wanted.part)
        asked, left = Amount(wanted.epsilon, wanted.delta), rule.left_at(before, wanted.part)
        if rule.fits(sums):
            asked = rule.amount(rule.costs(wanted)[:-2])
        own = f"epsilon={wanted.epsilon:.6g} at delta={wanted.delta:.6g}"
        counted = f"epsilon={asked.epsilon:.6g} at delta={asked.delta:.6g}"
        here = "" if counted == own else f" counted here as {counted},"
        hint = _hint(rule, [*rows, wanted]) if rows or not any(sums) else ""
        return (
            f"{wanted.label} costs {own},{here} but {owner} of "
            f"epsilon={rule.epsilon:g}, delta={rule.delta:g} has only "
            f"epsilon={at_most(left.epsilon):g} at delta={at_most(left.delta):g} left for one more "
            f"release ({_sides(rule, wanted, sums)})."
            f"{_counted_at_more(rule, sums, rows)}{hint}"
        )


def _counted_at_more(rule: Filter, sums: Amounts, earlier: Iterable[Release]) -> str:
    """Return the earlier releases that a Gaussian budget counts at much more than their ε."""
    if rule.composition is not Composition.GDP or not rule.fits(sums):
        return ""
    asked = {(row.label, row.epsilon): row for row in earlier if row.delta <= rule.delta}
    counts = {key: rule.amount(rule.costs(row)[:-2]).epsilon for key, row in asked.items()}
    more = [
        f"{label} at epsilon={counted:.3g} instead of {epsilon:.3g}"
        for (label, epsilon), counted in counts.items()
        if counted > _MUCH_MORE * epsilon
    ]
    named = ", ".join(more[:_MOST_NAMED])
    return f" Releases that are not Gaussian count at more: {named}." if more else ""


def _sides(rule: Filter, wanted: Release, before: Amounts) -> str:
    """Return the cost and the rest for each limit that is exceeded."""
    units = (*rule.units, "epsilon", "delta")
    rows = [*zip(units, rule.costs(wanted), minus(rule.ceilings, before), strict=True)]
    counted = rows[:-2] if rule.fits(before) else rows[-2:]
    return "; ".join(
        f"{unit}: {float(asked):.6g} needed, {at_most(float(left)):g} left"
        for unit, asked, left in counted
        if asked > left
    )


def _hint(rule: Filter, releases: list[Release]) -> str:
    if rule.delta == 0.0:
        return ""
    ideal, tv = event_from_dict(releases[-1].event).ideal()
    if any(isinstance(leaf, NonPrivateEvent) for leaf, _ in ideal.leaves()):
        return " It has no privacy guarantee, so no finite budget admits it."
    if rule.strict:
        is_covered = not tv and math.isfinite(releases[-1].gdp_mu)
        why = " No Gaussian covers it, and a strict budget admits only what a Gaussian covers."
        return "" if is_covered else why
    if rule.takes_reserves and tv and not rule.tv:
        return (
            " Its sampler is not exact. Make the budget with tv=, a reserve for its total "
            "variation, or with composition='basic'."
        )
    is_gaussian = math.isfinite(ideal.gdp_mu(Neighboring(releases[-1].neighboring)))
    if rule.takes_reserves and not rule.slack and not is_gaussian:
        return (
            " It is not Gaussian DP. Make the budget with slack=, a part of delta for such "
            "releases, or with composition='rdp'."
        )
    for name in _COMPARABLE:
        kind = FILTERS[name]
        if not isinstance(rule, kind) and kind(rule.epsilon, rule.delta).admits(releases):
            return f" composition={name!r} would have admitted it."
    return ""
