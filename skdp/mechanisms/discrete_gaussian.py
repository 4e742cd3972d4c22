"""Gaussian noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.mechanisms._exact_normal import discrete_normal
from skdp.mechanisms.base import IntegerMechanism
from skdp.privacy import BetweenNeighborsEvent, DiscreteGaussianEvent, Event, ZCDPEvent
from skdp.support.rounding import SUM, up
from skdp.support.validation import check_count, check_size

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(IntegerMechanism):
    """Discrete Gaussian noise on the integers, with P(m) ∝ e^(−m²/2s²) in every coordinate.

    **Guarantee**: (Δ²/2s²)-zCDP (Canonne, Kamath and Steinke 2020, Theorem 14). For one integer the
    event has the exact curve (Theorem 7); for several it is zCDP, all that is proved. It is not
    (Δ/s)-Gaussian DP, and sums of such noise are not such noise.

    Parameters
    ----------
    sensitivity : float
        *Public.* l2 distance of the integers of two neighbors, of the whole vector; an integer
        unless `dimension` is more than 1.
    scale : float in [2^−7, 1e5]
        *Public.* s; for more noise use `Gaussian`.
    dimension : int, default 1
        *Public.* How many integers are released together.

    Examples
    --------
    >>> noise = DiscreteGaussian.calibrate(epsilon=1.0, delta=1e-5, sensitivity=1)
    >>> round(noise.scale, 3)
    3.74
    """

    sensitivity_norm: ClassVar[str] = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        check = check_count if self.dimension == 1 else check_size
        self._set(sensitivity=check("sensitivity", self.sensitivity))

    @property
    def event(self) -> Event:
        if self.dimension == 1:
            return BetweenNeighborsEvent(DiscreteGaussianEvent(self.scale, int(self.sensitivity)))
        return ZCDPEvent(up(0.5 * (self.sensitivity / self.scale) ** 2, SUM))

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return discrete_normal(*self._ratio, size, rng)

    def _upper_half(self) -> np.ndarray:
        m = np.arange(math.ceil(10.0 * self.scale) + 2.0)
        return np.exp(-0.5 * (m / self.scale) ** 2)
