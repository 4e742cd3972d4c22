"""Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import AdditiveEvent
from skdp.privacy.neighboring import Neighboring
from skdp.support.rounding import SERIES, up
from skdp.support.validation import check_real, check_size

__all__ = ["LaplaceCurve", "LaplaceEvent"]


@dataclass(frozen=True)
class LaplaceCurve(SymmetricCurve):
    """Two Laplace distributions, `shift` scales apart: 1 − e^((ε − shift)/2)."""

    shift: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return -np.expm1(np.minimum(0.5 * (epsilon - self.shift), 0.0))


@dataclass(frozen=True)
class LaplaceEvent(AdditiveEvent):
    """A sum of contributions of l1 norm at most C, plus Laplace noise of scale C·multiplier.

    Adding or removing a record moves the sum by C, replacing one by 2C. The noise is independent
    in each coordinate. A shift spread over coordinates is no easier to see than one of the same l1
    length in a single coordinate (see *Vectors* under *Mechanisms* in the user guide).

    Parameters
    ----------
    noise_multiplier : float
        *Public.* Scale of the noise over C.

    Examples
    --------
    >>> round(LaplaceEvent(1.0).gdp_mu("add_remove_one"), 6)
    1.030064
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        self._set(noise_multiplier=check_size("noise_multiplier", self.noise_multiplier))

    def curve(self, neighboring: Neighboring) -> LaplaceCurve:
        return LaplaceCurve(self.pure_epsilon(neighboring))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return Neighboring(neighboring).n_changed / self.noise_multiplier

    def gdp_mu(self, neighboring: Neighboring) -> float:
        # 2Φ⁻¹(1 − e^(−ε/2)/2) is the least μ that covers the curve: h = Φ⁻¹∘F takes Laplace to
        # normal quantiles and turns the shift ε into h(y) − h(y − ε). h is odd, and on y > 0 its
        # derivative is Mills' ratio at h(y), which falls. So the difference is largest for the
        # centered interval, where it is 2h(ε/2).
        return float(-2.0 * ndtri(0.5 * math.exp(-0.5 * self.pure_epsilon(neighboring))))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        # Closed form (Mironov 2017, Proposition 6), rounded up. With g(x) = e^x − 1 − x ≥ 0 and the
        # shift s, (2α − 1)(e^((α − 1)D) − 1) = α·g((α − 1)s) + (α − 1)·g(−αs): nothing cancels
        # where the noise is large.
        order, shift = check_real("order", order, low=1.0), self.pure_epsilon(neighboring)
        less, twice = order - 1.0, 2.0 * order - 1.0
        if less * shift > 1.0:
            toward = math.log(order / twice) + less * shift
            away = math.log(less / twice) - order * shift
            return up(float(np.logaddexp(toward, away)) / less, SERIES)
        excess = order * _above_tangent(less * shift) + less * _above_tangent(-order * shift)
        return up(math.log1p(excess / twice) / less, SERIES)


def _above_tangent(x: float) -> float:
    """Return e^x − 1 − x, by its series where that cancels."""
    if abs(x) > 0.01:
        return math.expm1(x) - x
    return math.fsum(x**k / math.factorial(k) for k in range(2, 10))
