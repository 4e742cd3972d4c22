"""How far from the rank of a quantile the ends of its interval are looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss

__all__ = ["Margin"]

_FEWEST = 100  # rows, below which a margin does not shrink: its slope there would cost privacy
_KNOTS = tuple(np.geomspace(_FEWEST, 2.0**31, 50).tolist())
_FARTHEST = 9.0  # standard deviations, within which normal noise is integrated


@dataclass(frozen=True)
class Margin:
    """A number of rows, as a function of how many rows there are: straight between public knots.

    Parameters
    ----------
    knots, rows : tuple of float
        *Public.* Constant below the first knot and above the last.
    """

    knots: tuple[float, ...]
    rows: tuple[float, ...]

    @classmethod
    def of(
        cls, q: float, risk: float, scale: float, *, sampling: bool, n_rows: int | None
    ) -> Margin:
        """Return the margin for an interval that misses with probability `risk`, nearly.

        Where values are dense the exponential mechanism misses a rank by Laplace noise, of this
        scale, and the sample that of the population's quantile by about N(0, n·q·(1 − q)).
        """
        knots = _KNOTS if n_rows is None and sampling else (float(n_rows or 1),)
        return cls(knots, _margins(0.5 * risk, scale, q * (1.0 - q) if sampling else 0.0, knots))

    def __call__(self, n_rows: float) -> float:
        """Return the margin for a number of rows."""
        return float(np.interp(n_rows, self.knots, self.rows))

    @property
    def slope(self) -> float:
        """By how much the margin may change with one row."""
        if len(self.knots) == 1:
            return 0.0
        return float(np.max(np.abs(np.diff(self.rows)) / np.diff(self.knots)))


@lru_cache(maxsize=256)
def _margins(
    risk: float, scale: float, variance: float, knots: tuple[float, ...]
) -> tuple[float, ...]:
    """Return, for each number of rows, the margin at which one end misses with this probability."""
    deviations = np.sqrt(variance * np.array(knots))
    low = np.zeros(len(knots))
    high = -scale * math.log(risk) + _FARTHEST * deviations
    for _ in range(50):
        middle = 0.5 * (low + high)
        misses = _miss(middle, scale, deviations) > risk
        low, high = np.where(misses, middle, low), np.where(misses, high, middle)
    return tuple(high.tolist())


def _miss(margins: np.ndarray, scale: float, deviations: np.ndarray) -> np.ndarray:
    """Return P(Z + L > m and Z + L' > 0), for normal Z and Laplace L and L'.

    The end of an interval is the farther one of a choice with a margin and of the one without: both
    have noise of their own, and share what the sample is off.
    """
    nodes, weights = leggauss(200)
    z = _FARTHEST * nodes
    weights = _FARTHEST * weights * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    moved = deviations[:, None] * z
    both = _beyond((margins[:, None] - moved) / scale) * _beyond(-moved / scale)
    return np.asarray(both @ weights)


def _beyond(t: np.ndarray) -> np.ndarray:
    """Return P(L > t) for standard Laplace noise."""
    half = 0.5 * np.exp(-np.abs(t))
    return np.where(t > 0.0, half, 1.0 - half)
