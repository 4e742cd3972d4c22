"""A loss for several classes: the mean of a two-class loss over pairs with the true class."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.losses.base import GradientDirections, Loss, MarginLoss, Minorant


@dataclass(frozen=True)
class PairwiseLoss(Loss):
    """Loss over pairs of classes, (1/K)·Σ_(j≠y) φ(z_y − z_j).

    With derivatives s_j = |φ'(z_y − z_j)| ≤ L the gradient has squared norm
    ((Σ s_j)² + Σ s_j²)/K² ≤ L²(K − 1)/K, attained at z = 0 if φ' is largest there.
    The Hessian is the Laplacian of a star with weights φ''/K ≤ w/K: its largest eigenvalue is at
    most w, its trace at most 2w(K − 1)/K. One joint analysis covers all classes: the budget is not
    split among them.

    Parameters
    ----------
    margin_loss : MarginLoss
        *Public.* φ, with Lipschitz constant L and smoothness w.
    n_scores : int
        *Public.* Number of classes K ≥ 3.
    """

    margin_loss: MarginLoss
    n_scores: int

    @property
    def directions(self) -> GradientDirections:
        """The space of vectors that sum to 0; no few extremes are known."""
        return GradientDirections(dimension=self.n_scores - 1, n_extremes=0, cosine=1.0)

    @property
    def lipschitz(self) -> float:
        return self.margin_loss.lipschitz * math.sqrt(1.0 - 1.0 / self.n_scores)

    @property
    def smoothness(self) -> float:
        return self.margin_loss.smoothness

    @property
    def curvature_trace(self) -> float:
        return 2.0 * self.smoothness * (1.0 - 1.0 / self.n_scores)

    @property
    def noise_scale(self) -> float:
        return 0.2 * self.margin_loss.noise_scale

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        values = self.margin_loss.value_at(_margins(y, z))
        values[np.arange(y.size), y] = 0.0  # the term j = y, which is not in the sum
        return values.sum(axis=1) / self.n_scores

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        g = self.margin_loss.derivative(_margins(y, z)) / -self.n_scores
        rows = np.arange(y.size)
        g[rows, y] = 0.0
        g[rows, y] = -g.sum(axis=1)
        return g

    @property
    def minorant(self) -> Minorant:
        """The mean over pairs of the minorants of φ."""
        inner = Minorant.of(self.margin_loss)
        assert isinstance(inner.steady, MarginLoss), "a margin loss has minorants of the margin"
        steady = replace(self, margin_loss=inner.steady)
        return Minorant(self, steady, (1.0 - 1.0 / self.n_scores) * inner.gap)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        curvature = self.margin_loss.curvature(np.ones(1), _margins(y, z))
        return 2.0 * curvature.mean(axis=1) / self.n_scores


def _margins(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return z[np.arange(y.size), y][:, None] - z
