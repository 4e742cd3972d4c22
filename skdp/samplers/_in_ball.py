"""A proximal chain in a ball: where it starts, and how it supports its potential from below."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from skdp.samplers._acceptance import Acceptance
from skdp.samplers._chain import chain, measured
from skdp.samplers._length import Length
from skdp.samplers._local_ball import LocalBall
from skdp.samplers.base import Draw, Target

__all__ = ["InBall", "LocalStep"]

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

    def draw(self, length: Length) -> Draw:
        """Run a chain."""
        v, n_tries = chain(self, length, self._rng)
        facts = {"n_tries": n_tries, "n_queries": self.n_queries, "n_steps": length.n_steps}
        ball = {"radius": self._ball.radius, "tail": self._ball.tail}
        return Draw(self._ball.theta(v), facts | ball)


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
