"""Laplace noise on the integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import AdditiveEvent
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_count, check_size

__all__ = ["DiscreteLaplaceCurve", "DiscreteLaplaceEvent"]


@dataclass(frozen=True)
class DiscreteLaplaceCurve(SymmetricCurve):
    """The curve of two distributions ∝ e^(−|x|/t) on the integers, `shift` steps apart.

    With a = e^(−1/t) and k the least integer whose loss (2k − D)/t exceeds ε, the geometric sums
    give δ(ε) = [(1 − e^ε·a^k) + a·(1 − a^(D − k))]/(1 + a), two terms that are never negative.
    """

    scale: float
    shift: int

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.minimum(epsilon, self.shift / self.scale)
        k = np.minimum(np.floor(0.5 * (epsilon * self.scale + self.shift)) + 1.0, self.shift)
        ratio = np.exp(-1.0 / self.scale)
        first = -np.expm1(np.minimum(epsilon - k / self.scale, 0.0))
        return (first - ratio * np.expm1((k - self.shift) / self.scale)) / (1.0 + ratio)


@dataclass(frozen=True)
class DiscreteLaplaceEvent(AdditiveEvent):
    """Integer sums plus discrete Laplace noise; a record moves them by up to `sensitivity` in l1.

    P(x) ∝ e^(−\\|x\\|/scale) in each coordinate; ε-DP with ε = sensitivity/scale under add/remove
    and twice that under replace-one (Ghosh, Roughgarden and Sundararajan 2012). Spreading the
    shift over coordinates does not help an attacker: randomized threshold tests are optimal, and a
    shift maps them to each other. An accountant finds a smaller μ than `gdp_mu`.

    Parameters
    ----------
    scale : float
        *Public.* In steps of the grid.
    sensitivity : int
        *Public.* l1 norm of one record's contribution, in steps of the grid.
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        scale = check_size("scale", self.scale)
        self._set(scale=scale, sensitivity=check_count("sensitivity", self.sensitivity))

    def _shift(self, neighboring: Neighboring) -> int:
        return Neighboring(neighboring).n_changed * self.sensitivity

    def curve(self, neighboring: Neighboring) -> DiscreteLaplaceCurve:
        return DiscreteLaplaceCurve(self.scale, self._shift(neighboring))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self._shift(neighboring) / self.scale
