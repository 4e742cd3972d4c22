"""The curve of what has been spent, in each composition's own terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.privacy import GaussianCurve
from skdp.privacy.curve import SymmetricCurve

__all__ = [
    "ApproximateCurve",
    "ConvertedCurve",
    "CoveredCurve",
    "SpentCurve",
    "log_delta_of_renyi",
]


class SpentCurve(SymmetricCurve):
    """An upper bound on the privacy curve of a ledger's releases, the same in both orders."""


@dataclass(frozen=True)
class CoveredCurve(SpentCurve):
    """δ_m(ε) + `slack` + (1 + e^ε)·`tv` (*Reserves* in the documentation).

    A curve does not rise: from its least value on it is constant.
    """

    mu: float
    slack: float = 0.0
    tv: float = 0.0

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.minimum(epsilon, self._lowest)
        factor = 1.0 + np.exp(epsilon)
        return np.asarray(GaussianCurve(self.mu).delta(epsilon) + self.slack + factor * self.tv)

    @cached_property
    def _lowest(self) -> float:
        """The ε of the least value; any ε gives a valid curve, so a rough one will do."""
        if not self.tv:
            return 700.0
        grid = np.linspace(0.0, 100.0, 4001)
        values = GaussianCurve(self.mu).delta(grid) + (1.0 + np.exp(grid)) * self.tv
        return float(grid[np.argmin(values)])

    def epsilon(self, delta: float) -> float:  # noqa: D102
        if self.slack or self.tv:
            return super().epsilon(delta)
        return GaussianCurve(self.mu).epsilon(delta)


@dataclass(frozen=True)
class ApproximateCurve(SpentCurve):
    """The worst curve of (`bound`, `mass`)-DP (Kairouz, Oh and Viswanath 2015, Theorem 3.3)."""

    bound: float
    mass: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        below = -np.expm1(np.minimum(epsilon - self.bound, 0.0)) / (1.0 + math.exp(-self.bound))
        return self.mass + (1.0 - self.mass) * below


@dataclass(frozen=True)
class ConvertedCurve(SpentCurve):
    """δ from Rényi divergences at `orders`, each of which was bounded."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        pairs = zip(self.orders, self.divergences, strict=True)
        logs = [log_delta_of_renyi(order, divergence, epsilon) for order, divergence in pairs]
        return np.exp(np.minimum(np.min(logs, axis=0), 0.0)) * (1.0 + 1e-12)


def log_delta_of_renyi(order: float, divergence: float, epsilon: np.ndarray | float) -> np.ndarray:
    """Return log δ = (a − 1)(r − ε + log(1 − 1/a)) − log a of (a, r)-Rényi DP.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12.
    """
    inner = divergence - np.asarray(epsilon) + math.log1p(-1.0 / order)
    return (order - 1.0) * inner - math.log(order)
