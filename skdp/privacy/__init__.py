"""What a guarantee is: curves, trade-off functions, events and the neighbouring relations."""

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events import (
    ComposedEvent,
    Event,
    GaussianEvent,
    GDPEvent,
    NoClosedCurveError,
    NonPrivateEvent,
    SelfComposedEvent,
    event_from_dict,
)
from skdp.privacy.gaussian import GaussianCurve, GaussianTradeoff
from skdp.privacy.guarantee import PrivacyGuarantee
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.tradeoff import TradeoffFunction

__all__ = [
    "ComposedEvent",
    "Event",
    "GDPEvent",
    "GaussianCurve",
    "GaussianEvent",
    "GaussianTradeoff",
    "Neighboring",
    "NoClosedCurveError",
    "NonPrivateEvent",
    "PrivacyCurve",
    "PrivacyGuarantee",
    "SelfComposedEvent",
    "TradeoffFunction",
    "event_from_dict",
]
