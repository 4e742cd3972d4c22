"""Arithmetic of intervals."""

from __future__ import annotations

import numpy as np

__all__ = ["largest_square", "least_square", "product"]


def least_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the least square of a number in each interval."""
    return np.maximum(np.maximum(low, -high), 0.0) ** 2


def largest_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest square of a number in each interval."""
    return np.maximum(-low, high) ** 2


def product(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest products of numbers in two intervals."""
    corners = np.stack([a * b for a in first for b in second])
    return corners.min(axis=0), corners.max(axis=0)
