"""Mixtures, envelopes and Poisson samples of curves; derivations: *Rényi DP* in the user guide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import expit, logsumexp

from skdp.privacy.curve import PrivacyCurve, SymmetricCurve, log_excess
from skdp.privacy.gaussian import GaussianCurve
from skdp.support.safe_numbers import CURVE, FORMULA, SUM, margin, up
from skdp.support.validation import check_real, set_checked


@dataclass(frozen=True)
class MixtureCurve(PrivacyCurve):
    """The curve of a mixture whose branch is chosen independently of the data: Σ wᵢ·δᵢ(ε).

    Exact if the branch is released, an upper bound if it is not: H_c is jointly convex
    (Balle, Barthe and Gaboardi 2018, section 3).
    """

    weights: tuple[float, ...]
    curves: tuple[PrivacyCurve, ...]

    def __post_init__(self) -> None:
        set_checked(self, weights=tuple(map(float, self.weights)), curves=tuple(self.curves))
        sums_to_one = self.weights and abs(math.fsum(self.weights) - 1.0) <= 1e-12
        if len(self.weights) != len(self.curves) or not sums_to_one or min(self.weights) < 0.0:
            raise ValueError(
                f"weights must be one for each curve, at least 0, with sum 1; got {self.weights!r}."
            )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        parts = zip(self.weights, self.curves, strict=True)
        return np.minimum(sum(weight * curve._delta(epsilon) for weight, curve in parts), 1.0)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    def reversed(self) -> MixtureCurve:
        return MixtureCurve(self.weights, tuple(curve.reversed() for curve in self.curves))


@dataclass(frozen=True)
class MaximumCurve(PrivacyCurve):
    """The upper envelope of `curves`: the least curve that covers all of them."""

    curves: tuple[PrivacyCurve, ...]

    def __post_init__(self) -> None:
        set_checked(self, curves=tuple(self.curves))
        if not self.curves:
            raise ValueError("MaximumCurve needs at least one curve.")

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return reduce(np.maximum, (curve._delta(epsilon) for curve in self.curves))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    def reversed(self) -> MaximumCurve:
        return MaximumCurve(tuple(curve.reversed() for curve in self.curves))


@dataclass(frozen=True)
class SymmetrizedCurve(PrivacyCurve):
    """The larger of a curve and its reverse: what holds for both orders of the neighbors.

    Composing this curve is valid but can be looser than composing each order by itself and taking
    the larger δ, because the worst order may change with ε and between steps.
    """

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return np.maximum(self.curve._delta(epsilon), self.curve._mirrored(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._delta(epsilon)

    def reversed(self) -> Self:
        return self


@dataclass(frozen=True)
class StitchedCurve(SymmetricCurve):
    """δ of `curve` for ε ≥ 0, and its mirror image for ε < 0.

    If only the half ε ≥ 0 is proved, for both orders of the neighbors, this curve may be composed:
    no single pair of distributions need attain both halves (Zhu, Dong and Wang 2022, Prop. 8).
    """

    curve: PrivacyCurve

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon)


_ERROR = 90.0  # sums leave out e^−90, which is below their rounding
_REACH = 13.5  # slope of the log-integrand where it is cut off; φ(13.5)/13.5 < e^−94
_MOST_NODES = 1 << 16  # for speed: beyond, only `_bound` is used
_NODES, _WEIGHTS = leggauss(24)
_CHUNK = 1_000_000
_FAR = 1e7


def check_rate(rate: float) -> float:
    """Return a sampling rate in (0, 1] as a float."""
    return check_real("sampling_rate", rate, low=0.0, high=1.0, closed="]")


def log_mixture(rate: float, exponent: np.ndarray) -> np.ndarray:
    """Return log(1 − q + q·e^exponent), without cancellation."""
    if rate == 1.0:
        return exponent
    small = np.log1p(rate * np.expm1(np.minimum(exponent, 1.0)))
    large = np.logaddexp(math.log1p(-rate), math.log(rate) + exponent)
    return np.where(exponent < 1.0, small, large)


@dataclass(frozen=True)
class PoissonSampledCurve(PrivacyCurve):
    """The curve of ((1 − q)·Q + q·P, Q) for a pair (P, Q) with a known curve.

    With c = e^ε, H_c = q·H_c'(P‖Q) for c' = (c − 1 + q)/q if that is positive, else 1 − c; for the
    reversed pair H_c = w·H_c''(Q‖P) with w = 1 − c(1 − q) and c'' = cq/w if w is positive, else 0.
    Exact. Add/remove neighbors: Zhu, Dong and Wang 2022, Theorem 11.
    """

    curve: PrivacyCurve
    rate: float

    def _inner(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether c' is positive, and log c'."""
        with np.errstate(divide="ignore"):
            kept = -np.expm1(np.minimum(np.log1p(-self.rate) - epsilon, 0.0))
            return kept > 0.0, epsilon + np.log(np.where(kept > 0.0, kept / self.rate, 1.0))

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        positive, inner = self._inner(epsilon)
        certain = -np.expm1(np.minimum(epsilon, 0.0))
        sampled = self.rate * self.curve._delta(np.where(positive, inner, 0.0))
        return np.where(positive, np.maximum(sampled, certain), certain)

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        positive, inner = self._inner(epsilon)
        if not np.all(positive & (epsilon >= 0.0)):
            return super()._log_delta(epsilon)
        return np.log(self.rate) + self.curve._log_delta(inner)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            weight = -np.expm1(np.minimum(epsilon + np.log1p(-self.rate), 0.0))
            inner = epsilon + np.log(self.rate / np.where(weight > 0.0, weight, 1.0))
        sampled = weight * self.curve._mirrored(np.where(weight > 0.0, inner, 0.0))
        return np.maximum(sampled, -np.expm1(np.minimum(epsilon, 0.0)))

    def renyi(self, order: float) -> float:
        if not isinstance(self.curve, GaussianCurve):
            return super().renyi(order)
        return SampledGaussianPair(self.curve.mu, self.rate, True, False).renyi(order)

    def _mirrored_renyi(self, order: float) -> float:
        if not isinstance(self.curve, GaussianCurve):
            return super()._mirrored_renyi(order)
        return SampledGaussianPair(self.curve.mu, self.rate, False, True).renyi(order)


@dataclass(frozen=True)
class SubstitutedGaussianCurve(SymmetricCurve):
    """The curve of (1 − q)·N(0, s²) + q·N(1, s²) against (1 − q)·N(0, s²) + q·N(−1, s²).

    It dominates one Poisson-sampled Gaussian step when one record is replaced, in every dimension,
    and is attained (Lebeda, Regehr, Kamath and Steinke 2024). The loss rises with x. It is ε at
    s²·(arcsinh(A·sinh(ε/2)) + ε/2), A = e^(1/2s²)·(1 − q)/q, and δ(ε) is the integral of
    p(x)·(1 − e^(ε − ℓ(x))) from there on, in log space.
    """

    rate: float
    scale: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return np.exp(self._log_forward(epsilon))

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        return super()._log_delta(epsilon) if np.any(epsilon < 0) else self._log_forward(epsilon)

    def _log_forward(self, epsilon: np.ndarray) -> np.ndarray:
        # From the start on the integrand falls by e^−2 a panel at least if the start is far out, so
        # 20 panels leave e^−40. Else a panel is as wide as s, and they reach beyond 1 + 20s.
        panels = int(np.ceil(1.0 / self.scale)) + 20
        edges = np.arange(panels)[:, None] + 0.5 * (1.0 + _NODES)
        weights = np.tile(np.log(0.5 * self.scale * _WEIGHTS), panels)
        flat = np.ravel(np.minimum(epsilon, _FAR))
        pieces = max(1, min(flat.size, flat.size * weights.size // _CHUNK))
        parts = [self._sums(e, edges.ravel(), weights) for e in np.array_split(flat, pieces)]
        return np.concatenate(parts).reshape(np.shape(epsilon))

    def _sums(self, epsilon: np.ndarray, steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
        start = self._threshold(epsilon)
        # Far above the start the integrand falls by e^(−z) with z = (x − start)·(start − 1)/s².
        pace = self.scale / np.maximum(1.0, (start - 1.0) / self.scale / 2.0)
        x = start[:, None] + pace[:, None] * steps
        first, second = (log_mixture(self.rate, (s * x - 0.5) / self.scale**2) for s in (1, -1))
        above = np.maximum(first - second - epsilon[:, None], 1e-300)
        centered = -0.5 * (x / self.scale) ** 2 - 0.5 * np.log(2.0 * np.pi) - np.log(self.scale)
        terms = centered + first + np.log(-np.expm1(-above)) + weights
        return np.minimum(logsumexp(terms, axis=1) + np.log(pace / self.scale), 0.0)

    def renyi(self, order: float) -> float:
        return SampledGaussianPair(1.0 / self.scale, self.rate, True, True).renyi(order)

    def _threshold(self, epsilon: np.ndarray) -> np.ndarray:
        """Return the x with loss ε, without overflow."""
        half = 0.5 * epsilon
        if self.rate == 1.0:
            return self.scale**2 * half
        log_a = 0.5 / self.scale**2 + np.log1p(-self.rate) - np.log(self.rate)
        with np.errstate(divide="ignore"):
            log_z = log_a + half + np.log(-np.expm1(-epsilon)) - np.log(2.0)
        small = np.arcsinh(np.exp(np.minimum(log_z, 30.0)))
        return self.scale**2 * (np.where(log_z < 30.0, small, log_z + np.log(2.0)) + half)


@dataclass(frozen=True)
class SampledGaussianPair:
    """A pair (P, Q): the record moves P's sum by `mu`, Q's by −`mu`, if it is sampled."""

    mu: float
    rate: float
    first: bool  # whether P is sampled; else it is N(0, 1)
    second: bool  # whether Q is sampled; else it is N(0, 1)

    def renyi(self, order: float) -> float:
        """Return D_α(P‖Q), never below the truth and within a relative 1e-10 of it.

        Divergences below e^(−60) are less exact, and those where the rule has more than 65536
        nodes although `_bound` is not exact (μ < 0.01 or an order of at least 10⁵).
        """
        order = check_real("order", order, low=1.0)
        if self.mu == 0.0:
            return 0.0
        bound, is_exact = self._bound(order)
        nodes = None if is_exact else self._nodes(order)
        if nodes is not None:
            bound = min(bound, self._log_moment(order, *nodes))
        return bound / (order - 1.0)

    def _bound(self, order: float) -> tuple[float, bool]:
        """Return an upper bound on log M, and whether it is log M up to rounding.

        The joint convexity of M gives 1 − q + q·e^(α(α−1)s²/2), s the distance of the two sums;
        the triangle inequality in the norm of order α gives [1 − q + q·e^((α−1)μ²/2)]^α for P,
        times (1 − q)^(1−α), a bound on (dN(0, 1)/dQ)^(α−1), for Q.
        """
        shift = self.mu * (self.first + self.second)
        convex = self._mixture(0.5 * order * (order - 1.0) * shift * shift)
        if self.rate == 1.0:
            return up(convex, FORMULA), True
        far, odds = 0.5 * (order - 1.0) * self.mu * self.mu, self._log_odds()
        triangle = order * self._mixture(far) if self.first else 0.0
        triangle -= self.second * (order - 1.0) * math.log1p(-self.rate)
        # Loss of the triangle inequality: for P, which has at least its sampled part,
        # α·log(1 + e^(−odds − far)); for Q, by Jensen's inequality for the mean of its sampled part
        # under N(αμ, 1), (α − 1)·e^(odds − α·μ²). Below e^−35 this is nothing in floats.
        lost = max(-odds - far, odds - order * self.mu * self.mu if self.second else -math.inf)
        rounding = margin(SUM) * order * (far - math.log(self.rate))
        is_exact = self.first and math.log(order) + lost < -35.0
        return up(min(convex, triangle), FORMULA) + rounding, is_exact

    def _mixture(self, exponent: float) -> float:
        return float(log_mixture(self.rate, np.asarray(exponent)))

    def _log_odds(self) -> float:
        return math.log(self.rate) - math.log1p(-self.rate)

    def _nodes(self, order: float) -> tuple[np.ndarray, float] | None:
        """Return x and the step, or None if there would be too many.

        The log-integrand's slope is −x + μ·(α·w(x) + β·w(−x)), w(x) the share of the sampled part
        in m: at least 13.5 before the start, at most −13.5 after the end, by induction in the loop.
        """
        mu, beta = self.mu, self.second * (order - 1.0)
        step = self._step(beta)
        odds = self._log_odds() - 0.5 * mu * mu
        start, least = -_REACH - mu * self.second, mu * beta * float(expit(odds)) + _REACH
        reach = self.first * mu * order
        end = least + reach
        for _ in range(20):
            end = least + reach * float(expit(odds + mu * end))
        if not end - start < _MOST_NODES * step:
            return None
        return start + step * np.arange(math.ceil((end - start) / step) + 1.0), step

    def _step(self, beta: float) -> float:
        """Return the step that errs by e^(−90)·(M + 2α) for about the best width of the strip."""
        # In |Im x| ≤ w < π/μ the integrand is analytic, with integrals of its modulus up to
        # N = e^growth·(M + 2α). The rule errs by 2N/(e^(2πw/step) − 1), which is half of the claim:
        # *Rényi DP*, "Poisson-sampled Gaussians". Any w is valid.
        widest = (2.0 if beta else 3.1) / self.mu
        width = min(math.sqrt(2.0 * _ERROR / (1.0 + 0.25 * beta * self.mu * self.mu)), widest)
        growth = 0.5 * width**2 - (beta and beta * math.log(math.cos(0.5 * self.mu * width)))
        return 2.0 * math.pi * width / (_ERROR + math.log(4.0) + growth)

    def _log_moment(self, order: float, x: np.ndarray, step: float) -> float:
        mu, density, loss = self.mu, -0.5 * x * x - 0.5 * math.log(2.0 * math.pi), np.zeros_like(x)
        if self.first:
            loss = log_mixture(self.rate, mu * x - 0.5 * mu * mu)
        if self.second:
            other = log_mixture(self.rate, -mu * x - 0.5 * mu * mu)
            density, loss = density + other, loss - other
        inside = density + log_excess(loss, order) + math.log(step)
        ends = np.array([0, -1])
        tails = density[ends] + order * loss[ends] - math.log(_REACH)
        # In units of e^−90: the rule errs by M/2 + α. Beyond the ends e^(αL) is in `tails`, and the
        # rest of ψ is at most α − 1, with a mass of Q there below 2·e^−4. So 1.1·α + 1/2 is enough;
        # M − 1 times e^−90 is within the rounding.
        proved = [-_ERROR + math.log(2.0 * order + 4.0)]
        rounding = margin(CURVE) + margin(SUM) * order * float(np.abs(loss[ends]).max())
        log_less = logsumexp(np.concatenate([inside, tails, proved])) + rounding
        return up(float(np.logaddexp(0.0, log_less)), SUM)
