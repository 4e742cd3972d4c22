"""The privacy curve δ(ε): the one currency in which every guarantee is paid."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._validation import check_delta
from skdp.privacy.tradeoff import CurveTradeoff, TradeoffFunction

__all__ = ["PrivacyCurve", "ReversedCurve"]

_LARGEST_EPSILON = 700.0  # e^ε is a double up to here


class PrivacyCurve(ABC):
    r"""How far two output laws P, Q are apart: δ(ε) = sup over S of P(S) − e^ε·Q(S).

    The curve is defined for every real ε; negative values describe the reversed pair. It is
    nonincreasing, lies above max(0, 1 − e^ε) and below 1.
    """

    def delta(self, epsilon: Any) -> Any:
        """Return δ(ε) for a number or an array of real ε, with the same shape."""
        values = self._delta(np.asarray(epsilon, dtype=float))
        return values if values.ndim else float(values)

    @abstractmethod
    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        """Return δ(ε) for an array."""

    def epsilon(self, delta: float) -> float:
        """Return the least ε ≥ 0 with δ(ε) ≤ `delta`, rounded upwards; ``inf`` if there is none.

        Parameters
        ----------
        delta : float in [0, 1)
        """
        delta = check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if self.delta(_LARGEST_EPSILON) > delta:
            return math.inf
        return self._bisect(delta)

    def _bisect(self, delta: float) -> float:
        low, high = 0.0, _LARGEST_EPSILON
        while low < (middle := 0.5 * (low + high)) < high:
            if self.delta(middle) > delta:
                low = middle
            else:
                high = middle
        return high

    def reversed(self) -> PrivacyCurve:
        """Return the curve of the pair (Q, P)."""
        return ReversedCurve(self)

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off function with the same content."""
        return CurveTradeoff(self)


@dataclass(frozen=True)
class ReversedCurve(PrivacyCurve):
    """The curve of (Q, P): δ'(ε) = 1 − e^ε + e^ε·δ(−ε)."""

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.minimum(epsilon, _LARGEST_EPSILON)
        return np.maximum(0.0, np.exp(epsilon) * (self.curve.delta(-epsilon) + np.expm1(-epsilon)))

    def reversed(self) -> PrivacyCurve:  # noqa: D102
        return self.curve
