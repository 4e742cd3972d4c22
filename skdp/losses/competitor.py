"""A loss for several classes: the margin of the true class over a soft worst competitor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax, softmax

from skdp.losses.base import Loss, MarginLoss, ProbabilityLoss
from skdp.losses.gradient_directions import GradientDirections
from skdp.losses.minorant import Minorant

__all__ = ["CompetitorLoss"]

_UNIFORM_WEIGHT = 0.8
_SHARPNESS = 12.0
_HEAD_START = 0.5
_NOISE_SHARE = 0.4


@dataclass(frozen=True)
class CompetitorLoss(Loss, ProbabilityLoss):
    """Competitor loss φ(M − δ), with M a soft minimum of the true class's leads over the others.

    With v_j = z_j − z_y, ρ² = K/(K − 1), a = ρ/√2 and v̄ the mean of the v_j over j ≠ y,

    M = −(1/β)·log( ω·e^(β·v̄) + (1 − ω)/(K − 1)·Σ_(j≠y) e^(β·a·v_j) ).

    At z = 0 the gradient separates y from all other classes at once. Later its whole length can
    point against one hard competitor, while a mean over pairs would use 1/K of it.

    *Constants.* The linear forms v̄ and a·v_j have gradients of norm exactly ρ, so any mixture of
    them has norm at most ρ: Lipschitz constant ρ·L. Its squared norm is at least a²·ρ², and the
    forms' gradients are at most ρ apart, so that their variance in any direction is at most ρ²/4
    and in all directions at most ρ²·(1 − a²). The Hessian is φ''·ḡḡᵀ + |φ'|·β·Cov: its largest
    eigenvalue is at most ρ²·max(w, (3w + β·L)/4), its trace at most
    ρ²·max(w, w·a² + β·L·(1 − a²)). Convex: −M is a log-sum-exp of linear forms and φ decreases.

    For K = 2 all forms coincide and M is the margin z_y − z_j.

    Parameters
    ----------
    margin_loss : MarginLoss
        *Public.* φ, with Lipschitz constant L, smoothness w and a natural scale s of margins;
        β = 12/s and δ = s/2.
    n_scores : int
        *Public.* Number of classes K.
    """

    margin_loss: MarginLoss
    n_scores: int

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(log_softmax(z, axis=1))

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(z, axis=1))

    @property
    def directions(self) -> GradientDirections:
        """The hull of the gradients of the K forms, v̄ and a·v_j.

        The cosine of v̄ and a v_j is a, of two v_j it is 1/2, and of the v̄ of two labels less.
        """
        return GradientDirections(
            dimension=self.n_scores - 1,
            n_extremes=self.n_scores,
            cosine=self._length * math.sqrt(0.5),
        )

    @property
    def lipschitz(self) -> float:
        return self._length * self.margin_loss.lipschitz

    @property
    def smoothness(self) -> float:
        return self._largest_eigenvalue(self.margin_loss.smoothness)

    @property
    def curvature_trace(self) -> float:
        w, a2 = self.margin_loss.smoothness, 0.5 * self._length**2
        steep = self._sharpness * self.margin_loss.lipschitz
        return self._length**2 * max(w, w * a2 + steep * (1.0 - a2))

    @property
    def noise_scale(self) -> float:
        return _NOISE_SHARE * self.margin_loss.noise_scale

    @property
    def score_units(self) -> float:  # type: ignore[override]
        """2K + 8, derived in *Machine numbers*."""
        return 2.0 * self.n_scores + 8.0

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.margin_loss.value_at(self._lead(y, z)[0])

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        lead, mixture = self._lead(y, z)
        return self.margin_loss.derivative(lead)[:, None] * -mixture

    @property
    def minorant(self) -> Minorant:
        """The linearized minorants of φ: φ(M − δ) is at least its minorant, which falls."""
        inner = Minorant.of(self.margin_loss)
        assert isinstance(inner.steady, MarginLoss), "a margin loss has minorants of the margin"
        return _CompetitorMinorant(self, replace(self, margin_loss=inner.steady), inner.gap)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        lead, mixture = self._lead(y, z)
        squared = (mixture * mixture).sum(axis=1)
        pull = -self._sharpness * self.margin_loss.derivative(lead)
        trace = self.margin_loss.curvature(np.ones(1), lead) * squared
        trace += pull * (self._length**2 - squared)
        return trace / max(1, self.n_scores - 1)

    @property
    def _length(self) -> float:
        return math.sqrt(self.n_scores / (self.n_scores - 1.0))

    @property
    def _sharpness(self) -> float:
        return _SHARPNESS / self.margin_loss.noise_scale

    def _largest_eigenvalue(self, w: float) -> float:
        steep = self._sharpness * self.margin_loss.lipschitz
        return self._length**2 * max(w, 0.75 * w + 0.25 * steep)

    def _lead(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return M − δ, of shape (n,), and the gradient of −M in z, of shape (n, K)."""
        rows, rivals, beta = np.arange(y.size), self.n_scores - 1, self._sharpness
        v = z - z[rows, y][:, None]
        uniform = beta * v.sum(axis=1) / rivals + math.log(_UNIFORM_WEIGHT)
        v *= beta * self._length * math.sqrt(0.5)
        v += math.log((1.0 - _UNIFORM_WEIGHT) / rivals)
        v[rows, y] = -np.inf
        highest = np.maximum(uniform, v.max(axis=1))
        single, uniform = np.exp(v - highest[:, None]), np.exp(uniform - highest)
        total = uniform + single.sum(axis=1)
        mixture = self._length * math.sqrt(0.5) * single + (uniform / rivals)[:, None]
        mixture /= total[:, None]
        mixture[rows, y] = 0.0
        mixture[rows, y] = -mixture.sum(axis=1)
        lead = -(highest + np.log(total)) / beta
        return lead - _HEAD_START * self.margin_loss.noise_scale, mixture


@dataclass(frozen=True)
class _CompetitorMinorant(Minorant):
    """Minorants of a competitor loss; one call computes the leads of z and origin."""

    loss: CompetitorLoss
    steady: CompetitorLoss

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        # one call is faster than two for the few rows of a sampler
        both = np.concatenate([origin.T, z.T], axis=1).T
        lead, mixture = self.loss._lead(np.concatenate([y, y]), both)
        here, there = lead[: y.size], lead[y.size :]
        phi, line = self.loss.margin_loss, self.steady.margin_loss
        rise = line.derivative(here) * -(mixture[: y.size] * (z - origin)).sum(axis=1)
        return np.maximum(phi.value_at(there) - line.value_at(here) - rise, 0.0)
