"""What happened: a frozen tree of events, each with a privacy curve.

An event says what was released and nothing about what it costs in a budget. Every event has a
`curve`; `gdp_mu` is its exact shortcut to Gaussian DP. Events survive in ledgers, so a name once
given keeps its meaning for ever: `to_dict` and `event_from_dict` rebuild an event exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.gaussian import GaussianCurve

__all__ = ["EVENTS", "ComposedEvent", "Event", "GDPEvent", "NonPrivateEvent", "event_from_dict"]


class Event(ABC):
    """One release, or several."""

    @property
    @abstractmethod
    def gdp_mu(self) -> float:
        """Least μ such that the event is μ-Gaussian DP, in both orders of the neighbours."""

    @property
    def curve(self) -> PrivacyCurve:
        """The privacy curve δ(ε) of the worst pair of neighbours."""
        return GaussianCurve(self.gdp_mu)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `event_from_dict` rebuilds the event."""


@dataclass(frozen=True)
class GDPEvent(Event):
    """A release that is `mu`-Gaussian DP; ``mu`` in [0, inf), 0 for no release at all."""

    mu: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.mu < math.inf:
            raise ValueError(f"mu must lie in [0, inf), got {self.mu!r}.")

    @property
    def gdp_mu(self) -> float:  # noqa: D102
        return self.mu

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"event": "GDPEvent", "mu": self.mu}


@dataclass(frozen=True)
class NonPrivateEvent(Event):
    """A release without any privacy: δ(ε) = 1 for every ε."""

    @property
    def gdp_mu(self) -> float:  # noqa: D102
        return math.inf

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"event": "NonPrivateEvent"}


@dataclass(frozen=True)
class ComposedEvent(Event):
    """Several releases on the same data, later ones free to depend on earlier outputs.

    Their Gaussian parameters add in squares (Dong, Roth and Su 2022, Corollary 2).
    """

    events: tuple[Event, ...]

    @property
    def gdp_mu(self) -> float:  # noqa: D102
        return math.hypot(*(event.gdp_mu for event in self.events))

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"event": "ComposedEvent", "events": [event.to_dict() for event in self.events]}


EVENTS = {kind.__name__: kind for kind in (GDPEvent, NonPrivateEvent, ComposedEvent)}


def event_from_dict(data: dict[str, Any]) -> Event:
    """Rebuild an event from `Event.to_dict`.

    Examples
    --------
    >>> event_from_dict(GDPEvent(0.5).to_dict())
    GDPEvent(mu=0.5)
    """
    fields = {key: value for key, value in data.items() if key != "event"}
    if data.get("event") not in EVENTS:
        raise ValueError(f"Unknown event {data.get('event')!r}; known: {sorted(EVENTS)}.")
    if "events" in fields:
        fields["events"] = tuple(event_from_dict(event) for event in fields["events"])
    return EVENTS[data["event"]](**fields)
