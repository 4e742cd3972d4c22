"""Where a proximal chain for the whole target starts."""

from __future__ import annotations

import math

import numpy as np

from skdp.samplers._chain import chain, measured
from skdp.samplers._inner import TangentStep
from skdp.samplers._length import Length
from skdp.samplers._tangent import TangentPoint
from skdp.samplers.base import Draw, Target

__all__ = ["NearMode"]


class NearMode:
    """A point near the mode, and what is known of the target from there."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        self._target, self._rng = target, rng
        self.precision = target.prior_precision
        tangent = TangentPoint(target, 1.0 / self.precision, rng)
        tangent.follow(np.zeros(target.shape))
        self.start, self.curvatures = tangent.point, tangent.curvatures / self.precision
        distance = _distance(target, self.start) * math.sqrt(self.precision)
        self.distance = distance * (1.0 + 1e-9)
        self.n_queries = tangent.n_queries + target.design.n_samples

    def step(self, variance: float) -> TangentStep:
        """Return what draws the states."""
        return TangentStep(self._target, variance, self._rng)

    def length(self, tv: float) -> Length:
        """Return a chain that is within `tv` of the target."""
        return measured(self, tv, self._rng)

    def draw(self, length: Length) -> Draw:
        """Run a chain."""
        theta, n_tries = chain(self, length, self._rng)
        facts = {"n_tries": n_tries, "n_queries": self.n_queries, "n_steps": length.n_steps}
        return Draw(theta, {**facts, "step_size": length.precision_step / self.precision})


def _distance(target: Target, start: np.ndarray) -> float:
    """Return an upper bound W of the mean distance between the start and a draw."""
    alpha, slope = target.prior_precision, target.gradient(start)
    spread, error = math.sqrt(start.size / alpha), float(np.linalg.norm(slope)) / alpha
    if target.domain is None:
        return spread + error
    error = min(error, _error_on_ball(target.domain.radius, alpha, slope, start))
    return min(spread + error, 2.0 * target.domain.radius)


def _error_on_ball(radius: float, alpha: float, slope: np.ndarray, start: np.ndarray) -> float:
    """Return a bound of |θ₀ − θ*| in which the ball holds θ₀ against the slope outwards."""
    length = float(np.linalg.norm(start))
    if not length:
        return math.inf
    push = max(0.0, -float(np.vdot(slope, start)) / length**2)
    inside = max(0.0, length * (radius - length))
    error = float(np.linalg.norm(slope + push * start)) / alpha
    return error + math.sqrt(push * inside / alpha)
