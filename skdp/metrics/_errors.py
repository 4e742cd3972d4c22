"""Errors of predicted numbers, the sums that tell of them, and which sums are possible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.metrics._pairs import numbers_of
from skdp.support.validation import check_real

__all__ = ["ErrorScale", "possible_sums"]


@dataclass(frozen=True)
class ErrorScale:
    """*Public* bounds of targets, and the error as which larger ones count."""

    bounds: tuple[float, float]
    error_bound: float

    @classmethod
    def of(cls, bounds: Any, error_bound: Any) -> ErrorScale:
        """Return the scale, by default with the width of the bounds as the largest error."""
        low, high = _checked_bounds(bounds)
        width = high - low
        if error_bound is not None:
            width = min(width, check_real("error_bound", error_bound, low=1e-100))
        return cls((low, high), width)

    def errors(self, truth: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return absolute errors in units of `error_bound`, and targets mapped to [−1, 1]."""
        low, high = self.bounds
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        given = (numbers_of("y_true", truth), numbers_of("y_pred", guess))
        u, v = (np.clip((np.clip(x, low, high) - middle) / half, -1.0, 1.0) for x in given)
        return np.minimum(np.abs(u - v) * (half / self.error_bound), 1.0), u

    def r2(self, square: float, linear: float, quadratic: float, n: float) -> float:
        """Return R² by sums over n rows of e², u and u²; nan where no variance of u is seen."""
        whole = 0.25 * (quadratic - linear**2 / n) if n > 0.0 else 0.0  # in squared widths
        if not whole > max(n, 0.0) * 2.0**-31:  # as exactly as rows are added up
            return math.nan
        share = self.error_bound / (self.bounds[1] - self.bounds[0])
        return float(1.0 - share * share * square / whole)


def possible_sums(linear: float, square: float, n: float, low: float) -> tuple[float, float]:
    """Return the nearest sums of x and x² that n numbers x between `low` and 1 can have.

    Their means lie between the parabola and its chord, which is a convex set: no sums of such
    numbers are farther from the result than from the given sums, whatever the noise was. Of
    Gaussian noise, alike in both sums, it is the most likely sums as well.

    Parameters
    ----------
    linear, square : float
        *Released.*
    n : float
        How many numbers.
    low : {-1, 0}
        *Public.*
    """
    if not n > 0.0:
        return linear, square
    x, y = linear / n, square / n
    slope = 1.0 + low
    if x * x <= y <= slope * x - low:
        return linear, square
    t = np.clip(np.append(np.roots([2.0, 0.0, 1.0 - 2.0 * y, -x]).real, low), low, 1.0)
    on_chord = np.clip((x + slope * (y + low)) / (1.0 + slope * slope), low, 1.0)
    points = np.append(np.stack([t, t * t]), [[on_chord], [slope * on_chord - low]], axis=1)
    nearest = points[:, np.argmin(np.hypot(points[0] - x, points[1] - y))]
    return float(n * nearest[0]), float(n * nearest[1])


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise ValueError(f"target_bounds must be a pair of public numbers, got {bounds!r}.")
    low, high = (check_real("target_bounds", x, low=-1e100, high=1e100) for x in bounds)
    if not low < high:
        raise ValueError(f"target_bounds must be a pair (low, high), low < high, got {bounds!r}.")
    return low, high
