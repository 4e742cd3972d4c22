"""A leaf of an event, how often it occurs, and what it says about itself in both orders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from skdp.privacy import Event, Neighboring, PrivacyCurve
from skdp.privacy.events.pure import rho_of_pure
from skdp.privacy.renyi import randomized_response_divergence

__all__ = ["Leaf"]

_FAR = 700.0  # e^ε is a double up to here


@dataclass(frozen=True)
class Leaf:
    """`count` releases of `event`; every number holds for both orders of the neighbours."""

    event: Event
    count: int
    neighboring: Neighboring

    @cached_property
    def curves(self) -> tuple[PrivacyCurve, ...]:
        """The curves of the two orders, one if they are the same."""
        curve = self.event.curve(self.neighboring)
        reverse = curve.reversed()
        return (curve,) if reverse == curve else (curve, reverse)

    def delta(self, epsilon: Any) -> Any:
        """Return δ(ε) of one release."""
        return reduce(np.maximum, (curve.delta(epsilon) for curve in self.curves))

    def epsilon(self, delta: float) -> float:
        """Return ε(δ) of one release; at δ = 0 the pure ε."""
        if delta <= 0.0:
            return self.pure
        return max(curve.epsilon(min(delta, 1.0 - 1e-16)) for curve in self.curves)

    @cached_property
    def pure(self) -> float:
        """The pure ε of one release, or ``inf``."""
        return self.event.pure_epsilon(self.neighboring)

    @cached_property
    def rho(self) -> float:
        """A zCDP parameter of one release, or ``inf``: ε-DP is ε·tanh(ε/2)-zCDP.

        The proof is on the documentation's page of the zCDP accountant; it is at most ε²/2.
        """
        return min(self.event.zcdp_rho(self.neighboring), rho_of_pure(self.pure))

    def rdp(self, order: float) -> float:
        """Return the least bound known on the Rényi divergence of one release."""
        own = _own_rdp(self.event, order, self.neighboring)
        return min(own, self.rho * order, randomized_response_divergence(self.pure, order))

    @cached_property
    def floor(self) -> float:
        """The δ of one release that no ε removes, with a margin for rounding."""
        if math.isfinite(self.pure):
            return 0.0
        return float(self.delta(_FAR)) * (1.0 + 1e-12)


@lru_cache(maxsize=4096)
def _own_rdp(event: Event, order: float, neighboring: Neighboring) -> float:
    return event.rdp(order, neighboring)
