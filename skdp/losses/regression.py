"""Losses of numbers: Huber and squared, quantiles, counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.losses.base import GradientDirections, Loss, LossFamily, ResidualLoss
from skdp.support.safe_numbers import ROOT, down
from skdp.support.validation import check_real, check_size, make_plain

_CHORD = 0.2  # half the width of scores over which curvature is averaged; for speed only
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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import HuberLoss
    >>> loss = HuberLoss(threshold=0.5)
    >>> y, z = np.zeros(3), np.array([0.1, 0.5, 2.0])
    >>> loss.value(y, z), loss.gradient(y, z)
    (array([0.005, 0.125, 0.875]), array([0.1, 0.5, 0.5]))
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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import SquaredLoss
    >>> loss = SquaredLoss()
    >>> loss.value(np.zeros(3), np.array([0.1, 0.5, 1.0])), loss.lipschitz
    (array([0.005  , 0.09375, 0.21875]), 0.25)
    """

    threshold: float = 0.25
    noise_scale: float = _NOISE_SCALE

    def adapted(self, signal: float) -> SquaredLoss:
        share = max(min(1.0, signal / _FULL_SIGNAL), _NO_SIGNAL / max(signal, _NO_SIGNAL))
        return replace(self, noise_scale=max(_LEAST_SHARE, share) * _NOISE_SCALE)


_NOISE_OF_QUANTILES = 0.2  # of targets in [−1, 1]; found on public data


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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import QuantileLoss
    >>> loss = QuantileLoss(levels=(0.9,), smoothing=0.05)
    >>> loss.gradient(np.array([-1.0, 1.0]), np.zeros(2))
    array([ 0.1, -0.9])
    >>> loss.lipschitz, loss.smoothness
    (0.9, 20.0)
    """

    levels: tuple[float, ...] = (0.5,)
    smoothing: float = 0.05

    noise_scale = _NOISE_OF_QUANTILES

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
        """Return 1/v where the whole interval is curved, else 0."""
        ends = np.abs(self._residual(y, z)).max(axis=1) + radius
        return np.where(ends <= 0.5 * self.smoothing, 1.0 / self.smoothing, 0.0)

    @property
    def _levels(self) -> np.ndarray:
        return np.asarray(self.levels)

    def _residual(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z.reshape(y.size, self.n_scores) + self.start - y[:, None]

    def _rise(self, r: np.ndarray) -> np.ndarray:
        return np.clip(r / self.smoothing + 0.5, 0.0, 1.0)


_NOISE_OF_COUNTS = 1.0  # a factor of e in the predicted count; found on public data
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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import PoissonLoss
    >>> loss = PoissonLoss(threshold=0.25)
    >>> shares = np.array([0.0, 0.2, 1.0])  # of the largest count
    >>> loss.gradient(2.0 * shares - 1.0, np.zeros(3)).round(2)
    array([ 0.2 ,  0.  , -0.25])
    """

    threshold: float = 0.25

    smoothness = 1.0
    noise_scale = _NOISE_OF_COUNTS

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
        s, t = z + self.start, shares_of_counts(y)
        inside = self._inside(t, s)  # beyond it ℓ continues along its tangent
        return np.exp(inside) * (1.0 + s - inside) - t * s

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        rise = np.exp(np.minimum(z + self.start, 0.0)) - shares_of_counts(y)
        return np.clip(rise, -self.threshold, self.threshold)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (self.gradient(y, z + _CHORD) - self.gradient(y, z - _CHORD)) / (2.0 * _CHORD)

    def hessian(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return e^s where the derivative is not clipped, else 0."""
        s, t = z + self.start, shares_of_counts(y)
        return np.where((s < 0.0) & (self._inside(t, s) == s), np.exp(np.minimum(s, 0.0)), 0.0)

    def _inside(self, t: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return log v, the nearest point to s at which the derivative is not clipped."""
        low = np.log(np.maximum(t - self.threshold, _LEAST))
        return np.clip(s, low, np.log(np.minimum(t + self.threshold, 1.0)))


def shares_of_counts(y: np.ndarray) -> np.ndarray:
    """Return targets in [−1, 1] as shares of the largest count."""
    return np.clip(0.5 + 0.5 * y, 0.0, 1.0)
