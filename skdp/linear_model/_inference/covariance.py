"""The covariance of private coefficients, from released matrices and public noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

# Of noise, for `_largest_noise`.
_BEYOND = 1.7
_OF_FEW = 4.6
_MOST_WEAK = 0.05  # of a variance from directions that are not identified


@dataclass(frozen=True, eq=False)
class Curvature:
    """*Released.* A noisy second derivative Ĥ, whose eigenvalues are raised to its noise.

    Directions whose eigenvalues were raised are *weak*: the data say less about them than the
    noise. So are those in which a ridge outweighs the data, where its bias is not small.
    """

    values: np.ndarray  # eigenvalues, raised
    vectors: np.ndarray
    is_weak: np.ndarray  # of each direction

    @classmethod
    def of(cls, matrix: np.ndarray, scale: float, ridge: float = 0.0) -> Curvature:
        """Return the curvature of a released matrix with noise of size σ = `scale`."""
        values, vectors = np.linalg.eigh(matrix)
        least = scale * _largest_noise(values / scale)
        return cls(np.maximum(values, least), vectors, values <= max(least, ridge))

    @cached_property
    def matrix(self) -> np.ndarray:
        return (self.vectors * self.values) @ self.vectors.T

    @cached_property
    def inverse(self) -> np.ndarray:
        return (self.vectors / self.values) @ self.vectors.T

    def bias_of_inverse(self, scale: float) -> np.ndarray:
        """Return B with E Ĥ⁻¹H ≈ I + B, to second order in noise of size σ = `scale`.

        Ĥ⁻¹ = H⁻¹ − H⁻¹NH⁻¹ + H⁻¹NH⁻¹NH⁻¹ − ..., and E NMN = ½σ²(M + tr(M)·I) for symmetric M.
        """
        trace = float((1.0 / self.values).sum())
        return 0.5 * scale**2 * self.inverse @ (self.inverse + trace * np.eye(self.values.size))

    def sandwich(self, sampling: np.ndarray, noise: np.ndarray) -> Covariance:
        """Return Ĥ⁻¹·J·Ĥ⁻¹ for the middle matrices of the gradients and of their noise."""
        inverse, weak = self.inverse, self.vectors[:, self.is_weak]
        of_weak = (weak / self.values[self.is_weak]) @ weak.T
        return Covariance(
            sampling=inverse @ sampling @ inverse,
            noise=inverse @ noise @ inverse,
            weak=of_weak @ (sampling + noise) @ of_weak,
        )


def _largest_noise(values: np.ndarray) -> float:
    """Return the size up to which rising eigenvalues may be noise of size 1.

    If m directions have no curvature, their eigenvalues are those of the noise of an m × m matrix.
    The largest is about √(2m) + m^(−1/6)·T/√2, T of the Tracy-Widom distribution, and N(0, 1) for
    m = 1. It exceeds √(2m) + 1.7·m^(−1/6) with a probability of .001 to .01. The answer is for the
    largest m whose m least eigenvalues are within that.

    Noise lowers the least of many equal eigenvalues, and so makes standard errors larger. Of few it
    may be raised, and those that pass a low bar would be: so the bar is higher for few.
    """
    m = np.arange(1, values.size + 1)
    sizes = np.sqrt(2.0 * m) + _BEYOND * m ** (-1.0 / 6.0)
    sizes = np.maximum(sizes, min(_OF_FEW, 2.2 + 15.0 / values.size))
    within = np.flatnonzero(values <= sizes)
    return float(sizes[within[-1]] if within.size else sizes[0])


@dataclass(frozen=True, eq=False)
class Covariance:
    """*Released.* The covariance of coefficients by its sources: a sample of records, and noise.

    `weak` is the part of both that is from directions that the release does not identify.
    """

    sampling: np.ndarray
    noise: np.ndarray
    weak: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.sampling + self.noise

    @property
    def is_identified(self) -> np.ndarray:
        """Whether each coefficient has at most 5 % of its variance from weak directions."""
        return np.diag(self.weak) <= _MOST_WEAK * np.diag(self.total)

    def more(self, noise: np.ndarray) -> Covariance:
        """Return the covariance with more noise."""
        return replace(self, noise=self.noise + noise)

    def of(self, matrix: np.ndarray) -> Covariance:
        """Return the covariance of `matrix` times the coefficients."""
        parts = (matrix @ part @ matrix.T for part in (self.sampling, self.noise, self.weak))
        return Covariance(*parts)

    def std_errors(self, *, sampling: bool = True) -> np.ndarray:
        """Return standard errors, nan where the release does not identify a coefficient."""
        variances = np.diag(self.total if sampling else self.noise)
        found = np.sqrt(np.maximum(variances, 0.0))
        return np.where(self.is_identified, found, np.nan)

    @property
    def shown(self) -> np.ndarray:
        """The total, nan in the rows and columns of coefficients that are not identified."""
        keep = self.is_identified
        return np.where(np.outer(keep, keep), self.total, np.nan)
