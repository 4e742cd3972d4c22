"""Hinge losses of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp._validation import check_real
from skdp.losses.base import MarginLoss

__all__ = ["HingeLoss", "SmoothedHingeLoss"]


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """φ(m) = max(0, 1 − m), with slope −1 at its kink."""

    @property
    def lipschitz(self) -> float:  # noqa: D102
        return 1.0

    @property
    def smoothness(self) -> float:  # noqa: D102
        return math.inf

    @property
    def noise_scale(self) -> float:  # noqa: D102
        return 1.0

    @property
    def nominal_curvature(self) -> float:  # noqa: D102
        return 1.0

    def phi(self, m: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.maximum(0.0, 1.0 - m)

    def slope(self, m: np.ndarray) -> np.ndarray:  # noqa: D102
        return -(m <= 1.0).astype(float)


@dataclass(frozen=True)
class SmoothedHingeLoss(MarginLoss):
    """The hinge with its kink rounded over a stretch of `width` margins.

    φ(m) = 0 for m ≥ 1, (1 − m)²/(2·width) on [1 − width, 1] and 1 − m − width/2 below. It lies
    at most width/2 under the hinge and has the same Lipschitz constant. A width above 1 wastes
    sensitivity: the slope at m = 0 is then less than 1.

    Parameters
    ----------
    width : float > 0
        *Public.*
    """

    width: float = 2 / 3

    def __post_init__(self) -> None:
        check_real("smoothing", self.width, low=0.0)

    @property
    def lipschitz(self) -> float:  # noqa: D102
        return 1.0

    @property
    def smoothness(self) -> float:  # noqa: D102
        return 1.0 / self.width

    @property
    def noise_scale(self) -> float:  # noqa: D102
        return max(1.0, self.width)

    @property
    def nominal_curvature(self) -> float:  # noqa: D102
        return min(1.0, self.smoothness)  # a sharper bend is treated like the plain hinge's kink

    def phi(self, m: np.ndarray) -> np.ndarray:  # noqa: D102
        s = -self.slope(m)
        return s * (1.0 - m) - 0.5 * self.width * s * s

    def slope(self, m: np.ndarray) -> np.ndarray:  # noqa: D102
        return -np.clip((1.0 - m) / self.width, 0.0, 1.0)
