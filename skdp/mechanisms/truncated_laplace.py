"""Truncated Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from skdp.mechanisms._grid import geometric, ratio_below
from skdp.mechanisms.base import ScaledMechanism, gauss_nodes, least
from skdp.privacy import BetweenNeighborsEvent, TruncatedLaplaceEvent
from skdp.support.validation import check_real, check_size

__all__ = ["TruncatedLaplace"]

_CUTS = 2e-6, 499.0  # in scales


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(ScaledMechanism):
    """Truncated Laplace noise: density ∝ e^(−\\|x\\|/b) on [−A, A] in every coordinate.

    **Guarantee**: (ε, δ)-DP for ε = Δ/b and A = b·log(1 + (e^ε − 1)/(2δ)), δ ≤ 1/2, Δ the l1
    sensitivity of the rounded value (Geng, Ding, Guo and Kumar 2020, Theorem 1). The whole curve is
    that of `TruncatedLaplaceEvent`. With probability up to δ a release reveals the record.
    `calibrate` takes the scale Δ/ε and the least cut.

    Parameters
    ----------
    sensitivity : float
        *Public.* l1 distance of the values of two neighbors, of the whole vector.
    scale : float
        *Public.* b, from 2^−20 to 2^20 sensitivities.
    cut : float
        *Public.* A, from 2e-6 to 499 scales; rounded up to the grid as the scale is.
    dimension : int, default 1
        *Public.* How many numbers are released together; each adds a step to the sensitivity.

    Examples
    --------
    >>> noise = TruncatedLaplace.calibrate(epsilon=1.0, delta=0.1, sensitivity=1.0)
    >>> round(noise.cut, 6), round(noise.quantile(0.25), 6)
    (2.260868, -0.593972)
    """

    sensitivity_norm: ClassVar[str] = "l1"

    cut: float

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (factor * self.scale for factor in _CUTS)
        self._set(
            cut=self._on_grid(check_real("cut", self.cut, low=0.999 * low, high=1.001 * high))
        )

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, *, dimension: int = 1
    ) -> TruncatedLaplace:
        one = check_size("sensitivity", sensitivity)
        whole = cls(sensitivity=one, scale=one, cut=10.0 * one, dimension=dimension)
        steps = math.ceil(whole._l1_in_steps / Fraction(check_size("epsilon", epsilon)))
        scale = steps * whole.step
        return least(
            lambda cut: cls(sensitivity=one, scale=scale, cut=cut, dimension=dimension),
            (_CUTS[0] * scale, _CUTS[1] * scale),
            epsilon,
            delta,
        )

    @property
    def event(self) -> BetweenNeighborsEvent:
        multiplier = ratio_below(self._scale_in_steps, self._l1_in_steps)
        cut = ratio_below(self._cut_in_steps, self._l1_in_steps)
        return BetweenNeighborsEvent(TruncatedLaplaceEvent(multiplier, cut))

    @property
    def _cut_in_steps(self) -> int:
        return int(self.cut / self.step)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        end = math.exp(-self.cut / self.scale)
        tail = 2.0 * np.minimum(p, 1.0 - p) * (1.0 - end) + end
        return -np.sign(p - 0.5) * self.scale * np.log(tail)

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return geometric(self._scale_in_steps, size, rng, below=self._cut_in_steps)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = gauss_nodes(np.linspace(0.0, self.cut, math.ceil(self.cut / self.scale) + 1))
        total = -2.0 * self.scale * math.expm1(-self.cut / self.scale)
        return x, w * np.exp(-np.abs(x) / self.scale) / total
