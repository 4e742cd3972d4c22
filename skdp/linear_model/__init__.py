"""Private linear models."""

from skdp.linear_model.hinge import DPHingeClassifier
from skdp.linear_model.logistic import DPLogisticRegression
from skdp.linear_model.sgd_classifier import DPSGDClassifier

__all__ = ["DPHingeClassifier", "DPLogisticRegression", "DPSGDClassifier"]
