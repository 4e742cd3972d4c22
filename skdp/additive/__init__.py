"""Private generalized additive models (GAM) and their explanations."""

from skdp.additive.models import DPAdditiveClassifier, DPAdditiveRegressor

__all__ = ["DPAdditiveClassifier", "DPAdditiveRegressor"]
