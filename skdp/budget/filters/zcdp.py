"""Composition of zero-concentrated DP: ρ adds up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from skdp.budget._exact import Amounts, up
from skdp.budget.curves import ConvertedCurve
from skdp.budget.filters._conversion import epsilon_of_rho, rho_budget
from skdp.budget.filters.base import Amount, Filter
from skdp.budget.release import Release
from skdp.privacy import GaussianCurve

__all__ = ["ZCDPFilter"]

_ORDERS = tuple(1.0 + 10.0 ** (step / 20.0) for step in range(-40, 121))


@dataclass(frozen=True)
class ZCDPFilter(Filter):
    """Stop when Σ ρ_i exceeds the largest ρ that implies (ε, δ)-DP (Feldman and Zrnic 2021).

    The conversion is the tight one (Canonne, Kamath and Steinke 2020, Proposition 12), not the
    classic ρ + 2·sqrt(ρ·log 1/δ).
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0.0:
            raise ValueError("composition='zcdp' needs delta > 0; use composition='pure'.")

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        """The largest ρ."""
        return (up(rho_budget(self.epsilon, self.delta)[0] * (1.0 - 1e-12)),)

    def price(self, release: Release) -> Amounts:  # noqa: D102
        return (up(release.zcdp_rho),)

    def amount(self, totals: Amounts) -> Amount:  # noqa: D102
        return Amount(min(self._epsilon(totals[0]), self._ceiling(totals)), self.delta)

    def left(self, totals: Amounts) -> Amount:  # noqa: D102
        mu = math.sqrt(2.0 * max(0.0, float(self.limits[0] - totals[0])))
        return Amount(GaussianCurve(mu).epsilon(self.delta), self.delta if mu else 0.0)

    def curve(self, totals: Amounts) -> ConvertedCurve:  # noqa: D102
        return ConvertedCurve(_ORDERS, tuple(float(totals[0]) * order for order in _ORDERS))

    def _epsilon(self, rho: Fraction | float) -> float:
        return epsilon_of_rho(float(rho), self.delta)

    def _ceiling(self, totals: Amounts) -> float:
        return self.epsilon if self.fits(totals) else math.inf
