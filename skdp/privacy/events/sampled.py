"""What releases on a part of the records have in common."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.privacy.events.base import Event, check_event
from skdp.privacy.events.pure import mu_of_pure, rho_of_pure
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.sampling import check_rate

__all__ = ["SampledEvent"]


@dataclass(frozen=True)
class SampledEvent(Event):
    """`event` on a random part of the records."""

    sampling_rate: float
    event: Event

    def __post_init__(self) -> None:
        rate = check_rate(self.sampling_rate)
        self._set(sampling_rate=rate, event=check_event("event", self.event))

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        """Return the ρ of a pure release with this ε; ``inf`` if the release is not pure."""
        return rho_of_pure(self.pure_epsilon(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        """Return the μ of a pure release with this ε; ``inf`` if the release is not pure."""
        return mu_of_pure(self.pure_epsilon(neighboring))
