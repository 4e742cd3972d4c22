"""Basic composition: ε and δ add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skdp.budget.filters.base import Amount, Filter
from skdp.ledger.fractions import Amounts, decimal, down, minus
from skdp.privacy import Composition
from skdp.privacy.events.pure import ApproxDPCurve

__all__ = ["BasicFilter", "PureFilter"]


@dataclass(frozen=True)
class BasicFilter(Filter):
    """Stop when Σ ε_i > ε or Σ δ_i > δ (Rogers, Roth, Ullman and Vadhan 2016).

    Sums are exact in printed decimal digits: three times 0.1 is 0.3.
    """

    composition: ClassVar[Composition] = Composition.BASIC
    units: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    counted: ClassVar[tuple[str, ...]] = ("epsilon", "delta")  # type: ignore[misc]

    @property
    def limits(self) -> Amounts:
        return decimal(self.epsilon), decimal(self.delta)

    def amount(self, totals: Amounts) -> Amount:
        return Amount(down(totals[0], math.inf), down(totals[1], math.inf))

    def left(self, totals: Amounts) -> Amount:
        return Amount(*map(down, minus(self.limits, totals)))

    def curve(self, totals: Amounts) -> ApproxDPCurve:
        return ApproxDPCurve(*self.amount(totals))


@dataclass(frozen=True)
class PureFilter(Filter):
    """Stop when Σ ε_i > ε; every release is ε_i-DP and δ = 0 (Rogers et al. 2016).

    The sum of pure ε is a guarantee at every stopping time.
    """

    composition: ClassVar[Composition] = Composition.PURE
    units: ClassVar[tuple[str, ...]] = ("pure epsilon",)
    counted: ClassVar[tuple[str, ...]] = ("pure_epsilon",)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta != 0.0:
            raise ValueError(
                f"composition='pure' needs delta=0, got {self.delta:g}. Use composition='basic'."
            )

    @property
    def limits(self) -> Amounts:
        return (decimal(self.epsilon),)

    def amount(self, totals: Amounts) -> Amount:
        return Amount(down(totals[0], math.inf), 0.0)

    def left(self, totals: Amounts) -> Amount:
        return Amount(down(minus(self.limits, totals)[0]), 0.0)

    def curve(self, totals: Amounts) -> ApproxDPCurve:
        return ApproxDPCurve(*self.amount(totals))
