"""Floating point in solvers: the public grid of releases, and the margin of computed scales."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["SCALE_MARGIN", "grid_width", "rounded", "rounded_inwards"]

SCALE_MARGIN = 1e-12
"""Relative margin, on the safe side, of a noise scale or a bound that is computed from constants.

A guarantee rests on it. Such a number follows from at most a few hundred operations and calls of
elementary functions on positive numbers without cancellation, each of which rounds by at most four
units of 2⁻⁵³: 1000·4·2⁻⁵³ < 5e-13.
"""

_GRID_BITS = 20  # about 1e-6 of the noise; no guarantee rests on it, rounding is post-processing


def grid_width(noise: float) -> float:
    """Return the width of the public grid, a power of two of about 1e-6 of the noise's scale."""
    return 2.0 ** (math.floor(math.log2(noise)) - _GRID_BITS)


def rounded(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid."""
    grid = grid_width(noise)
    return np.asarray(np.round(values / grid) * grid)


def rounded_inwards(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid, none farther from 0 than before."""
    grid = grid_width(noise)
    return np.asarray(np.trunc(values / grid) * grid)
