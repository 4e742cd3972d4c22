"""Noise whose size is told by how far neighbours are apart."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event
from skdp.privacy.events.data_dependent_noise import DataDependentNoiseEvent
from skdp.privacy.events.discrete_gaussian import DiscreteGaussianEvent
from skdp.privacy.events.discrete_laplace import DiscreteLaplaceEvent
from skdp.privacy.events.gaussian import GaussianEvent
from skdp.privacy.events.laplace import LaplaceEvent
from skdp.privacy.events.piecewise_constant import PiecewiseConstantNoiseEvent
from skdp.privacy.events.truncated_laplace import TruncatedLaplaceEvent
from skdp.privacy.neighboring import Neighboring

__all__ = ["BetweenNeighborsEvent"]

_ADDITIVE = (
    DataDependentNoiseEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    GaussianEvent,
    LaplaceEvent,
    PiecewiseConstantNoiseEvent,
    TruncatedLaplaceEvent,
)


@dataclass(frozen=True)
class BetweenNeighborsEvent(Event):
    """Additive noise on values that are at most one sensitivity apart for any two neighbours.

    The sensitivity of `event` alone is one record's contribution, of which two change under
    ``replace_one``. That is twice too much for a count of a property, and for a mean between
    bounds; here the sensitivity is the change between neighbours, whichever they are.

    Parameters
    ----------
    event : Event
        Of one of the kinds of additive noise.
    """

    event: Event

    def __post_init__(self) -> None:
        if not isinstance(self.event, _ADDITIVE):
            kinds = ", ".join(kind.__name__ for kind in _ADDITIVE)
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
    """Return the relation under which one contribution changes."""
    Neighboring(neighboring)
    return Neighboring.ADD_REMOVE_ONE
