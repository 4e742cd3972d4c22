"""Differentially private estimators behind scikit-learn's interface."""

from skdp.budget import PrivacyBudget
from skdp.linear_model import DPHingeClassifier, DPLogisticRegression, DPSGDClassifier

__version__ = "0.1.0"

__all__ = [
    "DPHingeClassifier",
    "DPLogisticRegression",
    "DPSGDClassifier",
    "PrivacyBudget",
    "__version__",
]
