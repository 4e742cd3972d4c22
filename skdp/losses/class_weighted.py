"""A loss that counts some classes more than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.losses.base import Loss

__all__ = ["ClassWeightedLoss"]


@dataclass(frozen=True)
class ClassWeightedLoss(Loss):
    """ℓ_w(y, z) = w_y·ℓ(y, z): slope and curvature are bounded by those of the largest weight.

    Parameters
    ----------
    loss : Loss
    weights : tuple of float
        *Public.* One positive weight a class, in the order of the labels.
    """

    loss: Loss
    weights: tuple[float, ...]

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """Scores per record, as of the loss that is weighted."""
        return self.loss.n_scores

    @property
    def n_directions(self) -> int:
        return self.loss.n_directions

    @property
    def lipschitz(self) -> float:
        return max(self.weights) * self.loss.lipschitz

    @property
    def smoothness(self) -> float:
        return max(self.weights) * self.loss.smoothness

    @property
    def nominal_curvature(self) -> float:
        return max(self.weights) * self.loss.nominal_curvature

    @property
    def curvature_trace(self) -> float:
        return max(self.weights) * self.loss.curvature_trace

    @property
    def noise_scale(self) -> float:
        return self.loss.noise_scale

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._weights(y) * self.loss.value(y, z)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (self._weights(y) * self.loss.gradient(y, z).T).T

    @property
    def minorant_smoothness(self) -> float:
        return max(self.weights) * self.loss.minorant_smoothness

    @property
    def minorant_gap(self) -> float:
        return max(self.weights) * self.loss.minorant_gap

    def minorant_gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (self._weights(y) * self.loss.minorant_gradient(y, z).T).T

    def minorant_value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._weights(y) * self.loss.minorant_value(y, z)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._weights(y) * self.loss.curvature(y, z)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return self._weights(y) * self.loss.least_curvature(y, z, radius)

    def _weights(self, y: np.ndarray) -> np.ndarray:
        classes = y if self.n_scores > 1 else (y > 0).astype(int)
        return np.asarray(self.weights)[classes]
