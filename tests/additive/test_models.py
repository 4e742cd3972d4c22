"""Additive models: the linear models of the same features, on tables as they come."""

import pickle

import numpy as np
import pandas as pd
import pytest
from additive_models import FACTS, JOBS, composed, labels, people
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    PrivacyBudget,
)
from skdp.design import expanded
from skdp.exceptions import BudgetExceededError
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


@every_model
def test_frames_of_two_libraries_and_single_precision_go_straight_in(model, linear):
    polars = pytest.importorskip("polars")
    X, y = people(), labels(people())
    model = clone(model).set_params(random_state=0)
    scores = clone(model).fit(X, y).predict(X)
    lists = X.astype(object).where(X.notna(), None).to_dict("list")
    other = polars.DataFrame(lists, strict=False)
    np.testing.assert_array_equal(clone(model).fit(other, y).predict(other), scores)
    numbers = np.random.default_rng(0).random((100, 2)).astype(np.float32)
    plain = clone(model).set_params(bounds=(0, 1), categories=None)
    first = clone(plain).fit(numbers, y[:100]).coef_
    np.testing.assert_allclose(
        plain.fit(numbers.astype(float), y[:100]).coef_, first, rtol=1e-6, atol=1e-6
    )


@every_model
def test_parameters_set_after_a_fit_do_not_change_the_model(model, linear):
    X, y = people(), labels(people())
    model = clone(model).set_params(random_state=0).fit(X, y)
    before = model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    model.set_params(bounds=(5, 6), n_terms=1, linear_share=1.0)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(again.predict(X), before)


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


@every_model
@every_relation
def test_budgets_pay_once_and_refusals_cost_nothing(model, linear, neighboring):
    X, y = people(), labels(people())
    budget = PrivacyBudget(epsilon=1.3, delta=1e-5, neighboring=neighboring)
    model = clone(model).set_params(budget=budget, neighboring=neighboring)
    model.fit(X, y)
    assert budget.history()[0]["epsilon"] == pytest.approx(1.0, rel=0.02)
    with pytest.raises(BudgetExceededError):
        model.fit(X, y)
    spent = budget.spent.epsilon
    wrong = [
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": {"age": (100, 0), "income": (0, 1)}}, "are reversed"),
        ({"bounds": {"age": (0, 1)}}, "bounds have no pair for the columns"),
        ({"categories": {"nobody": JOBS}}, "Unknown columns in"),
        ({"categories": None}, "no pair for the columns.*needs categories"),
        ({"interactions": [("age", "nobody")]}, "Unknown columns in"),
        ({"interactions": [("age", "job"), ("job", "age")]}, "each pair of columns once"),
        ({"transformation": {"job": "log"}}, "'job'"),
        ({"n_terms": 1.5}, "n_terms"),
    ]
    for parameters, words in wrong:
        with pytest.raises(ValueError, match=f"(?s){words}.*Nothing was spent"):
            clone(model).set_params(budget=budget, **parameters).fit(X, y)
    assert budget.spent.epsilon == spent
    assert model.predict(X).shape == (400,)  # the first fit is whole


@every_model
def test_a_constant_column_and_one_row_have_a_defined_result(model, linear):
    X, y = people(50), labels(people(50))
    X["age"] = 42.0
    clone(model).fit(X, y)
    one = clone(model).set_params(neighboring="add_remove_one")
    if hasattr(one, "classes"):
        one.set_params(classes=(0, 1))
    assert one.fit(X[:1], y[:1]).predict(X).shape == (50,)


def test_weights_classes_and_class_weights_are_those_of_the_linear_model():
    X, y = people(), np.arange(400) % 3
    model = DPAdditiveClassifier(
        **FACTS, classes=(0, 1, 2), class_weight={0: 2.0}, max_weight=3.0, random_state=0
    )
    model.fit(X, y, sample_weight=np.linspace(0, 5, 400))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.coef_.shape[0] == 3


def test_another_table_is_refused_by_its_columns():
    X, y = people(), labels(people())
    model = DPAdditiveClassifier(**FACTS).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match=r"column 'age' contains strings"):
        model.predict(pd.DataFrame({"age": ["x"], "job": ["cook"], "income": [1.0]}))
