"""A target's potential and its gradient, for samplers that read all rows at each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.samplers.base import Target

__all__ = ["Density"]


@dataclass(frozen=True, eq=False)
class Density:
    """U(θ) = c·Σ ℓ(y_i, a_i·θ) + (α/2)·|θ|² of a target."""

    target: Target

    def potential(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        """Return U(θ); `scores` are a_i·θ where they are known."""
        target = self.target
        scores = target.design.matvec(theta) if scores is None else scores
        losses = float(target.loss.value(target.y, scores).sum())
        ridge = 0.5 * target.prior_precision * float(np.vdot(theta, theta))
        return target.temperature * losses + ridge

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return a subgradient of U at θ."""
        target = self.target
        slopes = target.loss.gradient(target.y, target.design.matvec(theta))
        return target.temperature * target.design.rmatvec(slopes) + target.prior_precision * theta

    def typical_hessian(self) -> np.ndarray:
        """Return c·w·AᵀA + α·I of shape (d, d), w a curvature that is typical of the loss."""
        target, loss = self.target, self.target.loss
        w = min(loss.nominal_curvature, loss.lipschitz / loss.noise_scale)
        weights = np.full(target.design.n_samples, target.temperature * w)
        gram = target.design.gram(weights)
        return gram + target.prior_precision * np.eye(len(gram))
