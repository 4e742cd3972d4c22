"""The contract of a loss, and losses of one number: a margin or a residual."""

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

# Both values are exact to a few units of 2⁻⁵³, relative to the larger one. A guarantee may rest on
# the bound of their difference.
_OSCILLATION_MARGIN = 1e-14
_CHORD = 0.2  # half the width of scores over which curvature is averaged; for speed only


class Loss(ABC):
    """A convex loss of one record's target y and raw score z.

    - Two classes: ``y`` in {−1, +1} and ``z``, both of shape (n,).
    - K classes: integer ``y`` in 0..K−1 of shape (n,) and ``z`` of shape (n, K).
    - Regression: real ``y`` of shape (n,), and ``z`` of shape (n,), or (n, K) for K predictions.

    All constants refer to z, in the l2 norm, and hold for every z and y.
    """

    n_scores: int = 1
    """Scores per record: 1 for two classes or one prediction, else K."""
    score_units: float = 0.0
    """Units b of a loss that subtracts scores: rounding moves a gradient by b·2⁻⁵³·smoothness times
    \\|z\\| + 2·noise_scale, beside relative errors (*Machine numbers*). A guarantee rests on it."""

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

        It is about the width of the scores over which the derivative changes.
        """

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's loss.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of shape (n,)
        """

    @abstractmethod
    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's (sub)gradient in z, of norm at most `lipschitz`.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of the shape of z
        """

    @abstractmethod
    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return one nonnegative number per record that represents its Hessian near z.

        Samplers use it as a preconditioner. It does not change the distribution of a sample.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of shape (n,)
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
        Loss
        """


@runtime_checkable
class ProbabilityLoss(Protocol):
    """A loss with a link from scores to probabilities of the classes."""

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the natural logarithms of the class probabilities.

        Parameters
        ----------
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
        """

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the class probabilities, where their logarithms are not needed.

        Parameters
        ----------
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
        """
        return np.asarray(np.exp(self.log_probabilities(z)))


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
    Loss
        `loss` itself if it is not a family.
    """
    return loss.adapted(signal) if isinstance(loss, LossFamily) else loss


def oscillation(loss: Loss, radius: float) -> float:
    """Return an upper bound of the variation of ℓ(y, ·) over all \\|z\\| ≤ `radius`, for every y.

    Parameters
    ----------
    loss : Loss
        *Public.* Its method `oscillation`, if any, replaces the bound by the Lipschitz constant.
    radius : float
        *Public.* Largest norm of a record's scores.

    Returns
    -------
    float
        The bound, rounding included.
    """
    known: Callable[[float], float] | None = getattr(loss, "oscillation", None)
    return 2.0 * loss.lipschitz * radius if known is None else known(radius)


class _ScalarLoss(Loss):
    """A loss φ(x) of one number x, computed from the target and the score; φ is convex."""

    @abstractmethod
    def _argument(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return x."""

    @abstractmethod
    def value_at(self, x: np.ndarray) -> np.ndarray:
        """Return φ(x).

        Parameters
        ----------
        x : ndarray
            Margins or residuals, of any shape.

        Returns
        -------
        ndarray of the shape of x
        """

    @abstractmethod
    def derivative(self, x: np.ndarray) -> np.ndarray:
        """Return φ'(x), or a subgradient where φ is not smooth.

        Parameters
        ----------
        x : ndarray
            Margins or residuals, of any shape.

        Returns
        -------
        ndarray of the shape of x
        """

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        """Return φ''(x) if φ'' rises and then falls, so that its least value is at an end, else 0.

        Parameters
        ----------
        x : ndarray
            Margins or residuals, of any shape.

        Returns
        -------
        ndarray of the shape of x
        """
        return np.zeros_like(x)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(self._argument(y, z))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        x = self._argument(y, z)
        return (self.derivative(x + _CHORD) - self.derivative(x - _CHORD)) / (2.0 * _CHORD)

    def hessian(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's second derivative in z, at most `smoothness`.

        Parameters
        ----------
        y, z : ndarray of shape (n,)
            Targets and scores.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.second_derivative(self._argument(y, z))

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the smaller φ'' of both ends.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            See `Minorant.least_curvature`.

        Returns
        -------
        ndarray of shape (n,)
        """
        x = self._argument(y, z)
        return np.minimum(self.second_derivative(x - radius), self.second_derivative(x + radius))


@dataclass(frozen=True)
class MarginLoss(_ScalarLoss):
    """A loss φ(m) of the margin m = y·z of two classes; φ is convex and decreasing."""

    def _argument(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * z

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * self.derivative(y * z)

    def oscillation(self, radius: float) -> float:
        """Return φ(−r) − φ(r) or, if smaller, the bound by the Lipschitz constant.

        Parameters
        ----------
        radius : float
            r, the largest absolute margin.

        Returns
        -------
        float
            The bound, rounding included.
        """
        highest, least = self.value_at(np.array([-radius, radius]))
        fall = float(highest - least + _OSCILLATION_MARGIN * abs(highest))
        return min(fall, 2.0 * self.lipschitz * radius)


@dataclass(frozen=True)
class ResidualLoss(_ScalarLoss):
    """A loss φ(r) of the residual r = z − y for a numeric target y; φ is convex."""

    def _argument(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z - y

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.derivative(z - y)
