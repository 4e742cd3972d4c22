"""Gaussian differential privacy in closed form, accurate far into the tails."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from skdp.privacy.curve import SymmetricCurve, TradeoffFunction
from skdp.support.root_search import first_to_hold
from skdp.support.rounding import FORMULA, up
from skdp.support.validation import check_count, check_delta, check_real

__all__ = ["GaussianCurve", "GaussianTradeoff", "gaussian_log_delta"]

_NODES, _WEIGHTS = leggauss(24)
_FAR = 1e100  # δ is 0 long before
# Relative error of δ in floats. For μ < 1 it is 6e-13: 1 − x·M(x) loses three digits at x = 30, and
# u²/2 is rounded. For μ ≥ 1 and u up to `_FAR_OUT`, logarithms up to (u + 1)²/2 are off by 8 units
# of 2⁻⁵³ together, and log(1 − e^...) by u + 1 times that: 4.4e-16·(u + 1)³, 3e-12 at u = 18.
# Beyond it, M(u) − M(u + μ) loses a factor of u + 1, and u²/2 is rounded: 3.3e-13 at u = 38.
_ROUNDING = 4e-12
_FAR_OUT = 18.0
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def gaussian_log_delta(epsilon: ArrayLike, mu: float) -> np.ndarray:
    r"""Return log δ for N(μ, 1) against N(0, 1) at ε ≥ 0.

    With u = ε/μ − μ/2 and Mills' ratio M, δ(ε) = φ(u)·(M(u) − M(u + μ)): equal to the usual
    Φ(−u) − e^ε·Φ(−u − μ), but without the cancellation of two nearly equal terms. For μ < 1 the
    difference of Mills' ratios is the integral of 1 − x·M(x) over [u, u + μ].
    """
    epsilon = np.asarray(epsilon, dtype=float)
    u = np.minimum(epsilon / mu - 0.5 * mu, _FAR)
    if mu >= 1.0:
        log_first = log_ndtr(-u)
        log_second = np.minimum(epsilon + log_ndtr(-u - mu), log_first)
        with np.errstate(divide="ignore"):
            log_delta = log_first + np.log(-np.expm1(log_second - log_first))
            return np.where(u > _FAR_OUT, _log_delta_far_out(u, mu), log_delta)
    x = u[..., None] + 0.5 * mu * (1.0 + _NODES)
    integral = 0.5 * mu * (_mills_defect(x) @ _WEIGHTS)
    return -0.5 * u * u - _LOG_SQRT_2PI + np.log(integral)


def _log_delta_far_out(u: np.ndarray, mu: float) -> np.ndarray:
    """Return log φ(u) + log(M(u) − M(u + μ)) for u > 0, where `log_ndtr` has lost digits."""
    scaled = np.maximum(u, _FAR_OUT) / math.sqrt(2.0)
    ratios = erfcx(scaled) - erfcx(scaled + mu / math.sqrt(2.0))
    return -0.5 * u * u - _LOG_SQRT_2PI + np.log(math.sqrt(math.pi / 2.0) * ratios)


def _mills_defect(x: np.ndarray) -> np.ndarray:
    """Return 1 − x·M(x), by its asymptotic series where the difference would cancel."""
    # The series alternates, so its remainder is below 15!!/x¹⁴, 5e-15 at x = 30. The difference is
    # 1e-3 there, so that 4 units of 2⁻⁵³ in x·M(x) are 4e-13 of it.
    far = x > 30.0
    series_at = np.where(far, x, 30.0) ** -2.0
    series = series_at * (1.0 - 3.0 * series_at * (1.0 - 5.0 * series_at * _tail(series_at)))
    near = np.where(far, 0.0, x)
    return np.where(far, series, 1.0 - near * math.sqrt(math.pi / 2.0) * erfcx(near / math.sqrt(2)))


def _tail(s: np.ndarray) -> np.ndarray:
    return 1.0 - 7.0 * s * (1.0 - 9.0 * s * (1.0 - 11.0 * s * (1.0 - 13.0 * s)))


@dataclass(frozen=True)
class GaussianCurve(SymmetricCurve):
    """The curve of μ-Gaussian DP, μ in [0, inf] (Dong, Roth and Su 2022, Corollary 1).

    Parameters
    ----------
    mu : float in [0, inf]
        *Public.*

    Examples
    --------
    >>> round(GaussianCurve(1.0).delta(1.0), 8)
    0.12693674
    """

    mu: float

    def __post_init__(self) -> None:
        if not self.mu >= 0.0:
            raise ValueError(f"mu must lie in [0, inf], got {self.mu!r}.")

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        if self.mu == 0.0:
            return -np.expm1(np.minimum(epsilon, 0.0))
        if math.isinf(self.mu):
            return np.ones_like(epsilon)
        return super()._delta(epsilon)

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return np.exp(gaussian_log_delta(epsilon, self.mu))

    def epsilon(self, delta: float) -> float:
        delta = check_delta(delta)
        if self.mu == 0.0:
            return 0.0
        if delta == 0.0 or math.isinf(self.mu):
            return math.inf
        log_delta = math.log(delta) - _ROUNDING

        def excess(epsilon: float) -> float:
            return float(gaussian_log_delta(epsilon, self.mu)) - log_delta

        if excess(0.0) <= 0.0:
            return 0.0
        high, _ = first_to_hold(lambda epsilon: excess(epsilon) <= 0.0, 0.0, 1.0, lambda x: 2.0 * x)
        return up(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15), FORMULA)

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        if self.mu == 0.0 or math.isinf(self.mu) or np.any(epsilon < 0.0):
            return super()._log_delta(epsilon)
        return gaussian_log_delta(epsilon, self.mu)

    def renyi(self, order: float) -> float:
        # Mironov 2017, Proposition 7.
        return 0.5 * check_real("order", order, low=1.0) * self.mu * self.mu

    def group(self, size: int) -> GaussianCurve:
        # Dong, Roth and Su 2022, Theorem 2.14.
        return GaussianCurve(check_count("size", size) * self.mu)

    def tradeoff(self) -> GaussianTradeoff:
        return GaussianTradeoff(self.mu)


@dataclass(frozen=True)
class GaussianTradeoff(TradeoffFunction):
    """Trade-off function of μ-Gaussian DP, β(α) = Φ(Φ⁻¹(1 − α) − μ).

    Parameters
    ----------
    mu : float in [0, inf]
        *Public.*
    """

    mu: float

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        if math.isinf(self.mu):
            return np.zeros_like(alpha)
        return np.asarray(ndtr(-ndtri(alpha) - self.mu))

    def curve(self) -> GaussianCurve:
        return GaussianCurve(self.mu)
