"""Gaussian releases of sums of squares and products, from which standard errors are computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.privacy import GDPEvent, Neighboring
from skdp.solvers.base import SCALE_MARGIN, rounded


@dataclass(frozen=True)
class MatrixRelease:
    """Σ M over records, M positive semidefinite with Frobenius norm at most `largest`, plus noise.

    *Adding or removing a record* changes the sum by one M, of norm at most `largest`.
    *Replacing one* changes it by M − M', and |M − M'|² = |M|² + |M'|² − 2·tr(MM') is at most
    2·`largest`², because the trace of a product of two such matrices is not negative.

    Coordinates are the upper triangle, times √2 off the diagonal, so that their Euclidean norm is
    the Frobenius norm. With N(0, σ²) added to each, σ = Δ/μ, the release is μ-Gaussian DP. In the
    matrix the noise has the variance σ² on the diagonal and σ²/2 elsewhere.
    """

    mu: float  # Gaussian-DP parameter
    scale: float  # σ

    @classmethod
    def plan(cls, mu: float, largest: float, relation: Neighboring) -> MatrixRelease:
        sensitivity = math.sqrt(relation.n_changed) * largest
        return cls(mu, sensitivity / mu * (1.0 + SCALE_MARGIN))

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(self.mu)

    def release(self, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the *private* sum with noise, on a public grid."""
        noise = rng.standard_normal(total.shape)  # its symmetric part has variances 1 and 1/2
        return rounded(total + self.scale * 0.5 * (noise + noise.T), self.scale)

    def covariance_of_product(self, v: np.ndarray) -> np.ndarray:
        """Return the covariance of N·v for the noise N of the matrix: ½σ²(|v|²·I + vvᵀ).

        (Nv)_i = Σ_j N_ij·v_j has the variance σ²v_i² + ½σ²·Σ_{j≠i} v_j², and the covariance of
        (Nv)_i with (Nv)_k is that of N_ik·v_k and N_ki·v_i, which is ½σ²·v_i·v_k.
        """
        return 0.5 * self.scale**2 * (v @ v * np.eye(v.size) + np.outer(v, v))


@dataclass(frozen=True)
class SpreadRelease:
    """(Σ ψ²/L², Σ ψ'/κ) over records, plus noise: the spread of residuals, and their number.

    ψ is the derivative of a loss in the score, at most L in size, and ψ' the second derivative, in
    [0, κ]. A record adds a point of [0, 1]², so neighbors' sums differ by at most √2 under both
    relations. Least squares releases (Σ s·q, Σ s·(1 − q)) instead, with q = r²/L² and the share s
    of a record that has the residual r. A record adds a point of the triangle (0, 0), (1, 0),
    (0, 1). So neighbors differ by at most 1 if one is added or removed, and by √2 if one is
    replaced.
    """

    mu: float  # Gaussian-DP parameter
    longest: float  # L
    steepest: float  # κ; L² for least squares
    sensitivity: float = math.sqrt(2.0)

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(self.mu)

    @property
    def scale(self) -> float:
        return self.sensitivity / self.mu * (1.0 + SCALE_MARGIN)

    def release(self, sums: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """Return *private* Σ ψ² and Σ ψ' with noise; the second is at least 1, or its noise."""
        exact = sums / np.array([self.longest**2, self.steepest])
        noisy = rounded(exact + self.scale * rng.standard_normal(2), self.scale)
        count = max(float(noisy[1]), self.scale, 1.0)
        return float(noisy[0]) * self.longest**2, count * self.steepest
