"""Rényi composition at orders that are fixed when the budget is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skdp.budget._exact import Amounts, up
from skdp.budget.curves import ConvertedCurve
from skdp.budget.filters._conversion import (
    epsilon_of_renyi,
    renyi_budget,
    rho_budget,
)
from skdp.budget.filters.base import Amount, Filter
from skdp.budget.pricing import renyi_divergence
from skdp.budget.release import Release
from skdp.privacy import Event, GaussianCurve, Neighboring

__all__ = ["ORDERS", "RenyiFilter"]

ORDERS = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0,
          48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0)  # fmt: skip
"""The grid of orders; a budget's ε and δ select from it, before anything is released."""


@dataclass(frozen=True)
class RenyiFilter(Filter):
    """Stop when Σ r_i(α) > R(α) for any of the `orders` (Feldman and Zrnic 2021).

    The orders and R are fixed from ε and δ when the budget is made, and a release must fit at all
    of them: R(α) is the largest divergence that implies (ε, δ)-DP by the tight conversion, so one
    order alone is the guarantee and each further one only refuses more. The default is therefore
    one order: that of the grid `ORDERS` at which most Gaussian noise fits. ("Some order still has
    room" would admit more, and is not proved: which one is left depends on the outputs.)

    Parameters
    ----------
    orders : tuple of float
        *Public.* Fixed beforehand; the empty tuple selects the default.
    """

    orders: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0.0:
            raise ValueError("composition='rdp' needs delta > 0; use composition='pure'.")
        if not self.orders:
            object.__setattr__(self, "orders", (self._best_order(),))
        if not all(1.0 < order < math.inf for order in self.orders):
            raise ValueError(f"orders must be above 1, got {self.orders!r}. Nothing was spent.")
        if min(self._budgets()) <= 0.0:
            raise ValueError(f"No release fits at all of the orders {self.orders}.")

    def _best_order(self) -> float:
        own = rho_budget(self.epsilon, self.delta)[1]
        return max((*ORDERS, own), key=lambda a: renyi_budget(a, self.epsilon, self.delta) / a)

    def _budgets(self) -> tuple[float, ...]:
        return tuple(renyi_budget(order, self.epsilon, self.delta) for order in self.orders)

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        """R(α) of each order."""
        return tuple(up(budget * (1.0 - 1e-12)) for budget in self._budgets())

    def price(self, release: Release) -> Amounts:  # noqa: D102
        return tuple(map(up, release.renyi)) or (math.inf,) * len(self.orders)

    def facts(  # noqa: D102
        self, event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
    ) -> dict[str, Any]:
        return {"renyi": tuple(renyi_divergence(event, neighboring, a) for a in self.orders)}

    def amount(self, totals: Amounts) -> Amount:  # noqa: D102
        spent = self._epsilon(totals)
        return Amount(min(spent, self.epsilon) if self.fits(totals) else spent, self.delta)

    def left(self, totals: Amounts) -> Amount:  # noqa: D102
        left = tuple(max(0.0, float(a - b)) for a, b in zip(self.limits, totals, strict=True))
        rho = min(r / order for r, order in zip(left, self.orders, strict=True))
        curve = GaussianCurve(math.sqrt(2.0 * rho))
        return Amount(curve.epsilon(self.delta), self.delta if rho else 0.0)

    def curve(self, totals: Amounts) -> ConvertedCurve:  # noqa: D102
        return ConvertedCurve(self.orders, tuple(map(float, totals)))

    def _epsilon(self, divergences: Amounts) -> float:
        pairs = zip(self.orders, map(float, divergences), strict=True)
        return min(epsilon_of_renyi(order, r, self.delta) for order, r in pairs)
