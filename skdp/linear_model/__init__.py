"""Private linear models, named after scikit-learn's."""

from skdp.linear_model.hinge import DPHingeClassifier
from skdp.linear_model.logistic import DPLogisticRegression

__all__ = ["DPHingeClassifier", "DPLogisticRegression"]
