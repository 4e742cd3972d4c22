"""Forests: the linear models of the same features, on tables as they come.

What additive models do like them is tested here as well.
"""

import pickle

import numpy as np
import pytest
from additive_models import FACTS, composed, labels, people
from audit_bounds import lower_bound
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPRandomForestClassifier,
    DPRandomForestRegressor,
    PrivacyBudget,
)
from skdp.design import ClippedDesign, ExpandedDesign, expanded
from skdp.exceptions import BudgetExceededError
from skdp.features import AdditiveFeatures
from skdp.features.additive import AdditiveMap
from skdp.features.base import TableFacts
from skdp.features.combined import MixtureMap
from skdp.features.random_maps import FourierMap, TreeMap
from skdp.linear_model._records import matrix_of, rows_of
from skdp.solvers import NoisyGD

INF = float("inf")
TARGET = {"target_bounds": (0.0, 1.0)}
TREES = {"n_trees": 12, "depth": 3}
MODELS = [
    DPRandomForestClassifier(**TREES, **FACTS),
    DPRandomForestRegressor(**TREES, **FACTS, **TARGET),
]
NAMES = ["forest of classes", "forest of a number"]
every_model = pytest.mark.parametrize("model", MODELS, ids=NAMES)
ADDITIVE = [DPAdditiveClassifier(**FACTS), DPAdditiveRegressor(**FACTS, **TARGET)]
TABLE_MODELS = [*ADDITIVE, *MODELS]
TABLE_NAMES = ["additive of classes", "additive of a number", *NAMES]
every_table_model = pytest.mark.parametrize("model", TABLE_MODELS, ids=TABLE_NAMES)

SIDES = TableFacts.of(3, (), bounds=(-1.0, 1.0), categories={2: [0.0, 1.0, 2.0]})
ALONE = AdditiveMap.of(SIDES, AdditiveFeatures())
MIXTURES = [
    MixtureMap(additive=ALONE, other=other, additive_share=0.3, most_square=ALONE.most_square)
    for other in (
        FourierMap(facts=SIDES, n_components=20),
        TreeMap(facts=SIDES, n_trees=7, depths=(3, 3)),
    )
]
every_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=["waves", "trees"])


def dense(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features)


def is_classifier(model):
    return hasattr(model, "classes")


def is_additive(model):
    return hasattr(model, "linear_share")


numbers = st.floats(-1e300, 1e300) | st.sampled_from([np.nan, np.inf, -np.inf])


@every_mixture
@settings(deadline=None, max_examples=100)
@given(
    row=st.lists(numbers, min_size=2, max_size=2), category=st.sampled_from([-1, 0, 1, 2, np.nan])
)
def test_no_row_of_a_mixture_is_longer_than_one(mixture, row, category):
    coded = np.array([[*row, category]])
    features = dense(mixture.expand(mixture.prepare(coded)))
    assert np.linalg.norm(features) <= 1.0 + 1e-12


@every_mixture
def test_blocks_of_a_mixture_are_those_of_the_whole(mixture, monkeypatch, rng):
    X = np.column_stack([rng.uniform(-2, 2, size=(700, 2)), rng.integers(-1, 3, size=700)])
    X[rng.random(X.shape) < 0.1] = np.nan
    whole = ClippedDesign.clip(mixture.whole(mixture.prepare(X)), 0.8, 0.3)
    monkeypatch.setattr(expanded, "_IN_MEMORY", 8 * 10 * mixture.n_entries)
    design = ExpandedDesign.clip(X, mixture, 0.8, 0.3)
    assert isinstance(design, ExpandedDesign)
    theta, r = rng.normal(size=whole.n_features), rng.normal(size=700)
    np.testing.assert_allclose(design.scores(theta), whole.scores(theta), atol=1e-10)
    np.testing.assert_allclose(design.weighted_sum(r), whole.weighted_sum(r), atol=1e-10)
    for rows in (np.array([699, 5, 5]), slice(3, 690)):
        taken = design.take(rows).scores(theta)
        np.testing.assert_allclose(taken, whole.take(rows).scores(theta), atol=1e-10)
    names = mixture.names(["a", "b", "c"])
    assert len(set(names)) == len(names) == mixture.n_features_out


@every_model
def test_private_fits_tend_to_the_fit_without_privacy(model):
    """At ε = 10⁸ the noise in a score is below 10⁻⁴, for few rows and more features."""
    X, y = people(150), labels(people(150))
    model = clone(model).set_params(n_trees=30, depth=5, random_state=0)
    scores = [clone(model).set_params(epsilon=e).fit(X, y)._scores(X) for e in (1e8, INF)]
    np.testing.assert_allclose(*scores, atol=0.02)


@every_model
def test_noise_with_more_columns_than_rows_does_not_make_it_overfit(model, rng):
    """Without a ridge the scores of rows with few neighbors would follow their own labels."""
    X, y = rng.uniform(-1, 1, size=(600, 2)), rng.random(600)
    signal = X[:, 0] > 0
    y = np.where(y < 0.8, signal, ~signal).astype(int)
    given = {"epsilon": INF, "bounds": (-1, 1), "categories": None}
    model = clone(model).set_params(n_trees=50, depth=6, **given)
    model.fit(X[:200], y[:200])
    sided = model.predict(X[200:]) > 0.5
    assert (sided == signal[200:]).mean() > 0.85


@every_model
def test_columns_that_act_together_are_seen(model):
    """x·x' has no additive part at all."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(3000, 2))
    y = X[:, 0] * X[:, 1]
    given = {"epsilon": 3.0, "bounds": (-1, 1), "categories": None, "random_state": 0}
    model = clone(model).set_params(n_trees=50, **given)
    if is_classifier(model):
        assert model.fit(X, (y > 0).astype(int)).score(X, (y > 0).astype(int)) > 0.85
        alone = DPAdditiveClassifier(epsilon=3.0, bounds=(-1, 1), random_state=0).fit(
            X, (y > 0).astype(int)
        )
        assert alone.score(X, (y > 0).astype(int)) < 0.65
    else:
        model.set_params(target_bounds=(-1, 1))
        assert model.fit(X, y).score(X, y) > 0.5
        alone = DPAdditiveRegressor(
            epsilon=3.0, bounds=(-1, 1), target_bounds=(-1, 1), random_state=0
        )
        assert alone.fit(X, y).score(X, y) < 0.1


@every_model
def test_the_seed_of_features_is_public_and_not_that_of_the_noise(model):
    X, y = people(), labels(people())
    model = clone(model).set_params(budget=PrivacyBudget(epsilon=10.0, delta=1e-5))
    one, other, moved = (
        clone(model).set_params(feature_seed=seed, budget=model.budget).fit(X, y)
        for seed in (1, 1, 2)
    )
    assert not np.array_equal(one.coef_, other.coef_)  # noise of their own
    rows = [matrix_of(fit.feature_map_, rows_of(fit, X)) for fit in (one, other, moved)]
    same, different = (abs(rows[0] - rows[k]).max() for k in (1, 2))
    assert same == 0.0
    assert different > 0.01


@every_table_model
def test_parameters_set_after_a_fit_do_not_change_the_model(model):
    X, y = people(), labels(people())
    model = clone(model).set_params(random_state=0).fit(X, y)
    before = model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    own = (
        {"linear_share": 1.0} if is_additive(model) else {"additive_share": 1.0, "feature_seed": 9}
    )
    model.set_params(bounds=(5, 6), n_terms=1, **own)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(again.predict(X), before)


def mistakes_of(model):
    """Return wrong values of the parameters that not all of the models have."""
    if is_additive(model):
        return [
            ({"interactions": [("age", "nobody")]}, "Unknown columns in"),
            ({"interactions": [("age", "job"), ("job", "age")]}, "each pair of columns once"),
        ]
    wrong = {"additive_share": 1.5, "feature_seed": -1, "depth": 17}
    return [({name: value}, name) for name, value in wrong.items()]


@every_table_model
def test_budgets_pay_once_and_refusals_cost_nothing(model, neighboring):
    X, y = people(), labels(people())
    budget = PrivacyBudget(epsilon=1.3, delta=1e-5, neighboring=neighboring)
    model = clone(model).set_params(budget=budget, neighboring=neighboring)
    model.fit(X, y)
    assert budget.history()[0]["epsilon"] == pytest.approx(1.0, rel=0.02)
    with pytest.raises(BudgetExceededError):
        model.fit(X, y)
    spent = budget.spent.epsilon
    wrong = [
        ({"bounds": {"age": (0, 1)}}, "bounds have no pair for the columns"),
        ({"categories": None}, "no pair for the columns.*needs categories"),
        ({"transformation": {"job": "log"}}, "'job'"),
        ({"n_terms": 1.5}, "n_terms"),
        *mistakes_of(model),
    ]
    for parameters, words in wrong:
        with pytest.raises(ValueError, match=f"(?s){words}.*Nothing was spent"):
            clone(model).set_params(budget=budget, **parameters).fit(X, y)
    assert budget.spent.epsilon == spent
    assert model.predict(X).shape == (400,)  # the first fit is whole


@pytest.mark.parametrize("model", TABLE_MODELS[::2], ids=TABLE_NAMES[::2])
def test_weights_classes_and_class_weights_are_those_of_the_linear_model(model):
    X, y = people(), np.arange(400) % 3
    model = clone(model).set_params(
        classes=(0, 1, 2), class_weight={0: 2.0}, max_weight=3.0, random_state=0
    )
    model.fit(X, y, sample_weight=np.linspace(0, 5, 400))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.coef_.shape[0] == 3


@pytest.mark.parametrize(
    ("model", "neighboring"),  # each pair of a kind of features, of targets and of neighbors
    [
        (TABLE_MODELS[0], "replace_one"),
        (TABLE_MODELS[1], "add_remove_one"),
        (TABLE_MODELS[2], "add_remove_one"),
        (TABLE_MODELS[3], "replace_one"),
    ],
    ids=TABLE_NAMES,
)
def test_attacks_prove_no_more_than_the_claim(model, neighboring):
    """Two tables told apart by the score of the row in which they differ.

    Noisy steps of one table's scores are a shift of the other's, with noise of the same size. The
    distance over the noise has a standard deviation of .08 of the claim: one outside of these
    limits is five away. Half the noise doubles it.
    """
    X, y = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, 1.0]]), np.array([1, 1, 1])
    changed = (X, np.array([0, 1, 1])) if neighboring == "replace_one" else (X[1:], y[1:])
    front = clone(model).set_params(
        epsilon=20.0,
        neighboring=neighboring,
        bounds=(-1, 1),
        categories=None,
        n_terms=2,
        solver=NoisyGD(2, step_size=1.0, momentum=0.0),
    )
    if is_classifier(model):
        front.set_params(classes=(0, 1))
    linear = composed(front, fit_intercept=False, n_samples_hint=3)
    linear.set_params(random_state=np.random.default_rng())
    one, other = (
        np.array([raw_score(linear.fit(*data), X[:1]) for _ in range(80)])
        for data in ((X, y), changed)
    )
    claim = linear.privacy_.gdp_mu
    gap = (one.mean() - other.mean()) / np.sqrt(0.5 * (one.var() + other.var()))
    assert claim / 6 < gap < 1.4 * claim
    assert lower_bound(one, other) <= claim


def raw_score(model, X):
    features = dense(matrix_of(model.feature_map_, rows_of(model, X)))
    return float((features @ np.ravel(model.coef_))[0])


def test_more_memory_than_the_leaves_and_the_blocks_is_not_needed(monkeypatch):
    """A byte a tree is kept of each row, beside blocks."""
    facts = TableFacts.of(20, (), bounds=(0.0, 1.0))
    trees = TreeMap(facts=facts, n_trees=50)
    alone = AdditiveMap.of(facts, AdditiveFeatures())
    square = alone.most_square
    mixture = MixtureMap(additive=alone, other=trees, additive_share=0.5, most_square=square)
    X = np.random.default_rng(0).random((2000, 20))
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    design = ExpandedDesign.clip(X, mixture, 1.0, 0.3)
    assert design.X.other.nbytes == 50 * len(X)
    assert np.shares_memory(design.X.additive, X)


def test_importances_of_a_forest_are_the_shares_of_its_columns_in_a_public_sum():
    """Var(3·x₀ + x₁) has shares .9 and .1; .15 is over seven times what noise and rows vary by."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 3))
    y = (3 * X[:, 0] + X[:, 1]) / 4
    model = DPRandomForestRegressor(bounds=(-1, 1), target_bounds=(-1, 1), epsilon=20.0, **TREES)
    found = model.fit(X, y).feature_importances_
    np.testing.assert_allclose(found, [0.9, 0.1, 0.0], atol=0.15)
    np.testing.assert_allclose(found.sum(), 1.0)
    again = pickle.loads(pickle.dumps(model)).feature_importances_
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_importances_have_one_number_a_column_of_a_frame(n_classes):
    X = people(300)
    model = DPRandomForestClassifier(**TREES, **FACTS).fit(X, np.arange(300) % n_classes)
    assert model.feature_importances_.shape == (model.n_features_in_,)
    assert (model.feature_importances_ >= 0.0).all()
