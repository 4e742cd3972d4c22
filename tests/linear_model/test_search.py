"""Searches over ε, solver, sampler and C, in pipelines, on every kind of input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.preprocessing import BoundsScaler, RowClipper
from skdp.solvers import SOLVERS

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3)) + np.repeat([[-2.0, 0, 0], [2.0, 0, 0]], 45, axis=0)
y = np.repeat([0, 1], 45)
CLASSIFIERS = [name for name in SOLVERS if name not in ("adassp", "exponential_mechanism")]
INPUTS = [
    np.asarray,
    sparse.csr_matrix,
    pd.DataFrame,
    lambda X: pl.DataFrame(X, schema=list("abc")),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("convert", "n_jobs"),
    list(zip(INPUTS, [2, 1, 2, 1], strict=True)),
    ids=["dense", "sparse", "pandas", "polars"],
)
def test_a_grid_over_everything_loses_no_fit(convert, n_jobs):
    budget = PrivacyBudget(
        epsilon=1e3, delta=1e-3, composition="basic", neighboring="add_remove_one"
    )
    model = DPLogisticRegression(delta=1e-5, neighboring="add_remove_one", budget=budget)
    grid = [
        {"dplogisticregression__solver": CLASSIFIERS, "dplogisticregression__epsilon": [2.0, 8.0]},
        {"dplogisticregression__sampler": ["auto", "proximal"]},
        {"dplogisticregression__C": ["auto", 1.0]},
    ]
    scaler = (
        RowClipper(max_norm=4.0)
        if convert is sparse.csr_matrix
        else BoundsScaler(bounds=(-6.0, 6.0))
    )
    search = GridSearchCV(make_pipeline(scaler, model), grid, cv=3, n_jobs=n_jobs)
    search.fit(convert(X), y)
    candidates = 2 * len(CLASSIFIERS) + 4
    assert len(budget.history()) == 3 * candidates + 1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.9


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers():
    grid = {"solver": CLASSIFIERS, "epsilon": [1.0, 4.0]}
    model = DPLogisticRegression(neighboring="add_remove_one", random_state=0)
    one, two = (GridSearchCV(model, grid, cv=3, n_jobs=n).fit(X / 6, y) for n in (1, 2))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_metadata_routing_knows_the_weights_of_a_fit():
    """They reach the fit of each fold if they are asked for, and are refused unless they are."""
    weights = np.ones(90)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(BoundsScaler(bounds=(-6.0, 6.0)), DPLogisticRegression(random_state=0))
        assert len(cross_validate(pipe, X, y, cv=3)["test_score"]) == 3
        with pytest.raises(ValueError, match="sample_weight"):
            GridSearchCV(DPLogisticRegression(), {"C": [1.0]}, cv=3).fit(
                X, y, sample_weight=weights
            )
        model = DPLogisticRegression(max_weight=2.0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [1.0]}, cv=3).fit(X, y, sample_weight=weights)
        assert search.best_estimator_.privacy_.epsilon(1e-5) <= 1.0
