"""Noise calibrated to the distance between neighbors."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import AdditiveEvent, Event
from skdp.privacy.neighboring import Neighboring

__all__ = ["BetweenNeighborsEvent"]


@dataclass(frozen=True)
class BetweenNeighborsEvent(Event):
    """Additive noise on values that are at most one sensitivity apart for any two neighbors.

    The sensitivity of `event` alone is one record's contribution, and two contributions change
    under ``replace_one``. That is twice too much for a count, and for a mean between bounds. Here
    the sensitivity is the change between neighbors, whatever the relation.

    Parameters
    ----------
    event : AdditiveEvent
        *Public.* Additive noise, such as `LaplaceEvent`.
    """

    event: AdditiveEvent

    def __post_init__(self) -> None:
        if not isinstance(self.event, AdditiveEvent):
            kinds = ", ".join(sorted(kind.__name__ for kind in AdditiveEvent.__subclasses__()))
            raise ValueError(f"event must be additive noise, one of {kinds}, got {self.event!r}.")

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return self.event.curve(_once(neighboring))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self.event.pure_epsilon(_once(neighboring))

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return self.event.zcdp_rho(_once(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return self.event.gdp_mu(_once(neighboring))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return self.event.rdp(order, _once(neighboring))


def _once(neighboring: Neighboring) -> Neighboring:
    """Check the relation, and return the one under which one contribution changes."""
    Neighboring(neighboring)
    return Neighboring.ADD_REMOVE_ONE
