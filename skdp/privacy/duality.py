"""From a trade-off function to its curve, by convex conjugation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.discrete import DiscretePairCurve
from skdp.privacy.tradeoff import TradeoffFunction

__all__ = ["FunctionTradeoff", "TradeoffCurve"]

_HALF = expit(np.linspace(-27.6, 0.0, 3000))  # β is 1 − O(α) below 1e-12: no digits are left
_TINY = np.geomspace(1e-300, 1e-12, 4000, endpoint=False)  # for β that falls steeply at 0
_LEVELS = np.concatenate([_HALF, 1.0 - _HALF[-2::-1], [1.0]])


@dataclass(frozen=True)
class FunctionTradeoff(TradeoffFunction):
    """A trade-off function given as a vectorised function of α.

    Parameters
    ----------
    function : callable
        *Public.* Convex, nonincreasing, with 0 ≤ β(α) ≤ 1 − α; checked on a grid.
    """

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        alpha = np.linspace(0.0, 1.0, 101)
        beta = self._beta(alpha)
        inside = np.all(beta >= 0.0) and np.all(beta <= 1.0 - alpha + 1e-12)
        if not (inside and np.all(np.diff(beta, 2) >= -1e-9) and np.all(np.diff(beta) <= 1e-12)):
            raise ValueError("A trade-off function is convex, nonincreasing and in [0, 1 - alpha].")

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        return np.asarray(self.function(alpha), dtype=float)


@dataclass(frozen=True)
class TradeoffCurve(PrivacyCurve):
    """The curve of a trade-off function: δ(ε) = sup over α of 1 − β(α) − e^ε·α, rounded upwards.

    β is evaluated on a fine grid and replaced by a convex piecewise-linear function *below* it:
    between two grid points a convex function lies above the continuations of the neighbouring
    chords. The conjugate of that function is exact, and is never below the curve.
    """

    source: TradeoffFunction

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self._table._delta(epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._table._mirrored(epsilon)

    @cached_property
    def _table(self) -> DiscretePairCurve:
        visible = _TINY[self.source(_TINY) < 1.0 - 1e-9]
        levels = np.concatenate([[0.0], visible, _LEVELS])
        return _pair_below(levels, np.clip(self.source(levels), 0.0, 1.0 - levels))

    def tradeoff(self) -> TradeoffFunction:  # noqa: D102
        return self.source


def _pair_below(alpha: np.ndarray, beta: np.ndarray) -> DiscretePairCurve:
    """Return a pair whose trade-off function lies below every convex one through these points."""
    width, fall = np.diff(alpha), -np.diff(beta)
    slope = fall / width
    steep = np.concatenate([[np.inf], slope[:-1]])  # continued from the left
    flat = np.concatenate([slope[1:], [0.0]])  # continued from the right
    # They meet after a part t of the cell: steep·t + flat·(width − t) = fall.
    bends = steep > flat * (1.0 + 1e-9)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(bends, (fall - flat * width) / (steep - flat), 0.5 * width)
    part = np.clip(part, 0.0, width)
    drop = np.where(bends, np.clip(fall - flat * (width - part), 0.0, fall), 0.5 * fall)
    q = np.ravel(np.column_stack([part, width - part]))
    p = np.ravel(np.column_stack([drop, fall - drop]))
    at_once = 1.0 - float(beta[0])
    return DiscretePairCurve((at_once, *p), (0.0, *q))
