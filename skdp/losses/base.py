"""What every loss answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

__all__ = ["Loss", "MarginLoss", "ResidualLoss"]

_ROUNDING = 1e-14
_CHORD = 0.2  # margins: half the stretch over which curvature is averaged, so that it sees kinks


class Loss(ABC):
    """A convex loss of one record's label or number y and raw score z.

    Two classes: ``y`` in {−1, +1} and ``z``, both of shape (n,). K classes: integer ``y`` in
    0..K−1 of shape (n,) and ``z`` of shape (n, K). Regression: any real ``y`` of shape (n,) and
    ``z`` of shape (n,), or (n, K) for K numbers that are predicted. All constants are with respect
    to z, in the l2 norm, and hold for every z and y.
    """

    n_scores: int = 1
    """Scores per record: 1 for two classes or one number, else K."""

    @property
    def n_directions(self) -> int:
        """Dimension of the space of all gradients in z; one less where they always sum to 0."""
        return self.n_scores

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

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ℓ''(y, ·) within `radius` of z, record by record; 0 if unknown.

        For losses of one score whose supports are tangents. Single points do not count. What a
        sampler certifies may rest on it.
        """
        return np.zeros(y.size)

    def minorant_gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the slope of an affine function below ℓ(y, ·) that nearly touches it at z.

        For a smooth loss it is the tangent. A loss with kinks gives slopes that change steadily
        where its own gradient jumps, at the price of a small `minorant_gap`.
        """
        return self.gradient(y, z)

    def minorant_value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the value at z of the affine function with `minorant_gradient`."""
        return self.value(y, z)

    @property
    def minorant_smoothness(self) -> float:
        """Lipschitz constant of `minorant_gradient` in z; finite for every loss."""
        return self.smoothness

    @property
    def minorant_gap(self) -> float:
        """Upper bound of what the loss lies above its support at the point of support."""
        return 0.0

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return what ℓ(y, z) lies above its support at `origin`, record by record, at least 0.

        For a smooth loss this is the Bregman divergence.
        """
        rise = self.minorant_gradient(y, origin) * (z - origin)
        support = self.minorant_value(y, origin) + (rise if z.ndim == 1 else rise.sum(axis=1))
        return np.maximum(self.value(y, z) - support, 0.0)

    def oscillation(self, radius: float) -> float:
        """Return an upper bound of what ℓ(y, ·) varies over all |z| ≤ `radius`, for every y."""
        return 2.0 * self.lipschitz * radius

    def excess_bound(self, radius: float) -> float:
        """Return an upper bound of `excess` over all y and all |z − origin| ≤ `radius`."""
        if self.minorant_gap or not radius:
            return self.minorant_gap + 2.0 * self.lipschitz * radius
        return radius * min(0.5 * self.smoothness * radius, 2.0 * self.lipschitz)


@dataclass(frozen=True)
class MarginLoss(Loss):
    """A loss φ(m) of the margin m = y·z of two classes; φ is convex and falls."""

    @abstractmethod
    def value_at(self, m: np.ndarray) -> np.ndarray:
        """Return φ(m)."""

    @abstractmethod
    def derivative(self, m: np.ndarray) -> np.ndarray:
        """Return φ'(m) ≤ 0."""

    def second_derivative(self, m: np.ndarray) -> np.ndarray:
        """Return φ''(m) if it rises and then falls, so that it is least at an end, else 0."""
        return np.zeros_like(m)

    def minorant_derivative(self, m: np.ndarray) -> np.ndarray:
        """Return the slope of a line below φ that nearly touches it at m."""
        return self.derivative(m)

    def minorant_value_at(self, m: np.ndarray) -> np.ndarray:
        """Return the value at m of the line with `minorant_derivative`."""
        return self.value_at(m)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(y * z)

    def oscillation(self, radius: float) -> float:
        highest, least = self.value_at(np.array([-radius, radius]))
        fall = float(highest - least + _ROUNDING * abs(highest))
        return min(fall, super().oscillation(radius))

    def minorant_gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * self.minorant_derivative(y * z)

    def minorant_value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.minorant_value_at(y * z)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * self.derivative(y * z)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        m = y * z
        return np.minimum(self.second_derivative(m - radius), self.second_derivative(m + radius))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        m = y * z
        return (self.derivative(m + _CHORD) - self.derivative(m - _CHORD)) / (2.0 * _CHORD)


@dataclass(frozen=True)
class ResidualLoss(Loss):
    """A loss φ(r) of the residual r = z − y, y a number; φ is convex."""

    @abstractmethod
    def value_at(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r)."""

    @abstractmethod
    def derivative(self, r: np.ndarray) -> np.ndarray:
        """Return φ'(r)."""

    def second_derivative(self, r: np.ndarray) -> np.ndarray:
        """Return φ''(r) if it rises and then falls, so that it is least at an end, else 0."""
        return np.zeros_like(r)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(z - y)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.derivative(z - y)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        r = z - y
        return np.minimum(self.second_derivative(r - radius), self.second_derivative(r + radius))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = z - y
        return (self.derivative(r + _CHORD) - self.derivative(r - _CHORD)) / (2.0 * _CHORD)
