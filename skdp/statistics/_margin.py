"""Margins between the rank of a quantile and the ranks of the ends of its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss

_FEWEST = 100  # rows, below which the margin is constant: its slope there would cost privacy
_KNOTS = tuple(np.geomspace(_FEWEST, 2.0**31, 50).tolist())
_FARTHEST = 9.0  # standard deviations, within which normal noise is integrated


@dataclass(frozen=True)
class Margin:
    """A public, piecewise linear function from the number of rows to a number of rows.

    It is constant below the first knot and above the last one.
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
        """Return the margin for an interval that misses with probability of about `risk`.

        `n_points` is the number of grid points, None for dense values. With `sampling` the sample
        misses the rank of the population's quantile by about N(0, n·q·(1 − q)).
        """
        knots = _KNOTS if n_rows is None and sampling else (float(n_rows or 1),)
        variance = q * (1.0 - q) if sampling else 0.0
        return cls(knots, _margins(0.5 * risk, scale, variance, knots, n_points))

    def __call__(self, n_rows: float) -> float:
        """Return the margin for a number of rows."""
        return float(np.interp(n_rows, self.knots, self.rows))

    @property
    def slope(self) -> float:
        """The largest change of the margin with one row."""
        if len(self.knots) == 1:
            return 0.0
        return float(np.max(np.abs(np.diff(self.rows)) / np.diff(self.knots)))


@lru_cache(maxsize=256)
def _margins(
    risk: float, scale: float, variance: float, knots: tuple[float, ...], n_points: int | None
) -> tuple[float, ...]:
    """Return the margin for each number of rows at which one end misses with this probability."""
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

    An end of an interval is the farther one of the choices with and without a margin. They have
    independent noise, and share the error Z of the sample.
    """
    nodes, weights = leggauss(200)
    z = _FARTHEST * nodes
    weights = _FARTHEST * weights * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    moved = deviations[:, None] * z
    ends = _beyond((margins[:, None] - moved) / scale, n_points)
    both = ends * _beyond(-moved / scale, n_points)
    return np.asarray(both @ weights)


def _beyond(t: np.ndarray, n_points: int | None) -> np.ndarray:
    """Return the probability that a choice exceeds its rank by t, in units of its scale.

    For dense values it is P(L > t) of standard Laplace noise; else at most e^(−t) times the number
    of grid points.
    """
    if n_points is not None:
        return np.asarray(np.exp(np.minimum(math.log(n_points) - t, 0.0)))
    half = 0.5 * np.exp(-np.abs(t))
    return np.where(t > 0.0, half, 1.0 - half)
