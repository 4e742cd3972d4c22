"""Gaussian composition: squares of μ, slacks and total variations add up separately."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from skdp.accounting import gdp_mu
from skdp.budget.cost import CoveredCurve, gaussian_cost
from skdp.budget.filters.base import Amount, Filter, largest_gaussian
from skdp.ledger.fractions import Amounts, decimal, minus
from skdp.privacy import Composition, Event, Neighboring
from skdp.support.rounding import CURVE, FORMULA, down, margin, up

__all__ = ["GaussianFilter"]

# No guarantee rests on these: the slacks have a limit of their own.
_DEFAULT_SLACK = 0.05  # of δ
_SLACK_SHARE = 1.0 / 16.0  # of the remaining slack, at most, for one release
_LEAST_SLACK = 1e-20  # of δ: with less no useful Gaussian covers anything, and the search is slow


@dataclass(frozen=True)
class GaussianFilter(Filter):
    r"""Stop when Σ m_i² > B², Σ η_i > `slack` or Σ τ_i > `tv`.

    For an output within total variation τ_i of the released one, release i is below the curve of
    m_i-Gaussian DP plus η_i. B solves δ_B(ε) + `slack` + (1 + e^ε)·`tv` = δ. All three limits are
    fixed in advance: an analyst who uses the rest of one limit for another moves the frontier and
    exceeds δ.

    Source: Koskela, Tobaben and Honkela 2022; Smith and Thakurta 2022; with slacks and total
    variations: *Gaussian differential privacy* in the documentation.
    """

    composition: ClassVar[Composition] = Composition.GDP
    units: ClassVar[tuple[str, ...]] = ("squared gdp_mu", "slack", "tv")
    counted: ClassVar[tuple[str, ...]] = ("square gdp_mu", "slack", "tv")  # type: ignore[misc]
    takes_reserves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0.0:
            raise ValueError("composition='gdp' needs delta > 0. Use composition='basic'.")
        if self._for_gaussians <= 0.0:
            raise ValueError(
                f"slack={self.slack:g} and (1 + e^epsilon)*tv, tv={self.tv:g}, leave nothing of "
                f"delta={self.delta:g} for Gaussian releases."
            )

    @property
    def _for_gaussians(self) -> float:
        if not (self.slack or self.tv):
            return self.delta
        set_aside = self.slack + (1.0 + math.exp(min(self.epsilon, 700.0))) * self.tv
        return down(self.delta - up(set_aside, FORMULA), FORMULA)

    @property
    def limit(self) -> float:
        """The m of the whole budget."""
        return math.sqrt(float(self.limits[0]))

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        # `gdp_mu` rounds down by twice the margin that is added here. The other half, 5e-12, is
        # more than the 2^-53 by which a printed μ may be below the exact one.
        widest = gdp_mu(self.epsilon, self._for_gaussians) * (1.0 + 0.5 * margin(CURVE))
        return Fraction(widest) ** 2, decimal(self.slack), decimal(self.tv)

    def facts(
        self, event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
    ) -> dict[str, Any]:
        return gaussian_cost(event, neighboring, slack_left)

    @classmethod
    def default_slack(cls, delta: float) -> float:
        return _DEFAULT_SLACK * delta

    def slack_left(self, sums: Amounts) -> float:
        """Return a power of two, so that equal releases share one cached cover."""
        share = _SLACK_SHARE * max(0.0, float(self.limits[1] - sums[1]))
        if share <= _LEAST_SLACK * self.delta:
            return 0.0
        return 2.0 ** math.floor(math.log2(share))

    def amount(self, totals: Amounts) -> Amount:
        return Amount(self.curve(totals).epsilon(self.delta), self.delta)

    def left(self, totals: Amounts) -> Amount:
        left = math.sqrt(float(minus(self.limits, totals)[0]))
        return largest_gaussian(left, self.delta)

    def curve(self, totals: Amounts) -> CoveredCurve:
        mu, slack, tv = math.sqrt(float(totals[0])), float(totals[1]), float(totals[2])
        return CoveredCurve(mu, slack=slack, tv=tv)
