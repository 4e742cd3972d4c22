"""Sums of one curve a column, learned privately, and what they say of themselves."""

from skdp.additive.classifier import DPAdditiveClassifier
from skdp.additive.effects import AdditiveEffect
from skdp.additive.regressor import DPAdditiveRegressor

__all__ = ["AdditiveEffect", "DPAdditiveClassifier", "DPAdditiveRegressor"]
