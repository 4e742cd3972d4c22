"""The exact draw that every proximal method is made of."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from skdp.samplers._acceptance import Acceptance
from skdp.samplers._tangent import TangentPoint
from skdp.samplers.base import Target

__all__ = ["TangentStep"]

_TRIES_PER_POINT = 50


class TangentStep:
    """Draws from exp(−c·Σ ℓ − |θ − center|²/(2σ²)) by rejection under a tangent of Σ ℓ.

    Parameters
    ----------
    target : Target
    variance : float
        σ².
    rng : numpy Generator
    """

    def __init__(self, target: Target, variance: float, rng: np.random.Generator) -> None:
        self._target, self._rng = target, rng
        self._sd = math.sqrt(variance)
        self._tangent = TangentPoint(target, variance, rng)
        self.n_tries = self._n_tested = 0

    @property
    def n_queries(self) -> int:
        """How many times a record was looked at, at one point each time."""
        return self._tangent.n_queries + self._n_tested

    def draw(self, center: np.ndarray) -> np.ndarray:
        """Return one draw for a center."""
        for tries in count():
            if tries % _TRIES_PER_POINT == 0:  # after many rejections, look for a better p
                mean = self._tangent.follow(center)
                test = Acceptance(self._target, self._tangent.point)
            theta = mean + self._sd * self._rng.standard_normal(mean.shape)
            accepted, n_queries = test.decide(theta, self._rng)
            self.n_tries += 1
            self._n_tested += n_queries
            if accepted:
                return theta
        raise AssertionError("unreachable")
