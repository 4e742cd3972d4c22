"""Functions of noisy sums, and intervals that know of the noise and of the sampling of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from skdp._validation import check_real

__all__ = ["interval_of", "ratio"]

_STEP = 1e-4  # of the total, by which sums are moved to find slopes


def ratio(numerator: Any, denominator: float) -> Any:
    """Return a quotient, nan where the denominator is not positive."""
    return numerator / denominator if denominator > 0.0 else np.nan * np.asarray(numerator)[()]


def interval_of(
    metric: Callable[[np.ndarray], float],
    sums: np.ndarray,
    covariance: Callable[[np.ndarray], float],
    level: float,
    bounds: tuple[float, float],
) -> tuple[float, float]:
    """Return an interval around a smooth function of sums by the delta method.

    Parameters
    ----------
    metric : callable
        From sums to a number; nan where it is not defined.
    sums : ndarray
        *Released.*
    covariance : callable
        From slopes to the variance of the metric.
    level : float
        *Public.*
    bounds : (float, float)
        *Public.* Between which the metric lies.
    """
    level = check_real("level", level, low=0.0, high=1.0)
    value = metric(sums)
    variance = covariance(_slopes(metric, sums)) if math.isfinite(value) else math.nan
    if not (math.isfinite(variance) and variance >= 0.0):
        return bounds
    half = float(ndtri(0.5 + 0.5 * level)) * math.sqrt(variance)
    return max(value - half, bounds[0]), min(value + half, bounds[1])


def _slopes(metric: Callable[[np.ndarray], float], sums: np.ndarray) -> np.ndarray:
    """Return the partial derivatives, by central differences."""
    step = max(_STEP * float(np.abs(sums).sum()), 1e-12)
    slopes = np.empty(sums.size)
    for j in range(sums.size):
        moved = [sums.copy(), sums.copy()]
        moved[0].flat[j] += step
        moved[1].flat[j] -= step
        slopes[j] = (metric(moved[0]) - metric(moved[1])) / (2.0 * step)
    return slopes
