"""Guarantees, events, privacy curves, trade-off functions and neighboring relations."""

from skdp.privacy.combined import MaximumCurve, MixtureCurve, StitchedCurve, SymmetrizedCurve
from skdp.privacy.composition import Composition
from skdp.privacy.curve import (
    DiscretePairCurve,
    FunctionTradeoff,
    GroupCurve,
    PiecewiseLinearTradeoff,
    PrivacyCurve,
    TradeoffCurve,
    TradeoffFunction,
)
from skdp.privacy.events import (
    ApproxDPEvent,
    ApproximatedEvent,
    BetweenNeighborsEvent,
    BoundedRangeEvent,
    ComposedEvent,
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
from skdp.privacy.group import group_privacy
from skdp.privacy.guarantee import PrivacyGuarantee
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.renyi import renyi_divergence
from skdp.privacy.risk import AttackRisk, epsilon_for
from skdp.privacy.unit import Unit

__all__ = [
    "ApproxDPEvent",
    "ApproximatedEvent",
    "AttackRisk",
    "BetweenNeighborsEvent",
    "BoundedRangeEvent",
    "ComposedEvent",
    "Composition",
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
    "Unit",
    "ZCDPEvent",
    "epsilon_for",
    "event_from_dict",
    "group_privacy",
    "renyi_divergence",
]
