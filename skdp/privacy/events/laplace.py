"""Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from skdp._validation import check_real, check_size
from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import Event
from skdp.privacy.events.pure import rho_of_pure
from skdp.privacy.neighboring import Neighboring

__all__ = ["LaplaceCurve", "LaplaceEvent"]


@dataclass(frozen=True)
class LaplaceCurve(SymmetricCurve):
    """The curve of two Laplace laws `shift` scales apart: 1 − e^((ε − shift)/2) inside ±shift."""

    shift: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return -np.expm1(np.minimum(0.5 * (epsilon - self.shift), 0.0))


@dataclass(frozen=True)
class LaplaceEvent(Event):
    """A sum of contributions of l1 norm at most C, plus Laplace noise of scale C·multiplier.

    Adding or removing a record moves the sum by C, replacing one by 2C. The noise is independent
    in each coordinate. A shift spread over coordinates is no easier to see than one of the same l1
    length in a single coordinate: moving coordinate by coordinate composes the maps
    G(a) = F(F⁻¹(a) + shift), and those add their shifts.

    Parameters
    ----------
    noise_multiplier : float
        *Public.* Scale of the noise over C.

    Examples
    --------
    >>> round(LaplaceEvent(1.0).gdp_mu("add_remove_one"), 6)
    1.030064
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        self._set(noise_multiplier=check_size("noise_multiplier", self.noise_multiplier))

    def curve(self, neighboring: Neighboring) -> LaplaceCurve:  # noqa: D102
        return LaplaceCurve(self.pure_epsilon(neighboring))

    def pure_epsilon(self, neighboring: Neighboring) -> float:  # noqa: D102
        return Neighboring(neighboring).n_changed / self.noise_multiplier

    def zcdp_rho(self, neighboring: Neighboring) -> float:  # noqa: D102
        return rho_of_pure(self.pure_epsilon(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        """Return 2Φ⁻¹(1 − e^(−ε/2)/2), the least μ that covers the curve.

        h = Φ⁻¹∘F takes Laplace to normal quantiles and turns the shift ε into h(y) − h(y − ε).
        h is odd, and on y > 0 its slope is Mills' ratio at h(y), which falls: so the difference is
        largest for the centred interval, where it is 2h(ε/2).
        """
        return float(-2.0 * ndtri(0.5 * math.exp(-0.5 * self.pure_epsilon(neighboring))))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        """Return the Rényi divergence in closed form (Mironov 2017, Proposition 6)."""
        order, shift = check_real("order", order, low=1.0), self.pure_epsilon(neighboring)
        up = math.log(order / (2.0 * order - 1.0)) + (order - 1.0) * shift
        down = math.log((order - 1.0) / (2.0 * order - 1.0)) - order * shift
        return float(np.logaddexp(up, down)) / (order - 1.0)
