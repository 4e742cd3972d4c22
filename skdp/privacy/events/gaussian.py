"""Gaussian events."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.privacy.events.base import Event
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring

__all__ = ["GDPEvent", "GaussianEvent"]


@dataclass(frozen=True)
class GDPEvent(Event):
    """A release that is `mu`-Gaussian DP; ``mu`` in [0, inf), 0 for no release at all."""

    mu: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.mu < math.inf:
            raise ValueError(f"mu must lie in [0, inf), got {self.mu!r}.")

    def curve(self, neighboring: Neighboring) -> GaussianCurve:  # noqa: D102
        return GaussianCurve(self.mu)

    def gdp_mu(self, neighboring: Neighboring) -> float:  # noqa: D102
        return self.mu

    def zcdp_rho(self, neighboring: Neighboring) -> float:  # noqa: D102
        return 0.5 * self.mu**2

    def pure_epsilon(self, neighboring: Neighboring) -> float:  # noqa: D102
        return math.inf if self.mu else 0.0


@dataclass(frozen=True)
class GaussianEvent(Event):
    """A sum of record contributions of l2 norm at most C, plus N(0, (`noise_multiplier`·C)²·I).

    Adding or removing a record moves the sum by C, replacing one by 2C.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        if not 0.0 < self.noise_multiplier < math.inf:
            raise ValueError(f"noise_multiplier must be positive, got {self.noise_multiplier!r}.")

    def curve(self, neighboring: Neighboring) -> GaussianCurve:  # noqa: D102
        return GaussianCurve(self.gdp_mu(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:  # noqa: D102
        return Neighboring(neighboring).n_changed / self.noise_multiplier

    def zcdp_rho(self, neighboring: Neighboring) -> float:  # noqa: D102
        return 0.5 * self.gdp_mu(neighboring) ** 2
