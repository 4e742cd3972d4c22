"""Displays and model cards of released models, and displays of the cost of privacy.

`model_card`, `AdditiveEffectsDisplay` and `MarginalsDisplay` read a released model and no data.
**The others are not private**: they read the data and spend nothing, so use them on public or
synthetic data.
"""

from skdp.inspection.released import AdditiveEffectsDisplay, MarginalsDisplay, model_card
from skdp.inspection.utility import CostOfPrivacyDisplay, PrivacyUtilityDisplay

__all__ = [
    "AdditiveEffectsDisplay",
    "CostOfPrivacyDisplay",
    "MarginalsDisplay",
    "PrivacyUtilityDisplay",
    "model_card",
]
