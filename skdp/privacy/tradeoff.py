"""Trade-off functions β(α): what an attacker's test can achieve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

if TYPE_CHECKING:
    from skdp.privacy.curve import PrivacyCurve

__all__ = ["CurveTradeoff", "TradeoffFunction"]

_WIDEST = 60.0
_GRID = np.linspace(-_WIDEST, _WIDEST, 241)


class TradeoffFunction(ABC):
    """Least type II error β of any test of Q against P with type I error α.

    P is the law under one data set, Q under its neighbour, and α = Q(reject Q).
    The closer to 1 − α, the more private.
    """

    def __call__(self, alpha: Any) -> Any:
        """Return β(α) for a number or an array of type I errors in [0, 1]."""
        values = self._beta(np.asarray(alpha, dtype=float))
        return values if values.ndim else float(values)

    @abstractmethod
    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        """Return β(α) for an array."""

    def curve(self) -> PrivacyCurve:
        """Return the privacy curve with the same content, the convex conjugate.

        It is closed where a subclass has a closed form; else see `skdp.privacy.duality`.
        """
        from skdp.privacy.duality import TradeoffCurve  # duality is built on both notions

        return TradeoffCurve(self)

    def plot_data(self, alpha: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays (α, β(α)) to draw; by default 201 values of α from 0 to 1."""
        alpha = np.linspace(0.0, 1.0, 201) if alpha is None else np.asarray(alpha, dtype=float)
        return alpha, np.asarray(self(alpha))


@dataclass(frozen=True)
class CurveTradeoff(TradeoffFunction):
    """The convex dual of a curve: β(α) = sup over real ε of 1 − δ(ε) − e^ε·α, at least 0."""

    source: PrivacyCurve

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        return np.vectorize(self._highest_line, otypes=[float])(alpha)

    def _highest_line(self, alpha: float) -> float:
        values = self._line(_GRID, alpha)
        best = int(np.argmax(values))
        around = _GRID[max(best - 1, 0)], _GRID[min(best + 1, _GRID.size - 1)]
        refined = minimize_scalar(
            lambda epsilon: -self._line(epsilon, alpha), bounds=around, method="bounded"
        )
        return max(0.0, float(values[best]), -float(refined.fun))

    def _line(self, epsilon: Any, alpha: float) -> Any:
        return 1.0 - self.source.delta(epsilon) - np.exp(epsilon) * alpha

    def curve(self) -> PrivacyCurve:  # noqa: D102
        return self.source
