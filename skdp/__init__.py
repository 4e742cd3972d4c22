"""Differentially private estimators behind scikit-learn's interface."""

from skdp.budget import PrivacyBudget
from skdp.linear_model import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLADRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPSGDClassifier,
    DPSGDRegressor,
)

__version__ = "0.1.0"

__all__ = [
    "DPHingeClassifier",
    "DPHuberRegressor",
    "DPLADRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPQuantileRegressor",
    "DPSGDClassifier",
    "DPSGDRegressor",
    "PrivacyBudget",
    "__version__",
]
