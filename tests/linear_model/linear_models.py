"""The private linear models of these tests; regressors with the bounds that they need."""

from dataclasses import fields
from functools import partial, update_wrapper

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
)


def within_one(Model):
    """A regressor of targets in [−1, 1], made like the class itself."""
    return update_wrapper(partial(Model, target_bounds=(-1.0, 1.0)), Model, updated=())


CLASSIFIERS = [DPLogisticRegression, DPHingeClassifier]
HUBER, LEAST_SQUARES, QUANTILE = REGRESSORS = [
    within_one(Model) for Model in (DPHuberRegressor, DPLinearRegression, DPQuantileRegressor)
]


def reading(plan, read):
    """Return a copy of a plan that reads by a function of the plan and of what it is given."""
    kind = type("Reading", (type(plan),), {"read": lambda plan, *given: read(plan, *given)})
    return kind(**{one.name: getattr(plan, one.name) for one in fields(plan)})
