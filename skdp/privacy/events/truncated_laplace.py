"""Truncated Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import AdditiveEvent
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_size

__all__ = ["TruncatedLaplaceCurve", "TruncatedLaplaceEvent"]


@dataclass(frozen=True)
class TruncatedLaplaceCurve(SymmetricCurve):
    """The curve of two distributions ∝ e^(−|x|) on [−cut, cut], `shift` apart.

    Beyond the reach of Q lies P-mass δ₀. For ε below `shift` and 2·cut − shift the best test is a
    threshold at (ε + shift)/2, which gives
    δ(ε) = [2(1 − e^((ε − shift)/2)) + e^(−cut)·(e^ε − 1)]/(2(1 − e^(−cut))); above, δ(ε) = δ₀.
    """

    shift: float
    cut: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        last = min(self.shift, 2.0 * self.cut - self.shift)
        if last <= 0.0:
            return np.ones_like(epsilon)
        inner = np.minimum(epsilon, last)
        falling = -2.0 * np.expm1(0.5 * (inner - self.shift))
        rising = np.exp(inner - self.cut) - math.exp(-self.cut)
        value = (falling + rising) / (-2.0 * math.expm1(-self.cut))
        return np.where(epsilon < last, np.maximum(value, self._beyond()), self._beyond())

    def _beyond(self) -> float:
        """Return δ₀, the mass of P where Q has none."""
        norm = -2.0 * math.expm1(-self.cut)
        if self.cut >= self.shift:
            return math.exp(self.shift - self.cut) * -math.expm1(-self.shift) / norm
        return 1.0 - (math.exp(self.cut - self.shift) - math.exp(-self.cut)) / norm


@dataclass(frozen=True)
class TruncatedLaplaceEvent(AdditiveEvent):
    """One sum of contributions of size at most C, plus Laplace noise cut off at ±`cut`·C.

    (ε₀, δ₀)-DP for the cut log(1 + (e^ε₀ − 1)/(2δ₀))/ε₀ in units of the shift (Geng, Ding, Guo and
    Kumar 2020, Theorem 1). The distribution is log-concave, so smaller shifts are covered. No
    shortcut holds: some outcomes give the record away.

    Parameters
    ----------
    noise_multiplier, cut : float
        *Public.* Scale of the noise and its largest size, over C. The cut is at most 500 scales:
        beyond, use `LaplaceEvent`.
    """

    noise_multiplier: float
    cut: float

    def __post_init__(self) -> None:
        noise_multiplier = check_size("noise_multiplier", self.noise_multiplier)
        self._set(noise_multiplier=noise_multiplier, cut=check_size("cut", self.cut))
        if not 1e-6 <= self.cut / self.noise_multiplier <= 500.0:
            raise ValueError(
                "cut must lie between 1e-6 and 500 times noise_multiplier, got "
                f"{self.cut!r} and {self.noise_multiplier!r}."
            )

    def curve(self, neighboring: Neighboring) -> TruncatedLaplaceCurve:
        shift = Neighboring(neighboring).n_changed / self.noise_multiplier
        return TruncatedLaplaceCurve(shift, self.cut / self.noise_multiplier)
