"""Private linear models."""

from skdp.linear_model.hinge import DPHingeClassifier
from skdp.linear_model.huber import DPHuberRegressor
from skdp.linear_model.lad import DPLADRegressor
from skdp.linear_model.linear_regression import DPLinearRegression
from skdp.linear_model.logistic import DPLogisticRegression
from skdp.linear_model.poisson import DPPoissonRegressor
from skdp.linear_model.quantile import DPQuantileRegressor
from skdp.linear_model.sgd_classifier import DPSGDClassifier
from skdp.linear_model.sgd_regressor import DPSGDRegressor

__all__ = [
    "DPHingeClassifier",
    "DPHuberRegressor",
    "DPLADRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPSGDClassifier",
    "DPSGDRegressor",
]
