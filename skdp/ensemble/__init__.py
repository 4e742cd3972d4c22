"""Forests of random trees from public bounds, of which the leaves are learned privately."""

from skdp.ensemble.classifier import DPRandomForestClassifier
from skdp.ensemble.regressor import DPRandomForestRegressor

__all__ = ["DPRandomForestClassifier", "DPRandomForestRegressor"]
