"""Laplace noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.mechanisms._grid import geometric, rejection
from skdp.mechanisms.base import IntegerMechanism
from skdp.privacy import BetweenNeighborsEvent, DiscreteLaplaceEvent
from skdp.support.validation import check_count

__all__ = ["Geometric"]


@dataclass(frozen=True, kw_only=True)
class Geometric(IntegerMechanism):
    """Two-sided geometric noise on the integers, with P(m) ∝ e^(−\\|m\\|/t) in every coordinate.

    **Guarantee**: pure ε-DP with ε = Δ/t; for one count no other noise of this ε is better (Ghosh,
    Roughgarden and Sundararajan 2012). The whole curve is that of `DiscreteLaplaceEvent`.

    Parameters
    ----------
    sensitivity : int
        *Public.* l1 distance of the integers of two neighbors, of the whole vector.
    scale : float in [2^−7, 1e5]
        *Public.* t; for more noise use `Laplace`.
    dimension : int, default 1
        *Public.* How many integers are released together.

    Examples
    --------
    >>> noise = Geometric.calibrate(epsilon=1.0, delta=0.0, sensitivity=1)
    >>> round(noise.expected_loss("l1"), 6)
    0.850918
    """

    sensitivity_norm: ClassVar[str] = "l1"

    def __post_init__(self) -> None:
        self._set(sensitivity=check_count("sensitivity", self.sensitivity))
        super().__post_init__()

    @property
    def event(self) -> BetweenNeighborsEvent:
        return BetweenNeighborsEvent(DiscreteLaplaceEvent(self.scale, int(self.sensitivity)))

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        numerator, denominator = self._ratio

        def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
            m = geometric(numerator, n, rng) // denominator
            negative = rng.integers(2, size=n) == 0
            return np.where(negative, -m, m), ~(negative & (m == 0))

        return rejection(size, propose, 0.5)

    def _upper_half(self) -> np.ndarray:
        return np.exp(-np.arange(math.ceil(45.0 * self.scale) + 2.0) / self.scale)
