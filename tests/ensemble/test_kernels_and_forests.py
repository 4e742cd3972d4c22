"""Kernel models and forests: the linear models of the same features, on tables as they come.

What additive models do like them is tested here as well.
"""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from additive_models import FACTS, JOBS, composed, labels, people
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import beta, norm
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPKernelClassifier,
    DPKernelRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPRandomForestClassifier,
    DPRandomForestRegressor,
    PrivacyBudget,
)
from skdp.design import ClippedDesign, ExpandedDesign, expanded
from skdp.exceptions import BudgetExceededError
from skdp.features import AdditiveFeatures, RandomFourierFeatures, RandomTreeFeatures
from skdp.features.additive import AdditiveMap
from skdp.features.fourier import FourierMap
from skdp.features.mixture import MixtureMap
from skdp.features.table import TableFacts
from skdp.features.trees import TreeMap
from skdp.linear_model._records import matrix_of, rows_of
from skdp.solvers import SOLVERS, NoisyGD, RegularizedExponential, Solution

INF = float("inf")
TARGET = {"target_bounds": (0.0, 1.0)}
WAVES, TREES = {"n_components": 40}, {"n_trees": 12, "depth": 3}
MODELS = [
    DPKernelClassifier(**WAVES, **FACTS),
    DPKernelRegressor(**WAVES, **FACTS, **TARGET),
    DPRandomForestClassifier(**TREES, **FACTS),
    DPRandomForestRegressor(**TREES, **FACTS, **TARGET),
]
NAMES = ["kernel of classes", "kernel of a number", "forest of classes", "forest of a number"]
every_model = pytest.mark.parametrize("model", MODELS, ids=NAMES)
ADDITIVE = [DPAdditiveClassifier(**FACTS), DPAdditiveRegressor(**FACTS, **TARGET)]
TABLE_MODELS = [*ADDITIVE, *MODELS]
TABLE_NAMES = ["additive of classes", "additive of a number", *NAMES]
every_table_model = pytest.mark.parametrize("model", TABLE_MODELS, ids=TABLE_NAMES)
every_relation = pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
every_share = pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
RARE = ("adassp", "exponential_mechanism")

SIDES = TableFacts.of(3, (), bounds=(-1.0, 1.0), categories={2: [0.0, 1.0, 2.0]})
ALONE = AdditiveMap.of(SIDES, ())
MIXTURES = [
    MixtureMap(additive=ALONE, other=other, additive_share=0.3, most_square=ALONE.most_square)
    for other in (FourierMap.of(SIDES, n_components=20), TreeMap.of(SIDES, n_trees=7, depth=3))
]
every_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=["waves", "trees"])


def dense(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features)


def features_of(model, X):
    """The features by the formula, from the public transformers."""
    kernel = hasattr(model, "scale")
    Random, own = (RandomFourierFeatures, WAVES) if kernel else (RandomTreeFeatures, TREES)
    a, b = AdditiveFeatures(**FACTS).fit_transform(X), Random(**FACTS, **own).fit_transform(X)
    a, b, s = dense(a), dense(b), model.additive_share
    if s in (0.0, 1.0):
        return a if s else b
    a /= np.maximum(1.0, np.linalg.norm(a, axis=1, keepdims=True))
    return np.hstack([np.sqrt(s) * a, np.sqrt(1.0 - s) * b])


def fitted_features_of(model, X):
    """The same, of numbers rounded as the fit of a forest rounds them for its curves."""
    if hasattr(model, "scale") or model.additive_share in (0.0, 1.0):
        return features_of(model, X)
    near = model.feature_map_.for_fits()
    coded = model.feature_map_.coded(X, list(X.columns))
    curves = near.additive.whole(near.additive.prepare(coded))
    leaves = dense(near.other.whole(near.other.prepare(coded)))
    curves /= np.maximum(1.0, np.linalg.norm(curves, axis=1, keepdims=True))
    share = model.additive_share
    return np.hstack([np.sqrt(share) * curves, np.sqrt(1.0 - share) * leaves])


def linear_twin(model):
    if is_classifier(model):  # no random features are shifted
        return DPLogisticRegression(center="auto" if model.additive_share == 1.0 else False)
    return DPLinearRegression(center=False, **TARGET)  # nor curves


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
def test_blocks_of_a_mixture_are_those_of_the_whole(mixture, monkeypatch):
    rng = np.random.default_rng(0)
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
@every_share
@every_relation
def test_it_is_the_linear_model_of_the_transformers_features(model, share, neighboring):
    """With the same noise; a fit without waves rounds the numbers of curves to 4096 levels.

    If n is private, the noise covers rounding errors of 2^24 rows, and of more clip factors in a
    fit of features: 5e-4 of it. Then two plans may also differ in one step.
    """
    error = {"replace_one": 1e-6, "add_remove_one": 1e-3}[neighboring]
    close = {"atol": 1e-2} if share == 1.0 else {"rtol": error, "atol": error}
    X, y = people(), labels(people())
    solver = "noisy_gd" if neighboring == "replace_one" else NoisyGD(n_steps=50)
    common = {"neighboring": neighboring, "solver": solver, "random_state": 0}
    model = clone(model).set_params(additive_share=share, **common).fit(X, y)
    features = features_of(model, X)
    linear = linear_twin(model).set_params(**common).fit(fitted_features_of(model, X), y)
    np.testing.assert_allclose(model.coef_, linear.coef_, **close)
    np.testing.assert_allclose(model._scores(X), linear._scores(features), **close)
    assert model.privacy_.gdp_mu == linear.privacy_.gdp_mu


@every_model
@every_share
def test_without_privacy_it_is_a_ridge_on_the_same_clipped_features(model, share):
    X, y = people(), labels(people())
    front = clone(model).set_params(epsilon=INF, additive_share=share)
    settings = {"C": 2.0, "fit_intercept": False}
    features, model = features_of(front, X), composed(front, **settings)
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    if is_classifier(model):
        reference = LogisticRegression(tol=1e-8, max_iter=10_000, **settings).fit(features, y)
        found, wanted = model.fit(X, y).predict_proba(X), reference.predict_proba(features)
        np.testing.assert_allclose(found, wanted, atol=1e-3)
    else:
        ridge = Ridge(alpha=0.5, fit_intercept=False).fit(features, 2.0 * y - 1.0)
        model.set_params(slope_bound=10.0)  # no residual is clipped
        wanted = np.clip(0.5 + 0.5 * ridge.predict(features), 0.0, 1.0)
        np.testing.assert_allclose(model.fit(X, y).predict(X), wanted, atol=1e-3)


@every_model
def test_private_fits_tend_to_the_fit_without_privacy(model):
    """At ε = 10⁸ the noise in a score is below 10⁻⁴, for few rows and more features."""
    X, y = people(150), labels(people(150))
    own = {"n_components": 300} if hasattr(model, "scale") else {"n_trees": 30, "depth": 5}
    model = clone(model).set_params(**own, random_state=0)
    scores = [clone(model).set_params(epsilon=e).fit(X, y)._scores(X) for e in (1e8, INF)]
    np.testing.assert_allclose(*scores, atol=0.02)


@every_model
def test_noise_with_more_columns_than_rows_does_not_make_it_overfit(model):
    """Without a ridge the scores of rows with few neighbors would follow their own labels."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(600, 2)), rng.random(600)
    signal = X[:, 0] > 0
    y = np.where(y < 0.8, signal, ~signal).astype(int)
    own = {"n_components": 300} if hasattr(model, "scale") else {"n_trees": 50, "depth": 6}
    model = clone(model).set_params(**own, epsilon=INF, bounds=(-1, 1), categories=None)
    model.fit(X[:200], y[:200])
    sided = model.predict(X[200:]) > 0.5
    assert (sided == signal[200:]).mean() > 0.85


@every_model
def test_columns_that_act_together_are_seen(model):
    """x·x' has no additive part at all."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(3000, 2))
    y = X[:, 0] * X[:, 1]
    given = {"epsilon": 3.0, "bounds": (-1, 1), "categories": None, "random_state": 0}
    model = clone(model).set_params(**given)
    model.set_params(**({"n_components": 100} if hasattr(model, "scale") else {"n_trees": 50}))
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


@pytest.mark.slow
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in RARE])
@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]], ids=["kernel", "forest"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_solver_learns_from_blocks_what_it_learns_at_once(
    solver, model, n_classes, monkeypatch
):
    X, y = people(200), np.arange(200) % n_classes
    small = {"n_components": 6} if hasattr(model, "scale") else {"n_trees": 3, "depth": 2}
    front = clone(model).set_params(solver=solver, n_terms=2, random_state=0, **small)
    model = composed(front, C=1.0)
    once = clone(model).fit(X, y).coef_
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    np.testing.assert_allclose(model.fit(X, y).coef_, once, atol=1e-3)


@every_table_model
def test_frames_of_two_libraries_and_single_precision_go_straight_in(model):
    polars = pytest.importorskip("polars")
    X, y = people(), labels(people())
    model = clone(model).set_params(random_state=0)
    predictions = clone(model).fit(X, y).predict(X)
    lists = X.astype(object).where(X.notna(), None).to_dict("list")
    other = polars.DataFrame(lists, strict=False)
    np.testing.assert_array_equal(clone(model).fit(other, y).predict(other), predictions)
    numbers = np.random.default_rng(0).random((100, 2)).astype(np.float32)
    plain = clone(model).set_params(bounds=(0, 1), categories=None)
    first = clone(plain).fit(numbers, y[:100]).coef_
    again = plain.fit(numbers.astype(float), y[:100]).coef_
    error = 1e-6 if is_additive(model) else 1e-5
    np.testing.assert_allclose(again, first, rtol=error, atol=error)


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
    own = {"n_components": 0} if hasattr(model, "scale") else {"depth": 17}
    random = ({"additive_share": 1.5}, "additive_share"), ({"feature_seed": -1}, "feature_seed")
    return [*random, (own, next(iter(own)))]


@every_table_model
@every_relation
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
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": {"age": (100, 0), "income": (0, 1)}}, "are reversed"),
        ({"bounds": {"age": (0, 1)}}, "bounds have no pair for the columns"),
        ({"categories": {"nobody": JOBS}}, "Unknown columns in"),
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


@every_table_model
def test_a_constant_column_unknown_categories_and_one_row_have_a_defined_result(model):
    X, y = people(50), labels(people(50))
    X["age"], X["job"] = 42.0, "pirate"
    assert np.isfinite(clone(model).fit(X, y).predict(X)).all()
    one = clone(model).set_params(neighboring="add_remove_one")
    if is_classifier(one):
        one.set_params(classes=(0, 1))
    assert one.fit(X[:1], y[:1]).predict(X).shape == (50,)


@pytest.mark.parametrize("kind", ["log", "sqrt", 30.0])
@pytest.mark.parametrize("model", MODELS[1::2], ids=NAMES[1::2])
def test_targets_on_another_scale_come_back(model, kind):
    X = np.random.default_rng(0).random((2000, 1))
    y = np.exp(4.0 * X[:, 0])
    model = clone(model).set_params(
        epsilon=10.0,
        bounds=(0, 1),
        categories=None,
        target_bounds=(0, 60),
        target_transform=kind,
        random_state=0,
    )
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.predict(X).min() >= 0.0
    assert model.predict(X).max() <= 60.0 * (1 + 1e-12)


@pytest.mark.parametrize("model", TABLE_MODELS[::2], ids=TABLE_NAMES[::2])
def test_weights_classes_and_class_weights_are_those_of_the_linear_model(model):
    X, y = people(), np.arange(400) % 3
    model = clone(model).set_params(
        classes=(0, 1, 2), class_weight={0: 2.0}, max_weight=3.0, random_state=0
    )
    model.fit(X, y, sample_weight=np.linspace(0, 5, 400))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.coef_.shape[0] == 3


@dataclass(frozen=True)
class ConstantSolver(RegularizedExponential):
    """Plans and spends like the real solver, but releases a constant."""

    def solve(self, plan, design, rng, progress):
        shape = (design.n_features, plan.problem.loss.n_scores)
        secret = design.slope_sum(lambda y, z: y * 1.0, np.zeros(design.n_features))
        return Solution(np.ones(shape).squeeze(), 7, {"secret": secret})


@every_model
@every_relation
def test_nothing_but_the_release_depends_on_the_data(model, neighboring):
    """Two tables as different as they can be, with the same public facts."""
    tame, wild = people(40), people(40 if neighboring == "replace_one" else 90, seed=1)
    wild[["age", "income"]], wild["job"] = 1e300, None
    tame["job"] = tame["job"].astype(object)  # as that of the other: types are public
    worlds = [(tame, labels(tame)), (wild, np.ones(len(wild), dtype=int))]
    shown = []
    for X, y in worlds:
        budget = PrivacyBudget(epsilon=2.0, delta=1e-5, neighboring=neighboring)
        fit = clone(model).set_params(
            solver=ConstantSolver(), neighboring=neighboring, budget=budget
        )
        if is_classifier(fit):
            fit.set_params(classes=(0, 1))
        fit.fit(X, y)
        public = {k: v for k, v in vars(fit).items() if k not in ("budget", "feature_map_")}
        history = [{k: v for k, v in row.items() if k != "time"} for row in budget.history()]
        shown.append((public, repr(fit.privacy_), str(history), fit.predict(tame)))
    for one, other in zip(*shown, strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3]], ids=["kernel", "forest"])
@every_relation
def test_an_attack_on_the_record_that_pulls_proves_less_than_the_claim(model, neighboring):
    """Two tables told apart by the score of the row in which they differ.

    Noisy steps of one table's scores are a shift of the other's, with noise of the same size; a
    bound from 80 fits each exceeds a right claim with probability 1e-6 or less. That they are told
    apart by less than a sixth of it is five standard deviations away.
    """
    X, y = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, 1.0]]), np.array([1, 1, 1])
    changed = (X, np.array([0, 1, 1])) if neighboring == "replace_one" else (X[1:], y[1:])
    model = clone(model).set_params(
        epsilon=20.0,
        neighboring=neighboring,
        bounds=(-1, 1),
        categories=None,
        n_terms=2,
        solver=NoisyGD(2, step_size=1.0, momentum=0.0),
        random_state=np.random.default_rng(0),
    )
    model.set_params(**({"n_components": 6} if is_classifier(model) else {"n_trees": 3}))
    if is_classifier(model):
        model.set_params(classes=(0, 1))
    model = composed(model, fit_intercept=False, n_samples_hint=3)
    one, other = (
        np.array([raw_score(model.fit(*data), X[:1]) for _ in range(80)])
        for data in ((X, y), changed)
    )
    claim = model.privacy_.gdp_mu
    gap = (one.mean() - other.mean()) / np.sqrt(0.5 * (one.var() + other.var()))
    assert claim / 6 < gap
    cut = 0.5 * (one.mean() + other.mean())
    least = beta.ppf(5e-7, (hits := (one > cut).sum()), 81 - hits)
    most = beta.isf(5e-7, (alarms := (other > cut).sum()) + 1, 80 - alarms)
    assert norm.ppf(least) - norm.ppf(most) < claim


def raw_score(model, X):
    features = dense(matrix_of(model.feature_map_, rows_of(model, X)))
    return float((features @ np.ravel(model.coef_))[0])


def test_more_memory_than_the_leaves_and_the_blocks_is_not_needed(monkeypatch):
    """A byte a tree is kept of each row, beside blocks."""
    facts = TableFacts.of(20, (), bounds=(0.0, 1.0))
    trees = TreeMap.of(facts, n_trees=50)
    alone = AdditiveMap.of(facts, ())
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
