"""Gaussian and zero-concentrated DP: curves accurate far into the tails, and their events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from skdp.privacy.curve import HullCurve, SymmetricCurve
from skdp.privacy.events import AdditiveEvent, Event
from skdp.privacy.neighboring import Neighboring
from skdp.support.safe_numbers import CURVE, FORMULA, down, first_to_hold, up
from skdp.support.validation import check_count, check_delta, check_epsilon, check_real, check_size

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
    defect, s, near = np.empty_like(x), x[far] ** -2.0, x[~far]
    tail = 1.0 - 7.0 * s * (1.0 - 9.0 * s * (1.0 - 11.0 * s * (1.0 - 13.0 * s)))
    defect[far] = s * (1.0 - 3.0 * s * (1.0 - 5.0 * s * tail))
    defect[~far] = 1.0 - near * math.sqrt(math.pi / 2.0) * erfcx(near / math.sqrt(2))
    return defect


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ such that μ-Gaussian DP implies (ε, δ)-DP, rounded downwards.

    Parameters
    ----------
    epsilon : float in (0, inf]
        *Public.*
    delta : float in [0, 1)
        *Public.*

    Returns
    -------
    float
        0 for δ = 0 and ``inf`` for ε = inf; else within a relative 1e-10 of the root of
        δ_μ(ε) = δ.

    Examples
    --------
    >>> round(gdp_mu(1.0, 1e-5), 6)
    0.268051
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if math.isinf(epsilon):
        return math.inf
    if delta == 0.0:
        return 0.0
    return _largest_mu(epsilon, delta)


@lru_cache(maxsize=256)
def _largest_mu(epsilon: float, delta: float) -> float:
    log_delta = math.log(delta)

    def excess(log_mu: float) -> float:
        return float(gaussian_log_delta(epsilon, math.exp(log_mu))) - log_delta

    low = next(log_mu for log_mu in count(0.0, -1.0) if excess(log_mu) <= 0.0)
    high = next(log_mu for log_mu in count(0.0, 1.0) if excess(log_mu) >= 0.0)
    return down(math.exp(brentq(excess, low, high, xtol=1e-15)), CURVE)


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

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        # Φ(Φ⁻¹(1 − α) − μ): Dong, Roth and Su 2022, Definition 2.6.
        if math.isinf(self.mu):
            return np.zeros_like(alpha)
        return np.asarray(ndtr(-ndtri(alpha) - self.mu))


class _ConcentratedEvent(Event):
    """An event whose Rényi divergences are ρ·α, as far as is known; a pure ε follows from ρ = 0."""

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return check_real("order", order, low=1.0) * self.zcdp_rho(neighboring)


@dataclass(frozen=True)
class GDPEvent(_ConcentratedEvent):
    """A release that is `mu`-Gaussian DP; 0 for no release at all.

    Parameters
    ----------
    mu : float in [0, inf)
        *Public.*

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> event = GDPEvent(1.0)
    >>> round(event.curve("replace_one").epsilon(1e-5), 3), event.zcdp_rho("replace_one")
    (4.377, 0.5)
    """

    mu: float

    def __post_init__(self) -> None:
        self._set(mu=check_real("mu", self.mu, low=0.0, closed="["))

    def curve(self, neighboring: Neighboring) -> GaussianCurve:
        return GaussianCurve(self.mu)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return self.mu

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.5 * self.mu * self.mu

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.mu else 0.0


@dataclass(frozen=True)
class GaussianEvent(_ConcentratedEvent, AdditiveEvent):
    """A sum of record contributions of l2 norm at most C, plus N(0, (`noise_multiplier`·C)²·I).

    Adding or removing a record moves the sum by C, replacing one by 2C. The event also stands for
    any release that is 1/`noise_multiplier`-Gaussian DP when a record is added or removed: it costs
    no more, on a Poisson sample as well (see *Sample, then fit* in the user guide).

    Parameters
    ----------
    noise_multiplier : float
        *Public.* Standard deviation of the noise over C.

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent
    >>> event = GaussianEvent(4.0)
    >>> event.gdp_mu("replace_one"), round(event.curve("replace_one").epsilon(1e-5), 3)
    (0.5, 1.993)
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        self._set(noise_multiplier=check_size("noise_multiplier", self.noise_multiplier))

    def curve(self, neighboring: Neighboring) -> GaussianCurve:
        return GaussianCurve(self.gdp_mu(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return Neighboring(neighboring).n_changed / self.noise_multiplier

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.5 * self.gdp_mu(neighboring) ** 2


@dataclass(frozen=True)
class ZCDPCurve(HullCurve):
    r"""An upper curve of every ρ-zCDP release, for both orders and all real ε.

    .. math:: F(ε) = \min_{α>1} \frac{e^{(α-1)(ρα-ε)}}{α-1}\left(1-\frac1α\right)^α

    (Canonne, Kamath and Steinke 2020, Proposition 12, which holds for every real ε). F is convex
    in e^ε: with the optimal order α, F''·e^(2ε)/F = α(α − 1) − dα/dε ≥ 0. It exceeds 1 near 0,
    where its convex hull with its mirror image (`HullCurve`) replaces it.
    """

    rho: float

    @property
    def _farthest(self) -> float:
        return self.rho + 4.0 * math.sqrt(self.rho) + 1e-12

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε); at the optimum (2α − 1)ρ + log(1 − 1/α) = ε. Any α is valid.

        F is flat there: an error of 3e-9 in log(α − 1) does not show.
        """
        low, high = np.full_like(epsilon, -120.0), np.full_like(epsilon, 60.0)
        for _ in range(36):
            middle = 0.5 * (low + high)
            less = np.exp(middle)
            rising = (2.0 * less + 1.0) * self.rho - np.log1p(1.0 / less) > epsilon
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        less, order = np.exp(high), 1.0 + np.exp(high)
        return less * (self.rho * order - epsilon) - high - order * np.logaddexp(0.0, -high)


@dataclass(frozen=True)
class ZCDPEvent(_ConcentratedEvent):
    """A release that is `rho`-zCDP (Bun and Steinke 2016); 0 for no release at all.

    zCDP does not imply Gaussian DP, so `gdp_mu` is ``inf``.

    Parameters
    ----------
    rho : float
        *Public.* 0, or in [1e-30, 1e30].

    Examples
    --------
    >>> round(ZCDPEvent(0.5).curve("replace_one").epsilon(1e-5), 5)
    4.72839
    """

    rho: float

    def __post_init__(self) -> None:
        rho = check_real("rho", self.rho, low=0.0, high=1e30, closed="[]")
        if 0.0 < rho < 1e-30:
            raise ValueError(f"rho must be 0 or at least 1e-30, got {rho!r}.")
        self._set(rho=rho)

    def curve(self, neighboring: Neighboring) -> SymmetricCurve:
        return ZCDPCurve(self.rho)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.rho else 0.0

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return self.rho


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
class DiscreteGaussianEvent(_ConcentratedEvent, AdditiveEvent):
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


@dataclass(frozen=True)
class NonPrivateEvent(Event):
    """A release without any privacy: δ(ε) = 1 for every ε.

    Examples
    --------
    >>> from skdp.privacy import NonPrivateEvent
    >>> curve = NonPrivateEvent().curve("replace_one")
    >>> curve.epsilon(1e-5), curve.delta(10.0)
    (inf, 1.0)
    """

    def curve(self, neighboring: Neighboring) -> GaussianCurve:
        return GaussianCurve(float("inf"))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return float("inf")
