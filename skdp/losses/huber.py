"""Squares of residuals, linear where residuals are large."""

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

    def __post_init__(self) -> None:
        make_plain(self)
        check_size("threshold", self.threshold)

    @property
    def lipschitz(self) -> float:
        return self.threshold

    @property
    def smoothness(self) -> float:
        return 1.0

    @property
    def noise_scale(self) -> float:
        return _NOISE_SCALE

    def value_at(self, r: np.ndarray) -> np.ndarray:
        clipped = self.derivative(r)
        return clipped * (r - 0.5 * clipped)

    def derivative(self, r: np.ndarray) -> np.ndarray:
        return np.clip(r, -self.threshold, self.threshold)

    def second_derivative(self, r: np.ndarray) -> np.ndarray:
        return np.where(np.abs(r) <= self.threshold, 1.0, 0.0)


@dataclass(frozen=True)
class SquaredLoss(HuberLoss):
    """Half the square of a residual, of targets that a solver may clip to [−1, 1].

    A square has no Lipschitz constant. Solvers that follow gradients take it with derivatives
    clipped to ±h, which is the Huber loss; solvers that need no more than moments take it as it is.

    Parameters
    ----------
    threshold : float
        *Public.* h > 0.
    """

    threshold: float = 0.25
