"""Rényi composition at fixed orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from skdp.accounting.rdp_conversion import rdp_budget, rho_budget, tight_epsilon
from skdp.budget.cost import ConvertedCurve, renyi_cost
from skdp.budget.filters.base import Amount, Filter, largest_gaussian
from skdp.ledger.fractions import Amounts, minus
from skdp.privacy import Composition, Event, Neighboring
from skdp.support.rounding import SERIES, down

__all__ = ["ORDERS", "RenyiFilter"]

ORDERS = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0,
          48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0)  # fmt: skip
"""The grid of orders; the ε and δ of a budget select from it."""

_LARGEST_ORDER = 1e15  # for tiny budgets; no guarantee rests on it


@dataclass(frozen=True)
class RenyiFilter(Filter):
    """Stop when Σ r_i(α) > R(α) for any of the `orders` (Feldman and Zrnic 2021).

    R(α) is the largest divergence that implies (ε, δ)-DP by the tight conversion. A release must
    fit at all orders, so each further order only rejects more. The default is therefore one order,
    from the grid `ORDERS` or off it, that admits most Gaussian noise. It is chosen when the ledger
    is made and stored in its terms. ("Some order still has room" would admit more, but is not
    proved: the order that is left depends on the outputs.)
    """

    composition: ClassVar[Composition] = Composition.RDP

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0.0:
            raise ValueError("composition='rdp' needs delta > 0. Use composition='pure'.")
        if not self.orders:
            object.__setattr__(self, "orders", _default_orders(self.epsilon, self.delta))
        if not all(1.0 < order < math.inf for order in self.orders):
            raise ValueError(f"orders must be above 1, got {self.orders!r}.")
        if min(self._budgets()) <= 0.0:
            raise ValueError(
                f"epsilon={self.epsilon:g}, delta={self.delta:g} admits no release at the Rényi "
                f"orders {self.orders}."
            )

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"Rényi divergence of order {order:g}" for order in self.orders)

    @property
    def counted(self) -> tuple[str, ...]:
        return tuple(f"renyi.{k}" for k in range(len(self.orders)))

    def _budgets(self) -> tuple[float, ...]:
        log_delta = math.log(self.delta)
        return tuple(rdp_budget(order, self.epsilon, log_delta) for order in self.orders)

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        # Printed costs are below the exact ones by a relative 2^-53 at most: one more operation.
        return tuple(Fraction(down(budget, SERIES + 1)) for budget in self._budgets())

    def facts(
        self, event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
    ) -> dict[str, Any]:
        return {"renyi": tuple(renyi_cost(event, neighboring, a) for a in self.orders)}

    def amount(self, totals: Amounts) -> Amount:
        spent = self._epsilon(totals)
        return Amount(min(spent, self.epsilon) if self.fits(totals) else spent, self.delta)

    def left(self, totals: Amounts) -> Amount:
        left = zip(minus(self.limits, totals), self.orders, strict=True)
        rho = min(float(divergence) / order for divergence, order in left)
        return largest_gaussian(math.sqrt(2.0 * rho), self.delta)

    def curve(self, totals: Amounts) -> ConvertedCurve:
        return ConvertedCurve(self.orders, tuple(map(float, totals)))

    def _epsilon(self, divergences: Amounts) -> float:
        if not any(divergences):
            return 0.0
        pairs, log_delta = zip(self.orders, divergences, strict=True), math.log(self.delta)
        return max(0.0, min(tight_epsilon(a, float(r), log_delta) for a, r in pairs))


def _default_orders(epsilon: float, delta: float) -> tuple[float, ...]:
    log_delta, own = math.log(delta), rho_budget(epsilon, delta, _LARGEST_ORDER)[1]
    return (max((*ORDERS, own), key=lambda a: rdp_budget(a, epsilon, log_delta) / a),)
