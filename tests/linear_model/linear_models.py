"""The private linear models of these tests; regressors with the bounds that they need."""

from functools import partial, update_wrapper

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLADRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
)


def within_one(Model):
    """A regressor of targets in [−1, 1], made like the class itself."""
    return update_wrapper(partial(Model, target_bounds=(-1.0, 1.0)), Model, updated=())


CLASSIFIERS = [DPLogisticRegression, DPHingeClassifier]
HUBER, LAD, LEAST_SQUARES, QUANTILE = REGRESSORS = [
    within_one(Model)
    for Model in (DPHuberRegressor, DPLADRegressor, DPLinearRegression, DPQuantileRegressor)
]
