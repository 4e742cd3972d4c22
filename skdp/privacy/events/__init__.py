"""What happened: a frozen tree of events, each with a privacy curve."""

from __future__ import annotations

from typing import Any

from skdp.privacy.events.base import Event, NoClosedCurveError
from skdp.privacy.events.composed import ComposedEvent, SelfComposedEvent
from skdp.privacy.events.gaussian import GaussianEvent, GDPEvent
from skdp.privacy.events.non_private import NonPrivateEvent

__all__ = [
    "EVENTS",
    "ComposedEvent",
    "Event",
    "GDPEvent",
    "GaussianEvent",
    "NoClosedCurveError",
    "NonPrivateEvent",
    "SelfComposedEvent",
    "event_from_dict",
]

EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (GDPEvent, GaussianEvent, NonPrivateEvent, ComposedEvent, SelfComposedEvent)
}
"""Every event by name."""


def event_from_dict(data: dict[str, Any]) -> Event:
    """Rebuild an event from `Event.to_dict`.

    Examples
    --------
    >>> event_from_dict(GDPEvent(0.5).to_dict())
    GDPEvent(mu=0.5)
    """
    if data.get("kind") not in EVENTS:
        raise ValueError(f"Unknown event {data.get('kind')!r}; known: {sorted(EVENTS)}.")
    kind = EVENTS[data["kind"]]
    if data.get("version", 1) > kind.version:
        raise ValueError(f"{data['kind']} has version {data['version']}, newer than this skdp.")
    fields = {name: value for name, value in data.items() if name not in ("kind", "version")}
    return kind(**{name: _rebuilt(value) for name, value in fields.items()})


def _rebuilt(value: Any) -> Any:
    if isinstance(value, dict):
        return event_from_dict(value)
    if isinstance(value, list):
        return tuple(_rebuilt(item) for item in value)
    return value
