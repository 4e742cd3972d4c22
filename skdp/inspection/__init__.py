"""Displays of the cost of privacy and of the effects in an additive model.

`AdditiveEffectsDisplay` reads a released model and no data. **The others are not private**: they
read the data and spend nothing, so use them on public or synthetic data.
"""

from skdp.inspection.additive_effects import AdditiveEffectsDisplay
from skdp.inspection.cost_of_privacy import CostOfPrivacyDisplay
from skdp.inspection.privacy_utility import PrivacyUtilityDisplay

__all__ = ["AdditiveEffectsDisplay", "CostOfPrivacyDisplay", "PrivacyUtilityDisplay"]
