"""What every loss answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

__all__ = ["Loss", "MarginLoss"]


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
        """The smoothness, or for a kinked loss a value of that kind to choose steps by."""
        return self.smoothness

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's loss, of shape (n,)."""

    @abstractmethod
    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's (sub)gradient in z, of the shape of z."""

    @abstractmethod
    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return one number a record that stands for its Hessian, of shape (n,).

        Samplers precondition with it; nothing about their law depends on it.
        """


@dataclass(frozen=True)
class MarginLoss(Loss):
    """A loss φ(m) of the margin m = y·z of two classes."""

    @abstractmethod
    def phi(self, m: np.ndarray) -> np.ndarray:
        """Return φ(m)."""

    @abstractmethod
    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return φ'(m) ≤ 0."""

    @abstractmethod
    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return φ''(m), or a stand-in where it does not exist."""

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.phi(y * z)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return y * self.slope(y * z)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.bend(y * z)
