"""Huber and squared losses of residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.losses.base import ResidualLoss
from skdp.support.validation import check_size, make_plain

__all__ = ["HuberLoss", "SquaredLoss"]

_NOISE_SCALE = 0.16  # of targets in [−1, 1]; found on public data


@dataclass(frozen=True)
class HuberLoss(ResidualLoss):
    """φ(r) = r²/2 for |r| ≤ h and h·|r| − h²/2 beyond: half a square, its derivative clipped to ±h.

    Parameters
    ----------
    threshold : float
        *Public.* h > 0, in the units of the score.
    """

    threshold: float = 0.15

    smoothness = 1.0
    noise_scale = _NOISE_SCALE

    def __post_init__(self) -> None:
        make_plain(self)
        check_size("threshold", self.threshold)

    @property
    def lipschitz(self) -> float:
        return self.threshold

    def value_at(self, x: np.ndarray) -> np.ndarray:
        clipped = self.derivative(x)
        return clipped * (x - 0.5 * clipped)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, -self.threshold, self.threshold)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.abs(x) <= self.threshold, 1.0, 0.0)


@dataclass(frozen=True)
class SquaredLoss(HuberLoss):
    """Half the squared residual, for targets that a solver may clip to [−1, 1].

    The square has no Lipschitz constant. Gradient-based solvers clip its derivative to ±h, which
    gives the Huber loss. Moment-based solvers use the square itself.

    Parameters
    ----------
    threshold : float
        *Public.* h > 0.
    """

    threshold: float = 0.25
