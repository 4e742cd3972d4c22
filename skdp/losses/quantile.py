"""The pinball loss, which conditional quantiles minimize."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.losses.base import Loss
from skdp.losses.gradient_directions import GradientDirections
from skdp.support.rounding import ROOT, down
from skdp.support.validation import check_real, make_plain

__all__ = ["QuantileLoss"]

_CHORD = 0.2
_NOISE_SCALE = 0.2  # of targets in [−1, 1]; found on public data


@dataclass(frozen=True)
class QuantileLoss(Loss):
    """Pinball loss Σ_k ψ(r_k) − τ_k·r_k with r_k = z_k + o_k − y; ψ is a smoothed max(0, r).

    ψ'(r) = u = clip(r/v + 1/2, 0, 1) and ψ(r) = u·r + v·u(1 − u)/2. The pinball loss of level τ has
    derivative −τ left of 0 and 1 − τ right of it; here the derivative rises linearly over a stretch
    of width v around 0. The loss is at most v/8 above the pinball loss. Its minimizer is the
    quantile of y plus uniform noise of that width.

    The prediction is z_k + o_k. Learning starts at o_k = τ_k − 1/2, the quantiles of targets spread
    evenly over the middle half of [−1, 1].

    *Constants.* |∂ℓ/∂z_k| ≤ max(τ_k, 1 − τ_k), whatever the other scores are, and all of these
    are attained at once. The Lipschitz constant is √(Σ max(τ_k, 1 − τ_k)²). The Hessian is
    diagonal with entries in [0, 1/v].

    Parameters
    ----------
    levels : tuple of float
        *Public.* τ_1, ..., τ_K in (0, 1). Scores have shape (n,) for K = 1, else (n, K).
    smoothing : float in [0.01, 1e6)
        *Public.* v, in the units of the score.
    """

    levels: tuple[float, ...] = (0.5,)
    smoothing: float = 0.05

    noise_scale = _NOISE_SCALE

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("smoothing", self.smoothing, low=down(0.01, ROOT), high=1e6)
        for level in self.levels:
            check_real("quantile", level, low=0.0, high=1.0)

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """Scores per record: one per level."""
        return len(self.levels)

    @property
    def start(self) -> np.ndarray:
        """The predictions o at which the scores are 0, of shape (K,)."""
        return self._levels - 0.5

    @property
    def lipschitz(self) -> float:
        return math.hypot(*(max(level, 1.0 - level) for level in self.levels))

    @property
    def smoothness(self) -> float:
        return 1.0 / self.smoothing

    @property
    def curvature_trace(self) -> float:
        return self.n_scores / self.smoothing

    @property
    def directions(self) -> GradientDirections:
        """The values of any loss, with slowness √(½/τ) for the level τ nearest to 0 or 1.

        Beyond most targets the derivative is only τ.
        """
        several, least = self.n_scores > 1, min(min(level, 1.0 - level) for level in self.levels)
        return GradientDirections(
            dimension=self.n_scores,
            n_extremes=0 if several else 2,
            cosine=1.0 if several else 0.0,
            slowness=math.sqrt(0.5 / least),
        )

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = self._residual(y, z)
        u = self._rise(r)
        return (u * (r + 0.5 * self.smoothing * (1.0 - u)) - self._levels * r).sum(axis=1)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (self._rise(self._residual(y, z)) - self._levels).reshape(z.shape)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = self._residual(y, z)
        return (self._rise(r + _CHORD) - self._rise(r - _CHORD)).mean(axis=1) / (2.0 * _CHORD)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return 1/v where the whole interval is curved, else 0.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            See `Minorant.least_curvature`.

        Returns
        -------
        ndarray of shape (n,)
        """
        ends = np.abs(self._residual(y, z)).max(axis=1) + radius
        return np.where(ends <= 0.5 * self.smoothing, 1.0 / self.smoothing, 0.0)

    @property
    def _levels(self) -> np.ndarray:
        return np.asarray(self.levels)

    def _residual(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z.reshape(y.size, self.n_scores) + self.start - y[:, None]

    def _rise(self, r: np.ndarray) -> np.ndarray:
        return np.clip(r / self.smoothing + 0.5, 0.0, 1.0)
