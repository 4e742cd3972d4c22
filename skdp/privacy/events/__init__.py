"""Events: what was released, as a frozen tree with privacy curves."""

from __future__ import annotations

from typing import Any

from skdp.privacy.events.amplification import (
    FixedSizeSampledEvent,
    PoissonSampledEvent,
    ShuffledEvent,
)
from skdp.privacy.events.approximated import ApproximatedEvent
from skdp.privacy.events.base import Event, NoClosedCurveError
from skdp.privacy.events.between_neighbors import BetweenNeighborsEvent
from skdp.privacy.events.bounded_range import BoundedRangeEvent
from skdp.privacy.events.composed import ComposedEvent, SelfComposedEvent
from skdp.privacy.events.discrete_gaussian import DiscreteGaussianEvent
from skdp.privacy.events.discrete_laplace import DiscreteLaplaceEvent
from skdp.privacy.events.gaussian import GaussianEvent, GDPEvent
from skdp.privacy.events.laplace import LaplaceEvent
from skdp.privacy.events.non_private import NonPrivateEvent
from skdp.privacy.events.objective_perturbation import ObjectivePerturbationEvent
from skdp.privacy.events.piecewise_constant import PiecewiseConstantNoiseEvent
from skdp.privacy.events.pure import ApproxDPEvent, PureDPEvent
from skdp.privacy.events.repeat_and_select import RepeatAndSelectEvent
from skdp.privacy.events.truncated_laplace import TruncatedLaplaceEvent
from skdp.privacy.events.zcdp import ZCDPEvent
from skdp.support.registry import Registry

__all__ = [
    "EVENTS",
    "ApproxDPEvent",
    "ApproximatedEvent",
    "BetweenNeighborsEvent",
    "BoundedRangeEvent",
    "ComposedEvent",
    "DiscreteGaussianEvent",
    "DiscreteLaplaceEvent",
    "Event",
    "FixedSizeSampledEvent",
    "GDPEvent",
    "GaussianEvent",
    "LaplaceEvent",
    "NoClosedCurveError",
    "NonPrivateEvent",
    "ObjectivePerturbationEvent",
    "PiecewiseConstantNoiseEvent",
    "PoissonSampledEvent",
    "PureDPEvent",
    "RepeatAndSelectEvent",
    "SelfComposedEvent",
    "ShuffledEvent",
    "TruncatedLaplaceEvent",
    "ZCDPEvent",
    "event_from_dict",
]

EVENTS: Registry[Event] = Registry(
    {
        "GDPEvent": GDPEvent,
        "GaussianEvent": GaussianEvent,
        "NonPrivateEvent": NonPrivateEvent,
        "ComposedEvent": ComposedEvent,
        "SelfComposedEvent": SelfComposedEvent,
        "ApproxDPEvent": ApproxDPEvent,
        "ApproximatedEvent": ApproximatedEvent,
        "BetweenNeighborsEvent": BetweenNeighborsEvent,
        "BoundedRangeEvent": BoundedRangeEvent,
        "DataDependentNoiseEvent": "skdp.research.noise.event:DataDependentNoiseEvent",
        "DiscreteGaussianEvent": DiscreteGaussianEvent,
        "DiscreteLaplaceEvent": DiscreteLaplaceEvent,
        "FixedSizeSampledEvent": FixedSizeSampledEvent,
        "LaplaceEvent": LaplaceEvent,
        "ObjectivePerturbationEvent": ObjectivePerturbationEvent,
        "PiecewiseConstantNoiseEvent": PiecewiseConstantNoiseEvent,
        "PoissonSampledEvent": PoissonSampledEvent,
        "PureDPEvent": PureDPEvent,
        "RepeatAndSelectEvent": RepeatAndSelectEvent,
        "ShuffledEvent": ShuffledEvent,
        "TruncatedLaplaceEvent": TruncatedLaplaceEvent,
        "ZCDPEvent": ZCDPEvent,
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
