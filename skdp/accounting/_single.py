"""One mechanism, run once: its own curve, between two bounds."""

from __future__ import annotations

import math

import numpy as np

from skdp.accounting._loss_pairs import LossPair
from skdp.accounting._pmf import LARGEST_LOSS

__all__ = ["delta_above", "delta_below", "epsilon_above", "epsilon_below"]

_POINTS = 33
_LAST = 1e8  # no ε beyond is looked for
_PRECISION = 1e-13  # of ε, relative
_SHIFTS = np.geomspace(_PRECISION, 1.0, 27)


def delta_above(pair: LossPair, epsilon: float) -> float:
    """Return a number not below δ(ε)."""
    return float(pair.above(np.array([epsilon]))[0])


def delta_below(pair: LossPair, epsilon: float) -> float:
    """Return a number not above δ(ε): where the tangents next to it stand there."""
    width = 1e-7 * max(abs(epsilon), 1e-9)
    left, right, _ = pair.below(epsilon + np.array([-width, 0.0, width]))
    floor = max(pair.infinite, -math.expm1(min(epsilon, 0.0)) * (1.0 - 1e-15))
    return max(floor, float(left[1]), float(right[0]))


def epsilon_above(pair: LossPair, delta: float) -> float:
    """Return an ε ≥ 0 with δ(ε) ≤ `delta`, the least but for rounding; inf if none is found."""
    low, high = 0.0, 1.0
    while delta_above(pair, high) > delta:
        if high >= _LAST:
            return math.inf
        low, high = high, 8.0 * high
    while high - low > _PRECISION * high and high > 1e-300:
        grid = np.linspace(low, high, _POINTS)
        enough = int(np.argmax(pair.above(grid) <= delta))
        if enough == 0:
            return low
        low, high = float(grid[enough - 1]), float(grid[enough])
    return high


def epsilon_below(pair: LossPair, delta: float) -> float:
    """Return an ε with δ(ε) > `delta`, the largest but for rounding; 0 if none is found."""
    if pair.infinite > delta:
        return math.inf
    upper = min(epsilon_above(pair, delta), LARGEST_LOSS)
    candidates = (float(epsilon) for epsilon in upper * (1.0 - _SHIFTS))
    return next((epsilon for epsilon in candidates if delta_below(pair, epsilon) > delta), 0.0)
