"""Black boxes that promise ε-DP or (ε, δ)-DP and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skdp.privacy.curve import DiscretePairCurve, PrivacyCurve, SymmetricCurve
from skdp.privacy.events.base import Event
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.renyi import randomized_response_divergence
from skdp.support.validation import check_delta, check_real

__all__ = ["ApproxDPCurve", "ApproxDPEvent", "PureDPEvent"]


@dataclass(frozen=True)
class ApproxDPCurve(SymmetricCurve):
    """The largest curve of a (`bound`, `failure`)-DP release (Kairouz, Oh and Viswanath 2015).

    Randomized response with probability 1 − δ, and no privacy at all with probability δ.
    """

    bound: float
    failure: float = 0.0

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        below = -np.expm1(np.minimum(epsilon - self.bound, 0.0)) * expit(self.bound)
        return self.failure + (1.0 - self.failure) * below

    def dominating_pair(self) -> DiscretePairCurve:
        kept = 1.0 - self.failure
        likely, unlikely = kept * expit(self.bound), kept * expit(-self.bound)
        return DiscretePairCurve(
            (self.failure, likely, unlikely, 0.0), (0.0, unlikely, likely, self.failure)
        )


@dataclass(frozen=True)
class PureDPEvent(Event):
    """A release that is `epsilon`-DP; 0 for no release at all.

    Parameters
    ----------
    epsilon : float in [0, inf)
        *Public.*

    Examples
    --------
    >>> round(PureDPEvent(1.0).curve("replace_one").epsilon(0.1), 6)
    0.852905
    """

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=check_real("epsilon", self.epsilon, low=0.0, closed="["))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return ApproxDPCurve(self.epsilon)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self.epsilon

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return randomized_response_divergence(self.epsilon, order)


@dataclass(frozen=True)
class ApproxDPEvent(Event):
    """A release that is (`epsilon`, `delta`)-DP. No shortcut holds unless `delta` is 0.

    Parameters
    ----------
    epsilon : float in [0, inf)
        *Public.*
    delta : float in [0, 1)
        *Public.*
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = check_real("epsilon", self.epsilon, low=0.0, closed="[")
        self._set(epsilon=epsilon, delta=check_delta(self.delta))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return ApproxDPCurve(self.epsilon, self.delta)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.delta else self.epsilon
