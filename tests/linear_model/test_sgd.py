"""Estimators named after SGD: the same fits as `solver="dp_sgd"`, partial fits at their cost."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSGDClassifier,
    DPSGDRegressor,
    PrivacyBudget,
)
from skdp.accounting import PLDAccountant
from skdp.exceptions import BudgetExceededError
from skdp.linear_model import _sgd
from skdp.preprocessing import BoundsScaler
from skdp.privacy import ComposedEvent, SelfComposedEvent

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2)) + np.repeat([[-2.0, 0.0], [2.0, 0.0]], 150, axis=0)
X /= 6.0
y = np.repeat([0, 1], 150)
SETTINGS = {"epsilon": 2.0, "random_state": 0}


@pytest.mark.parametrize(
    ("loss", "Model"), [("hinge", DPHingeClassifier), ("log_loss", DPLogisticRegression)]
)
def test_it_is_the_model_of_that_loss_with_this_solver(loss, Model):
    one = DPSGDClassifier(loss=loss, **SETTINGS).fit(X, y)
    other = Model(solver="dp_sgd", **SETTINGS).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.privacy_ == other.privacy_


@pytest.mark.parametrize("relation", ["replace_one", "add_remove_one"])
def test_a_fit_stays_within_its_target_and_nearly_uses_it(relation):
    model = DPSGDClassifier(neighboring=relation, **SETTINGS).fit(X, y)
    assert 1.95 < model.privacy_.epsilon(1e-5) <= 2.0
    assert model.privacy_.delta(2.0) <= 1e-5
    assert "(2, 1e-05)-DP" in str(model.privacy_) or "(1.9" in str(model.privacy_)
    assert model.score(X, y) > 0.9


def test_partial_fits_go_on_where_the_last_one_ended():
    model = DPSGDClassifier(classes=(0, 1), **SETTINGS).fit(X, y)
    first = model.coef_.copy()
    model.set_params(n_steps=1, step_size=1e-9).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, first, rtol=2e-3)  # a step of the weak ridge
    assert model.n_iter_ == 101


def test_partial_fits_add_up():
    model = DPSGDClassifier(**SETTINGS).partial_fit(X, y, classes=[0, 1])
    event = model.privacy_.event
    for calls in (2, 3):
        model.partial_fit(X, y)
        together = PLDAccountant().epsilon(ComposedEvent((event,) * calls), 1e-5)
        assert model.privacy_.epsilon(1e-5) == pytest.approx(together)
        assert 2.0 < together < 2.0 * calls


@pytest.mark.parametrize("relation", ["replace_one", "add_remove_one"])
def test_many_partial_fits_are_one_flat_list(relation):
    """Nested ones ran out of stack after 247 calls: learned, and counted as the last call alone."""
    model = DPSGDClassifier(epsilon=0.1, n_steps=1, neighboring=relation, classes=(0, 1))
    once = model.fit(X, y).privacy_.event
    for _ in range(400):
        model.partial_fit(X, y)
    all_of_them = SelfComposedEvent(once, 401)
    assert model.privacy_.epsilon(1e-5) == PLDAccountant(relation).epsilon(all_of_them, 1e-5)
    assert len(repr(model.privacy_)) < 1000


def test_a_call_whose_cost_cannot_be_told_leaves_the_model_as_it_was(monkeypatch):
    model = DPSGDClassifier(**SETTINGS).partial_fit(X, y, classes=[0, 1])
    before = dict(vars(model))
    monkeypatch.setattr(_sgd, "together", None)
    with pytest.raises(TypeError):
        model.partial_fit(X, y)
    assert vars(model) == before


def test_each_partial_fit_is_spent_before_it_reads():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-4, composition="rdp")
    model = DPSGDClassifier(epsilon=2.0, budget=budget).partial_fit(X, y, classes=[0, 1])
    before = dict(vars(model))
    while len(budget.history()) < 4:
        try:
            model.partial_fit(X, y)
        except BudgetExceededError:
            break
        before = dict(vars(model))
    else:
        pytest.fail("the budget is without end")
    assert {k: v for k, v in vars(model).items() if k != "budget"} == {
        k: v for k, v in before.items() if k != "budget"
    }


def test_partial_fit_asks_for_the_public_labels():
    budget = PrivacyBudget(epsilon=5.0, delta=1e-4, composition="rdp")
    model = DPSGDClassifier(budget=budget)
    with pytest.raises(ValueError, match=r"first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"differs"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"outside classes"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match=r"neighboring may not change"):
        model.set_params(neighboring="add_remove_one").partial_fit(X, y)
    assert len(budget.history()) == 1


@pytest.mark.parametrize("changed", [[0, 1, 2], ["a", "b"], [1, 2]])
def test_labels_that_were_changed_between_two_calls_cost_nothing(changed):
    budget = PrivacyBudget(epsilon=5.0, delta=1e-4, composition="rdp")
    model = DPSGDClassifier(n_steps=2, budget=budget).partial_fit(X, y, classes=[0, 1])
    released = model.coef_
    for classes in (None, changed, [0, 1]):
        with pytest.raises(ValueError, match=r"differs"):
            model.set_params(classes=changed).partial_fit(X, y, classes=classes)
    assert model.coef_ is released
    assert len(budget.history()) == 1


def test_coefficients_of_another_shape_are_refused_before_the_spend():
    budget = PrivacyBudget(epsilon=5.0, delta=1e-4, composition="rdp")
    model = DPSGDClassifier(n_steps=2, budget=budget).partial_fit(X, y, classes=[0, 1])
    model.coef_ = np.vstack([model.coef_, model.coef_])
    model.intercept_ = np.zeros(2)
    with pytest.raises(ValueError, match=r"cannot continue: .* Nothing was spent"):
        model.partial_fit(X, y)
    assert len(budget.history()) == 1


def test_a_part_may_lack_a_class():
    model = DPSGDClassifier(**SETTINGS).partial_fit(X[:10], y[:10], classes=[0, 1])
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    "data", [make_classification(200, 5, random_state=0), load_iris(return_X_y=True)]
)
@pytest.mark.parametrize("C", ["auto", 0.1])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_without_privacy_it_is_scikit_learns(data, C, loss):
    A, b = data
    alpha = 1e-4 if C == "auto" else 1.0 / (0.1 * len(b))
    reference = SGDClassifier(loss, alpha=alpha, random_state=0).fit(A, b)
    model = DPSGDClassifier(loss=loss, epsilon=float("inf"), C=C, random_state=0).fit(A, b)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_array_equal(model.predict(A), reference.predict(A))
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize(
    "bad", [{"loss": "perceptron"}, {"n_steps": 0}, {"sampling_rate": 2.0}], ids=str
)
def test_a_bad_setting_costs_nothing(bad):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, composition="rdp")
    with pytest.raises(ValueError, match="Nothing was spent"):
        DPSGDClassifier(budget=budget).set_params(**bad).fit(X, y)
    assert budget.history() == []


@pytest.mark.parametrize("convert", [sparse.csr_matrix, pd.DataFrame])
def test_a_grid_search_over_epsilon_in_a_pipeline(convert):
    """Five folds of three candidates and a refit, each on the ledger of one budget."""
    budget = PrivacyBudget(epsilon=30.0, delta=1e-3, composition="rdp")
    pipe = make_pipeline(
        BoundsScaler(bounds=(-2.0, 2.0)) if convert is pd.DataFrame else "passthrough",
        DPSGDClassifier(budget=budget),
    )
    grid = {"dpsgdclassifier__epsilon": [0.5, 1.0, 2.0]}
    search = GridSearchCV(pipe, grid, n_jobs=2).fit(convert(X), y)
    assert len(budget.history()) == 16
    assert search.best_score_ > 0.8
    assert clone(search.best_estimator_[-1]).budget == budget


# -- numbers -------------------------------------------------------------------------------------

TARGET = 30.0 + 100.0 * X[:, 0] + 5.0 * rng.normal(size=300)
RANGE = {"target_bounds": (-40.0, 100.0)}


@pytest.mark.parametrize(
    ("loss", "Model"), [("squared_error", DPLinearRegression), ("huber", DPHuberRegressor)]
)
def test_the_regressor_is_the_model_of_that_loss_with_this_solver(loss, Model):
    one = DPSGDRegressor(loss=loss, **RANGE, **SETTINGS).fit(X, TARGET)
    other = Model(solver="dp_sgd", **RANGE, **SETTINGS).fit(X, TARGET)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.intercept_ == other.intercept_
    assert one.privacy_ == other.privacy_
    assert one.score(X, TARGET) > 0.5


def test_partial_fits_of_numbers_go_on_where_the_last_one_ended():
    """Also after the bounds of the targets have moved: coefficients are in the targets' units."""
    model = DPSGDRegressor(**RANGE, **SETTINGS).fit(X, TARGET)
    before = np.r_[model.coef_, model.intercept_]
    model.set_params(n_steps=1, step_size=1e-9, C=1e12, target_bounds=(-60.0, 140.0))
    model.partial_fit(X, TARGET)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], before, rtol=1e-4)
    assert model.n_iter_ == 101
    assert 2.0 < model.privacy_.epsilon(1e-5) < 4.0


@pytest.mark.parametrize("C", ["auto", 0.1])
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_without_privacy_the_regressor_is_scikit_learns(C, loss):
    alpha = 1e-4 if C == "auto" else 1.0 / (0.1 * 300)
    reference = SGDRegressor(loss, alpha=alpha, random_state=0).fit(X, TARGET)
    model = DPSGDRegressor(loss=loss, epsilon=float("inf"), C=C, random_state=0).fit(X, TARGET)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    assert not hasattr(model, "partial_fit")
