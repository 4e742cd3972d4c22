"""Several releases on the same data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, NoClosedCurveError, check_event
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_count

__all__ = ["ComposedEvent", "SelfComposedEvent"]


class _Composition(Event):
    """Several releases on the same data; the parameters of each are fixed beforehand.

    Pure ε, ρ, and Rényi divergences of one order add (Dwork and Roth 2014; Bun and Steinke 2016;
    Mironov 2017); Gaussian μ add in squares (Dong, Roth and Su 2022, Corollary 2). All of these
    also hold for adaptively chosen parameters.
    """

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        leaves = list(self.leaves())
        if len(leaves) == 1 and leaves[0][1] == 1:
            return leaves[0][0].curve(neighboring)
        mu = self.gdp_mu(neighboring)
        exact = all(isinstance(leaf.curve(neighboring), GaussianCurve) for leaf, _ in leaves)
        if not exact:
            raise NoClosedCurveError(f"{self!r} has no curve in closed form; use an accountant.")
        return GaussianCurve(mu)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.fsum(count * leaf.pure_epsilon(neighboring) for leaf, count in self.leaves())

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return math.fsum(count * leaf.zcdp_rho(neighboring) for leaf, count in self.leaves())

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return math.hypot(
            *(math.sqrt(count) * leaf.gdp_mu(neighboring) for leaf, count in self.leaves())
        )

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return math.fsum(count * leaf.rdp(order, neighboring) for leaf, count in self.leaves())


@dataclass(frozen=True)
class ComposedEvent(_Composition):
    """One release of each of `events`.

    Parameters
    ----------
    events : sequence of Event
        *Public.*
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        try:
            events = tuple(self.events)
        except TypeError:
            raise ValueError(
                f"events must be a tuple or list of events, got {self.events!r}."
            ) from None
        self._set(events=tuple(check_event(f"events[{i}]", e) for i, e in enumerate(events)))

    def ideal(self) -> tuple[Event, float]:
        parts = [event.ideal() for event in self.events]
        return ComposedEvent(tuple(event for event, _ in parts)), math.fsum(tv for _, tv in parts)

    def leaves(self) -> Iterator[tuple[Event, int]]:
        for event in self.events:
            yield from event.leaves()


@dataclass(frozen=True)
class SelfComposedEvent(_Composition):
    """`count` releases of `event`.

    Parameters
    ----------
    event : Event
        *Public.*
    count : int
        *Public.* At least 0.
    """

    event: Event
    count: int

    def __post_init__(self) -> None:
        count = check_count("count", self.count, low=0)
        self._set(event=check_event("event", self.event), count=count)

    def ideal(self) -> tuple[Event, float]:
        event, tv = self.event.ideal()
        return SelfComposedEvent(event, self.count), self.count * tv

    def leaves(self) -> Iterator[tuple[Event, int]]:
        for leaf, count in self.event.leaves() if self.count else ():
            yield leaf, self.count * count
