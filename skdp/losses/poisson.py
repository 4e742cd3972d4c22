"""The Poisson loss, which expected counts minimize."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.losses.base import Loss
from skdp.support.validation import check_size, make_plain

__all__ = ["PoissonLoss"]

_CHORD = 0.2  # half the width of scores over which curvature is averaged; for speed only
_NOISE_SCALE = 1.0  # a factor of e in the predicted count; found on public data
_START = 0.2  # share of the largest count at which learning starts; found on public data
_LEAST = 1e-300  # instead of 0, which has no logarithm


@dataclass(frozen=True)
class PoissonLoss(Loss):
    """Poisson loss e^s − t·s with s = z + s₀; its derivative e^s − t is clipped to ±h.

    The target y in [−1, 1] stands for the count's share t = (1 + y)/2 of the largest count. The
    predicted share is e^s, at most 1: the loss is linear for s > 0. Learning starts at the share
    e^s₀ = 0.2.

    *Constants.* The derivative is v − t with v = clip(e^s, max(t − h, 0), min(t + h, 1)). It rises
    with s, so ℓ is convex. |v − t| ≤ h by the clip and |v − t| ≤ 1 because v and t are shares; for
    t = 1 and s → −∞ it is min(h, 1), the Lipschitz constant. Where v is not constant, ∂v/∂s = e^s
    and e^s ≤ 1, so the smoothness is 1.

    Parameters
    ----------
    threshold : float
        *Public.* h > 0, as a share of the largest count.
    """

    threshold: float = 0.25

    smoothness = 1.0
    noise_scale = _NOISE_SCALE

    def __post_init__(self) -> None:
        make_plain(self)
        check_size("threshold", self.threshold)

    @property
    def start(self) -> float:
        """s₀, the logarithm of the predicted share at score 0."""
        return math.log(_START)

    @property
    def lipschitz(self) -> float:
        return min(self.threshold, 1.0)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        s, t = z + self.start, _share(y)
        inside = self._inside(t, s)  # beyond it ℓ continues along its tangent
        return np.exp(inside) * (1.0 + s - inside) - t * s

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        rise = np.exp(np.minimum(z + self.start, 0.0)) - _share(y)
        return np.clip(rise, -self.threshold, self.threshold)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (self.gradient(y, z + _CHORD) - self.gradient(y, z - _CHORD)) / (2.0 * _CHORD)

    def _inside(self, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return log v, the nearest point to s at which the derivative is not clipped."""
        low = np.log(np.maximum(t - self.threshold, _LEAST))
        return np.clip(s, low, np.log(np.minimum(t + self.threshold, 1.0)))


def _share(y: np.ndarray) -> np.ndarray:
    return np.clip(0.5 + 0.5 * y, 0.0, 1.0)
