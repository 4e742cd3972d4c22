"""At epsilon=inf an estimator is scikit-learn's own."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
)
from sklearn.svm import LinearSVC

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
)
from skdp.exceptions import BudgetExceededError

TWO = make_classification(200, 5, random_state=0)
THREE = load_iris(return_X_y=True)
NUMBER = load_diabetes(return_X_y=True)
INF = float("inf")
MODELS = [
    DPLogisticRegression,
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPQuantileRegressor,
]


@pytest.mark.parametrize(("X", "y"), [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("C", ["auto", 0.1])
def test_logistic_regression(X, y, C):
    reference = LogisticRegression(C=1.0 if C == "auto" else C, max_iter=10_000).fit(X, y)
    model = DPLogisticRegression(epsilon=INF, C=C).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X))
    assert (model.predict(X) == reference.predict(X)).all()


@pytest.mark.parametrize(("X", "y"), [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("C", ["auto", 0.1])
def test_hinge_classifier(X, y, C):
    reference = LinearSVC(
        loss="hinge", C=1.0 if C == "auto" else C, max_iter=100_000, random_state=0
    ).fit(X, y)
    model = DPHingeClassifier(epsilon=INF, C=C, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X))
    assert (model.predict(X) == reference.predict(X)).all()


@pytest.mark.parametrize(
    ("model", "reference"),
    [
        (DPLinearRegression(), LinearRegression()),
        (DPLinearRegression(C=2.0), Ridge(alpha=0.5)),
        (DPLinearRegression(fit_intercept=False), LinearRegression(fit_intercept=False)),
        (DPHuberRegressor(), HuberRegressor(max_iter=10_000)),
        (DPHuberRegressor(C=2.0), HuberRegressor(alpha=0.5, max_iter=10_000)),
        (DPQuantileRegressor(), QuantileRegressor(alpha=0.0)),
        (DPQuantileRegressor(quantile=0.8), QuantileRegressor(quantile=0.8, alpha=0.0)),
    ],
    ids=repr,
)
def test_regressors(model, reference):
    X, y = NUMBER
    model.set_params(epsilon=INF, target_bounds=(-1.0, 1.0)).fit(X, y)
    reference.fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-9)
    assert model.score(X, y) == pytest.approx(reference.score(X, y))


def test_several_quantiles_are_several_quantile_regressors():
    X, y = NUMBER
    model = DPQuantileRegressor(epsilon=INF, quantile=(0.9, 0.2)).fit(X, y)
    for level, coef, intercept in zip((0.9, 0.2), model.coef_, model.intercept_, strict=True):
        reference = QuantileRegressor(quantile=level, alpha=0.0).fit(X, y)
        np.testing.assert_allclose(coef, reference.coef_)
        assert intercept == pytest.approx(reference.intercept_)


def test_a_ridge_that_the_reference_does_not_know_is_refused():
    with pytest.raises(ValueError, match=r"C must be 'auto' with epsilon=inf"):
        DPQuantileRegressor(epsilon=INF, C=1.0).fit(*NUMBER)


@pytest.mark.parametrize(
    ("model", "reference", "rows"),
    [
        (DPLogisticRegression, LogisticRegression(max_iter=10_000), THREE),
        (DPHingeClassifier, LinearSVC(loss="hinge", max_iter=100_000, random_state=0), TWO),
        (DPHuberRegressor, HuberRegressor(max_iter=10_000), NUMBER),
    ],
)
def test_tol_is_that_of_scikit_learn_and_of_no_private_fit(model, reference, rows):
    assert model().tol == reference.tol
    for tol in (1e-2, 1e-8):
        ours = model(epsilon=INF, tol=tol, random_state=0).fit(*rows)
        np.testing.assert_array_equal(ours.coef_, reference.set_params(tol=tol).fit(*rows).coef_)
    public = {"target_bounds": (0, 400)} if model is DPHuberRegressor else {}
    one, other = (model(random_state=0, tol=tol, **public).fit(*rows) for tol in (1e-2, 1e-8))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(ValueError, match="tol must be a number"):
        model(tol=0.0, **public).fit(*rows)


@pytest.mark.parametrize("Model", MODELS)
def test_it_says_that_nothing_is_guaranteed(Model):
    guarantee = Model(epsilon=INF, random_state=0).fit(*TWO).privacy_
    assert guarantee.gdp_mu == INF
    assert guarantee.epsilon(0.5) == INF
    assert guarantee.delta(100.0) == 1.0
    assert guarantee.tradeoff(0.5) == 0.0


def test_no_budget_spends_on_it(unspent):
    with pytest.raises(BudgetExceededError):
        DPLogisticRegression(epsilon=INF, budget=unspent).fit(*TWO)
