"""Functions of noisy sums, and their intervals under noise and sampling."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from skdp.support.validation import check_real

_STEP = 1e-4  # of the total, by which sums are moved to find slopes


def ratio(numerator: float, denominator: float) -> float:
    """Return a quotient, nan if the denominator is not positive."""
    return numerator / denominator if denominator > 0.0 else np.nan


def interval_of(
    metric: Callable[[np.ndarray], float],
    sums: np.ndarray,
    noise: float,
    sampling: Callable[[np.ndarray], float],
    level: float,
    bounds: tuple[float, float],
) -> tuple[float, float]:
    """Return an interval, by the delta method, around a smooth function of *released* sums.

    `noise` is the variance in each sum, and `sampling` maps slopes to a further variance of the
    metric. The metric is nan where it is not defined, and lies within `bounds`.
    """
    level = check_real("level", level, low=0.0, high=1.0)
    value, variance = metric(sums), math.nan
    if math.isfinite(value):
        slopes = slopes_of(metric, sums)
        variance = noise * float(slopes @ slopes) + sampling(slopes)
    if not (math.isfinite(variance) and variance >= 0.0):
        return bounds
    half = float(ndtri(0.5 + 0.5 * level)) * math.sqrt(variance)
    low, high = np.clip([value - half, value + half], *bounds).tolist()
    return low, high


def spread(slopes: np.ndarray, sums: np.ndarray, n: float) -> float:
    """Return the largest variance of a sum over n rows of slopes @ (e, u, u²).

    The sums of e in [0, 1], of u in [−1, 1] and of u² are *released*. A number between a and b of
    mean m has a variance of (b − m)·(m − a) at most.
    """
    error, linear, square = (float(slope) for slope in slopes)
    top = np.clip(-0.5 * linear / square, -1.0, 1.0) if square else 0.0
    ends = [linear * u + square * u * u for u in (-1.0, 1.0, float(top))]
    low, high = min(error, 0.0) + min(ends), max(error, 0.0) + max(ends)
    mean = min(max(float(slopes @ sums) / n, low), high)
    return n * (high - mean) * (mean - low)


def slopes_of(metric: Callable[[np.ndarray], float], sums: np.ndarray) -> np.ndarray:
    """Return the partial derivatives, by central differences."""
    step = max(_STEP * float(np.abs(sums).sum()), 1e-12)
    slopes = np.empty(sums.size)
    for j in range(sums.size):
        moved = [sums.copy(), sums.copy()]
        moved[0].flat[j] += step
        moved[1].flat[j] -= step
        slopes[j] = (metric(moved[0]) - metric(moved[1])) / (2.0 * step)
    return slopes
