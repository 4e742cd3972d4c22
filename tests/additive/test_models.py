"""Additive models: the linear models of the same features, on tables as they come."""

import numpy as np
import pandas as pd
import pytest
from additive_models import FACTS, composed, labels, people
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPLinearRegression,
    DPLogisticRegression,
)
from skdp.design import expanded
from skdp.features import AdditiveFeatures
from skdp.solvers import SOLVERS

INF = float("inf")
TARGET = {"target_bounds": (0.0, 1.0)}
PAIRS = [
    (DPAdditiveClassifier(**FACTS), DPLogisticRegression()),
    # A regressor learns no center for curves that it knows to be curves.
    (DPAdditiveRegressor(**FACTS, **TARGET), DPLinearRegression(**TARGET, center=False)),
]
every_model = pytest.mark.parametrize(("model", "linear"), PAIRS, ids=["classes", "number"])
every_relation = pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
RARE = ("adassp", "exponential_mechanism")


@every_model
@every_relation
@pytest.mark.parametrize("epsilon", [0.5, 1.5])
@pytest.mark.parametrize("in_memory", [True, False])
def test_it_is_the_linear_model_behind_the_transformer(
    model, linear, neighboring, epsilon, in_memory, monkeypatch
):
    """With the same noise; a fit rounds numbers to 4096 levels."""
    X, y = people(), labels(people())
    common = {"epsilon": epsilon, "neighboring": neighboring, "random_state": 0}
    model = clone(model).set_params(solver="noisy_gd", **common)
    piped = make_pipeline(
        AdditiveFeatures(**FACTS), clone(linear).set_params(solver="noisy_gd", **common)
    ).fit(X, y)
    if not in_memory:
        monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, piped[-1].coef_, rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(model.predict(X[:50]).shape, (50,))
    assert model.privacy_.gdp_mu == piped[-1].privacy_.gdp_mu
    assert model.coef_.shape[-1] == len(piped[0].get_feature_names_out())
    assert quality(model, X, y) == pytest.approx(quality(piped, X, y), abs=0.01)


def quality(model, X, y):
    """Return R², or the area under the curve: the class also depends on bounds, if known."""
    if is_classifier(model):
        return roc_auc_score(y, model.decision_function(X))
    return model.score(X, y)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in RARE])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_solver_learns_from_blocks_what_it_learns_from_a_matrix(
    solver, n_classes, monkeypatch
):
    X = people(200)
    y = np.arange(200) % n_classes
    front = DPAdditiveClassifier(**FACTS, solver=solver, n_terms=2, random_state=0)
    model = composed(front, C=1.0)
    once = clone(model).fit(X, y).coef_
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    np.testing.assert_allclose(model.fit(X, y).coef_, once, atol=1e-3)


def test_least_squares_from_moments_reads_blocks(monkeypatch):
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    X, y = people(3000), labels(people(3000))
    model = DPAdditiveRegressor(epsilon=10.0, **FACTS, **TARGET, solver="adassp", random_state=0)
    assert model.fit(X, y).score(X, y) > 0.6


def test_curves_are_learned_that_no_line_has():
    X, y = people(8000)[["age"]], labels(people(8000))
    model = DPAdditiveClassifier(epsilon=1.0, bounds=(0, 100), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    line = clone(model).set_params(linear_share=1.0).fit(X, y)
    assert line.score(X, y) < 0.8


def test_without_privacy_it_is_a_ridge_on_the_same_clipped_features():
    X, y = people(), labels(people())
    features = AdditiveFeatures(**FACTS, interactions=[("age", "job")]).fit_transform(X)
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    settings = {"interactions": [("age", "job")], **FACTS}
    ridge = {"C": 0.7, "fit_intercept": False}
    classifier = composed(DPAdditiveClassifier(epsilon=INF, **settings), **ridge).fit(X, y)
    reference = LogisticRegression(tol=1e-8, max_iter=10_000, **ridge).fit(features, y)
    np.testing.assert_allclose(classifier.coef_, reference.coef_, atol=1e-3)
    regressor = composed(DPAdditiveRegressor(epsilon=INF, **settings, **TARGET), **ridge)
    regressor.set_params(slope_bound=10.0).fit(X, y)  # no residual is clipped
    least = Ridge(alpha=1 / 0.7, fit_intercept=False).fit(features, 2.0 * y - 1.0)
    np.testing.assert_allclose(regressor.coef_, 0.5 * least.coef_, atol=1e-3)
    front = DPAdditiveClassifier(epsilon=INF, **settings).fit(X, y)
    assert front.coef_noise_bound_ == 0.0
    np.testing.assert_array_equal(front.coef_, composed(front).fit(X, y).coef_)


@every_model
def test_a_line_alone_is_the_linear_model_by_bounds(model, linear):
    X, y = np.random.default_rng(0).random((300, 3)), np.arange(300) % 2
    given = {"bounds": (0, 1), "categories": None, "linear_share": 1.0, "missing": "error"}
    model = clone(model).set_params(**given, random_state=0).fit(X, y)
    linear = clone(linear).set_params(random_state=0).fit(2.0 * X - 1.0, y)
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-6)


@pytest.mark.parametrize("kind", ["log", "sqrt", 30.0])
def test_targets_on_another_scale_come_back(kind):
    rng = np.random.default_rng(0)
    X = rng.random((5000, 1))
    y = np.exp(4.0 * X[:, 0])
    model = DPAdditiveRegressor(
        epsilon=5.0, bounds=(0, 1), target_bounds=(0, 60), target_transform=kind, random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.95
    assert model.predict(X).min() >= 0.0
    assert model.predict(X).max() <= 60.0 * (1 + 1e-12)
    open_model = clone(model).set_params(epsilon=INF).fit(X, y)
    assert open_model.score(X, y) > 0.99


def test_blocks_of_one_norm_are_never_clipped_and_add_up():
    """The score is then a sum of functions of one column each, exactly."""
    X, y = people(300), labels(people(300))
    model = DPAdditiveClassifier(**FACTS, norm="blocks", random_state=0).fit(X, y)
    one, other = X.iloc[:1], X.iloc[1:2]
    mixed = one.copy()
    mixed["age"] = other["age"].to_numpy()
    swapped = other.copy()
    swapped["age"] = one["age"].to_numpy()
    scores = [model._scores(part)[0, 0] for part in (one, other, mixed, swapped)]
    assert scores[0] + scores[1] == pytest.approx(scores[2] + scores[3], abs=1e-9)


def test_another_table_is_refused_by_its_columns():
    X, y = people(), labels(people())
    model = DPAdditiveClassifier(**FACTS).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match=r"column 'age' contains strings"):
        model.predict(pd.DataFrame({"age": ["x"], "job": ["cook"], "income": [1.0]}))
