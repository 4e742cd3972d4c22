"""Where the proximal sampler touches the potential: near the mode of the inner law."""

from __future__ import annotations

import numpy as np

from skdp.samplers.base import Target

__all__ = ["TangentPoint"]

_SUBSAMPLE, _CHUNK = 1000, 250
_CLOSE_ENOUGH = 0.3
_PATIENCE = 8
_HARDEST_DAMPING = 16.0
_MOST_STEPS = 50


class TangentPoint:
    """A point p that follows p = center − σ²·∇U(p), U = c·Σ ℓ, for a moving center.

    At a fixed point p is the mean of the proposal N(center − σ²·∇U(p), σ²·I), which is then
    accepted often. The law of what is accepted does not depend on p, so p may be found by any
    means: here by Newton steps with a preconditioner from a subsample of rows, frozen until it
    serves badly.

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
        self.n_gradients = 0
        self._extra_gradients = 0
        self._step = self._scaled_gradient()
        self._freeze_curvature()

    def follow(self, center: np.ndarray) -> np.ndarray:
        """Move p after a new center; return the mean of the proposal there."""
        damping, residual = 1.0, center - self._step - self.point
        for _ in range(_MOST_STEPS):
            self.point = self.point + self._solve(residual, damping)
            self._step = self._scaled_gradient()
            before, residual = residual, center - self._step - self.point
            if np.vdot(residual, residual) <= _CLOSE_ENOUGH * self._variance:
                break
            if np.vdot(residual, residual) > 0.5 * np.vdot(before, before):
                damping = min(2.0 * damping, _HARDEST_DAMPING)
            self._extra_gradients += 1
            if self._extra_gradients > _PATIENCE:
                self._freeze_curvature()
        return self.point + residual

    def _scaled_gradient(self) -> np.ndarray:
        self.n_gradients += 1
        return self._variance * self._target.likelihood_gradient(self.point)

    def _freeze_curvature(self) -> None:
        """Set P = I + σ²·c·AᵀDA from a subsample of rows, D the curvatures at p."""
        target, n = self._target, self._target.design.n_samples
        rows = self._rng.integers(n, size=_SUBSAMPLE) if n > _SUBSAMPLE else np.arange(n)
        gram = np.zeros((target.design.n_features,) * 2)
        for part in np.array_split(rows, -(-rows.size // _CHUNK)):
            block = target.design.take(part)
            gram += block.gram(target.loss.curvature(target.y[part], block.matvec(self.point)))
        values, self._vectors = np.linalg.eigh(gram)
        scale = self._variance * target.temperature * n / rows.size
        self._values = scale * np.maximum(values, 0.0)
        # What 16-fold damping has to add to be above the worst Hessian of any data.
        worst = self._variance * target.temperature * n * target.loss.nominal_curvature
        self._floor = worst * target.row_norm**2 / _HARDEST_DAMPING
        self._extra_gradients = 0

    def _solve(self, residual: np.ndarray, damping: float) -> np.ndarray:
        weights = 1.0 + damping * self._values + (damping - 1.0) * self._floor
        return self._vectors @ ((self._vectors.T @ residual).T / weights).T
