"""Noise calibrated to the distance between neighbors."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.privacy.events.base import AdditiveEvent, WrappedEvent
from skdp.privacy.neighboring import Neighboring

__all__ = ["BetweenNeighborsEvent"]


@dataclass(frozen=True)
class BetweenNeighborsEvent(WrappedEvent):
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

    def _relation(self, neighboring: Neighboring) -> Neighboring:
        Neighboring(neighboring)  # only a check: one contribution changes under both relations
        return Neighboring.ADD_REMOVE_ONE
