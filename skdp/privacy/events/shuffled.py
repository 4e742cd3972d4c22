"""A pass over disjoint batches of shuffled records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, check_event
from skdp.privacy.neighboring import Neighboring

__all__ = ["ShuffledEvent"]


@dataclass(frozen=True)
class ShuffledEvent(Event):
    """One epoch: every record is in exactly one batch, and `event` is released for each batch.

    The price is that of one `event` **without any amplification**: each record is read once, so
    the batches compose in parallel, whatever the order and also if later batches look at earlier
    outputs. Nothing better is proved for batches: for small noise the true cost lies far above
    the Poisson value (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang 2024). Batches must
    be assigned without looking at the data; E epochs are a `SelfComposedEvent` of this one.
    """

    event: Event

    def __post_init__(self) -> None:
        self._set(event=check_event("event", self.event))

    def ideal(self) -> tuple[Event, float]:  # noqa: D102
        event, tv = self.event.ideal()
        return ShuffledEvent(event), tv

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:  # noqa: D102
        return self.event.curve(neighboring)

    def pure_epsilon(self, neighboring: Neighboring) -> float:  # noqa: D102
        return self.event.pure_epsilon(neighboring)

    def zcdp_rho(self, neighboring: Neighboring) -> float:  # noqa: D102
        return self.event.zcdp_rho(neighboring)

    def gdp_mu(self, neighboring: Neighboring) -> float:  # noqa: D102
        return self.event.gdp_mu(neighboring)

    def rdp(self, order: float, neighboring: Neighboring) -> float:  # noqa: D102
        return self.event.rdp(order, neighboring)

    def leaves(self) -> Iterator[tuple[Event, int]]:  # noqa: D102
        yield from self.event.leaves()
