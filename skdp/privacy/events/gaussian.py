"""Gaussian events."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import AdditiveEvent, Event
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.subsampling import SubstitutedGaussianCurve
from skdp.support.validation import check_real, check_size

__all__ = ["GDPEvent", "GaussianEvent"]


@dataclass(frozen=True)
class GDPEvent(Event):
    """A release that is `mu`-Gaussian DP; 0 for no release at all.

    Parameters
    ----------
    mu : float in [0, inf)
        *Public.*
    """

    mu: float

    def __post_init__(self) -> None:
        self._set(mu=check_real("mu", self.mu, low=0.0, closed="["))

    def curve(self, neighboring: Neighboring) -> GaussianCurve:
        return GaussianCurve(self.mu)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return self.mu

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.5 * self.mu * self.mu

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.mu else 0.0

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return check_real("order", order, low=1.0) * self.zcdp_rho(neighboring)


@dataclass(frozen=True)
class GaussianEvent(AdditiveEvent):
    """A sum of record contributions of l2 norm at most C, plus N(0, (`noise_multiplier`·C)²·I).

    Adding or removing a record moves the sum by C, replacing one by 2C. The event also stands for
    any release that is 1/`noise_multiplier`-Gaussian DP when a record is added or removed: it costs
    no more, on a Poisson sample as well (see *Sample, then fit* in the user guide).

    Parameters
    ----------
    noise_multiplier : float
        *Public.* Standard deviation of the noise over C.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        self._set(noise_multiplier=check_size("noise_multiplier", self.noise_multiplier))

    def curve(self, neighboring: Neighboring) -> GaussianCurve:
        return GaussianCurve(self.gdp_mu(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return Neighboring(neighboring).n_changed / self.noise_multiplier

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.5 * self.gdp_mu(neighboring) ** 2

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return check_real("order", order, low=1.0) * self.zcdp_rho(neighboring)

    def sampled_curve(self, rate: float, neighboring: Neighboring) -> PrivacyCurve:
        if Neighboring(neighboring) is Neighboring.REPLACE_ONE:
            return SubstitutedGaussianCurve(rate, self.noise_multiplier)
        return super().sampled_curve(rate, neighboring)
