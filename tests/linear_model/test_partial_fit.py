"""Fits with `solver="dp_sgd"` that go on, their joint cost, and parameters of solvers."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp import (
    DPAdditiveClassifier,
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    PrivacyBudget,
)
from skdp.accounting import PLDAccountant
from skdp.exceptions import BudgetExceededError
from skdp.features import AdditiveFeatures
from skdp.preprocessing import BoundsScaler
from skdp.privacy import ComposedEvent, SelfComposedEvent
from skdp.samplers.proximal import ExactSampler
from skdp.solvers import DPSGD

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2)) + np.repeat([[-2.0, 0.0], [2.0, 0.0]], 150, axis=0)
X /= 6.0
y = np.repeat([0, 1], 150)
SETTINGS = {"epsilon": 2.0, "random_state": 0}
TARGET = 30.0 + 100.0 * X[:, 0] + 5.0 * rng.normal(size=300)
RANGE = {"target_bounds": (-40.0, 100.0)}
MODELS = {
    "hinge": (DPHingeClassifier(classes=(0, 1)), y),
    "logistic": (DPLogisticRegression(classes=(0, 1)), y),
    "classes": (DPLogisticRegression(classes=(0, 1, 2)), np.arange(300) % 3),
    "squares": (DPLinearRegression(**RANGE), TARGET),
    "huber": (DPHuberRegressor(**RANGE), TARGET),
    "quantiles": (DPQuantileRegressor(quantile=(0.2, 0.8), **RANGE), TARGET),
    "counts": (DPPoissonRegressor(target_bounds=(0, 140)), np.maximum(TARGET, 0.0)),
}


@pytest.mark.parametrize("features", [None, AdditiveFeatures(bounds=(-1, 1), n_terms=2)])
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_goes_on_where_the_last_one_ended(name, features):
    model, targets = MODELS[name]
    model = clone(model).set_params(solver="dp_sgd", features=features, **SETTINGS)
    model.fit(X, targets)
    before = np.c_[model.coef_.reshape(-1, model.coef_.shape[-1]), np.atleast_1d(model.intercept_)]
    first, event = model.n_iter_, model.privacy_.event
    model.set_params(solver__n_steps=1, solver__step_size=1e-9, C=1e12)
    if "target_bounds" in model.get_params() and name != "counts":
        model.set_params(target_bounds=(-60.0, 140.0))  # coefficients are in the targets' units
    model.partial_fit(X, targets)
    after = np.c_[model.coef_.reshape(before.shape[0], -1), np.atleast_1d(model.intercept_)]
    np.testing.assert_allclose(after, before, rtol=2e-3, atol=1e-6)
    assert model.n_iter_ == first + 1
    assert 2.0 < model.privacy_.epsilon(1e-5) < 4.0
    assert model.privacy_.event != event


@pytest.mark.parametrize(
    "model",
    [
        DPHingeClassifier(),
        DPHingeClassifier(solver="noisy_gd"),
        DPHingeClassifier(solver="dp_sgd", epsilon=float("inf")),
        DPAdditiveClassifier(solver="dp_sgd", bounds=(-1, 1)),
        DPLinearRegression(solver="adassp", **RANGE),
        DPLinearRegression(standard_errors=True, **RANGE),
    ],
)
def test_other_models_have_no_partial_fit(model):
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize("solver", ["dp_sgd", DPSGD(n_steps=7)])
def test_parameters_of_solvers_are_set_by_name(solver):
    model = DPHingeClassifier(solver=solver)
    changed = clone(model).set_params(solver__n_steps=5, solver__clip_norm=0.5)
    assert changed.solver == DPSGD(n_steps=5, clip_norm=0.5)
    assert changed.get_params()["solver__n_steps"] == 5
    assert model.solver is solver
    with pytest.raises(ValueError, match=r"Unknown parameters of solver=DPSGD.*'steps'"):
        model.set_params(solver__steps=1)
    with pytest.raises(ValueError, match="solver must be one of"):
        model.set_params(solver="no", solver__n_steps=1)
    sampled = DPHingeClassifier(sampler="exact").set_params(sampler__max_exponent=2.0)
    assert sampled.sampler == ExactSampler(2.0)


def test_a_search_over_the_parameters_of_a_solver():
    grid = {"solver__n_steps": [1, 60]}
    search = GridSearchCV(DPHingeClassifier(solver="dp_sgd", random_state=0), grid, cv=2)
    assert search.fit(X, y).best_params_ == {"solver__n_steps": 60}


@pytest.mark.parametrize("bad", [{"n_steps": 0}, {"sampling_rate": 2.0}], ids=str)
def test_a_bad_setting_is_named(bad):
    (name,) = bad
    with pytest.raises(ValueError, match=name):
        DPHingeClassifier(solver="dp_sgd").set_params(**{f"solver__{name}": bad[name]})


def test_a_fit_stays_within_its_target_and_nearly_uses_it(neighboring):
    model = DPHingeClassifier(solver="dp_sgd", neighboring=neighboring, **SETTINGS).fit(X, y)
    assert 1.95 < model.privacy_.epsilon(1e-5) <= 2.0
    assert model.privacy_.delta(2.0) <= 1e-5
    assert "(2, 1e-05)-DP" in str(model.privacy_) or "(1.9" in str(model.privacy_)
    assert model.score(X, y) > 0.9


def test_partial_fits_add_up():
    model = DPHingeClassifier(solver="dp_sgd", **SETTINGS).partial_fit(X, y, classes=[0, 1])
    event = model.privacy_.event
    for calls in (2, 3):
        model.partial_fit(X, y)
        together = PLDAccountant().epsilon(ComposedEvent((event,) * calls), 1e-5)
        assert model.privacy_.epsilon(1e-5) == pytest.approx(together)
        assert 2.0 < together < 2.0 * calls


def test_many_partial_fits_are_one_flat_list(neighboring):
    """Nested ones ran out of stack after 247 calls: learned, and counted as the last call alone."""
    model = DPHingeClassifier(
        solver=DPSGD(n_steps=1), epsilon=0.1, neighboring=neighboring, classes=(0, 1)
    )
    once = model.fit(X[:50], y[:50]).privacy_.event
    for _ in range(300):
        model.partial_fit(X[:50], y[:50])
    all_of_them = SelfComposedEvent(once, 301)
    assert model.privacy_.epsilon(1e-5) == PLDAccountant(neighboring).epsilon(all_of_them, 1e-5)
    assert len(repr(model.privacy_)) < 1000


def test_a_call_whose_cost_cannot_be_told_leaves_the_model_as_it_was(monkeypatch):
    model = DPHingeClassifier(solver="dp_sgd", **SETTINGS).partial_fit(X, y, classes=[0, 1])
    before = dict(vars(model))
    monkeypatch.setattr("skdp.linear_model._base.together", None)
    with pytest.raises(TypeError):
        model.partial_fit(X, y)
    assert vars(model) == before


def test_each_partial_fit_is_spent_before_it_reads():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-4, composition="rdp")
    model = DPHingeClassifier(solver="dp_sgd", epsilon=2.0, budget=budget).partial_fit(
        X, y, classes=[0, 1]
    )
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
    model = DPHingeClassifier(solver="dp_sgd", budget=budget)
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


@pytest.fixture
def begun():
    """Return a model after a first call, and its budget."""
    budget = PrivacyBudget(epsilon=5.0, delta=1e-4, composition="rdp")
    model = DPHingeClassifier(solver=DPSGD(n_steps=2), budget=budget)
    return model.partial_fit(X, y, classes=[0, 1]), budget


@pytest.mark.parametrize("changed", [[0, 1, 2], ["a", "b"], [1, 2]])
def test_labels_that_were_changed_between_two_calls_cost_nothing(changed, begun):
    model, budget = begun
    released = model.coef_
    for classes in (None, changed, [0, 1]):
        with pytest.raises(ValueError, match=r"differs"):
            model.set_params(classes=changed).partial_fit(X, y, classes=classes)
    assert model.coef_ is released
    assert len(budget.history()) == 1


def test_coefficients_of_another_shape_are_refused_before_the_spend(begun):
    model, budget = begun
    model.coef_ = np.vstack([model.coef_, model.coef_])
    model.intercept_ = np.zeros(2)
    with pytest.raises(ValueError, match=r"cannot continue: .* Nothing was spent"):
        model.partial_fit(X, y)
    assert len(budget.history()) == 1


def test_a_part_may_lack_a_class():
    model = DPHingeClassifier(solver="dp_sgd", **SETTINGS).partial_fit(
        X[:10], y[:10], classes=[0, 1]
    )
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("convert", [sparse.csr_matrix, pd.DataFrame])
def test_a_grid_search_over_epsilon_in_a_pipeline(convert):
    """Five folds of three candidates and a refit, each on the ledger of one budget."""
    budget = PrivacyBudget(epsilon=30.0, delta=1e-3, composition="rdp")
    pipe = make_pipeline(
        BoundsScaler(bounds=(-2.0, 2.0)) if convert is pd.DataFrame else "passthrough",
        DPHingeClassifier(solver="dp_sgd", budget=budget),
    )
    grid = {"dphingeclassifier__epsilon": [0.5, 1.0, 2.0]}
    search = GridSearchCV(pipe, grid).fit(convert(X), y)
    assert len(budget.history()) == 16
    assert search.best_score_ > 0.8
    assert clone(search.best_estimator_[-1]).budget == budget
