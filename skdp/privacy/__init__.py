"""Guarantees, events, privacy curves, trade-off functions and neighboring relations."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.privacy.combined import MaximumCurve as MaximumCurve
    from skdp.privacy.combined import MixtureCurve as MixtureCurve
    from skdp.privacy.combined import StitchedCurve as StitchedCurve
    from skdp.privacy.combined import SymmetrizedCurve as SymmetrizedCurve
    from skdp.privacy.composition import Composition as Composition
    from skdp.privacy.curve import DiscretePairCurve as DiscretePairCurve
    from skdp.privacy.curve import FunctionTradeoff as FunctionTradeoff
    from skdp.privacy.curve import GroupCurve as GroupCurve
    from skdp.privacy.curve import PiecewiseLinearTradeoff as PiecewiseLinearTradeoff
    from skdp.privacy.curve import PrivacyCurve as PrivacyCurve
    from skdp.privacy.curve import TradeoffCurve as TradeoffCurve
    from skdp.privacy.curve import TradeoffFunction as TradeoffFunction
    from skdp.privacy.events import ApproxDPEvent as ApproxDPEvent
    from skdp.privacy.events import ApproximatedEvent as ApproximatedEvent
    from skdp.privacy.events import BetweenNeighborsEvent as BetweenNeighborsEvent
    from skdp.privacy.events import BoundedRangeEvent as BoundedRangeEvent
    from skdp.privacy.events import ComposedEvent as ComposedEvent
    from skdp.privacy.events import DiscreteGaussianEvent as DiscreteGaussianEvent
    from skdp.privacy.events import DiscreteLaplaceEvent as DiscreteLaplaceEvent
    from skdp.privacy.events import Event as Event
    from skdp.privacy.events import FixedSizeSampledEvent as FixedSizeSampledEvent
    from skdp.privacy.events import GaussianEvent as GaussianEvent
    from skdp.privacy.events import GDPEvent as GDPEvent
    from skdp.privacy.events import LaplaceEvent as LaplaceEvent
    from skdp.privacy.events import NoClosedCurveError as NoClosedCurveError
    from skdp.privacy.events import NonPrivateEvent as NonPrivateEvent
    from skdp.privacy.events import ObjectivePerturbationEvent as ObjectivePerturbationEvent
    from skdp.privacy.events import PiecewiseConstantNoiseEvent as PiecewiseConstantNoiseEvent
    from skdp.privacy.events import PoissonSampledEvent as PoissonSampledEvent
    from skdp.privacy.events import PureDPEvent as PureDPEvent
    from skdp.privacy.events import RepeatAndSelectEvent as RepeatAndSelectEvent
    from skdp.privacy.events import SelfComposedEvent as SelfComposedEvent
    from skdp.privacy.events import ShuffledEvent as ShuffledEvent
    from skdp.privacy.events import TruncatedLaplaceEvent as TruncatedLaplaceEvent
    from skdp.privacy.events import ZCDPEvent as ZCDPEvent
    from skdp.privacy.events import event_from_dict as event_from_dict
    from skdp.privacy.gaussian import GaussianCurve as GaussianCurve
    from skdp.privacy.gaussian import GaussianTradeoff as GaussianTradeoff
    from skdp.privacy.group import group_privacy as group_privacy
    from skdp.privacy.guarantee import PrivacyGuarantee as PrivacyGuarantee
    from skdp.privacy.neighboring import Neighboring as Neighboring
    from skdp.privacy.renyi import renyi_divergence as renyi_divergence
    from skdp.privacy.risk import AttackRisk as AttackRisk
    from skdp.privacy.risk import epsilon_for as epsilon_for
    from skdp.privacy.unit import Unit as Unit
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.privacy.combined": [
                "MaximumCurve",
                "MixtureCurve",
                "StitchedCurve",
                "SymmetrizedCurve",
            ],
            "skdp.privacy.composition": ["Composition"],
            "skdp.privacy.curve": [
                "DiscretePairCurve",
                "FunctionTradeoff",
                "GroupCurve",
                "PiecewiseLinearTradeoff",
                "PrivacyCurve",
                "TradeoffCurve",
                "TradeoffFunction",
            ],
            "skdp.privacy.events": [
                "ApproxDPEvent",
                "ApproximatedEvent",
                "BetweenNeighborsEvent",
                "BoundedRangeEvent",
                "ComposedEvent",
                "DiscreteGaussianEvent",
                "DiscreteLaplaceEvent",
                "Event",
                "FixedSizeSampledEvent",
                "GaussianEvent",
                "GDPEvent",
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
            ],
            "skdp.privacy.gaussian": ["GaussianCurve", "GaussianTradeoff"],
            "skdp.privacy.group": ["group_privacy"],
            "skdp.privacy.guarantee": ["PrivacyGuarantee"],
            "skdp.privacy.neighboring": ["Neighboring"],
            "skdp.privacy.renyi": ["renyi_divergence"],
            "skdp.privacy.risk": ["AttackRisk", "epsilon_for"],
            "skdp.privacy.unit": ["Unit"],
        },
    )
