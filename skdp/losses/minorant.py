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

    For a smooth loss it is the tangent. For a non-smooth loss the gradients of the minorants change
    steadily where the loss's own gradient jumps; `gap` is the cost.

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
        """Return a loss's own `minorant`, or its tangents.

        Parameters
        ----------
        loss : Loss
            *Public.*

        Returns
        -------
        Minorant
        """
        supplied: Minorant | None = getattr(loss, "minorant", None)
        return cls(loss, loss) if supplied is None else supplied

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of `gradient` in z; finite for every loss."""
        return self.steady.smoothness

    @property
    def curvature_trace(self) -> float:
        """Trace bound that matches `smoothness`; finite for every loss, nominal for some."""
        return self.steady.curvature_trace

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradients of the minorants at z.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of the shape of z
        """
        return self.steady.gradient(y, z)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the values at z of the minorants.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of shape (n,)
            Between ℓ(y, z) − `gap` and ℓ(y, z).
        """
        return self.steady.value(y, z)

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return ℓ(y, z) less the minorant at `origin`, per record.

        For a smooth loss this is the Bregman divergence.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).
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
        """
        # Loss and minorant change by at most L·radius each. Over a tangent the loss also rises by
        # at most smoothness·radius²/2, and the lesser of the two bounds counts.
        if self.gap or not radius:
            return self.gap + 2.0 * self.loss.lipschitz * radius
        return radius * min(0.5 * self.loss.smoothness * radius, 2.0 * self.loss.lipschitz)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ℓ''(y, ·) within `radius` of z, per record; 0 if unknown.

        For losses of one score whose affine minorants are tangents. Single points do not count.
        The certificate of a sampler may rest on it.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            Targets, scores, and distances from the scores.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
        known: Callable[..., np.ndarray] | None = getattr(self.loss, "least_curvature", None)
        return np.zeros(y.size) if known is None else known(y, z, radius)
