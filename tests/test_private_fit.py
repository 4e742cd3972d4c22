"""The transaction of a private fit, for every estimator that spends."""

import warnings
from importlib import import_module
from inspect import Parameter, isclass, signature

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skdp import DPLogisticRegression, PrivacyBudget
from skdp._private_fit import PrivateFit

rng = np.random.default_rng(0)
X = rng.integers(0, 3, size=(40, 2)).astype(float)
y = np.arange(40) % 2
PUBLIC = {
    "target_bounds": (0.0, 1.0),
    "bounds": (0.0, 2.0),
    "categories": [0.0, 1.0, 2.0],
    "classes": (0, 1),
}


def made(Model, **params):
    known = signature(Model).parameters
    needed = {name: value for name, value in PUBLIC.items() if name in known}
    if {"bounds", "categories"} <= needed.keys():
        needed["categories"] = {1: [0.0, 1.0, 2.0]}
    return Model(**(needed | params))


def spending():
    """Return the public classes that fit with an epsilon."""
    for room in ("linear_model", "naive_bayes", "preprocessing"):
        module = import_module(f"skdp.{room}")
        for Model in (getattr(module, name) for name in module.__all__):
            if isclass(Model) and "epsilon" in signature(Model).parameters:
                yield Model


every_model = pytest.mark.parametrize("Model", [*spending()])


@every_model
def test_there_is_one_transaction(Model):
    assert issubclass(Model, PrivateFit)


@every_model
def test_a_refit_that_dies_after_spending_leaves_nothing_of_the_old_fit(Model, monkeypatch):
    budget = PrivacyBudget(50.0, 1e-3, composition="basic")
    model = made(Model, delta=1e-6, budget=budget).fit(X, y)
    monkeypatch.setattr(Model, "_read", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y)
    assert len(budget.history()) == 2
    left = {name for name in vars(model) if name.endswith("_")}
    assert left <= {"n_features_in_", "feature_names_in_"}
    use = model.predict if hasattr(model, "predict") else model.transform
    with pytest.raises(NotFittedError):
        use(X)


@every_model
def test_a_refit_that_dies_before_spending_leaves_the_old_fit_whole(Model, monkeypatch):
    budget = PrivacyBudget(50.0, 1e-3, composition="basic")
    model = made(Model, delta=1e-6, budget=budget).fit(X, y)
    before = dict(vars(model))
    monkeypatch.setattr(Model, "_plan", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError, match=r"Nothing was spent\.$"):
        model.fit(np.c_[X, y], y)
    assert len(budget.history()) == 1
    assert vars(model) == before


@every_model
def test_the_label_is_what_the_history_calls_it(Model):
    budget = PrivacyBudget(50.0, 1e-3, composition="basic")
    made(Model, delta=1e-6, budget=budget, label="Study 7").fit(X, y)
    made(Model, delta=1e-6, budget=budget).fit(X, y)
    assert [row["label"] for row in budget.history()] == ["Study 7", Model.__name__]


@every_model
def test_without_a_delta_it_is_the_budgets(Model):
    budget = PrivacyBudget(50.0, 1e-7, composition="basic")
    assert made(Model, budget=budget).fit(X, y).privacy_.asked == (1.0, 1e-7)
    assert made(Model).fit(X, y).privacy_.asked == (1.0, 1e-5)


@every_model
def test_only_epsilon_and_delta_are_positional(Model):
    kinds = {name: p.kind for name, p in signature(Model).parameters.items()}
    assert [*kinds][:2] == ["epsilon", "delta"]
    assert {kinds[name] for name in [*kinds][2:]} == {Parameter.KEYWORD_ONLY}
    assert made(Model, epsilon=0.1).epsilon == 0.1


@pytest.mark.parametrize(
    ("delta", "n", "neighboring", "warned"),
    [
        (2e-3, 40, "replace_one", True),
        (2e-3, 40, "add_remove_one", True),
        (1e-3, 40, "replace_one", False),
        (1e-3, 1000, "replace_one", True),
        (1e-3, 1000, "add_remove_one", False),
        (9e-4, 1000, "replace_one", False),
    ],
)
def test_a_large_delta_is_warned_of_where_the_caller_stands(delta, n, neighboring, warned):
    rows, labels = np.resize(X, (n, 2)), np.resize(y, n)
    model = DPLogisticRegression(1.0, delta, neighboring=neighboring, n_samples_hint=n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, labels)
    assert [w.filename for w in caught] == [__file__] * warned
    assert all(f"delta={delta:g} is large" in str(w.message) for w in caught)


def test_at_infinity_nothing_is_warned_of():
    DPLogisticRegression(float("inf"), 0.5).fit(X, y)
