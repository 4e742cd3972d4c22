"""Events: what was released, as a frozen tree with privacy curves."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.privacy.events.amplification import FixedSizeSampledEvent as FixedSizeSampledEvent
    from skdp.privacy.events.amplification import PoissonSampledEvent as PoissonSampledEvent
    from skdp.privacy.events.amplification import ShuffledEvent as ShuffledEvent
    from skdp.privacy.events.approximated import ApproximatedEvent as ApproximatedEvent
    from skdp.privacy.events.base import Event as Event
    from skdp.privacy.events.base import NoClosedCurveError as NoClosedCurveError
    from skdp.privacy.events.between_neighbors import BetweenNeighborsEvent as BetweenNeighborsEvent
    from skdp.privacy.events.bounded_range import BoundedRangeEvent as BoundedRangeEvent
    from skdp.privacy.events.composed import ComposedEvent as ComposedEvent
    from skdp.privacy.events.composed import SelfComposedEvent as SelfComposedEvent
    from skdp.privacy.events.discrete_gaussian import DiscreteGaussianEvent as DiscreteGaussianEvent
    from skdp.privacy.events.discrete_laplace import DiscreteLaplaceEvent as DiscreteLaplaceEvent
    from skdp.privacy.events.gaussian import GaussianEvent as GaussianEvent
    from skdp.privacy.events.gaussian import GDPEvent as GDPEvent
    from skdp.privacy.events.laplace import LaplaceEvent as LaplaceEvent
    from skdp.privacy.events.non_private import NonPrivateEvent as NonPrivateEvent
    from skdp.privacy.events.objective_perturbation import (
        ObjectivePerturbationEvent as ObjectivePerturbationEvent,
    )
    from skdp.privacy.events.piecewise_constant import (
        PiecewiseConstantNoiseEvent as PiecewiseConstantNoiseEvent,
    )
    from skdp.privacy.events.pure import ApproxDPEvent as ApproxDPEvent
    from skdp.privacy.events.pure import PureDPEvent as PureDPEvent
    from skdp.privacy.events.registry import EVENTS as EVENTS
    from skdp.privacy.events.registry import event_from_dict as event_from_dict
    from skdp.privacy.events.repeat_and_select import RepeatAndSelectEvent as RepeatAndSelectEvent
    from skdp.privacy.events.truncated_laplace import TruncatedLaplaceEvent as TruncatedLaplaceEvent
    from skdp.privacy.events.zcdp import ZCDPEvent as ZCDPEvent
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.privacy.events.amplification": [
                "FixedSizeSampledEvent",
                "PoissonSampledEvent",
                "ShuffledEvent",
            ],
            "skdp.privacy.events.approximated": ["ApproximatedEvent"],
            "skdp.privacy.events.base": ["Event", "NoClosedCurveError"],
            "skdp.privacy.events.between_neighbors": ["BetweenNeighborsEvent"],
            "skdp.privacy.events.bounded_range": ["BoundedRangeEvent"],
            "skdp.privacy.events.composed": ["ComposedEvent", "SelfComposedEvent"],
            "skdp.privacy.events.discrete_gaussian": ["DiscreteGaussianEvent"],
            "skdp.privacy.events.discrete_laplace": ["DiscreteLaplaceEvent"],
            "skdp.privacy.events.gaussian": ["GaussianEvent", "GDPEvent"],
            "skdp.privacy.events.laplace": ["LaplaceEvent"],
            "skdp.privacy.events.non_private": ["NonPrivateEvent"],
            "skdp.privacy.events.objective_perturbation": ["ObjectivePerturbationEvent"],
            "skdp.privacy.events.piecewise_constant": ["PiecewiseConstantNoiseEvent"],
            "skdp.privacy.events.pure": ["ApproxDPEvent", "PureDPEvent"],
            "skdp.privacy.events.repeat_and_select": ["RepeatAndSelectEvent"],
            "skdp.privacy.events.truncated_laplace": ["TruncatedLaplaceEvent"],
            "skdp.privacy.events.zcdp": ["ZCDPEvent"],
            "skdp.privacy.events.registry": ["EVENTS", "event_from_dict"],
        },
    )
