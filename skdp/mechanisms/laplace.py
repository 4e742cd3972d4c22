"""Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.mechanisms._grid import geometric, ratio_below
from skdp.mechanisms.base import ScaledMechanism, gauss_nodes
from skdp.privacy import BetweenNeighborsEvent, LaplaceEvent

__all__ = ["Laplace"]


@dataclass(frozen=True, kw_only=True)
class Laplace(ScaledMechanism):
    """Noise with density e^(−\\|x\\|/b)/(2b) in every coordinate.

    **Guarantee**: pure ε-DP with ε = Δ/b, Δ the l1 sensitivity of the rounded value (Dwork,
    McSherry, Nissim and Smith 2006); the whole curve is that of `LaplaceEvent`.

    Parameters
    ----------
    sensitivity : float
        *Public.* l1 distance of the values of two neighbors, of the whole vector.
    scale : float
        *Public.* b, from 2^−20 to 2^20 sensitivities.
    dimension : int, default 1
        *Public.* How many numbers are released together; each adds a step to the sensitivity.

    Examples
    --------
    >>> noise = Laplace.calibrate(epsilon=0.5, delta=0.0, sensitivity=1.0)
    >>> round(noise.scale, 6), round(noise.expected_loss("l2"), 6)
    (2.0, 8.0)
    """

    sensitivity_norm: ClassVar[str] = "l1"

    @property
    def event(self) -> BetweenNeighborsEvent:
        multiplier = ratio_below(self._scale_in_steps, self._l1_in_steps)
        return BetweenNeighborsEvent(LaplaceEvent(multiplier))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return -np.sign(p - 0.5) * self.scale * np.log(2.0 * np.minimum(p, 1.0 - p))

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return geometric(self._scale_in_steps, size, rng)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = gauss_nodes(self.scale * np.arange(61.0))
        return x, w * np.exp(-np.abs(x) / self.scale) / (2.0 * self.scale)
