"""A target's potential, its gradient and its extent, for samplers that read all rows a step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.design import in_memory
from skdp.losses import Minorant
from skdp.samplers.base import Target

__all__ = ["Density"]

_TAIL = 8.0


@dataclass(frozen=True, eq=False, repr=False)
class Density:
    """U(θ) = c·Σ ℓ(y_i, a_i·θ) + (α/2)·|θ|² of a target."""

    target: Target

    def potential(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        """Return U(θ), inf outside of the domain; `scores` are a_i·θ where they are known."""
        target = self.target
        if target.domain is not None and not target.domain.holds(theta):
            return math.inf
        design = in_memory(target.design)
        scores = design.scores(theta) if scores is None else scores
        losses = float(target.loss.value(design.targets, scores).sum())
        ridge = 0.5 * target.prior_precision * float(np.vdot(theta, theta))
        return target.temperature * losses + ridge

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return U(θ) and a subgradient there: one evaluation of each record."""
        rows, gradient = self.target.scored_gradient(theta)
        return self.potential(theta, rows.take(slice(None)).scores(theta)), gradient

    def typical_hessian(self) -> np.ndarray:
        """Return c·w·AᵀA + α·I of shape (d, d), w a curvature that is typical of the loss."""
        gram = self._typical_weight * self.target.design.cross_product()
        return gram + self.target.prior_precision * np.eye(len(gram))

    @property
    def typical_precision(self) -> float:
        """α + c·w·n·R²/k for k coefficients: a curvature of U, were the rows in all directions."""
        target = self.target
        trace = self._typical_weight * target.design.n_samples * target.row_norm**2
        return target.prior_precision + trace / math.prod(target.shape)

    @property
    def radius(self) -> float:
        """A radius r such that |θ| > r has probability below 2e-14.

        |θ| > B + (√k + 8)/√α has no more, for any B ≥ |θ*|, θ* the mode. B² = 2·U(0)/α, as
        losses are at least 0 and U(θ*) ≤ U(0). One evaluation of each record.
        """
        alpha, start = self.target.prior_precision, np.zeros(self.target.shape)
        mode = math.sqrt(2.0 * max(self.potential(start), 0.0) / alpha)
        return mode + (math.sqrt(start.size) + _TAIL) / math.sqrt(alpha)

    @property
    def _typical_weight(self) -> float:
        loss = self.target.loss
        w = min(Minorant.of(loss).smoothness, loss.lipschitz / loss.noise_scale)
        return self.target.temperature * w
