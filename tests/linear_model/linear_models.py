"""The private linear models of these tests; regressors with the bounds that they need."""

from dataclasses import fields
from functools import partial, update_wrapper

import pytest

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
)
from skdp.solvers import SOLVERS


def within_one(Model):
    """A regressor of targets in [−1, 1], made like the class itself."""
    return update_wrapper(partial(Model, target_bounds=(-1.0, 1.0)), Model, updated=())


CLASSIFIERS = [DPLogisticRegression, DPHingeClassifier]
HUBER, LEAST_SQUARES, QUANTILE = REGRESSORS = [
    within_one(Model) for Model in (DPHuberRegressor, DPLinearRegression, DPQuantileRegressor)
]
FITS = [
    *((Model, name) for Model in CLASSIFIERS for name in SOLVERS if name != "adassp"),
    *((Model, name) for Model in REGRESSORS for name in ("regularized_exponential", "dp_sgd")),
    (LEAST_SQUARES, "adassp"),
    (HUBER, "objective_perturbation"),
]
every_fit = pytest.mark.parametrize(("Model", "solver"), FITS)
every_model = pytest.mark.parametrize("Model", CLASSIFIERS + REGRESSORS)


def reading(plan, read):
    """Return a copy of a plan that reads by a function of the plan and of what it is given."""
    kind = type("Reading", (type(plan),), {"read": lambda plan, *given: read(plan, *given)})
    return kind(**{one.name: getattr(plan, one.name) for one in fields(plan)})
