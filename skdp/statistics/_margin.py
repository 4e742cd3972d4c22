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
        cls,
        q: float,
        risk: float,
        scale: float,
        *,
        sampling: bool,
        n_rows: int | None,
        n_points: int | None,
    ) -> Margin:
        """Return the margin for an interval that misses with probability `risk`, nearly.

        `n_points` is that of the grid, None where values are dense. The sample misses the rank of
        the population's quantile by about N(0, n·q·(1 − q)).
        """
        knots = _KNOTS if n_rows is None and sampling else (float(n_rows or 1),)
        variance = q * (1.0 - q) if sampling else 0.0
        return cls(knots, _margins(0.5 * risk, scale, variance, knots, n_points))

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
    risk: float, scale: float, variance: float, knots: tuple[float, ...], n_points: int | None
) -> tuple[float, ...]:
    """Return, for each number of rows, the margin at which one end misses with this probability."""
    deviations = np.sqrt(variance * np.array(knots))
    low = np.zeros(len(knots))
    high = scale * math.log((n_points or 1) / risk) + _FARTHEST * deviations
    for _ in range(50):
        middle = 0.5 * (low + high)
        misses = _miss(middle, scale, deviations, n_points) > risk
        low, high = np.where(misses, middle, low), np.where(misses, high, middle)
    return tuple(high.tolist())


def _miss(
    margins: np.ndarray, scale: float, deviations: np.ndarray, n_points: int | None
) -> np.ndarray:
    """Return P(Z + L > m and Z + L' > 0), for normal Z and noise L and L' of two choices.

    The end of an interval is the farther one of a choice with a margin and of the one without: both
    have noise of their own, and share what the sample is off.
    """
    nodes, weights = leggauss(200)
    z = _FARTHEST * nodes
    weights = _FARTHEST * weights * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    moved = deviations[:, None] * z
    ends = _beyond((margins[:, None] - moved) / scale, n_points)
    both = ends * _beyond(-moved / scale, n_points)
    return np.asarray(both @ weights)


def _beyond(t: np.ndarray, n_points: int | None) -> np.ndarray:
    """Return how often the exponential mechanism goes beyond a rank by t, in units of its scale.

    Where values are dense, that is P(L > t) for standard Laplace noise; else at most e^(−t) times
    the number of points that are to be chosen from.
    """
    if n_points is not None:
        return np.asarray(np.exp(np.minimum(math.log(n_points) - t, 0.0)))
    half = 0.5 * np.exp(-np.abs(t))
    return np.where(t > 0.0, half, 1.0 - half)
