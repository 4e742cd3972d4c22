"""A metric for steps, computed from a matrix AᵀA that was released with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.design import Design
from skdp.losses import Minorant
from skdp.privacy import GDPEvent
from skdp.solvers.base import SCALE_MARGIN, Problem, rounded

__all__ = ["GramRelease", "Metric"]

# No guarantee rests on these.
_MOST_COLUMNS = 1024  # of a matrix that is released
_GRAM_SHARE = 0.1  # of μ, which is 1 % of μ²
_STEEPER = 2.0  # ρ of a metric for steps over the spectral norm of its matrix's noise
_LONGEST_STEP = 1.5  # in units of 1/curvature


@dataclass(frozen=True, eq=False)
class Metric:
    """P = V·diag(g)·Vᵀ with eigenvalues g = ρ/(l + ρ) in (0, 1], for AᵀA ≈ V·diag(l)·Vᵀ.

    Steps along P·gradient are as long as ever where the rows say less than the noise ρ, and ρ/l
    times as long where they say more: P^½·AᵀA·P^½ has eigenvalues of about ρ at most.

    Parameters
    ----------
    vectors : ndarray of shape (n_features, n_features)
        *Released.* V.
    values : ndarray of shape (n_features,)
        *Released.* l ≥ 0.
    noise : float
        *Public.* ρ.
    """

    vectors: np.ndarray
    values: np.ndarray
    noise: float

    @classmethod
    def of(cls, gram: np.ndarray, noise: float) -> Metric:
        """Return the metric of a released matrix with noise of spectral norm about `noise`."""
        values, vectors = np.linalg.eigh(gram)
        return cls(vectors, np.maximum(values, 0.0), noise)

    @property
    def gains(self) -> np.ndarray:
        """g, the eigenvalues of P."""
        return self.noise / (self.values + self.noise)

    @property
    def trace(self) -> float:
        """About the trace of P^½·AᵀA·P^½."""
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

    One row a more or less changes AᵀA by aaᵀ, of Frobenius norm |a|² ≤ R²; one row in the place of
    another by aaᵀ − bbᵀ, of squared norm |a|⁴ + |b|⁴ − 2(a·b)² ≤ 2R⁴. The diagonal and √2 times the
    entries above it are a vector whose l2 norm is the Frobenius norm, and each of its entries gets
    noise of standard deviation σ = Δ/μ: so has the diagonal, and all others have σ/√2.

    Parameters
    ----------
    mu : float
        *Public.* Gaussian-DP parameter.
    scale : float
        *Public.* σ.
    """

    mu: float
    scale: float

    @classmethod
    def plan(cls, problem: Problem, mu: float) -> GramRelease | None:
        """Return a release with 1 % of μ²; None where columns are too many, or not counted."""
        d = problem.n_features
        if d is None or not 1 < d <= _MOST_COLUMNS:
            return None
        share = _GRAM_SHARE * mu
        sensitivity = math.sqrt(problem.neighboring.n_changed) * problem.row_norm**2
        return cls(mu=share, scale=sensitivity / share * (1.0 + SCALE_MARGIN))

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        """What is released."""
        return (GDPEvent(self.mu),)

    def rest(self, mu: float) -> float:
        """Return what is left of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)

    def spectral_noise(self, n_features: int) -> float:
        """Return about the spectral norm of the noise, σ·√(2d)."""
        return self.scale * math.sqrt(2.0 * n_features)

    def longest_step(self, problem: Problem, ridge: float = 0.0) -> float:
        """Return a step that is stable in the metric for steps: its ρ bounds curvature, or about.

        In that metric AᵀA has eigenvalues of about ρ at most.
        """
        assert problem.n_features is not None, "a matrix is released where columns are counted"
        noise = _STEEPER * self.spectral_noise(problem.n_features)
        return _LONGEST_STEP / (Minorant.of(problem.loss).smoothness * noise + ridge)

    def release_for_steps(self, design: Design, rng: np.random.Generator) -> Metric:
        """Read the data once and return the metric for steps, with twice the ρ of `release`."""
        metric = self.release(design, rng)
        return replace(metric, noise=_STEEPER * metric.noise)

    def release(self, design: Design, rng: np.random.Generator) -> Metric:
        """Read the data once and return the metric of the noisy matrix, with ρ = σ·√(2d)."""
        d = design.n_features
        noise = rng.normal(scale=0.5 * self.scale, size=(d, d))
        noisy = rounded(design.cross_product() + noise + noise.T, self.scale)
        return Metric.of(noisy, self.spectral_noise(d))
