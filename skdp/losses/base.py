"""What every loss answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

__all__ = [
    "Loss",
    "LossFamily",
    "MarginLoss",
    "ProbabilityLoss",
    "ResidualLoss",
    "adapted",
    "oscillation",
]

# A difference of two values, each right to a few units of 2⁻⁵³, relative to the larger of them:
# what varies by no more than this bound may be what a guarantee rests on.
_OSCILLATION_MARGIN = 1e-14
_CHORD = 0.2  # half of the stretch of scores over which curvature is averaged; for speed only


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
    @abstractmethod
    def lipschitz(self) -> float:
        """Least upper bound of the gradient's norm."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Upper bound of the Hessian's largest eigenvalue; ``inf`` for a non-smooth loss."""

    @property
    def curvature_trace(self) -> float:
        """Upper bound of the Hessian's trace; ``inf`` for a non-smooth loss."""
        return self.smoothness

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Standard deviation of the noise in a score up to which more steps improve the fit.

        It is of the size of the scores over which the derivative changes: with less noise than that
        all records still pull one way; with more, noise alone switches records on and off.
        """

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's loss.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n,)
            ℓ(y, z).
        """

    @abstractmethod
    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's (sub)gradient in z.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of the shape of z
            Gradients, of norm at most `lipschitz`.
        """

    @abstractmethod
    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return one number a record that stands for its Hessian near z.

        Samplers precondition with it; what they sample from does not depend on it.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """


@runtime_checkable
class LossFamily(Protocol):
    """A loss that stands for a family of losses."""

    def adapted(self, signal: float) -> Loss:
        """Return the member of the family that suits a signal-to-noise ratio.

        Parameters
        ----------
        signal : float
            *Public or released.* n·μ/k, k the number of records that neighbors differ in.

        Returns
        -------
        loss : Loss
            The member.
        """


@runtime_checkable
class ProbabilityLoss(Protocol):
    """A loss with a link from scores to probabilities of the classes."""

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities of the classes.

        Parameters
        ----------
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
            Natural logarithms, each row's probabilities summing to 1.
        """


def adapted(loss: Loss, signal: float) -> Loss:
    """Return the member of a family of losses that suits a signal-to-noise ratio.

    Parameters
    ----------
    loss : Loss
        *Public.*
    signal : float
        *Public or released.* n·μ/k, k the number of records that neighbors differ in.

    Returns
    -------
    loss : Loss
        The loss itself where it is not a family.
    """
    return loss.adapted(signal) if isinstance(loss, LossFamily) else loss


def oscillation(loss: Loss, radius: float) -> float:
    """Return an upper bound of the variation of ℓ(y, ·) over all \\|z\\| ≤ `radius`, for every y.

    Parameters
    ----------
    loss : Loss
        *Public.* One that varies less than its Lipschitz constant says has a method `oscillation`.
    radius : float
        *Public.* Largest norm of a record's scores.

    Returns
    -------
    float
        The bound, rounding included.
    """
    known: Callable[[float], float] | None = getattr(loss, "oscillation", None)
    return 2.0 * loss.lipschitz * radius if known is None else known(radius)


@dataclass(frozen=True)
class MarginLoss(Loss):
    """A loss φ(m) of the margin m = y·z of two classes; φ is convex and falls."""

    @abstractmethod
    def value_at(self, m: np.ndarray) -> np.ndarray:
        """Return φ(m).

        Parameters
        ----------
        m : ndarray
            Margins, of any shape.

        Returns
        -------
        ndarray of the shape of m
            Values.
        """

    @abstractmethod
    def derivative(self, m: np.ndarray) -> np.ndarray:
        """Return φ'(m), or a subgradient where φ is not smooth.

        Parameters
        ----------
        m : ndarray
            Margins, of any shape.

        Returns
        -------
        ndarray of the shape of m
            At most 0.
        """

    def second_derivative(self, m: np.ndarray) -> np.ndarray:
        """Return φ''(m) if φ'' rises and then falls, so that it is least at an end, else 0.

        Parameters
        ----------
        m : ndarray
            Margins, of any shape.

        Returns
        -------
        ndarray of the shape of m
            At least 0.
        """
        return np.zeros_like(m)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(y * z)

    def oscillation(self, radius: float) -> float:
        """Return φ(−r) − φ(r) or, if less, the bound by the Lipschitz constant.

        Parameters
        ----------
        radius : float
            r, the largest size of a margin.

        Returns
        -------
        float
            The bound, rounding included.
        """
        highest, least = self.value_at(np.array([-radius, radius]))
        fall = float(highest - least + _OSCILLATION_MARGIN * abs(highest))
        return min(fall, 2.0 * self.lipschitz * radius)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * self.derivative(y * z)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the lesser φ'' of both ends.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            As `Minorant.least_curvature` takes them.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
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
        """Return φ(r).

        Parameters
        ----------
        r : ndarray
            Residuals, of any shape.

        Returns
        -------
        ndarray of the shape of r
            Values.
        """

    @abstractmethod
    def derivative(self, r: np.ndarray) -> np.ndarray:
        """Return φ'(r), or a subgradient where φ is not smooth.

        Parameters
        ----------
        r : ndarray
            Residuals, of any shape.

        Returns
        -------
        ndarray of the shape of r
            Of size at most `lipschitz`.
        """

    def second_derivative(self, r: np.ndarray) -> np.ndarray:
        """Return φ''(r) if φ'' rises and then falls, so that it is least at an end, else 0.

        Parameters
        ----------
        r : ndarray
            Residuals, of any shape.

        Returns
        -------
        ndarray of the shape of r
            At least 0.
        """
        return np.zeros_like(r)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(z - y)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.derivative(z - y)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the lesser φ'' of both ends.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            As `Minorant.least_curvature` takes them.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
        r = z - y
        return np.minimum(self.second_derivative(r - radius), self.second_derivative(r + radius))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = z - y
        return (self.derivative(r + _CHORD) - self.derivative(r - _CHORD)) / (2.0 * _CHORD)
