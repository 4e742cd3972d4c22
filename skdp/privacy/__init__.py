"""What a guarantee is: curves, trade-off functions, events and the neighbouring relations."""

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events import (
    ComposedEvent,
    Event,
    GDPEvent,
    NonPrivateEvent,
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
    "GaussianTradeoff",
    "Neighboring",
    "NonPrivateEvent",
    "PrivacyCurve",
    "PrivacyGuarantee",
    "TradeoffFunction",
    "event_from_dict",
]
