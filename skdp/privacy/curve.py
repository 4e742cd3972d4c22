"""The privacy curve δ(ε): the one currency in which every guarantee is paid."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skdp._validation import check_delta
from skdp.privacy.tradeoff import CurveTradeoff, TradeoffFunction

if TYPE_CHECKING:
    from skdp.privacy.discrete import DiscretePairCurve

__all__ = ["PrivacyCurve", "ReversedCurve", "SymmetricCurve"]

_LARGEST_EPSILON = 700.0  # e^ε is a double up to here
_CAPS = (1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 36.0)  # 1 + e^−36 is 1 in floats


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

    def log_delta(self, epsilon: Any) -> Any:
        """Return log δ(ε), which is finite where δ itself is too small for a float."""
        values = self._log_delta(np.asarray(epsilon, dtype=float))
        return values if values.ndim else float(values)

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._delta(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        """Return the δ(ε) of the reversed pair, 1 − e^ε + e^ε·δ(−ε), rounded upwards.

        The difference cancels for large ε, where the value at a smaller ε may be the better bound;
        a curve that knows better overrides this.
        """
        return np.min([self._cancelling(np.minimum(epsilon, cap)) for cap in _CAPS], axis=0)

    def _cancelling(self, epsilon: np.ndarray) -> np.ndarray:
        excess = self._delta(-epsilon) + np.expm1(-epsilon)
        rounding = np.where(epsilon > 0.0, 4.0 * np.finfo(float).eps, 0.0)
        return np.clip(np.exp(epsilon) * (excess + rounding), 0.0, 1.0)

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

    def group(self, size: int) -> PrivacyCurve:
        """Return the curve for data sets that are `size` changes apart, never below the truth.

        See `skdp.privacy.group.GroupCurve`; exact for Gaussian curves.
        """
        from skdp.privacy.group import GroupCurve  # the group rule is built on curves

        return GroupCurve(self, size)

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of P from Q, from above: see `skdp.privacy.renyi`."""
        from skdp.privacy.renyi import renyi_divergence  # integrals are built on curves

        return renyi_divergence(self, order)

    def _mirrored_renyi(self, order: float) -> float:
        """Return the Rényi divergence of Q from P; a curve that knows better overrides this."""
        from skdp.privacy.renyi import renyi_divergence

        return renyi_divergence(ReversedCurve(self), order)

    def dominating_pair(self) -> DiscretePairCurve:
        """Return a pair of laws on finitely many points whose curve is nowhere below this one."""
        from skdp.privacy.dots import connect_the_dots  # finite pairs are built on curves

        return connect_the_dots(self)

    def plot_data(self, epsilon: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays (ε, δ(ε)) to draw; by default 201 values of ε from 0 to where δ is 1e-9."""
        if epsilon is None:
            widest = self.epsilon(1e-9)
            epsilon = np.linspace(0.0, widest if 0.0 < widest < math.inf else 10.0, 201)
        epsilon = np.asarray(epsilon, dtype=float)
        return epsilon, np.asarray(self.delta(epsilon))


@dataclass(frozen=True)
class ReversedCurve(PrivacyCurve):
    """The curve of (Q, P): δ'(ε) = 1 − e^ε + e^ε·δ(−ε)."""

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._mirrored(epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon)

    def reversed(self) -> PrivacyCurve:  # noqa: D102
        return self.curve

    def renyi(self, order: float) -> float:  # noqa: D102
        return self.curve._mirrored_renyi(order)


class SymmetricCurve(PrivacyCurve):
    """The curve of a pair that is its own mirror image, known by its values at ε ≥ 0."""

    @abstractmethod
    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        """Return δ(ε) for ε ≥ 0."""

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        size = np.abs(epsilon)
        forward = np.clip(self._forward(size), 0.0, 1.0)
        mirrored = -np.expm1(-size) + np.exp(-size) * forward
        return np.where(epsilon >= 0.0, forward, np.minimum(mirrored, 1.0))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._delta(epsilon)

    def reversed(self) -> PrivacyCurve:  # noqa: D102
        return self
