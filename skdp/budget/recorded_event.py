"""Events as a ledger has them, which another library, version or user may have written."""

from __future__ import annotations

from typing import Any

from skdp.ledger.tables import UNREADABLE
from skdp.privacy import Event, event_from_dict

__all__ = ["recorded_event"]


def recorded_event(data: dict[str, Any]) -> Event | None:
    """Return the event, or None if this version cannot read it."""
    try:
        return event_from_dict(data)
    except UNREADABLE:
        return None
