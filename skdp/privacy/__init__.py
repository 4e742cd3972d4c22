"""What a guarantee is: curves, trade-off functions, events and the neighbouring relations."""

from skdp.privacy.combined import MaximumCurve, MixtureCurve, StitchedCurve, SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.discrete import DiscretePairCurve, PiecewiseLinearTradeoff
from skdp.privacy.duality import FunctionTradeoff, TradeoffCurve
from skdp.privacy.events import (
    ApproxDPEvent,
    ApproximatedEvent,
    BetweenNeighborsEvent,
    ComposedEvent,
    DataDependentNoiseEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    FixedSizeSampledEvent,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    NoClosedCurveError,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    PiecewiseConstantNoiseEvent,
    PoissonSampledEvent,
    PureDPEvent,
    RepeatAndSelectEvent,
    SelfComposedEvent,
    ShuffledEvent,
    TruncatedLaplaceEvent,
    ZCDPEvent,
    event_from_dict,
)
from skdp.privacy.gaussian import GaussianCurve, GaussianTradeoff
from skdp.privacy.group import GroupCurve, group_privacy
from skdp.privacy.guarantee import PrivacyGuarantee
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.renyi import renyi_divergence
from skdp.privacy.tradeoff import TradeoffFunction

__all__ = [
    "ApproxDPEvent",
    "ApproximatedEvent",
    "BetweenNeighborsEvent",
    "ComposedEvent",
    "DataDependentNoiseEvent",
    "DiscreteGaussianEvent",
    "DiscreteLaplaceEvent",
    "DiscretePairCurve",
    "Event",
    "FixedSizeSampledEvent",
    "FunctionTradeoff",
    "GDPEvent",
    "GaussianCurve",
    "GaussianEvent",
    "GaussianTradeoff",
    "GroupCurve",
    "LaplaceEvent",
    "MaximumCurve",
    "MixtureCurve",
    "Neighboring",
    "NoClosedCurveError",
    "NonPrivateEvent",
    "ObjectivePerturbationEvent",
    "PiecewiseConstantNoiseEvent",
    "PiecewiseLinearTradeoff",
    "PoissonSampledEvent",
    "PrivacyCurve",
    "PrivacyGuarantee",
    "PureDPEvent",
    "RepeatAndSelectEvent",
    "SelfComposedEvent",
    "ShuffledEvent",
    "StitchedCurve",
    "SymmetrizedCurve",
    "TradeoffCurve",
    "TradeoffFunction",
    "TruncatedLaplaceEvent",
    "ZCDPEvent",
    "event_from_dict",
    "group_privacy",
    "renyi_divergence",
]
