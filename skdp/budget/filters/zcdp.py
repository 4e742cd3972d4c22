"""Zero-concentrated DP composition: ρ adds up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from skdp.accounting.rdp_conversion import epsilon_from_rdp, rho_budget
from skdp.budget.filters.base import Amount, Filter, largest_gaussian
from skdp.ledger.fractions import Amounts, minus
from skdp.privacy import Composition
from skdp.privacy.events.zcdp import ZCDPCurve
from skdp.support.rounding import SERIES, down, up

__all__ = ["ZCDPFilter"]


@dataclass(frozen=True)
class ZCDPFilter(Filter):
    """Stop when Σ ρ_i exceeds the largest ρ that implies (ε, δ)-DP (Feldman and Zrnic 2021).

    The conversion is the tight one (Canonne, Kamath and Steinke 2020, Proposition 12), not the
    classic ρ + 2·sqrt(ρ·log 1/δ).
    """

    composition: ClassVar[Composition] = Composition.ZCDP
    units: ClassVar[tuple[str, ...]] = ("rho",)
    counted: ClassVar[tuple[str, ...]] = ("zcdp_rho",)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0.0:
            raise ValueError("composition='zcdp' needs delta > 0. Use composition='pure'.")

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        # Printed costs are below the exact ones by a relative 2^-53 at most: one more operation.
        return (Fraction(down(rho_budget(self.epsilon, self.delta)[0], SERIES + 1)),)

    def amount(self, totals: Amounts) -> Amount:
        ceiling = self.epsilon if self.fits(totals) else math.inf
        return Amount(min(self._epsilon(float(totals[0])), ceiling), self.delta)

    def left(self, totals: Amounts) -> Amount:
        rho = float(minus(self.limits, totals)[0])
        return largest_gaussian(math.sqrt(2.0 * rho), self.delta)

    def curve(self, totals: Amounts) -> ZCDPCurve:
        return ZCDPCurve(up(float(totals[0]), SERIES))

    def _epsilon(self, rho: float) -> float:
        if rho == 0.0:
            return 0.0
        return max(0.0, epsilon_from_rdp(lambda order: rho * order, self.delta, "tight"))
