"""At epsilon=inf an estimator is scikit-learn's own."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skdp import DPHingeClassifier, DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetExceededError

TWO = make_classification(200, 5, random_state=0)
THREE = load_iris(return_X_y=True)
INF = float("inf")


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


@pytest.mark.parametrize("Model", [DPLogisticRegression, DPHingeClassifier])
def test_it_says_that_nothing_is_guaranteed(Model):
    guarantee = Model(epsilon=INF, random_state=0).fit(*TWO).privacy_
    assert guarantee.gdp_mu == INF
    assert guarantee.epsilon(0.5) == INF
    assert guarantee.delta(100.0) == 1.0
    assert guarantee.tradeoff(0.5) == 0.0


def test_no_budget_pays_for_it():
    budget = PrivacyBudget(1e6, 0.5)
    with pytest.raises(BudgetExceededError):
        DPLogisticRegression(epsilon=INF, budget=budget).fit(*TWO)
    assert budget.history() == []
