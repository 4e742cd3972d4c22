"""Affine functions below a loss, under which samplers propose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.losses.base import Loss

__all__ = ["Minorant"]


@dataclass(frozen=True)
class Minorant:
    """For each record and each point z, an affine minorant of ℓ(y, ·) that nearly touches it at z.

    For a smooth loss it is the tangent. The gradients of the minorants of a non-smooth loss change
    steadily where its own gradient jumps; `gap` is the cost of that.

    Parameters
    ----------
    loss : Loss
        *Public.* ℓ.
    steady : Loss
        *Public.* Its `value` and `gradient` at z are those of the minorant; ℓ itself for tangents.
    gap : float
        *Public.* Upper bound of the distance between ℓ and its minorant where they nearly touch.
    """

    loss: Loss
    steady: Loss
    gap: float = 0.0

    @classmethod
    def of(cls, loss: Loss) -> Minorant:
        """Return the minorants that a loss supplies as its `minorant`, or else its tangents.

        Parameters
        ----------
        loss : Loss
            *Public.*

        Returns
        -------
        minorant : Minorant
            Of that loss.
        """
        supplied: Minorant | None = getattr(loss, "minorant", None)
        return cls(loss, loss) if supplied is None else supplied

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of `gradient` in z; finite for every loss."""
        return self.steady.smoothness

    @property
    def curvature_trace(self) -> float:
        """The trace that goes with `smoothness`; finite for every loss, nominal for some."""
        return self.steady.curvature_trace

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradients of the minorants at z.

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
        return self.steady.gradient(y, z)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the values at z of the minorants.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels or numbers.
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n,)
            At most ℓ(y, z), and at least ℓ(y, z) − `gap`.
        """
        return self.steady.value(y, z)

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return ℓ(y, z) less the minorant at `origin`, record by record.

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
        rise = self.gradient(y, origin) * (z - origin)
        minorant = self.value(y, origin) + (rise if z.ndim == 1 else rise.sum(axis=1))
        return np.maximum(self.loss.value(y, z) - minorant, 0.0)

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
        # Loss and minorant change by at most L·radius each. Over a tangent the loss also rises by
        # at most smoothness·radius²/2, and the lesser of the two bounds counts.
        if self.gap or not radius:
            return self.gap + 2.0 * self.loss.lipschitz * radius
        return radius * min(0.5 * self.loss.smoothness * radius, 2.0 * self.loss.lipschitz)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ℓ''(y, ·) around z, record by record; 0 if unknown.

        For losses of one score whose affine minorants are tangents. Single points do not count.
        The certificate of a sampler may rest on it.

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
        known: Callable[..., np.ndarray] | None = getattr(self.loss, "least_curvature", None)
        return np.zeros(y.size) if known is None else known(y, z, radius)
