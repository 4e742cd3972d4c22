"""What every loss answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

__all__ = ["Loss", "MarginLoss", "ResidualLoss"]

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
    def n_directions(self) -> int:
        """Dimension of the space of all gradients in z; one less where they always sum to 0."""
        return self.n_scores

    @property
    def slowness(self) -> float:
        """By how much longer gradient steps run in a metric, where a gradient may be small.

        No guarantee rests on it.
        """
        return 1.0

    @property
    def n_pulls(self) -> int:
        """Number p of vectors no longer than `lipschitz` between which, and 0, gradients lie.

        All gradients of a record with one label lie in the convex hull of 0 and p fixed vectors;
        0 if no small number is known. A guarantee rests on it.
        """
        return 2 if self.n_scores == 1 else 0

    @property
    def pull_cosine(self) -> float:
        """A bound c: of the p² pairs of two records' pulls at most p have a cosine above c.

        For any two labels and any x in [−1, 1], p pairs excepted, x times the cosine is at most c.
        A guarantee rests on it.
        """
        return 0.0 if self.n_scores == 1 else 1.0

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
        """Upper bound of the Hessian's trace; a nominal value for a non-smooth loss."""
        return self.nominal_curvature

    @property
    def nominal_curvature(self) -> float:
        """A value of the kind of `smoothness` to choose steps by; finite for every loss."""
        return self.smoothness

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Standard deviation of the noise in a score up to which more steps improve the fit.

        It is of the size of the scores over which the derivative changes: with less noise than that
        all records still pull one way; with more, noise alone switches records on and off.
        """

    def adapted(self, signal: float) -> Loss:
        """Return the member of a family of losses that suits a signal-to-noise ratio.

        Parameters
        ----------
        signal : float
            *Public or released.* n·μ/k, k the number of records that neighbours differ in.

        Returns
        -------
        loss : Loss
            This loss itself where it is no family.
        """
        return self

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the logarithms of the classes' probabilities, by the link that the loss has.

        Parameters
        ----------
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
            Natural logarithms, each row's probabilities summing to 1.

        Raises
        ------
        NotImplementedError
            If scores of this loss say nothing of probabilities.
        """
        raise NotImplementedError(f"{type(self).__name__} has no link to probabilities.")

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

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ℓ''(y, ·) around z, record by record; 0 if unknown.

        For losses of one score whose affine minorants are tangents. Single points do not count.
        What a sampler certifies may rest on it.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,)
            Scores.
        radius : ndarray of shape (n,)
            How far from z the bound holds.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
        return np.zeros(y.size)

    def minorant_gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradient of an affine minorant of ℓ(y, ·) that nearly touches it at z.

        For a smooth loss it is the tangent. Of a non-smooth loss these gradients change steadily
        where its own jumps; `minorant_gap` is what that costs.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of the shape of z
            Gradients.
        """
        return self.gradient(y, z)

    def minorant_value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the value at z of the affine minorant with `minorant_gradient`.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n,)
            At most ℓ(y, z), and at least ℓ(y, z) − `minorant_gap`.
        """
        return self.value(y, z)

    @property
    def minorant_smoothness(self) -> float:
        """Lipschitz constant of `minorant_gradient` in z; finite for every loss."""
        return self.smoothness

    @property
    def minorant_gap(self) -> float:
        """Upper bound of what the loss lies above its affine minorant where they nearly touch."""
        return 0.0

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return what ℓ(y, z) lies above its affine minorant at `origin`, record by record.

        For a smooth loss this is the Bregman divergence.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.
        origin : ndarray of the shape of z
            Scores at which the minorants nearly touch.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
        rise = self.minorant_gradient(y, origin) * (z - origin)
        minorant = self.minorant_value(y, origin) + (rise if z.ndim == 1 else rise.sum(axis=1))
        return np.maximum(self.value(y, z) - minorant, 0.0)

    def oscillation(self, radius: float) -> float:
        """Return an upper bound of what ℓ(y, ·) varies over all \\|z\\| ≤ `radius`, for every y.

        Parameters
        ----------
        radius : float
            Largest norm of a record's scores.

        Returns
        -------
        float
            The bound, rounding included.
        """
        return 2.0 * self.lipschitz * radius

    def excess_bound(self, radius: float) -> float:
        """Return an upper bound of `excess` over all y and all \\|z − origin\\| ≤ `radius`.

        Parameters
        ----------
        radius : float
            Largest distance of a record's scores.

        Returns
        -------
        float
            The bound.
        """
        if self.minorant_gap or not radius:
            return self.minorant_gap + 2.0 * self.lipschitz * radius
        return radius * min(0.5 * self.smoothness * radius, 2.0 * self.lipschitz)


@dataclass(frozen=True)
class MarginLoss(Loss):
    """A loss φ(m) of the margin m = y·z of two classes; φ is convex and falls."""

    @property
    def n_pulls(self) -> int:
        return 1

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

    def minorant_derivative(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative of an affine minorant of φ that nearly touches it at m.

        Parameters
        ----------
        m : ndarray
            Margins, of any shape.

        Returns
        -------
        ndarray of the shape of m
            At most 0.
        """
        return self.derivative(m)

    def minorant_value_at(self, m: np.ndarray) -> np.ndarray:
        """Return the value at m of the affine minorant with `minorant_derivative`.

        Parameters
        ----------
        m : ndarray
            Margins, of any shape.

        Returns
        -------
        ndarray of the shape of m
            At most φ(m).
        """
        return self.value_at(m)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(y * z)

    def oscillation(self, radius: float) -> float:
        highest, least = self.value_at(np.array([-radius, radius]))
        fall = float(highest - least + _OSCILLATION_MARGIN * abs(highest))
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
        r = z - y
        return np.minimum(self.second_derivative(r - radius), self.second_derivative(r + radius))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = z - y
        return (self.derivative(r + _CHORD) - self.derivative(r - _CHORD)) / (2.0 * _CHORD)
