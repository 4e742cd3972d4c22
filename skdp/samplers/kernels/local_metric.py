"""A ball that holds nearly all of a law, and the least curvature of its potential there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from skdp.samplers.base import Sample, Target
from skdp.samplers.kernels.proximal_chain import Length, chain, measured
from skdp.samplers.kernels.thinning import Acceptance

__all__ = ["BallSearch", "InBall", "LocalBall", "LocalStep", "tail_bound"]

_WIDEST = 500  # columns; a metric is a dense matrix
_CHUNK = 2048
_NEWTON_STEPS = 3
_RINGS = 10  # up to the radius that a Gaussian law would need
_MOST_RINGS = 30
_POINTS = 24  # of the quadrature in a ring
_USELESS = 0.03  # curvature at the rim, of that at the center
_UNIT = 2.0**-53
_SAFETY = 1e-9  # relative, of sums and elementary functions


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalBall:
    """The points with |Lᵀ(θ − p)| ≤ ρ: all but `tail` of the law, and U − |Rᵀθ|²/2 convex there.

    Parameters
    ----------
    center : ndarray of shape (d,)
        p, near the mode.
    shape, metric : ndarray of shape (d, d)
        L and R, lower triangular.
    radius : float
        ρ.
    tail : float
        Upper bound of the law's mass outside.
    slope : float
        Upper bound of |R⁻¹∇U(p)|.
    curvatures : ndarray of shape (d,)
        About the eigenvalues of R⁻¹·∇²U(p)·R⁻ᵀ, in units of 1, with eigenvectors `axes`.
    axes : ndarray of shape (d, d)
    """

    center: np.ndarray
    shape: np.ndarray
    metric: np.ndarray
    radius: float
    tail: float
    slope: float
    curvatures: np.ndarray
    axes: np.ndarray

    def theta(self, v: np.ndarray) -> np.ndarray:
        """Return the θ with v = Rᵀ(θ − p)."""
        return self.center + linalg.solve_triangular(self.metric, v, lower=True, trans="T")

    def holds(self, theta: np.ndarray) -> bool:
        """Tell whether θ lies in the ball."""
        return bool(np.linalg.norm(self.shape.T @ (theta - self.center)) <= self.radius)


class BallSearch:
    """Hessians on growing balls around a point near the mode.

    Parameters
    ----------
    target : Target
    near_mode : ndarray of shape (d,)
    """

    def __init__(self, target: Target, near_mode: np.ndarray) -> None:
        self._target, self._center = target, near_mode
        self.n_queries = 0

    def ball(self, tail: float) -> LocalBall | None:
        """Return a ball that holds all but `tail`, or None if none is found that would help.

        Whatever it promises is on the safe side of rounding. Of wide data no metric is computed.
        """
        if self._target.design.n_features > _WIDEST:
            return None
        try:
            self._measure()
            return self._grow(tail)
        except (linalg.LinAlgError, ValueError):  # a matrix is not safely positive, or not finite
            return None

    def _measure(self) -> None:
        self._look()
        for _ in range(_NEWTON_STEPS):
            self._center = self._center - linalg.cho_solve((self._shape, True), self._slope_here())
        self._look()
        self._gradient = self._slope_here()
        self._bound_rounding()
        self._reach = self._reaches() * (1.0 + self._distortion)

    def _slope_here(self) -> np.ndarray:
        self.n_queries += self._target.design.n_samples
        return self._target.gradient(self._center)

    def _look(self) -> None:
        """Take the Hessian at the center for the metric."""
        self._scores = self._target.design.matvec(self._center)
        self.n_queries += self._scores.size
        self._hessian = self._least_hessian(np.zeros(self._scores.size))
        self._shape = linalg.cholesky(self._hessian, lower=True)

    def _bound_rounding(self) -> None:
        """Bound the errors of matrices in norm, of |R⁻¹g|, of |L⁻¹a_i| relatively, of scores."""
        target, d, n = self._target, len(self._shape), self._scores.size
        alpha, R, trace = target.prior_precision, target.row_norm, float(np.trace(self._hessian))
        size = float(np.linalg.norm(self._center))
        self._matrix_error = 16.0 * (n + d + 16) * _UNIT * trace
        self._distortion = 32.0 * d * d * _UNIT * trace / alpha + _SAFETY
        if self._matrix_error > alpha / 8.0 or self._distortion > 0.25:
            raise linalg.LinAlgError("rounding could matter")
        slopes = (
            target.temperature * n * R * (target.loss.lipschitz + target.loss.smoothness * R * size)
        )
        gradient_error = 4.0 * (n + d) * _UNIT * (slopes + alpha * size)
        self._slope_error = gradient_error / math.sqrt(0.5 * alpha)
        self._score_error = 1e-12 * R * size

    def _reaches(self) -> np.ndarray:
        """Return |L⁻¹a_i|: by how much the score of record i moves per unit of radius."""
        d = len(self._shape)
        self.n_queries += self._scores.size
        inverse = linalg.solve_triangular(self._shape, np.eye(d), lower=True).T
        chunks = [self._target.design.take(rows).matvec(inverse) for rows in self._slices()]
        return np.concatenate([np.linalg.norm(chunk, axis=1) for chunk in chunks])

    def _least_hessian(self, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ∇²U where scores are within `radius` of those at the center."""
        target, d = self._target, self._target.design.n_features
        curvature = target.loss.least_curvature(target.y, self._scores, radius)
        weights = (1.0 - _SAFETY) * target.temperature * curvature
        total = target.prior_precision * np.eye(d)
        for rows in self._slices():
            total += target.design.take(rows).gram(weights[rows])
        return total

    def _slices(self) -> list[slice]:
        return [slice(i, i + _CHUNK) for i in range(0, self._target.design.n_samples, _CHUNK)]

    def _grow(self, tail: float) -> LocalBall | None:
        """Return the first of growing balls whose tail is small enough."""
        d, slope = len(self._shape), self._slope(self._shape)
        width = (math.sqrt(d) + math.sqrt(-2.0 * math.log(tail))) / _RINGS
        curvatures: list[float] = []
        for ring in range(1, _MOST_RINGS + 1):
            least = self._least_hessian(self._reach * ring * width + self._score_error)
            curvatures.append(self._relative_curvature(least))
            if curvatures[-1] < _USELESS:
                return None
            outside = tail_bound(d, width, curvatures, slope)
            if outside <= tail:
                return self._ball(least, ring * width, outside)
        return None

    def _relative_curvature(self, least: np.ndarray) -> float:
        """Return a proved m ≤ 1 with `least` ≥ m·LLᵀ, nearly the largest.

        A Cholesky factor in floating point proves that its matrix is not far below 0 (Higham 2002,
        Theorem 10.7).
        """
        safe = least - self._matrix_error * np.eye(len(least))
        ratio = float(linalg.eigh(safe, self._hessian, eigvals_only=True)[0])
        m = min(1.0, ratio) * (1.0 - 1e-6)
        linalg.cholesky(safe - m * self._hessian, lower=True)
        return m

    def _ball(self, least: np.ndarray, radius: float, tail: float) -> LocalBall:
        safe = least - 2.0 * self._matrix_error * np.eye(len(least))
        metric = linalg.cholesky(safe, lower=True)
        half = linalg.solve_triangular(metric, self._shape, lower=True)
        curvatures, axes = np.linalg.eigh(half @ half.T)
        slope = self._slope(metric)
        return LocalBall(
            center=self._center,
            shape=self._shape,
            metric=metric,
            radius=radius,
            tail=tail,
            slope=slope,
            curvatures=curvatures,
            axes=axes,
        )

    def _slope(self, factor: np.ndarray) -> float:
        whitened = linalg.solve_triangular(factor, self._gradient, lower=True)
        return float(np.linalg.norm(whitened)) * (1.0 + 1e-6) + self._slope_error


def tail_bound(d: int, width: float, curvatures: list[float], slope: float) -> float:
    """Return a bound of a law's mass beyond the last of rings of one width, in d dimensions.

    Along each ray from the center the potential has a slope of at least −`slope` at first, and
    curvature of at least `curvatures` in the rings. With the radial potential ψ that has just
    these, the mass is at most ∫_ρ^∞ r^(d−1)·e^(−ψ) over the integral from 0. The integrand's
    logarithm f is concave: e^f(ρ)/(−f'(ρ)) is above the one, chords of f are below the other.
    """
    step = width / _POINTS
    bends = np.minimum.accumulate(np.repeat(curvatures, _POINTS))
    slopes = np.concatenate([[0.0], np.cumsum(bends)]) * step - slope
    potential = np.cumsum(0.5 * step * (slopes[1:] + slopes[:-1]))
    r = step * np.arange(1, bends.size + 1)
    f = (d - 1.0) * np.log(r) - potential
    fall = slopes[-1] - (d - 1.0) / r[-1]
    if fall <= 0.0:
        return 1.0
    chords = 0.5 * (f[1:] + f[:-1])
    top = chords.max()
    within = step * float(np.exp(chords - top).sum())
    return math.exp(min(f[-1] - top, 0.0)) / (float(fall) * within) * (1.0 + _SAFETY)


_CLOSE_ENOUGH = 0.3
_MOST_STEPS = 20
_TRIES_PER_POINT = 50


class InBall:
    """The center of a ball, in the coordinates v = Rᵀ(θ − p)."""

    def __init__(self, target: Target, ball: LocalBall, rng: np.random.Generator) -> None:
        self._target, self._ball, self._rng = target, ball, rng
        self.start, self.precision = np.zeros_like(ball.center), 1.0
        self.curvatures = np.maximum(ball.curvatures - 1.0, 0.0)
        self.distance = (math.sqrt(self.start.size) + ball.slope) * (1.0 + 1e-9)
        self.n_queries = 0

    def step(self, variance: float) -> LocalStep:
        """Return what draws the states."""
        return LocalStep(self._target, self._ball, variance, self._rng)

    def length(self, tv: float) -> Length:
        """Return a chain within `tv` of the whole target: the mass outside of the ball counts."""
        return measured(self, tv - self._ball.tail, self._rng)

    def draw(self, length: Length) -> Sample:
        """Run a chain."""
        v, n_tries = chain(self, length, self._rng)
        facts = {"n_tries": n_tries, "n_queries": self.n_queries, "n_steps": length.n_steps}
        ball = {"radius": self._ball.radius, "tail": self._ball.tail}
        return Sample(self._ball.theta(v), facts | ball)


class LocalStep:
    """Draws in v = Rᵀ(θ − p), in which the potential is 1-strongly convex on the ball.

    There it lies above its tangent plus |v − v₀|²/2, for every v₀ in the ball: the Gaussian that
    is proposed. A proposal is accepted with probability e^(−E), E ≥ 0 the potential's excess over
    that, and never outside of the ball.

    Parameters
    ----------
    target : Target
    ball : LocalBall
    variance : float
        Of the proposals, in v.
    rng : numpy Generator
    """

    def __init__(
        self, target: Target, ball: LocalBall, variance: float, rng: np.random.Generator
    ) -> None:
        self._target, self._ball, self._variance, self._rng = target, ball, variance, rng
        self.n_tries = self.n_queries = 0
        self._move_to(np.zeros_like(ball.center))

    def attempt(self, center: np.ndarray, most_tries: int = _TRIES_PER_POINT) -> np.ndarray | None:
        """Return one draw for a center, or None if none is found within so many tries."""
        mean, sd = self._follow(center), math.sqrt(self._variance)
        for _ in range(most_tries):
            self.n_tries += 1
            v = mean + sd * self._rng.standard_normal(mean.shape)
            if self._accepts(v):
                return v
        return None

    def _follow(self, center: np.ndarray) -> np.ndarray:
        """Move v₀ towards the mode for a center, by Newton steps; return the proposal's mean."""
        weights = 1.0 + self._variance * (self._ball.curvatures - 1.0)
        for _ in range(_MOST_STEPS):
            residual = center - self._step - self._point
            if np.vdot(residual, residual) <= _CLOSE_ENOUGH * self._variance:
                break
            self._move_to(
                self._point + self._ball.axes @ ((self._ball.axes.T @ residual) / weights)
            )
        return center - self._step

    def _accepts(self, v: np.ndarray) -> bool:
        """Draw whether a proposal is taken."""
        theta = self._ball.theta(v)
        if not self._ball.holds(theta):
            return False
        step, moved = v - self._point, theta - self._theta
        gained = 0.5 * float(step @ step - self._target.prior_precision * (moved @ moved))
        limit = float(self._rng.standard_exponential()) + gained
        below, n_queries = Acceptance(self._target, self._theta).sum_is_below(theta, limit)
        self.n_queries += n_queries
        return below

    def _move_to(self, v: np.ndarray) -> None:
        """Set v₀, drawn back into the ball from outside, and σ² times the slope beyond its own."""
        theta = self._ball.theta(v)
        distance = float(np.linalg.norm(self._ball.shape.T @ (theta - self._ball.center)))
        self._point = v * min(1.0, 0.999 * self._ball.radius / max(distance, 1e-300))
        self._theta = self._ball.theta(self._point)
        gradient = self._target.gradient(self._theta)
        self.n_queries += self._target.design.n_samples
        slope = linalg.solve_triangular(self._ball.metric, gradient, lower=True)
        self._step = self._variance * (slope - self._point)
