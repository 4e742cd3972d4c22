"""Messages of BudgetExceededError."""

from __future__ import annotations

import math
from collections.abc import Iterable

from skdp.budget._arithmetic import arithmetic_of
from skdp.budget.filters import FILTERS, Amount, Filter
from skdp.ledger.fractions import Amounts, decimal, minus
from skdp.ledger.release import Release
from skdp.ledger.totals import Totals
from skdp.privacy import Composition, Neighboring, NonPrivateEvent, event_from_dict
from skdp.support.digits import at_most

MOST_ROWS = 500
"""A longer ledger is not read again for a message."""

_MUCH_MORE, _MOST_NAMED = 1.25, 3
_COMPARABLE = ("gdp", "basic", "zcdp")


def shortfall(
    rule: Filter,
    account: str,
    wanted: Release,
    before: Totals,
    rows: list[Release],
) -> str:
    """Return the cost and the rest, and a composition that would admit the release.

    The release is quoted at its own δ, and as the budget counts it. `rows` are the earlier
    releases, none if there are too many.
    """
    if rule.exact and not wanted.exact:
        return _not_exact(wanted)
    owner = f"the share {account!r}" if account else "the budget"
    if rule.parts_differ(before, wanted.part):
        return _parts_differ(rule, owner, wanted)
    sums = before.worst(rule.nothing, wanted.part)
    asked, left = _asked(rule, wanted, sums), rule.left_at(before, wanted.part)
    own = f"epsilon={wanted.epsilon:.6g} at delta={wanted.delta:.6g}"
    counted = f"epsilon={asked.epsilon:.6g} at delta={asked.delta:.6g}"
    here = "" if counted == own else f" counted here as {counted},"
    known = bool(rows) or not any(sums)
    hint = _hint(rule, [*rows, wanted]) if known else ""
    return (
        f"{wanted.label} costs {own},{here} but {owner} of "
        f"epsilon={rule.epsilon:g}, delta={rule.delta:g} has only "
        f"epsilon={at_most(left.epsilon):g} at delta={at_most(left.delta):g} left for one more "
        f"release ({_sides(rule, wanted, sums)})."
        f"{_counted_at_more(rule, sums, rows)}{hint}"
    )


def _not_exact(wanted: Release) -> str:
    return (
        f"{wanted.label} is not admitted, because this budget is exact: no theorem about machine "
        f"numbers covers it ({arithmetic_of(wanted)}). Use solver='auto' or 'noisy_gd' with a "
        "smooth loss, and no kernel features."
    )


def _counted_at_more(rule: Filter, sums: Amounts, earlier: Iterable[Release]) -> str:
    """Return the earlier releases that a Gaussian budget counts at much more than their ε."""
    if rule.composition is not Composition.GDP or not rule.fits(sums):
        return ""
    asked = {(row.label, row.epsilon): row for row in earlier if row.delta <= rule.delta}
    counts = {key: rule.amount(rule.cost(row)).epsilon for key, row in asked.items()}
    more = [
        f"{label} at epsilon={counted:.3g} instead of {epsilon:.3g}"
        for (label, epsilon), counted in counts.items()
        if counted > _MUCH_MORE * epsilon
    ]
    if not more:
        return ""
    return f" Releases that are not Gaussian count at more: {', '.join(more[:_MOST_NAMED])}."


def _parts_differ(rule: Filter, owner: str, wanted: Release) -> str:
    return (
        f"{wanted.label} reads all partitions, which {owner} no longer admits: the first release "
        f"on one partition exceeded the limits of composition={rule.composition!r}, so its epsilon "
        "and delta are added up. Use a single partition, or composition='basic'."
    )


def _asked(rule: Filter, wanted: Release, before: Amounts) -> Amount:
    if rule.fits(before):
        return rule.amount(rule.cost(wanted))
    return Amount(wanted.epsilon, wanted.delta)


def _sides(rule: Filter, wanted: Release, before: Amounts) -> str:
    """Return the cost and the rest for each limit that is exceeded."""
    limits = (*rule.limits, decimal(rule.epsilon), decimal(rule.delta))
    units = (*rule.units, "epsilon", "delta")
    rows = [*zip(units, rule.costs(wanted), minus(limits, before), strict=True)]
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
        covered = not tv and math.isfinite(releases[-1].gdp_mu)
        return (
            ""
            if covered
            else " No Gaussian covers it, and a strict budget admits only what a Gaussian covers."
        )
    if rule.takes_reserves and tv and not rule.tv:
        return (
            " Its sampler is not exact. Make the budget with tv=, a reserve for its total "
            "variation, or with composition='basic'."
        )
    relation = Neighboring(releases[-1].neighboring)
    if (
        rule.composition is Composition.GDP
        and not rule.slack
        and math.isinf(ideal.gdp_mu(relation))
    ):
        return (
            " It is not Gaussian DP. Make the budget with slack=, a part of delta for such "
            "releases, or with composition='rdp'."
        )
    for name in _COMPARABLE:
        kind = FILTERS[name]
        if not isinstance(rule, kind) and kind(rule.epsilon, rule.delta).admits(releases):
            return f" composition={name!r} would have admitted it."
    return ""
