"""Buying a release: what every estimator and statistic does before it reads its data."""

from __future__ import annotations

import math

from skdp.accounting import AccountedCurve, PLDAccountant
from skdp.budget import PrivacyBudget
from skdp.privacy import Event, Neighboring, NoClosedCurveError, PrivacyGuarantee

__all__ = ["buy", "check_budget", "guarantee_of"]


def guarantee_of(event: Event, neighboring: Neighboring | str, theorem: str) -> PrivacyGuarantee:
    """Return what a release of `event` promises, by an accountant's curve if it has none."""
    neighboring = Neighboring(neighboring)
    return PrivacyGuarantee(event, neighboring, theorem, _numerical(event, neighboring))


def buy(
    guarantee: PrivacyGuarantee,
    budget: PrivacyBudget | None,
    *,
    epsilon: float,
    delta: float,
    label: str,
) -> None:
    """Pay for a release that was planned to be (ε, δ)-DP, if there is a budget."""
    if budget is not None:
        asked = None if math.isinf(epsilon) else float(epsilon)
        budget.spend(guarantee, delta=delta, label=label, epsilon=asked)


def check_budget(budget: object) -> None:
    """Raise unless `budget` is one, or None."""
    if not (budget is None or isinstance(budget, PrivacyBudget)):
        raise ValueError(
            f"budget must be a PrivacyBudget or None, got {budget!r}. Nothing was spent."
        )


def _numerical(event: Event, neighboring: Neighboring) -> AccountedCurve | None:
    try:
        event.curve(neighboring)
    except NoClosedCurveError:
        return AccountedCurve(event, PLDAccountant(neighboring))
    return None
