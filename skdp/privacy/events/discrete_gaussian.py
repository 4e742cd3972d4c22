"""Gaussian noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp._validation import check_count, check_real
from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import Event
from skdp.privacy.neighboring import Neighboring

__all__ = ["DiscreteGaussianCurve", "DiscreteGaussianEvent"]

_CHUNK = 2_000_000


@dataclass(frozen=True)
class DiscreteGaussianCurve(SymmetricCurve):
    """The curve of two laws ∝ e^(−x²/2s²) on the integers, `shift` steps apart.

    δ(ε) = Σ p(x − D)·(1 − e^(ε − ℓ(x))) over the integers x whose loss ℓ(x) = (2xD − D²)/(2s²)
    exceeds ε: Canonne, Kamath and Steinke 2020, Theorem 7, summed without cancellation.
    """

    scale: float
    shift: int

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        flat = np.ravel(epsilon)
        terms = np.arange(0.5 * self.shift + 9.0 * self.scale + 3.0)
        parts = np.array_split(flat, max(1, min(flat.size, flat.size * terms.size // _CHUNK)))
        return np.concatenate([self._sums(part, terms) for part in parts]).reshape(epsilon.shape)

    def _sums(self, epsilon: np.ndarray, terms: np.ndarray) -> np.ndarray:
        epsilon = np.minimum(epsilon, 1e6)[:, None]
        variance, shift = self.scale**2, self.shift
        x = np.floor(epsilon * variance / shift + 0.5 * shift) + terms
        loss = (x - 0.5 * shift) * (shift / variance)
        mass = np.exp(-0.5 * (x - shift) ** 2 / variance)
        return (mass * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum(axis=1) / self._total()

    def _total(self) -> float:
        """Return Σ e^(−x²/2s²), for large s by Poisson summation (one term is exact there)."""
        if self.scale > 3.0:
            return self.scale * math.sqrt(2.0 * math.pi)
        x = np.arange(1.0, 130.0)
        return 1.0 + 2.0 * float(np.exp(-0.5 * (x / self.scale) ** 2).sum())


@dataclass(frozen=True)
class DiscreteGaussianEvent(Event):
    """One integer sum, a record moving it by at most `sensitivity`, plus discrete Gaussian noise.

    (D²/2s²)-zCDP with D the sensitivity, doubled under replace-one (Canonne, Kamath and Steinke
    2020, Theorem 4). It is **not** (D/s)-Gaussian DP, so `gdp_mu` is ``inf``; an accountant covers
    the curve. The sum of two discrete Gaussians is not one: account for each release. The curve
    is for one number; smaller shifts are covered because the law is log-concave.

    Parameters
    ----------
    scale : float in [1e-3, 1e6]
        *Public.* The parameter s, in steps of the grid.
    sensitivity : int
        *Public.* Size of one record's contribution, in steps of the grid.

    Examples
    --------
    >>> round(DiscreteGaussianEvent(1.0).curve("add_remove_one").delta(1.0), 6)
    0.141351
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        scale = check_real("scale", self.scale, low=0.999e-3, high=1.001e6)
        self._set(scale=scale, sensitivity=check_count("sensitivity", self.sensitivity))

    def _shift(self, neighboring: Neighboring) -> int:
        return Neighboring(neighboring).n_changed * self.sensitivity

    def curve(self, neighboring: Neighboring) -> DiscreteGaussianCurve:  # noqa: D102
        return DiscreteGaussianCurve(self.scale, self._shift(neighboring))

    def zcdp_rho(self, neighboring: Neighboring) -> float:  # noqa: D102
        return 0.5 * (self._shift(neighboring) / self.scale) ** 2

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        """Return α·D²/2s², a bound attained for integer α·D (the same source, Theorem 4)."""
        return check_real("order", order, low=1.0) * self.zcdp_rho(neighboring)
