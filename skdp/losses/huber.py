"""Huber and squared losses of residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skdp.losses.base import LossFamily, ResidualLoss
from skdp.support.validation import check_size, make_plain

__all__ = ["HuberLoss", "SquaredLoss"]

# Found on public data.
_NOISE_SCALE = 0.16  # of targets in [−1, 1]
_LEAST_SHARE = 0.5  # of it, between these signals
_NO_SIGNAL, _FULL_SIGNAL = 7.0, 30.0


@dataclass(frozen=True)
class HuberLoss(ResidualLoss):
    """Huber loss φ(r): r²/2 for |r| ≤ h, and h·|r| − h²/2 beyond.

    This is half the square with its derivative clipped to ±h.

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
class SquaredLoss(HuberLoss, LossFamily):
    """Half the squared residual, for targets that a solver may clip to [−1, 1].

    The square has no Lipschitz constant. Gradient-based solvers clip its derivative to ±h, which
    gives the Huber loss. Moment-based solvers use the square itself.

    Parameters
    ----------
    threshold : float
        *Public.* h > 0.
    noise_scale : float
        *Public.* Noise in a score at the end of a run, until it is adapted: less for a low
        signal, where a long run learns more noise than signal. For an even lower one, a short run
        would not even reach the mean.
    """

    threshold: float = 0.25
    noise_scale: float = _NOISE_SCALE

    def adapted(self, signal: float) -> SquaredLoss:
        share = max(min(1.0, signal / _FULL_SIGNAL), _NO_SIGNAL / max(signal, _NO_SIGNAL))
        return replace(self, noise_scale=max(_LEAST_SHARE, share) * _NOISE_SCALE)
