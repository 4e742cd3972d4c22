"""A ball that restricts a density, and Gaussians on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from skdp.support.root_search import bisect, halvings
from skdp.support.validation import check_size, make_plain

_BISECTIONS = 40  # to choose a proposal; no guarantee rests on it
_ROOT_2PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Ball:
    """The coefficients with |θ| ≤ radius.

    Parameters
    ----------
    radius : float
        *Public.* In the units of θ, the intercept's coefficient included.
    """

    radius: float

    def __post_init__(self) -> None:
        make_plain(self)
        check_size("radius", self.radius)

    def holds(self, theta: np.ndarray) -> bool:
        """Whether θ lies in the ball."""
        return float(np.vdot(theta, theta)) <= self.radius**2

    def project(self, theta: np.ndarray) -> np.ndarray:
        """Return the point of the ball nearest to θ."""
        return theta if self.holds(theta) else theta * (self.radius / np.linalg.norm(theta))

    def gaussian(self, mean: np.ndarray, sd: float) -> RestrictedGaussian:
        """Return N(mean, sd²·I) restricted to the ball."""
        return RestrictedGaussian(self, mean, sd)

    def lowest(self, curvature: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Return the point of the ball that minimizes ½·Σ w_j·|x_j|² − Σ ⟨e_j, x_j⟩."""

        def beyond(multiplier: float) -> float:
            return float(np.linalg.norm(linear.T / (curvature + multiplier))) - self.radius

        if beyond(0.0) <= 0.0:
            return (linear.T / curvature).T
        # twice the multiplier at which x is short enough, so rounding does not matter
        most = 2.0 * float(np.linalg.norm(linear)) / self.radius
        multiplier = brentq(beyond, 0.0, most)
        return self.project((linear.T / (curvature + multiplier)).T)


@dataclass(frozen=True, eq=False)
class RestrictedGaussian:
    """N(mean, sd²·I) restricted to a ball."""

    ball: Ball
    mean: np.ndarray
    sd: float

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return one point."""
        # A point of the whole Gaussian that falls inside has this distribution. If it falls
        # outside, an exact sample replaces it, so the result has this distribution in both cases.
        theta = self.mean + self.sd * rng.standard_normal(self.mean.shape)
        if self.ball.holds(theta):
            return theta
        return self.sd * self._truncated.draw(rng).reshape(self.mean.shape)

    @cached_property
    def _truncated(self) -> TruncatedGaussian:
        return TruncatedGaussian(self.ball.radius / self.sd, self.mean.ravel() / self.sd)


class TruncatedGaussian:
    """N(m·u, I) restricted to |x| ≤ ρ, u a unit vector; samples are exact for any mean.

    With x = a·u + w, w at a right angle to u and v = |w|², a is in [−b, b], b = √(ρ² − v), and v
    has a density ∝ v^((d−3)/2)·exp(−v/2)·g(v), g(v) the probability that N(m, 1) is in [−b, b].
    log g is concave, so it lies below its tangent at any v₀, of derivative −κ: w is proposed from
    N(0, s²·I), 1/s² = 1 + 2κ, and accepted with probability g(v)/g(v₀)·exp(κ·(v − v₀)). Then a is
    drawn.
    """

    def __init__(self, radius: float, mean: np.ndarray) -> None:
        self._radius, self._m = radius, float(np.linalg.norm(mean))
        first = np.zeros(mean.shape)
        first[0] = 1.0
        self._axis = mean / self._m if self._m else first
        self._v0 = self._best_tangency(mean.size - 1)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return one point, of shape (d,)."""
        b0, derivative = self._half_chord(self._v0), self._derivative(self._v0)
        sd = 1.0 / math.sqrt(1.0 - 2.0 * derivative)
        while True:
            w = sd * rng.standard_normal(self._axis.shape)
            w -= self._axis * (self._axis @ w)
            v = float(w @ w)
            gap = derivative * (v - self._v0)
            if v >= self._radius**2 or rng.standard_exponential() < gap - self._gain(v, b0):
                continue
            b = self._half_chord(v)
            return (b - _depth(b - self._m, b, rng)) * self._axis + w

    def _half_chord(self, v: float) -> float:
        return math.sqrt(self._radius**2 - v)

    def _mass(self, b: float) -> float:
        """Return log of g times exp((b − m)²/2), which has no large terms for b < m."""
        low = _log_tail(-b - self._m) - _log_tail(b - self._m) - 2.0 * b * self._m
        return _log_tail(b - self._m) + math.log(-math.expm1(min(low, -1e-300)))

    def _gain(self, v: float, b0: float) -> float:
        """Return log g(v) − log g(v₀)."""
        b = self._half_chord(v)
        longer = (self._v0 - v) / (b + b0)
        return self._mass(b) - self._mass(b0) - 0.5 * longer * (b + b0 - 2.0 * self._m)

    def _derivative(self, v: float) -> float:
        """Return −κ, the derivative of log g at v."""
        b = self._half_chord(v)
        ends = 1.0 + math.exp(-2.0 * b * self._m)
        return -ends * math.exp(-self._mass(b)) / (2.0 * b * _ROOT_2PI)

    def _best_tangency(self, k: int) -> float:
        """Return v₀ = k·s²(v₀), which needs the fewest proposals in k dimensions."""

        def is_below(v: float) -> bool:
            return v * (1.0 - 2.0 * self._derivative(v)) < k

        return bisect(is_below, 0.0, self._radius**2, halvings(_BISECTIONS)) if k else 0.0


def _log_tail(x: float) -> float:
    """Return log Φ(x) + x²/2."""
    if x < 0.0:
        return math.log(0.5 * erfcx(-x / math.sqrt(2.0)))
    return float(log_ndtr(x)) + 0.5 * x * x


def _depth(x: float, b: float, rng: np.random.Generator) -> float:
    """Return a sample t in [0, 2b] with density ∝ exp(x·t − t²/2); few proposals are rejected."""
    while True:
        if x > -1.0 and b > 0.5:
            t = x - rng.standard_normal()
            if 0.0 <= t <= 2.0 * b:
                return float(t)
            continue
        u = rng.random()
        t = math.log1p(u * math.expm1(2.0 * b * x)) / x if x else 2.0 * b * u
        if rng.standard_exponential() >= 0.5 * t * t:
            return t
