"""Which sequences of releases a budget admits, the next one chosen after seeing the last."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from skdp.accounting import gdp_mu
from skdp.accounting.calibration import CALIBRATION_MARGIN
from skdp.budget.release import Release
from skdp.privacy import GaussianCurve

__all__ = ["FILTERS", "Amount", "BasicFilter", "Filter", "GaussianFilter"]


class Amount(NamedTuple):
    """A pair (ε, δ)."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Filter(ABC):
    """A rule that keeps everything it has admitted, together, (`epsilon`, `delta`)-DP.

    The rule holds under fully adaptive composition: each release, its mechanism and its price may
    depend on the outputs of all earlier ones.
    """

    epsilon: float
    delta: float

    @abstractmethod
    def admits(self, releases: Sequence[Release]) -> bool:
        """Return whether the budget pays for all of these together."""

    @abstractmethod
    def spent(self, releases: Sequence[Release]) -> Amount:
        """Return an (ε, δ) that these releases satisfy together if their list was fixed before."""

    @abstractmethod
    def remaining(self, releases: Sequence[Release]) -> Amount:
        """Return the dearest single release that would still be admitted."""


@dataclass(frozen=True)
class GaussianFilter(Filter):
    """Stop when δ_m(ε) > δ for m² = Σ m_i², every release being m_i-Gaussian DP.

    Source: Koskela, Tobaben and Honkela 2022; Smith and Thakurta 2022.
    """

    def __post_init__(self) -> None:
        if self.delta == 0.0:
            raise ValueError("composition='gdp' needs delta > 0; use composition='basic'.")

    @property
    def limit(self) -> float:
        """The m of the whole budget; `gdp_mu` rounds down by more than what is added here."""
        return gdp_mu(self.epsilon, self.delta) * (1.0 + 0.5 * CALIBRATION_MARGIN)

    def admits(self, releases: Sequence[Release]) -> bool:  # noqa: D102
        return _total_mu(releases) <= self.limit

    def spent(self, releases: Sequence[Release]) -> Amount:  # noqa: D102
        return Amount(GaussianCurve(_total_mu(releases)).epsilon(self.delta), self.delta)

    def remaining(self, releases: Sequence[Release]) -> Amount:  # noqa: D102
        left = math.sqrt(max(0.0, self.limit**2 - _total_mu(releases) ** 2))
        return Amount(GaussianCurve(left).epsilon(self.delta), self.delta if left else 0.0)


@dataclass(frozen=True)
class BasicFilter(Filter):
    """Stop when Σ ε_i > ε or Σ δ_i > δ (Rogers, Roth, Ullman and Vadhan 2016).

    Sums are exact in the decimal digits that the numbers print with: three times 0.1 is 0.3.
    """

    def admits(self, releases: Sequence[Release]) -> bool:  # noqa: D102
        epsilon, delta = _exact_totals(releases)
        return epsilon <= _exact(self.epsilon) and delta <= _exact(self.delta)

    def spent(self, releases: Sequence[Release]) -> Amount:  # noqa: D102
        epsilon, delta = _exact_totals(releases)
        return Amount(_rounded(epsilon, math.inf), _rounded(delta, math.inf))

    def remaining(self, releases: Sequence[Release]) -> Amount:  # noqa: D102
        epsilon, delta = _exact_totals(releases)
        left = _exact(self.epsilon) - epsilon, _exact(self.delta) - delta
        return Amount(*(_rounded(max(amount, Fraction(0)), 0.0) for amount in left))


def _total_mu(releases: Iterable[Release]) -> float:
    return math.hypot(*(release.gdp_mu for release in releases))


def _exact_totals(releases: Iterable[Release]) -> tuple[Fraction | float, Fraction | float]:
    pairs = [(_exact(release.epsilon), _exact(release.delta)) for release in releases]
    zero = Fraction(0)
    return sum((e for e, _ in pairs), zero), sum((d for _, d in pairs), zero)


def _exact(number: float) -> Fraction | float:
    """Return the number that `number` prints as; ``inf`` is larger than any of them."""
    return Fraction(Decimal(repr(float(number)))) if math.isfinite(number) else math.inf


def _rounded(exact: Fraction | float, towards: float) -> float:
    """Return `exact` as the nearest float that prints no less, or no more, than it."""
    number = float(exact)
    wrong_side = _exact(number) < exact if towards > number else _exact(number) > exact
    return math.nextafter(number, towards) if wrong_side else number


FILTERS = {"gdp": GaussianFilter, "basic": BasicFilter}
"""The compositions by name."""
