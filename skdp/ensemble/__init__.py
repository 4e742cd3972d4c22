"""Forests of random trees with public splits and privately learned leaves."""

from skdp.ensemble.classifier import DPRandomForestClassifier
from skdp.ensemble.regressor import DPRandomForestRegressor

__all__ = ["DPRandomForestClassifier", "DPRandomForestRegressor"]
