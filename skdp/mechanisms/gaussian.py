"""Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from skdp.mechanisms._exact_normal import whole_steps_of_normal
from skdp.mechanisms.base import ScaledMechanism, gauss_nodes, least, real_scales
from skdp.privacy import Event, GDPEvent, ZCDPEvent
from skdp.support.rounding import SUM, up
from skdp.support.validation import check_choice, check_real

__all__ = ["Gaussian"]

_METHODS = ("analytic", "classic", "zcdp")


@dataclass(frozen=True, kw_only=True)
class Gaussian(ScaledMechanism):
    """Gaussian noise N(0, σ²) in every coordinate.

    **Guarantee**: μ-Gaussian DP with μ = Δ/σ, Δ the l2 sensitivity of the rounded value (Dong,
    Roth and Su 2022, Theorem 2.7). It is that of the continuous distribution, because the release
    is a function of a sample of it.

    Parameters
    ----------
    sensitivity : float
        *Public.* l2 distance of the values of two neighbors, of the whole vector.
    scale : float
        *Public.* σ, from 2^−20 to 2^20 sensitivities.
    dimension : int, default 1
        *Public.* How many numbers are released together; d of them add √d steps to the sensitivity.

    Examples
    --------
    >>> round(Gaussian.calibrate(epsilon=1.0, delta=0.1, sensitivity=1.0).scale, 6)
    1.085878
    >>> round(Gaussian.calibrate(1.0, 0.1, 1.0, method="classic").scale, 6)
    2.247545
    """

    sensitivity_norm: ClassVar[str] = "l2"

    @classmethod
    def calibrate(
        cls,
        epsilon: float,
        delta: float,
        sensitivity: float,
        *,
        dimension: int = 1,
        method: str = "analytic",
    ) -> Gaussian:
        """Return the least noise for which one release is (ε, δ)-DP, δ > 0, by one of three proofs.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of all numbers together.
        sensitivity : float
            *Public.* Distance of the values of two neighbors in `sensitivity_norm`.
        dimension : int, default 1
            *Public.* How many numbers are released together.
        method : {"analytic", "classic", "zcdp"}
            *Public.* The exact curve (Balle and Wang 2018, Theorem 8); σ = Δ·√(2·log(1.25/δ))/ε,
            for ε ≤ 1 only (Dwork and Roth 2014, Theorem A.1); or the curve of zCDP. The last two
            are for comparison and always noisier.

        Returns
        -------
        Gaussian

        Raises
        ------
        OutOfRangeError
            If no noise of this kind has the guarantee.
        """

        def make(scale: float) -> Gaussian:
            return cls(sensitivity=sensitivity, scale=scale, dimension=dimension)

        def by_rho(noise: Gaussian) -> Event:
            return ZCDPEvent(up(0.5 * noise.event.mu**2, SUM))

        if check_choice("method", method, _METHODS) == "classic":
            return make(_classic(epsilon, delta) * make(sensitivity).event.mu * sensitivity)
        if method == "zcdp":
            return least(make, real_scales(sensitivity), epsilon, delta, by_rho)
        return super().calibrate(epsilon, delta, sensitivity, dimension=dimension)

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(up(self._l2_in_steps / self._scale_in_steps, SUM))

    @property
    def _l2_in_steps(self) -> float:
        """The l2 sensitivity of a rounded vector: each coordinate is less than 1 longer."""
        if self.dimension == 1:
            return math.ceil(self.sensitivity / self.step)
        return self.sensitivity / self.step + math.sqrt(self.dimension)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(self.scale * ndtri(p))

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return whole_steps_of_normal(self._scale_in_steps, size, rng)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = gauss_nodes(self.scale * np.arange(13.0))
        density = np.exp(-0.5 * (x / self.scale) ** 2) / (self.scale * math.sqrt(2.0 * math.pi))
        return x, w * density


def _classic(epsilon: float, delta: float) -> float:
    """Return σ/Δ of the textbook."""
    epsilon = check_real("epsilon (of method='classic')", epsilon, low=0.0, high=1.0, closed="]")
    delta = check_real("delta (of method='classic')", delta, low=0.0, high=1.0)
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
