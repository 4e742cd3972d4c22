"""Private generalized additive models (GAM) and their explanations."""

from skdp.additive.classifier import DPAdditiveClassifier
from skdp.additive.effects import AdditiveEffect
from skdp.additive.regressor import DPAdditiveRegressor

__all__ = ["AdditiveEffect", "DPAdditiveClassifier", "DPAdditiveRegressor"]
