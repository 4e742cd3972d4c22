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
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB, DPMixedNB

__version__ = "0.1.0"

__all__ = [
    "DPCategoricalNB",
    "DPGaussianNB",
    "DPHingeClassifier",
    "DPHuberRegressor",
    "DPLADRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPMixedNB",
    "DPQuantileRegressor",
    "DPSGDClassifier",
    "DPSGDRegressor",
    "PrivacyBudget",
    "__version__",
]
