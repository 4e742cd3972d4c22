"""Logistic losses of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit

from skdp.losses.base import Loss, LossFamily, MarginLoss, ProbabilityLoss
from skdp.support.validation import check_real, make_plain

__all__ = ["AdaptiveLogisticLoss", "ClippedLogisticLoss", "LogisticLoss"]

# No guarantee rests on these, found by experiment (*The frontier* in the documentation).
_LEAST_CLIP = 0.35
_FULL_SIGNAL = 24_000.0  # from which on nothing is clipped
_LEAST_LINK = 0.5
_SEPARABLE_SIGNAL = 600.0  # over the signal: the clip of the link between both
_LARGEST_SCORE = 700.0  # e^z is a float up to here
_LARGEST_LINK = 0.7  # of all clips that on strong signals lose at most 0.02 in log-loss, the least


@dataclass(frozen=True)
class LogisticLoss(MarginLoss, ProbabilityLoss):
    """Logistic loss φ(m) = log(1 + e^−m)."""

    lipschitz = 1.0
    smoothness = 0.25
    noise_scale = 4.0

    def value_at(self, x: np.ndarray) -> np.ndarray:
        return np.log1p(np.exp(-np.abs(x))) - np.minimum(x, 0.0)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -expit(-x)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        return expit(x) * expit(-x)

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.column_stack([log_expit(-z), log_expit(z)])

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        out = np.empty((len(z), 2))
        expit(-z, out=out[:, 0])
        expit(z, out=out[:, 1])
        return out


_PLAIN = LogisticLoss()


@dataclass(frozen=True)
class ClippedLogisticLoss(MarginLoss, LossFamily, ProbabilityLoss):
    """The logistic loss with its derivative clipped at −`clip`: linear left of a margin b.

    φ(m) = log(1 + e^−m) for m ≥ b and φ(b) + clip·(b − m) for m < b, with b = log(1/clip − 1).
    It is convex and continuously differentiable. Noise is proportional to the largest absolute
    derivative. With clip ≤ 1/2 the derivative at m = 0, where learning starts, attains it; the
    derivative of the plain logistic loss starts at 1/2 of it.

    The link is p = a/(a + b) with a = min(σ(z), k) and b = min(σ(−z), k). At k = `clip`, z
    minimizes the mean loss of records with a share p of +1.

    Parameters
    ----------
    clip : float in (1e-6, 1)
        *Public.* Largest absolute derivative.
    link_clip : float in [0.5, 1] or None
        *Public.* Probability at which the link is clipped; None: `clip`, at least 1/2.
    """

    clip: float = _LEAST_CLIP
    link_clip: float | None = None

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("loss_clip", self.clip, low=1e-6, high=1.0)

    def adapted(self, signal: float) -> Loss:
        of_signal = min(_LARGEST_LINK, _SEPARABLE_SIGNAL / signal)
        link = max(_LEAST_LINK, self.clip, of_signal)
        return replace(self, link_clip=min(1.0, link))

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        both = np.minimum(np.column_stack([log_expit(-z), log_expit(z)]), math.log(self._link))
        return both - np.logaddexp(both[:, :1], both[:, 1:])

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        odds = np.exp(np.clip(z, -_LARGEST_SCORE, _LARGEST_SCORE))
        most = self._link * (1.0 + odds)  # σ(z) and σ(−z), and the clip, times 1 + odds
        first, second = np.minimum(1.0, most), np.minimum(odds, most)
        total, out = first + second, np.empty((len(z), 2))
        np.divide(first, total, out=out[:, 0])
        np.divide(second, total, out=out[:, 1])
        return out

    @property
    def _link(self) -> float:
        return max(_LEAST_LINK, self.clip) if self.link_clip is None else self.link_clip

    @property
    def lipschitz(self) -> float:
        return self.clip

    @property
    def smoothness(self) -> float:
        return 0.25 if self.clip >= 0.5 else self.clip * (1.0 - self.clip)

    @property
    def noise_scale(self) -> float:
        return max(self.knee, 0.0) + self.lipschitz / self.smoothness

    @property
    def knee(self) -> float:
        """The margin b at which the loss turns linear."""
        return math.log(1.0 / self.clip - 1.0)

    def value_at(self, x: np.ndarray) -> np.ndarray:
        knee = self.knee
        return _PLAIN.value_at(np.maximum(x, knee)) - self.clip * np.minimum(x - knee, 0.0)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        odds = np.exp(-np.maximum(x, self.knee))
        return odds / (-1.0 - odds)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        return np.where(x >= self.knee, _PLAIN.second_derivative(x), 0.0)


@dataclass(frozen=True)
class AdaptiveLogisticLoss(ClippedLogisticLoss):
    """Clipped logistic loss whose clip rises with the signal, up to 1 (no clipping).

    k(x) = (x/24000)^(1/3), between 0.35 and 1, for a signal-to-noise ratio x. A low clip
    makes the first steps less noisy; a high one approaches the model learned without privacy.

    Parameters
    ----------
    clip : float in (1e-6, 1)
        *Public.* Largest absolute derivative, until it is adapted.
    link_clip : float in [0.5, 1] or None
        *Public.* Probability at which the link is clipped; None: `clip`, at least 1/2.
    """

    def adapted(self, signal: float) -> Loss:
        clip = max(_LEAST_CLIP, (signal / _FULL_SIGNAL) ** (1.0 / 3.0))
        return LogisticLoss() if clip >= 1.0 else ClippedLogisticLoss(clip).adapted(signal)
