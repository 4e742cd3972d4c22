"""The registry of events, and events from stored text."""

from __future__ import annotations

from typing import Any

from skdp.privacy.events.base import Event
from skdp.support.registry import Registry

__all__ = ["EVENTS", "event_from_dict"]

EVENTS: Registry[Event] = Registry(
    {
        "GDPEvent": "skdp.privacy.events.gaussian:GDPEvent",
        "GaussianEvent": "skdp.privacy.events.gaussian:GaussianEvent",
        "NonPrivateEvent": "skdp.privacy.events.non_private:NonPrivateEvent",
        "ComposedEvent": "skdp.privacy.events.composed:ComposedEvent",
        "SelfComposedEvent": "skdp.privacy.events.composed:SelfComposedEvent",
        "ApproxDPEvent": "skdp.privacy.events.pure:ApproxDPEvent",
        "ApproximatedEvent": "skdp.privacy.events.approximated:ApproximatedEvent",
        "BetweenNeighborsEvent": "skdp.privacy.events.between_neighbors:BetweenNeighborsEvent",
        "BoundedRangeEvent": "skdp.privacy.events.bounded_range:BoundedRangeEvent",
        "DataDependentNoiseEvent": "skdp.research.noise.event:DataDependentNoiseEvent",
        "DiscreteGaussianEvent": "skdp.privacy.events.discrete_gaussian:DiscreteGaussianEvent",
        "DiscreteLaplaceEvent": "skdp.privacy.events.discrete_laplace:DiscreteLaplaceEvent",
        "FixedSizeSampledEvent": "skdp.privacy.events.amplification:FixedSizeSampledEvent",
        "LaplaceEvent": "skdp.privacy.events.laplace:LaplaceEvent",
        "ObjectivePerturbationEvent": (
            "skdp.privacy.events.objective_perturbation:ObjectivePerturbationEvent"
        ),
        "PiecewiseConstantNoiseEvent": (
            "skdp.privacy.events.piecewise_constant:PiecewiseConstantNoiseEvent"
        ),
        "PoissonSampledEvent": "skdp.privacy.events.amplification:PoissonSampledEvent",
        "PureDPEvent": "skdp.privacy.events.pure:PureDPEvent",
        "RepeatAndSelectEvent": "skdp.privacy.events.repeat_and_select:RepeatAndSelectEvent",
        "ShuffledEvent": "skdp.privacy.events.amplification:ShuffledEvent",
        "TruncatedLaplaceEvent": "skdp.privacy.events.truncated_laplace:TruncatedLaplaceEvent",
        "ZCDPEvent": "skdp.privacy.events.zcdp:ZCDPEvent",
    }
)
"""Every event by name."""


def event_from_dict(data: dict[str, Any]) -> Event:
    """Rebuild an event from `Event.to_dict`.

    Parameters
    ----------
    data : dict
        *Public.* Result of `Event.to_dict`.

    Returns
    -------
    Event

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> event_from_dict(GDPEvent(0.5).to_dict())
    GDPEvent(mu=0.5)
    """
    if not isinstance(data, dict):
        raise ValueError(f"data must be a dict from `Event.to_dict`, got {data!r}.")
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
