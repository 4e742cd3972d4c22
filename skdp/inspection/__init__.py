"""Displays: what privacy costs, and what a model has learned.

`AdditiveEffectsDisplay` reads a model, which was released, and no data. The others fit models and
score them exactly, which reads the data and spends nothing from a budget. **What they show is not
private**: use them on public data, or on synthetic data like yours. An estimator with a budget is
refused unless ``public=True``.
"""

from skdp.inspection.additive_effects import AdditiveEffectsDisplay
from skdp.inspection.cost_of_privacy import CostOfPrivacyDisplay
from skdp.inspection.privacy_utility import PrivacyUtilityDisplay

__all__ = ["AdditiveEffectsDisplay", "CostOfPrivacyDisplay", "PrivacyUtilityDisplay"]
