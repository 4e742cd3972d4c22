"""Dominating pairs of output laws, each as its privacy curve with a bound on its rounding.

(P, Q) dominates a mechanism if H_c(M(D)‖M(D')) ≤ H_c(P‖Q) for all c ≥ 0 and all neighbours
D, D' in this order, H_c(P‖Q) = sup over S of P(S) − c·Q(S) (Zhu, Dong and Wang 2022, Def. 7).
The other order is dominated by `backward`. Dominating pairs fixed beforehand compose as products
(the same, Theorem 10), each order by itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.accounting._pmf import UNIT

__all__ = ["ApproximatePair", "LaplacePair", "LossPair", "TangentPair", "mirrored"]

_SHARES = np.append(0.0, 2.0 ** -np.arange(24.0, 0.0, -1.0))  # of a cell
_WEIGHED = 30.0
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
Lines = tuple[np.ndarray, np.ndarray, np.ndarray]


class LossPair(ABC):
    """A pair (P, Q), seen through the loss L = log dP/dQ under P."""

    infinite: float = 0.0  # P(L = inf), or a little less
    lattice: float = 0.0  # most atoms lie at multiples of this; 0: there are none
    origin: float = 0.0  # a kink that the grid should go through

    @property
    def backward(self) -> LossPair:
        """A pair that dominates the other order of neighbours."""
        return self

    @abstractmethod
    def above(self, losses: np.ndarray) -> np.ndarray:
        """Return values not below δ at increasing losses."""

    @abstractmethod
    def below(self, losses: np.ndarray) -> Lines:
        """Return, for each cell of a uniform grid, values at its ends of a line below δ.

        The line is straight in e^loss, the tangent at a point of the cell or lower. Last come
        values not above those tangents at e^loss = 0.
        """


class TangentPair(LossPair):
    """A pair with a closed curve and derivative."""

    @abstractmethod
    def evaluate(self, losses: np.ndarray) -> Triple:
        """Return δ(ε), e^ε·Q(L > ε) = −∂δ/∂ε, and a bound on δ's rounding, ε increasing."""

    def above(self, losses: np.ndarray) -> np.ndarray:
        value, _, error = self.evaluate(losses)
        return np.clip(value + error, 0.0, 1.0)

    def below(self, losses: np.ndarray) -> Lines:
        """Return the tangents in the middle m of each cell: δ(m) − (c − e^m)·Q(L > m).

        Where that falls below δ(∞), as it may beside an atom, the tangent at the cell's own end
        serves better; where it falls below 1 − c, one chosen by `_gentlest`.
        """
        half = 0.5 * (losses[1] - losses[0])
        left, right, zero = self._tangents(losses[:-1], half, half)
        high = np.flatnonzero(right < self.infinite)[:1]
        if high.size:
            left[high], right[high], zero[high] = self._tangents(losses[high], 2.0 * half, 0.0)
        base = -np.expm1(losses[:-1])
        bends = np.flatnonzero(left < base - 8.0 * UNIT)[-1:]
        if bends.size and not np.array_equal(bends, high):
            lines = self._tangents(
                losses[bends], 2.0 * half * _SHARES, 2.0 * half * (1.0 - _SHARES)
            )
            best = self._gentlest(
                lines, float(base[bends[0]]), losses[bends[0] + 1 : -1], left[bends[0] + 1 :]
            )
            left[bends], right[bends], zero[bends] = (part[best] for part in lines)
        return left, right, zero

    @staticmethod
    def _gentlest(lines: Lines, base: float, losses: np.ndarray, beyond: np.ndarray) -> int:
        """Return which line serves best in the cell where δ leaves 1 − c.

        At the cell's left end a line below 1 − c costs all smaller losses, at its right end one
        below δ costs all larger ones for which δ is larger.
        """
        left, right, _ = lines
        weights = np.exp(np.minimum(losses, _WEIGHED))
        lost = [weights @ np.maximum(beyond - end, 0.0) for end in right]
        width = float(losses[1] - losses[0]) if losses.size > 1 else 0.0
        return int(np.argmin(base - left + 2.0 * width * np.array(lost)))

    def _tangents(self, starts: np.ndarray, before: Any, after: Any) -> Lines:
        """Return the lines that touch δ at starts + before, at their two ends and at c = 0."""
        at = starts + before
        value, slope, error = self.evaluate(at)
        safe = value - 2.0 * error - 8.0 * UNIT * (1.0 + np.abs(at)) * slope
        left, right = safe - np.expm1(-before) * slope, safe - np.expm1(after) * slope
        return left, right, safe + slope


def mirrored(forward: Callable[[np.ndarray], Triple], losses: np.ndarray) -> Triple:
    """Return the triple of a pair that is its own mirror image, from its values at ε ≥ 0.

    δ(−ε) = 1 − e^−ε + e^−ε·δ(ε); its derivative follows.
    """
    zero = int(np.searchsorted(losses, 0.0))
    value, slope, error = _by_reflection(forward, losses, zero)
    c = np.exp(losses[:zero])
    slope[:zero] = c * (1.0 - value[:zero] - slope[:zero])
    value[:zero] = c * value[:zero] - np.expm1(losses[:zero])
    error[:zero] = c * error[:zero] + 8.0 * UNIT
    return value, slope, error


def _by_reflection(
    forward: Callable[[np.ndarray], Triple], losses: np.ndarray, zero: int
) -> Triple:
    """Return forward(|losses|); each |loss| on a grid symmetric about 0 is worked out once."""
    positive, negative = losses[zero:], -losses[:zero][::-1]
    skip = int(positive.size > 0 and positive[0] == 0.0)
    common = min(positive.size - skip, negative.size)
    if np.allclose(positive[skip : skip + common], negative[:common], rtol=4e-16, atol=0.0):
        longer = np.concatenate([positive, negative[common:]])
        parts = forward(longer)
        mirrored = [part[skip : skip + negative.size][::-1] for part in parts]
        heads = [part[: positive.size] for part in parts]
    else:
        mirrored = [part[::-1] for part in forward(negative)]
        heads = list(forward(positive))
    a, b, c = (np.concatenate(both) for both in zip(mirrored, heads, strict=True))
    return a, b, c


@dataclass(frozen=True)
class LaplacePair(TangentPair):
    """Laplace noise of scale Δ/ε₀ on a number of sensitivity Δ.

    δ(ε) = 1 − e^((ε − ε₀)/2) for |ε| ≤ ε₀; atoms at ±ε₀.
    """

    pure_epsilon: float

    @property
    def lattice(self) -> float:  # type: ignore[override]
        return self.pure_epsilon

    def evaluate(self, losses: np.ndarray) -> Triple:
        return mirrored(self._forward, losses)

    def _forward(self, losses: np.ndarray) -> Triple:
        gap = np.minimum(losses - self.pure_epsilon, 0.0)
        slope = np.where(gap < 0.0, 0.5 * np.exp(0.5 * gap), 0.0)
        error = np.where(gap < 0.0, 4.0 * UNIT * (self.pure_epsilon - 2.0 * gap), 0.0)
        return -np.expm1(0.5 * gap), slope, error


@dataclass(frozen=True)
class ApproximatePair(TangentPair):
    """Any (ε₀, δ₀)-DP mechanism: randomised response, or with probability δ₀ no privacy at all.

    Kairouz, Oh and Viswanath 2015, Theorem 3.4. With δ₀ = 0 any ε₀-DP mechanism.
    """

    pure_epsilon: float
    infinite: float = 0.0  # δ₀

    @property
    def lattice(self) -> float:  # type: ignore[override]
        return self.pure_epsilon

    def evaluate(self, losses: np.ndarray) -> Triple:
        value, slope, error = mirrored(self._forward, losses)
        rest = 1.0 - self.infinite
        return self.infinite + rest * value, rest * slope, error + 2.0 * UNIT * self.infinite

    def _forward(self, losses: np.ndarray) -> Triple:
        gap = np.minimum(losses - self.pure_epsilon, 0.0)
        tail = 1.0 / (1.0 + math.exp(-self.pure_epsilon))
        slope = np.where(gap < 0.0, tail * np.exp(gap), 0.0)
        error = np.where(gap < 0.0, 4.0 * UNIT * (self.pure_epsilon - 2.0 * gap), 0.0)
        return -tail * np.expm1(gap), slope, error
