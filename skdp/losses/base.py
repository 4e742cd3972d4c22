"""What every loss answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

__all__ = ["Loss", "MarginLoss"]

_CHORD = 0.2  # margins: half the stretch over which curvature is averaged, so that it sees kinks


class Loss(ABC):
    """A convex loss of one record's label y and raw score z.

    Two classes: ``y`` in {−1, +1} and ``z``, both of shape (n,). K classes: integer ``y`` in
    0..K−1 of shape (n,) and ``z`` of shape (n, K). All constants are with respect to z, in the
    l2 norm, and hold for every z and y.
    """

    n_scores: int = 1
    """Scores per record: 1 for two classes, K for K ≥ 3."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Least upper bound of the gradient's norm."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Upper bound of the Hessian's largest eigenvalue; ``inf`` if the loss has kinks."""

    @property
    def curvature_trace(self) -> float:
        """Upper bound of the Hessian's trace; a nominal value if the loss has kinks."""
        return self.nominal_curvature

    @property
    def nominal_curvature(self) -> float:
        """A value of the kind of `smoothness` to choose steps by; smaller where bends are sharp."""
        return self.smoothness

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Standard deviation of the noise in a score at which more learning stops to pay.

        It is of the size of the scores over which the slope bends: with less noise than that the
        fit is still one straight push; with more, noise alone switches records on and off.
        """

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's loss, of shape (n,)."""

    @abstractmethod
    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's (sub)gradient in z, of the shape of z."""

    @abstractmethod
    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return one number a record that stands for its Hessian near z, of shape (n,).

        Samplers precondition with it; nothing about their law depends on it.
        """

    def bregman(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return ℓ(y, z) − ℓ(y, z₀) − ∇ℓ(y, z₀)·(z − z₀) ≥ 0, record by record."""
        slope = self.gradient(y, origin) * (z - origin)
        linear = slope if z.ndim == 1 else slope.sum(axis=1)
        return np.maximum(self.value(y, z) - self.value(y, origin) - linear, 0.0)

    def bregman_bound(self, radius: float) -> float:
        """Return an upper bound of `bregman` over all y and all |z − z₀| ≤ `radius`."""
        smooth = 0.5 * self.smoothness * radius if radius else 0.0
        return radius * min(smooth, 2.0 * self.lipschitz)


@dataclass(frozen=True)
class MarginLoss(Loss):
    """A loss φ(m) of the margin m = y·z of two classes; φ is convex and falls."""

    @abstractmethod
    def phi(self, m: np.ndarray) -> np.ndarray:
        """Return φ(m)."""

    @abstractmethod
    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return φ'(m) ≤ 0."""

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.phi(y * z)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return y * self.slope(y * z)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:  # noqa: D102
        m = y * z
        return (self.slope(m + _CHORD) - self.slope(m - _CHORD)) / (2.0 * _CHORD)
