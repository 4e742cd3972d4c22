"""The exact draw that every proximal method is made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skdp.samplers.base import Target
from skdp.samplers.kernels.thinning import Acceptance

__all__ = ["TangentPoint", "TangentStep"]

_SUBSAMPLE, _CHUNK = 1000, 250
_WIDE = 500
_CLOSE_ENOUGH = 1.0  # σ²: what is left costs a factor √e of tries at worst
_PATIENCE = 4  # gradients beyond one for each center, until the preconditioner is renewed
_HARDEST_DAMPING = 16.0
_MOST_STEPS = 200


class TangentPoint:
    """A point p that follows p = center − σ²·g(p), g the slope of c·Σ ℓ, for a moving center.

    At a fixed point p is the mean of the proposal N(center − σ²·g(p), σ²·I), which is then
    accepted often. The law of what is accepted does not depend on p, so p may be found by any
    means: here by Newton steps with a preconditioner from a subsample of rows, frozen until it
    serves badly. Steps that do not help are damped, up to where they descend for any data. On a
    domain the mean of the proposal may lie outside, and p is the point of the domain nearest to it.

    Parameters
    ----------
    target : Target
    variance : float
        σ², the proposal's.
    rng : numpy Generator
        Draws the subsample.
    """

    def __init__(self, target: Target, variance: float, rng: np.random.Generator) -> None:
        self._target, self._variance, self._rng = target, variance, rng
        self.point = np.zeros(target.shape)
        self._tolerance = _CLOSE_ENOUGH * self._narrowest(target)
        self.n_queries, self._lowest = 0, 1.0
        self._step = self._scaled_slope()
        self._freeze_curvature()

    def follow(self, center: np.ndarray) -> np.ndarray:
        """Move p after a center; return the mean of the proposal there.

        Another call with the same center goes on where a hard case was left.
        """
        lowest = damping = self._lowest
        residual = self._residual(center)
        for earlier in range(_MOST_STEPS):
            if np.vdot(residual, residual) <= self._tolerance:
                break
            self._move(self._solve(center - self._step - self.point, damping))
            self._step = self._scaled_slope()
            before, residual = residual, self._residual(center)
            if np.vdot(residual, residual) > 0.5 * np.vdot(before, before):
                damping = min(2.0 * damping, _HARDEST_DAMPING)
            self._extra_gradients += earlier > 0
            if self._extra_gradients > _PATIENCE:
                self._freeze_curvature()
                damping = lowest = min(2.0 * lowest, _HARDEST_DAMPING)
        found = np.vdot(residual, residual) <= self._tolerance
        self._lowest = 1.0 if found else _HARDEST_DAMPING  # a hard case goes on with care
        return center - self._step

    def _residual(self, center: np.ndarray) -> np.ndarray:
        mean, domain = center - self._step, self._target.domain
        return (mean if domain is None else domain.project(mean)) - self.point

    @property
    def curvatures(self) -> np.ndarray:
        """About the eigenvalues of the Hessian of c·Σ ℓ at p, or its diagonal if it is large."""
        return np.tile(self._values / self._variance, self._target.loss.n_scores)

    def _narrowest(self, target: Target) -> float:
        """Return about the variance of one coordinate of the proposal.

        On a ball it is a fraction: from the surface, all of the ball may look near.
        """
        if target.domain is None:
            return self._variance
        return min(self._variance, 0.1 * target.domain.radius**2 / self.point.size)

    def _scaled_slope(self) -> np.ndarray:
        self.n_queries += self._target.design.n_samples
        return self._variance * self._target.minorant_gradient(self.point)

    def _freeze_curvature(self) -> None:
        """Set P = I + σ²·c·AᵀDA from a subsample of rows, D the curvatures at p.

        Of many columns only the diagonal of P is kept.
        """
        target, n = self._target, self._target.design.n_samples
        rows = self._rng.integers(n, size=_SUBSAMPLE) if n > _SUBSAMPLE else np.arange(n)
        self.n_queries += rows.size
        wide = target.design.n_features > _WIDE
        gram = sum(self._gram(part, wide) for part in np.array_split(rows, -(-rows.size // _CHUNK)))
        values, vectors = (gram, None) if wide else np.linalg.eigh(gram)
        self._vectors: np.ndarray | None = vectors
        scale = self._variance * target.temperature * n
        self._values = scale / rows.size * np.maximum(values, 0.0)
        # What 16-fold damping has to add to be above the worst Hessian of any data.
        worst = scale * target.loss.minorant_smoothness * target.row_norm**2
        self._floor = worst / _HARDEST_DAMPING
        self._extra_gradients = 0

    def _gram(self, rows: np.ndarray, diagonal: bool) -> np.ndarray:
        block, y = self._target.design.take(rows), self._target.y[rows]
        curvature = self._target.loss.curvature(y, block.matvec(self.point))
        return block.gram_diagonal(curvature) if diagonal else block.gram(curvature)

    def _move(self, step: np.ndarray) -> None:
        domain, point = self._target.domain, self.point + step
        self.point = point if domain is None else domain.project(point)

    def _solve(self, residual: np.ndarray, damping: float) -> np.ndarray:
        """Return the step that solves for `residual`, on the domain if there is one."""
        weights = 1.0 + damping * self._values + (damping - 1.0) * self._floor
        step = (self._rotated(residual).T / weights).T
        if self._target.domain is not None:
            p = self._rotated(self.point)
            step = self._target.domain.lowest(weights, ((p + step).T * weights).T) - p
        return step if self._vectors is None else self._vectors @ step

    def _rotated(self, theta: np.ndarray) -> np.ndarray:
        return theta if self._vectors is None else self._vectors.T @ theta


_TRIES_PER_POINT = 50


class TangentStep:
    """Draws from exp(−c·Σ ℓ − |θ − center|²/(2σ²)) by rejection under a tangent of Σ ℓ.

    On a domain, proposals are drawn there. A `surplus` of ridge in σ² is taken off again.

    Parameters
    ----------
    target : Target
    variance : float
        σ².
    rng : numpy Generator
    surplus : float
        The density is multiplied by exp(surplus·|θ|²/2).
    """

    def __init__(
        self, target: Target, variance: float, rng: np.random.Generator, surplus: float = 0.0
    ) -> None:
        self._target, self._rng, self._surplus = target, rng, surplus
        self._sd = math.sqrt(variance)
        self._tangent = TangentPoint(target, variance, rng)
        self.n_tries = self._n_tested = 0

    @property
    def n_queries(self) -> int:
        """How many times a record was looked at, at one point each time."""
        return self._tangent.n_queries + self._n_tested

    def draw(self, center: np.ndarray) -> np.ndarray:
        """Return one draw for a center."""
        while (theta := self.attempt(center)) is None:
            pass  # look for a better p
        return theta

    def attempt(self, center: np.ndarray, most_tries: int = _TRIES_PER_POINT) -> np.ndarray | None:
        """Return one draw for a center, or None if none is found within so many tries."""
        mean = self._tangent.follow(center)
        propose = _proposals(self._target, mean, self._sd)
        test = Acceptance(self._target, self._tangent.point, self._surplus)
        for _ in range(most_tries):
            theta = propose(self._rng)
            accepted, n_queries = test.decide(theta, self._rng)
            self.n_tries += 1
            self._n_tested += n_queries
            if accepted:
                return theta
        return None


def _proposals(
    target: Target, mean: np.ndarray, sd: float
) -> Callable[[np.random.Generator], np.ndarray]:
    if target.domain is None:
        return lambda rng: mean + sd * rng.standard_normal(mean.shape)
    return target.domain.gaussian(mean, sd).draw
