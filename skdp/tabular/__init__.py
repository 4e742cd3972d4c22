"""Private models of tables that choose their features by themselves."""

from skdp.tabular.classifier import DPTabularClassifier
from skdp.tabular.regressor import DPTabularRegressor

__all__ = ["DPTabularClassifier", "DPTabularRegressor"]
