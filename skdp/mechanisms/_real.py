"""Noise with a density, released on a fine grid as the rounding of an ideal real release."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss

from skdp._validation import check_count, check_real, check_size
from skdp.mechanisms._grid import grid_step
from skdp.mechanisms.base import AdditiveMechanism

__all__ = ["RealMechanism", "ScaledMechanism", "on_grid", "pieces", "scales"]

_WIDEST = 2.0**20  # of the scale, in sensitivities


class RealMechanism(AdditiveMechanism):
    """Symmetric noise Y with a density, of which ⌊v + Y⌋ in steps of the grid is released.

    The value is rounded to the grid first, to an integer v. ⌊v + Y⌋ = v + ⌊Y⌋ is a function of
    v + Y, so it is as private as the real mechanism, for the sensitivity that v has in steps:
    ⌈Δ/step⌉ for one number. ⌊Y⌋ is drawn exactly: a fair sign, and for a size whose whole part is
    m, ⌊Y⌋ is m or −m − 1.
    """

    sensitivity: float

    @property
    def step(self) -> float:
        return grid_step(self.sensitivity)

    @abstractmethod
    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws of ⌊abs(Y)⌋."""

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        sizes = self._sizes(size, rng)
        return np.where(rng.integers(2, size=size) == 0, sizes, ~sizes)


class ScaledMechanism(RealMechanism):
    """Noise of one family, times a scale."""

    scale: float
    """Rounded up to whole steps of the grid, about 1e-9 of the sensitivity."""

    def _check(self) -> None:
        """Check the fields that all of these share; for `__post_init__`."""
        low, high = scales(self.sensitivity)
        sensitivity = float(self.sensitivity)
        scale = check_real("scale", self.scale, low=0.999 * low, high=1.001 * high)
        dimension = check_count("dimension", self.dimension)
        self._set(sensitivity=sensitivity, scale=on_grid(scale, sensitivity), dimension=dimension)

    @property
    def _scale_in_steps(self) -> int:
        return int(self.scale / self.step)

    @property
    def _l1_in_steps(self) -> int:
        """Return the l1 sensitivity of a rounded vector: Σ ⌈dᵢ⌉ < Σ dᵢ + `dimension`."""
        return math.ceil(self.sensitivity / self.step) + self.dimension - 1


def scales(sensitivity: float) -> tuple[float, float]:
    """Return the least and the largest scale of noise: 2^±20 sensitivities."""
    sensitivity = check_size("sensitivity", sensitivity)
    return sensitivity / _WIDEST, sensitivity * _WIDEST


def on_grid(length: float, sensitivity: float) -> float:
    """Return `length`, rounded up to whole steps of the grid that belongs to `sensitivity`."""
    step = grid_step(sensitivity)
    return math.ceil(length / step) * step


def pieces(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss's nodes and weights on each stretch between `edges` and on its mirror image."""
    nodes, weights = _gauss()
    half = 0.5 * np.diff(edges)[:, None]
    x, w = (edges[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()
    return np.concatenate([-x[::-1], x]), np.concatenate([w[::-1], w])


@lru_cache(maxsize=1)
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    return leggauss(24)
