"""The curve of what has been spent, in each composition's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.accounting._conversion import tight_log_delta
from skdp.privacy import GaussianCurve
from skdp.privacy.curve import SymmetricCurve

__all__ = ["ConvertedCurve", "CoveredCurve"]


@dataclass(frozen=True)
class CoveredCurve(SymmetricCurve):
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
class ConvertedCurve(SymmetricCurve):
    """δ from Rényi divergences at `orders`, each of which was bounded."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        pairs = zip(self.orders, self.divergences, strict=True)
        logs = [tight_log_delta(order, divergence, epsilon) for order, divergence in pairs]
        return np.exp(np.minimum(np.min(logs, axis=0), 0.0)) * (1.0 + 1e-12)
