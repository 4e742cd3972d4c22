"""A metric for steps, computed from a noisy release of AᵀA."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skdp.design import Design
from skdp.losses import Minorant
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import GDPEvent
from skdp.solvers._machine_sums import MachineSum, gram_sum
from skdp.solvers.base import Problem

_ROOT_2 = math.sqrt(2.0)

# No guarantee rests on these.
_MOST_COLUMNS = 1024  # of a released matrix
_GRAM_SHARE = 0.1  # of μ, which is 1 % of μ²
_STEEPER = 2.0  # ρ of a metric for steps over the spectral norm of the matrix's noise
_LONGEST_STEP = 1.5  # in units of 1/curvature
_RIDGES = 16.0  # least ρ of a metric for steps, in units of the curvature at which a ridge matters


@dataclass(frozen=True, eq=False)
class Metric:
    """P = V·diag(g)·Vᵀ with eigenvalues g = ρ/(l + ρ) in (0, 1], for AᵀA ≈ V·diag(l)·Vᵀ.

    P leaves steps unchanged in directions with l below the noise ρ and shortens them by ρ/l in
    others: P^½·AᵀA·P^½ has eigenvalues of about ρ at most. V and l are *released,* ρ is *public.*
    """

    vectors: np.ndarray  # V
    values: np.ndarray  # l ≥ 0
    noise: float  # ρ

    @classmethod
    def of(cls, gram: np.ndarray, noise: float) -> Metric:
        """Return the metric of a released matrix whose noise has spectral norm about `noise`."""
        values, vectors = np.linalg.eigh(gram)
        return cls(vectors, np.maximum(values, 0.0), noise)

    @cached_property
    def gains(self) -> np.ndarray:
        """g, the eigenvalues of P."""
        return self.noise / (self.values + self.noise)

    @property
    def trace(self) -> float:
        """Approximate trace of P^½·AᵀA·P^½."""
        return float(self.gains @ self.values)

    def apply(self, force: np.ndarray) -> np.ndarray:
        """Return P·force, for a force of shape (n_features,) or (n_features, K)."""
        return np.asarray(self.vectors @ (self.gains * (self.vectors.T @ force).T).T)

    def root(self) -> np.ndarray:
        """Return P^½, symmetric."""
        return np.asarray((self.vectors * np.sqrt(self.gains)) @ self.vectors.T)


@dataclass(frozen=True, kw_only=True)
class GramRelease:
    """The release of AᵀA with symmetric Gaussian noise, μ-Gaussian DP.

    Adding or removing a row a changes AᵀA by aaᵀ, of Frobenius norm |a|² ≤ R². Replacing it changes
    AᵀA by aaᵀ − bbᵀ, of squared norm |a|⁴ + |b|⁴ − 2(a·b)² ≤ 2R⁴. The diagonal and √2 times the
    entries above it are a vector whose l2 norm is the Frobenius norm. Each entry of the vector gets
    noise of standard deviation σ = Δ/μ: σ on the diagonal, σ/√2 on all other entries of the matrix.
    """

    mu: float
    sums: MachineSum
    floor: float = 0.0  # least ρ of a metric for steps: a run that a ridge ends needs no less

    @classmethod
    def plan(cls, problem: Problem, mu: float) -> GramRelease | None:
        """Return a release with 1 % of μ²; None for too many columns or an unknown number."""
        d = problem.n_features
        if d is None or not 1 < d <= _MOST_COLUMNS:
            return None
        floor = _RIDGES / (problem.most_C * Minorant.of(problem.loss).smoothness)
        return cls(mu=_GRAM_SHARE * mu, sums=gram_sum(problem), floor=floor)

    @cached_property
    def noise(self) -> GridGaussian:
        """The noise in the vector."""
        return self.sums.noise(self.mu)

    @property
    def scale(self) -> float:
        """σ, its standard deviation."""
        return self.noise.scale

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        return (GDPEvent(self.mu),)

    def rest(self, mu: float) -> float:
        """Return the rest of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)

    def spectral_noise(self, n_features: int) -> float:
        """Return the approximate spectral norm of the noise, σ·√(2d)."""
        return self.scale * math.sqrt(2.0 * n_features)

    def longest_step(self, problem: Problem, ridge: float = 0.0) -> float:
        """Return a step that is stable in the metric for steps, where AᵀA is about ρ at most."""
        assert problem.n_features is not None, "`plan` checked the number of columns"
        noise = self._noise_for_steps(problem.n_features)
        return _LONGEST_STEP / (Minorant.of(problem.loss).smoothness * noise + ridge)

    def release_for_steps(self, design: Design, rng: np.random.Generator) -> Metric:
        """Release the metric for steps, with at least twice the ρ of `release`; takes one pass."""
        metric = self.release(design, rng)
        return replace(metric, noise=self._noise_for_steps(design.n_features))

    def _noise_for_steps(self, n_features: int) -> float:
        return max(_STEEPER * self.spectral_noise(n_features), self.floor)

    def release(self, design: Design, rng: np.random.Generator) -> Metric:
        """Release the metric of the noisy matrix, with ρ = σ·√(2d); takes one pass."""
        noisy = self.noise.release(as_vector(design.cross_product(self.sums.grid)), rng)
        return Metric.of(as_matrix(noisy), self.spectral_noise(design.n_features))


def as_vector(matrix: np.ndarray) -> np.ndarray:
    """Return the diagonal and √2 times the upper triangle of a symmetric matrix, row by row."""
    rows, columns = np.triu_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, _ROOT_2)


def as_matrix(vector: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of such a vector."""
    d = (math.isqrt(8 * vector.size + 1) - 1) // 2
    rows, columns = np.triu_indices(d)
    matrix = np.empty((d, d))
    matrix[rows, columns] = vector / np.where(rows == columns, 1.0, _ROOT_2)
    matrix[columns, rows] = matrix[rows, columns]
    return matrix
