"""Guarantees, events, privacy curves and neighboring relations."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.privacy.composed_events import ComposedEvent as ComposedEvent
    from skdp.privacy.composed_events import PoissonSampledEvent as PoissonSampledEvent
    from skdp.privacy.composed_events import SelfComposedEvent as SelfComposedEvent
    from skdp.privacy.curve import PrivacyCurve as PrivacyCurve
    from skdp.privacy.events import Event as Event
    from skdp.privacy.events import event_from_dict as event_from_dict
    from skdp.privacy.gaussian import GaussianCurve as GaussianCurve
    from skdp.privacy.gaussian import GaussianEvent as GaussianEvent
    from skdp.privacy.gaussian import GDPEvent as GDPEvent
    from skdp.privacy.gaussian import NonPrivateEvent as NonPrivateEvent
    from skdp.privacy.gaussian import ZCDPEvent as ZCDPEvent
    from skdp.privacy.guarantee import AttackRisk as AttackRisk
    from skdp.privacy.guarantee import PrivacyGuarantee as PrivacyGuarantee
    from skdp.privacy.neighboring import Neighboring as Neighboring
    from skdp.privacy.neighboring import Unit as Unit
    from skdp.privacy.noise_events import ApproxDPEvent as ApproxDPEvent
    from skdp.privacy.noise_events import LaplaceEvent as LaplaceEvent
    from skdp.privacy.noise_events import PureDPEvent as PureDPEvent
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.privacy.composed_events": [
                "ComposedEvent",
                "PoissonSampledEvent",
                "SelfComposedEvent",
            ],
            "skdp.privacy.curve": ["PrivacyCurve"],
            "skdp.privacy.events": ["Event", "event_from_dict"],
            "skdp.privacy.gaussian": [
                "GDPEvent",
                "GaussianCurve",
                "GaussianEvent",
                "NonPrivateEvent",
                "ZCDPEvent",
            ],
            "skdp.privacy.guarantee": ["AttackRisk", "PrivacyGuarantee"],
            "skdp.privacy.neighboring": ["Neighboring", "Unit"],
            "skdp.privacy.noise_events": ["ApproxDPEvent", "LaplaceEvent", "PureDPEvent"],
        },
    )
