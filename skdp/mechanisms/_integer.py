"""Noise on the integers, for counts."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from skdp._validation import check_count, check_real
from skdp.mechanisms.base import AdditiveMechanism

__all__ = ["IntegerMechanism", "scales"]

_UNIT = 2**20  # of the scale


class IntegerMechanism(AdditiveMechanism):
    """Symmetric noise on the integers, added to integers: nothing is rounded, nothing is lost.

    A value that is not an integer is rounded; the sensitivity must be that of rounded values.
    """

    scale: float
    """Rounded up to a multiple of 2^−20."""

    def _check(self) -> None:
        """Check the fields that all of these share, for `__post_init__`; round the scale up."""
        low, high = scales()
        scale = check_real("scale", self.scale, low=low, high=high, closed="[]")
        dimension = check_count("dimension", self.dimension)
        self._set(scale=math.ceil(scale * _UNIT) / _UNIT, dimension=dimension)

    @property
    def step(self) -> float:
        return 1.0

    @property
    def _ratio(self) -> tuple[int, int]:
        """Return the scale as a fraction."""
        return round(self.scale * _UNIT), _UNIT

    @abstractmethod
    def _upper_half(self) -> np.ndarray:
        """Return numbers in proportion to the masses of 0, 1, 2, ..., as far as they matter."""

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        points, masses = self._nodes()
        found = np.searchsorted(np.cumsum(masses), p)
        return np.asarray(points[np.minimum(found, points.size - 1)])

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        half = self._upper_half()
        masses = np.concatenate([half[:0:-1], half])
        return np.arange(1.0 - half.size, half.size), masses / masses.sum()


def scales() -> tuple[float, float]:
    """Return the least and the largest scale of noise on the integers."""
    return 2.0**-7, 1e5
