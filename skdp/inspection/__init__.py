"""Displays and model cards of released models, and displays of the cost of privacy.

`model_card`, `AdditiveEffectsDisplay` and `MarginalsDisplay` read a released model and no data.
**The others are not private**: they read the data and spend nothing, so use them on public or
synthetic data.
"""

from skdp.inspection.additive_effects import AdditiveEffectsDisplay
from skdp.inspection.cost_of_privacy import CostOfPrivacyDisplay
from skdp.inspection.marginals import MarginalsDisplay
from skdp.inspection.model_card import ModelCard, model_card
from skdp.inspection.privacy_utility import PrivacyUtilityDisplay

__all__ = [
    "AdditiveEffectsDisplay",
    "CostOfPrivacyDisplay",
    "MarginalsDisplay",
    "ModelCard",
    "PrivacyUtilityDisplay",
    "model_card",
]
