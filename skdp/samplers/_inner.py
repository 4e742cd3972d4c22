"""The exact draw that every proximal method is made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skdp.samplers._acceptance import Acceptance
from skdp.samplers._tangent import TangentPoint
from skdp.samplers.base import Target

__all__ = ["TangentStep"]

_TRIES_PER_POINT = 50


class TangentStep:
    """Draws from exp(−c·Σ ℓ − |θ − center|²/(2σ²)) by rejection under a tangent of Σ ℓ.

    On a domain, proposals are drawn there. A `surplus` of ridge in σ² is taken off again.

    Parameters
    ----------
    target : Target
    variance : float
        σ².
    rng : numpy Generator
    surplus : float
        The density is multiplied by exp(surplus·|θ|²/2).
    """

    def __init__(
        self, target: Target, variance: float, rng: np.random.Generator, surplus: float = 0.0
    ) -> None:
        self._target, self._rng, self._surplus = target, rng, surplus
        self._sd = math.sqrt(variance)
        self._tangent = TangentPoint(target, variance, rng)
        self.n_tries = self._n_tested = 0

    @property
    def n_queries(self) -> int:
        """How many times a record was looked at, at one point each time."""
        return self._tangent.n_queries + self._n_tested

    def draw(self, center: np.ndarray) -> np.ndarray:
        """Return one draw for a center."""
        while (theta := self.attempt(center)) is None:
            pass  # look for a better p
        return theta

    def attempt(self, center: np.ndarray, most_tries: int = _TRIES_PER_POINT) -> np.ndarray | None:
        """Return one draw for a center, or None if none is found within so many tries."""
        mean = self._tangent.follow(center)
        propose = _proposals(self._target, mean, self._sd)
        test = Acceptance(self._target, self._tangent.point, self._surplus)
        for _ in range(most_tries):
            theta = propose(self._rng)
            accepted, n_queries = test.decide(theta, self._rng)
            self.n_tries += 1
            self._n_tested += n_queries
            if accepted:
                return theta
        return None


def _proposals(
    target: Target, mean: np.ndarray, sd: float
) -> Callable[[np.random.Generator], np.ndarray]:
    if target.domain is None:
        return lambda rng: mean + sd * rng.standard_normal(mean.shape)
    return target.domain.gaussian(mean, sd).draw
