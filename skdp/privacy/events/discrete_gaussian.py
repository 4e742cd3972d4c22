"""Gaussian noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal

from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import AdditiveEvent
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_count, check_real

__all__ = ["DiscreteGaussianCurve", "DiscreteGaussianEvent"]

_CHUNK = 2_000_000
_REACH = 9.0  # e^(−81/2) is below rounding
_ORDER = 24
_FIRST = 32  # terms before the first block, and its length


@dataclass(frozen=True)
class DiscreteGaussianCurve(SymmetricCurve):
    """The curve of two distributions ∝ e^(−x²/2s²) on the integers, `shift` steps apart.

    δ(ε) = Σ p(x − D)·(1 − e^(ε − ℓ(x))) over the integers x whose loss ℓ(x) = (2xD − D²)/(2s²)
    exceeds ε: Canonne, Kamath and Steinke 2020, Theorem 7, summed without cancellation. Long sums
    are taken over `_summands`.
    """

    scale: float
    shift: int

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        flat = np.ravel(epsilon)
        terms, weights = _summands(2.0 * _REACH * self.scale + 3.0, self.scale)
        parts = np.array_split(flat, max(1, min(flat.size, flat.size * terms.size // _CHUNK)))
        sums = [self._sums(part, terms, weights) for part in parts]
        return np.concatenate(sums).reshape(epsilon.shape)

    def _sums(self, epsilon: np.ndarray, terms: np.ndarray, weights: np.ndarray) -> np.ndarray:
        variance, shift = self.scale**2, self.shift
        ended = 0.5 * shift * shift / variance + 40.0 * shift / self.scale  # δ < e^−800 from here
        epsilon = np.minimum(epsilon, ended)[:, None]
        beyond = np.floor(epsilon * variance / shift - 0.5 * shift)  # x − D, no larger loss than ε
        x = np.maximum(beyond, np.floor(-_REACH * self.scale)) + terms
        loss = (x + 0.5 * shift) * (shift / variance)
        mass = np.exp(-0.5 * x * x / variance)
        return (mass * -np.expm1(np.minimum(epsilon - loss, 0.0))) @ weights / self._total()

    def _total(self) -> float:
        """Return Σ e^(−x²/2s²), for large s by Poisson summation (one term is exact there)."""
        if self.scale > 3.0:
            return self.scale * math.sqrt(2.0 * math.pi)
        x = np.arange(1.0, 130.0)
        return 1.0 + 2.0 * float(np.exp(-0.5 * (x / self.scale) ** 2).sum())


@lru_cache(maxsize=64)
def _summands(length: float, widest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights for sums over 0, 1, ..., `length`, which may go a little beyond.

    The first 32 stand for themselves, and all do if `widest` is below 32. The rest are in blocks
    no longer than `widest`, nor than their distance from 0: Gauss's rule of 24 points for N equally
    weighted integers. Its weights are positive and it is exact for polynomials of degree 47, so on
    a function bounded by M in the ellipse about a block that is three times as long, with ρ =
    3 + √8, it errs by at most 4NM·ρ^(−47)/(1 − 1/ρ) < N·M·e^(−80). The ellipse stays right of 0,
    where e^(−κx) is at most 1, and within 1.42 `widest` of the real axis, where e^(−x²/2s²) with
    s = `widest` grows by e at most.
    """
    start = _FIRST if widest >= _FIRST else math.ceil(length) + 1
    points, weights = [np.arange(float(start))], [np.ones(start)]
    while start <= length:
        count = min(start, math.floor(widest))
        nodes, shares = _gauss(count)
        points.append(start + nodes)
        weights.append(shares)
        start += count
    return np.concatenate(points), np.concatenate(weights)


@lru_cache(maxsize=64)
def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rule for the integers 0 to `count` − 1, from the recurrence of Gram's polynomials.

    Golub and Welsch 1969: β_n = n²(N² − n²)/(4(4n² − 1)), α_n = (N − 1)/2.
    """
    n = np.arange(1.0, _ORDER)
    beside = 0.5 * n * np.sqrt((float(count) ** 2 - n * n) / (4.0 * n * n - 1.0))
    nodes, vectors = eigh_tridiagonal(np.full(_ORDER, 0.5 * (count - 1.0)), beside)
    return nodes, count * vectors[0] ** 2


@dataclass(frozen=True)
class DiscreteGaussianEvent(AdditiveEvent):
    """One integer sum plus discrete Gaussian noise; a record moves it by at most `sensitivity`.

    (D²/2s²)-zCDP with D the sensitivity, doubled under replace-one (Canonne, Kamath and Steinke
    2020, Theorem 4). It is **not** (D/s)-Gaussian DP, so `gdp_mu` is ``inf``; an accountant covers
    the curve. The sum of two discrete Gaussians is not one: account for each release. Smaller
    shifts are covered because the distribution is log-concave.

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

    def curve(self, neighboring: Neighboring) -> DiscreteGaussianCurve:
        return DiscreteGaussianCurve(self.scale, self._shift(neighboring))

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.5 * (self._shift(neighboring) / self.scale) ** 2

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        # The bound is attained for integer α·D (the same source, Theorem 4).
        return check_real("order", order, low=1.0) * self.zcdp_rho(neighboring)
