"""Features chosen by public facts, or by a released count: what is chosen and what it costs."""

import numpy as np
import pytest

from skdp import (
    DPHuberRegressor,
    DPLogisticRegression,
    DPTabularClassifier,
    DPTabularRegressor,
    PrivacyBudget,
)
from skdp.accounting import gdp_mu
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures, AutoFeatures, FeatureMixture

BOX = {"bounds": (-1.0, 1.0)}
MU = gdp_mu(1.0, 1e-5)


def table(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, d))
    return X, (X[:, 0] > 0.0).astype(int)


def kind(model):
    features = model.features_
    if isinstance(features, FeatureMixture):
        return type(features.random).__name__
    return "lines" if features.linear_share == 1.0 else "curves"


@pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize(
    ("signal_per_column", "wanted"),
    [(10.0, "lines"), (40.0, "curves"), (450.0, "RandomFourierFeatures")],
)
def test_more_signal_means_richer_features(signal_per_column, wanted, neighboring):
    """The count has a standard deviation of 10/μ = 37; the limits are 6 of them away or more."""
    changed = 2 if neighboring == "replace_one" else 1
    X, y = table(round(signal_per_column * changed / MU * 6), d=6)
    model = DPTabularClassifier(neighboring=neighboring, solver="noisy_gd", **BOX).fit(X, y)
    assert kind(model) == wanted
    assert model.feature_map_.n_features_out == model.coef_.shape[1]
    assert model.predict_proba(X[:5]).shape == (5, 2)


def test_tables_of_categories_get_no_interactions():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(3000, 3))
    model = DPTabularClassifier(epsilon=3.0, bounds={0: (0, 1)}, categories={1: [0, 1], 2: [0, 1]})
    assert kind(model.fit(X, X[:, 0])) == "curves"


@pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
def test_tables_of_few_categories_get_products(neighboring):
    """24 products need 36 of n·μ/k; the count has a standard deviation of 10/μ = 14 rows."""
    X = np.random.default_rng(0).integers(0, 2, size=(4000, 4))
    y = X[:, 0] ^ X[:, 1]
    terms = {"epsilon": 3.0, "neighboring": neighboring, "categories": [0, 1]}
    model = DPTabularClassifier(**terms).fit(X, y)
    assert model.features_.interactions == "pairs"
    assert model.score(X, y) > 0.9
    few = 20 if neighboring == "replace_one" else 10
    assert kind(DPTabularClassifier(**terms, n_samples_hint=few).fit(X[:few], y[:few])) == "lines"


def test_many_products_are_no_features():
    features = AutoFeatures(categories=[0, 1])
    choice = features.choice(signal=np.inf, n_columns=30, n_categorical=30, n_products=1740)
    assert choice.interactions is None


def test_public_choices_never_depend_on_values():
    X, y = table(2000)
    models = [DPTabularClassifier(**BOX).fit(rows, y) for rows in (X, np.zeros_like(X))]
    assert str(models[0].features_) == str(models[1].features_)
    assert models[0].privacy_ == models[1].privacy_


def test_hints_replace_the_count():
    X, y = table(2000)
    model = DPTabularClassifier(neighboring="add_remove_one", n_samples_hint=10, **BOX).fit(X, y)
    assert kind(model) == "lines"
    assert model.privacy_.gdp_mu == pytest.approx(MU, rel=1e-6)


@pytest.mark.parametrize("subsample", [None, 0.5])
def test_counts_are_part_of_the_cost(subsample):
    X, y = table(2000)
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring="add_remove_one")
    model = DPTabularClassifier(
        neighboring="add_remove_one", budget=budget, subsample=subsample, **BOX
    )
    price = budget.price(model, X, y)
    model.fit(X, y)
    assert 0.99 < model.privacy_.epsilon(1e-5) <= 1.0
    assert budget.spent.epsilon <= 1.0
    assert price.epsilon == pytest.approx(budget.spent.epsilon)
    if subsample is None:
        assert model.privacy_.gdp_mu <= MU
        assert "noisy count" in model.privacy_.theorem


def test_counts_are_noisy():
    """In the middle of a limit both choices occur; one alone in 30 fits with a chance of 2e-9."""
    X, y = table(round(20.0 * 12 / MU), d=12)
    fits = [
        DPTabularClassifier(neighboring="add_remove_one", solver="noisy_gd", **BOX).fit(X, y)
        for _ in range(30)
    ]
    assert {kind(model) for model in fits} == {"lines", "curves"}


@pytest.mark.parametrize(
    "settings", [{"delta": 0.0, "solver": "objective_perturbation"}, {"solver": "dp_sgd"}]
)
def test_without_a_count_a_hint_is_needed(settings):
    X, y = table(500)
    model = DPTabularClassifier(neighboring="add_remove_one", **settings, **BOX)
    with pytest.raises(IncompatibleSolverError, match="n_samples_hint"):
        model.fit(X, y)


def test_every_linear_model_takes_them():
    X, y = table(3000)
    features = AutoFeatures(**BOX)
    huber = DPHuberRegressor(epsilon=3.0, features=features, target_bounds=(0, 1), random_state=0)
    huber.fit(X, y)
    assert huber.score(X, y) > 0.5
    assert isinstance(huber.features_, FeatureMixture)
    searched = DPLogisticRegression(epsilon=3.0, features=features)
    searched.set_params(features__missing="error")
    assert searched.fit(X, y).features_.random.missing == "error"


def test_without_privacy_interactions_are_found():
    X, _ = table(3000)
    y = X[:, 0] * X[:, 1]
    model = DPTabularRegressor(epsilon=np.inf, target_bounds=(-1, 1), **BOX).fit(X, y)
    assert isinstance(model.features_, FeatureMixture)
    assert model.score(X, y) > 0.9


def test_wrong_bounds_are_found_before_anything_is_spent():
    X, y = table(100)
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="bounds"):
        DPTabularClassifier(budget=budget, bounds=(1.0, -1.0)).fit(X, y)
    assert budget.history() == []


def test_choices_are_features_of_their_own():
    features = AutoFeatures(bounds=(0, 1), transformation="log")
    few = features.choice(signal=1.0, n_columns=3)
    assert repr(few) == repr(
        AdditiveFeatures(bounds=(0, 1), transformation="log", linear_share=1.0)
    )
    assert few.fit_transform([[0.5, 0.5, 0.5]]).shape == (1, 6)
