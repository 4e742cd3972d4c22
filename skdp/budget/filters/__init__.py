"""Privacy filters: the rules by which a budget admits adaptively chosen releases."""

from collections.abc import Iterable

from skdp.budget.filters.base import Amount, Filter
from skdp.budget.filters.basic import BasicFilter, PureFilter
from skdp.budget.filters.gaussian import GaussianFilter
from skdp.budget.filters.renyi import RenyiFilter
from skdp.budget.filters.zcdp import ZCDPFilter
from skdp.support.validation import check_choice, check_delta, check_real

__all__ = [
    "FILTERS",
    "Amount",
    "BasicFilter",
    "Filter",
    "GaussianFilter",
    "PureFilter",
    "RenyiFilter",
    "ZCDPFilter",
    "rule_of",
]

FILTERS: dict[str, type[Filter]] = {
    kind.composition: kind
    for kind in (GaussianFilter, BasicFilter, ZCDPFilter, RenyiFilter, PureFilter)
}
"""The compositions by name."""


def rule_of(
    composition: str,
    epsilon: float,
    delta: float,
    *,
    slack: float | None = None,
    tv: float = 0.0,
    orders: Iterable[float] = (),
    strict: bool = False,
    exact: bool = False,
) -> Filter:
    """Check the terms of a budget and return its filter."""
    kind = FILTERS[check_choice("composition", composition, FILTERS)]
    epsilon, delta = check_real("epsilon", epsilon, low=0.0), check_delta(delta)
    if slack is None:
        slack = 0.0 if strict else kind.default_slack(delta)
    reserves = {"slack": float(slack), "tv": float(tv)}
    for name, flag in (("strict", strict), ("exact", exact)):
        if not isinstance(flag, bool):
            raise ValueError(f"{name} must be True or False, got {flag!r}.")
    return kind(epsilon, delta, **reserves, orders=tuple(orders), strict=strict, exact=exact)
