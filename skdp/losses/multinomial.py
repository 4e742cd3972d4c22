"""The multinomial logistic loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from skdp.losses.base import Loss, ProbabilityLoss
from skdp.losses.gradient_directions import GradientDirections

__all__ = ["MultinomialLoss"]


@dataclass(frozen=True)
class MultinomialLoss(Loss, ProbabilityLoss):
    """Multinomial logistic loss log Σ_j e^(z_j) − z_y, as in scikit-learn.

    Its gradient is p − e_y, of norm below √2; its Hessian diag(p) − p·pᵀ has eigenvalues at most
    1/2 and trace 1 − |p|² at most 1 − 1/K.

    Parameters
    ----------
    n_scores : int
        *Public.* Number of classes K.
    """

    n_scores: int

    lipschitz = math.sqrt(2.0)
    smoothness = 0.5
    noise_scale = 1.0

    @property
    def directions(self) -> GradientDirections:
        """The hull of the vectors e_j − e_y, j ≠ y."""
        return GradientDirections(
            dimension=self.n_scores - 1, n_extremes=self.n_scores - 1, cosine=0.5
        )

    @property
    def curvature_trace(self) -> float:
        return 1.0 - 1.0 / self.n_scores

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return logsumexp(z, axis=1) - z[np.arange(y.size), y]

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        g = softmax(z, axis=1)
        g[np.arange(y.size), y] -= 1.0
        return g

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(log_softmax(z, axis=1))

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(z, axis=1))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        p = softmax(z, axis=1)
        return (1.0 - (p * p).sum(axis=1)) / (self.n_scores - 1)
