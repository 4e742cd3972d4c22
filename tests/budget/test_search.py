"""scikit-learn's model selection spends on every fit."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetExceededError

X, Y = make_classification(n_samples=120, n_features=5, random_state=0)


def budget_for(fits):
    """Return a budget that admits so many fits at (0.1, 1e-5) and no more."""
    return PrivacyBudget(epsilon=0.1 * fits, delta=1e-3, composition="basic")


class Counted(DPLogisticRegression):
    """Counts how often anyone tried to fit."""

    attempts = 0

    def fit(self, X, y):
        Counted.attempts += 1
        return super().fit(X, y)


@pytest.fixture
def attempts(monkeypatch):
    monkeypatch.setattr(Counted, "attempts", 0)
    return lambda: Counted.attempts


def test_a_parallel_grid_search_spends_on_every_fit_and_the_refit(budget):
    grid = {"epsilon": [0.1, 0.2, 0.3]}
    search = GridSearchCV(DPLogisticRegression(budget=budget), grid, cv=3, n_jobs=2).fit(X, Y)
    costs = sorted(round(row["epsilon"], 6) for row in budget.history())
    assert costs == sorted([0.1, 0.2, 0.3] * 3 + [search.best_params_["epsilon"]])
    assert search.best_estimator_.budget is budget


def test_cross_validation_spends_on_every_fold(budget):
    scores = cross_val_score(DPLogisticRegression(budget=budget), X, Y, cv=4)
    assert np.all(np.isfinite(scores))
    assert len(budget.history()) == 4


def test_a_search_that_is_not_admitted_stops_at_once(attempts):
    budget = budget_for(3)
    model = Counted(epsilon=0.1, delta=1e-5, budget=budget)
    search = GridSearchCV(model, {"C": ["auto", 1.0]}, cv=5, error_score="raise")
    with pytest.raises(BudgetExceededError, match=r"Counted costs epsilon=0.1"):
        search.fit(X, Y)
    assert len(budget.history()) == 3
    assert attempts() == 4


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_refused_fits_score_nan(attempts):
    budget = budget_for(3)
    model = Counted(epsilon=0.1, delta=1e-5, budget=budget)
    with pytest.warns(FitFailedWarning, match="2 fits failed"):
        scores = cross_val_score(model, X, Y, cv=5)
    np.testing.assert_array_equal(np.isnan(scores), [False, False, False, True, True])
    assert len(budget.history()) == 3
    assert attempts() == 5


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("fits", [2, 3])
def test_a_refit_that_is_not_admitted_raises(fits):
    budget = budget_for(fits)
    search = GridSearchCV(
        DPLogisticRegression(epsilon=0.1, delta=1e-5, budget=budget), {"C": ["auto"]}, cv=3
    )
    with pytest.raises(BudgetExceededError):
        search.fit(X, Y)
    assert len(budget.history()) == fits


def test_a_refused_refit_leaves_the_model_as_it_was():
    model = DPLogisticRegression(epsilon=0.1, delta=1e-5, budget=budget_for(1)).fit(X, Y)
    before = model.coef_.copy()
    with pytest.raises(BudgetExceededError):
        model.fit(-X, Y)
    np.testing.assert_array_equal(model.coef_, before)
