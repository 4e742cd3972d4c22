"""Displays of what privacy costs, for public or synthetic data.

A display fits models and scores them exactly, which reads the data and spends nothing from a
budget. **What it shows is not private**: use it on public data, or on synthetic data like yours.
An estimator with a budget is refused unless ``public=True``.
"""

from skdp.inspection.cost_of_privacy import CostOfPrivacyDisplay
from skdp.inspection.privacy_utility import PrivacyUtilityDisplay

__all__ = ["CostOfPrivacyDisplay", "PrivacyUtilityDisplay"]
