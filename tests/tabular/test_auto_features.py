"""Features chosen by public facts, or by a released count: what is chosen and what it costs."""

import numpy as np
import pandas as pd
import pytest

from skdp import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPTabularClassifier,
    DPTabularRegressor,
    PrivacyBudget,
)
from skdp.accounting import gdp_mu
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures, AutoFeatures, FeatureMixture, RandomTreeFeatures
from skdp.linear_model._first_releases import RankRelease
from skdp.linear_model._plans import STEEPEST
from skdp.linear_model.linear_regression import LeastSquaresModel
from skdp.linear_model.logistic import LogisticModel

BOX = {"bounds": (-1.0, 1.0)}
MU = gdp_mu(1.0, 1e-5)


def table(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, d))
    return X, (X[:, 0] > 0.0).astype(int)


def kind(model):
    features = model.features_
    if isinstance(features, FeatureMixture):
        return "some" if features.additive_share > 0.5 else type(features.random).__name__
    return "lines" if features.linear_share == 1.0 else "curves"


@pytest.mark.parametrize(
    ("signal_per_column", "wanted", "neighboring"),
    [
        (10.0, "lines", "add_remove_one"),
        (40.0, "curves", "replace_one"),
        (200.0, "some", "add_remove_one"),
        (450.0, "RandomFourierFeatures", "replace_one"),
    ],
)
def test_more_signal_means_richer_features(signal_per_column, wanted, neighboring):
    """The count has a standard deviation of 10/μ = 37; the limits are 6 of them away or more."""
    changed = 2 if neighboring == "replace_one" else 1
    X, y = table(round(signal_per_column * changed / MU * 6), d=6)
    model = DPTabularClassifier(neighboring=neighboring, solver="noisy_gd", **BOX).fit(X, y)
    assert kind(model) == wanted
    assert model.feature_map_.n_features_out == model.coef_.shape[1]
    assert model.predict_proba(X[:5]).shape == (5, 2)


def test_tables_of_categories_get_no_interactions(rng):
    X = rng.integers(0, 2, size=(3000, 3))
    model = DPTabularClassifier(epsilon=3.0, bounds={0: (0, 1)}, categories={1: [0, 1], 2: [0, 1]})
    assert kind(model.fit(X, X[:, 0])) == "curves"


def crossed(n, depends):
    """A number and two categories; the label depends on their interaction, or on each alone."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1.0, 1.0, n), rng.integers(0, 2, (n, 2))])
    z = X[:, 0] * np.where(X[:, 1] == depends * 1.0, -3.0, 3.0) if depends else 3.0 * X[:, 0]
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(int)


TRIED = {"bounds": {0: (-1.0, 1.0)}, "categories": {1: [0, 1], 2: [0, 1]}, "epsilon": 3.0}


@pytest.mark.parametrize(
    ("depends", "subsample", "neighboring"),  # each pair of two of them
    [
        (True, None, "replace_one"),
        (True, 0.5, "add_remove_one"),
        (False, 0.5, "replace_one"),
        (False, None, "add_remove_one"),
    ],
)
def test_trees_are_taken_where_a_trial_finds_interactions(depends, subsample, neighboring):
    """The gain is .3 in log-loss, or below 0, twenty deviations of the noise from the limit."""
    X, y = crossed(8000, depends)
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, neighboring=neighboring)
    terms = {"budget": budget, "neighboring": neighboring, "subsample": subsample}
    model = DPTabularClassifier(**TRIED, **terms).fit(X, y)
    assert kind(model) == ("some" if depends else "curves")
    assert not depends or isinstance(model.features_.random, RandomTreeFeatures)
    assert not depends or model.score(X, y) > 0.75
    assert budget.spent.epsilon == pytest.approx(3.0, rel=1e-6)


def test_a_trial_counts_rows_by_their_shares():
    """Rows with half of the largest weight have half of the gain, far above the noise."""
    X, y = crossed(8000, True)
    model = DPTabularClassifier(**TRIED, max_weight=2.0).fit(X, y, sample_weight=np.ones(8000))
    assert isinstance(model.features_.random, RandomTreeFeatures)


def test_a_trial_of_numbers():
    X, _ = crossed(8000, True)
    y = X[:, 0] * (2.0 * X[:, 1] - 1.0)
    for targets, wanted in ((y, "some"), (X[:, 0], "curves")):
        model = DPTabularRegressor(**TRIED, target_bounds=(-1, 1)).fit(X, targets)
        assert kind(model) == wanted


def test_what_no_trial_is_made_for():
    X, y = crossed(8000, True)
    slow = {"solver": "coordinate_descent"}
    for terms in ({"center": True}, {"standard_errors": True}, {"epsilon": np.inf}, slow):
        own = {key: value for key, value in TRIED.items() if key != "epsilon"}
        features = AutoFeatures(**own)
        model = DPLogisticRegression(**{"epsilon": 3.0, "features": features} | terms).fit(X, y)
        assert kind(model) == "curves"
    assert kind(DPTabularClassifier(**TRIED).fit(X, y, groups=np.arange(8000))) == "curves"


def test_counts_have_no_trial(neighboring):
    """Scores are logarithms, whose distance to counts says nothing."""
    X, y = crossed(8000, True)
    features = AutoFeatures(bounds=TRIED["bounds"], categories=TRIED["categories"])
    terms = {"epsilon": 3.0, "target_bounds": (0, 3), "neighboring": neighboring}
    model = DPPoissonRegressor(features=features, **terms).fit(X, y)
    assert kind(model) == "curves"
    assert "short fits" not in model.privacy_.theorem


def test_a_solver_of_few_columns_keeps_curves(neighboring):
    X, y = crossed(8000, True)
    terms = {**TRIED, "target_bounds": (0, 1), "neighboring": neighboring}
    assert kind(DPTabularRegressor(solver="adassp", **terms).fit(X, y)) == "curves"


@pytest.mark.filterwarnings("ignore::skdp.exceptions.WeakPrivacyWarning")
@pytest.mark.parametrize(
    ("settings", "neighboring"),
    [
        ((1.0, 1e-3), "add_remove_one"),
        ((8.0, 1e-2), "replace_one"),
        ((0.5, 0.1), "add_remove_one"),
        ((0.5, 0.1), "replace_one"),
    ],
)
def test_a_short_fit_costs_less_than_a_large_delta_alone(settings, neighboring):
    """Without a count, a short fit of very many records is planned too: for any of μ in 200."""
    epsilon, delta = settings
    X, y = crossed(3000, True)
    terms = {**TRIED, "epsilon": epsilon, "delta": delta, "neighboring": neighboring}
    model = DPTabularClassifier(**terms).fit(X, y)
    assert 0.99 * epsilon < model.privacy_.epsilon(delta) <= epsilon


@pytest.mark.parametrize(
    ("compared", "n_scores"),
    [
        (LogisticModel._compared(), ()),
        (LogisticModel._compared(), (3,)),
        (LeastSquaresModel._compared(), ()),
    ],
)
def test_errors_are_no_steeper_than_a_trial_assumes(compared, n_scores):
    """The sensitivity of their sum is tested by the metamorphic suite."""
    rng = np.random.default_rng()
    y = rng.integers(0, 3, 5000) if n_scores else rng.choice([-1.0, 1.0], 5000)
    scores = rng.normal(0.0, 3.0, (5000, *n_scores))
    moves = rng.normal(0.0, 1e-6, scores.shape)
    change = compared.of_rows(y, scores + moves) - compared.of_rows(y, scores)
    lengths = np.linalg.norm(moves.reshape(5000, -1), axis=1)
    assert np.all(np.abs(change) <= STEEPEST * lengths + 1e-13)
    assert np.abs(change / lengths).max() > 0.9


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


def test_counts_are_noisy():
    """In the middle of a limit both choices occur; one alone in 21 fits with a chance of 1e-6."""
    X, y = table(round(20.0 * 12 / MU), d=12)
    fits = [
        DPTabularClassifier(neighboring="add_remove_one", solver="noisy_gd", **BOX).fit(X, y)
        for _ in range(21)
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


def test_wrong_bounds_are_found_before_anything_is_spent(unspent):
    X, y = table(100)
    with pytest.raises(ValueError, match="bounds"):
        DPTabularClassifier(budget=unspent, bounds=(1.0, -1.0)).fit(X, y)


def test_choices_are_features_of_their_own():
    features = AutoFeatures(bounds=(0, 1), transformation="log")
    few = features.choice(signal=1.0, n_columns=3)
    assert repr(few) == repr(
        AdditiveFeatures(bounds=(0, 1), transformation="log", linear_share=1.0)
    )
    assert few.fit_transform([[0.5, 0.5, 0.5]]).shape == (1, 6)


def amounts(n, seed=0):
    """A column on the scale of its bounds, and two amounts whose scale is a guess."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1.0, 1.0, n), *rng.lognormal(6.0, 1.0, (2, n))])
    return X, np.tanh(X[:, 0] + np.log(X[:, 1]) - 6.0) / 2.0


PARTLY = {0: (-1.0, 1.0), 1: "auto", 2: "auto"}


@pytest.mark.parametrize(
    ("neighboring", "subsample"), [("replace_one", 0.5), ("add_remove_one", None)]
)
def test_unknown_bounds_are_part_of_the_cost(neighboring, subsample):
    X, y = amounts(1000)
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring=neighboring)
    terms = {"budget": budget, "neighboring": neighboring, "subsample": subsample}
    model = DPTabularRegressor(bounds=PARTLY, target_bounds=(-1, 1), **terms)
    price = budget.price(model, X, y)
    model.fit(X, y)
    assert 0.99 < model.privacy_.epsilon(1e-5) <= 1.0
    assert price.epsilon == pytest.approx(budget.spent.epsilon)
    assert "histograms by the Gaussian mechanism" in model.privacy_.theorem


@pytest.mark.parametrize("bounds", ["auto", PARTLY])
def test_noise_follows_the_columns_without_bounds(monkeypatch, bounds, neighboring):
    """Counts of neighbors differ by at most the sensitivity, and by that much for some."""
    asked, release = [], RankRelease.release

    def spied(ranks, counts, rng):
        asked.append((ranks, counts))
        return release(ranks, counts, rng)

    monkeypatch.setattr(RankRelease, "release", spied)
    X, y = amounts(500)
    other = X.copy()
    other[0] = 50.0 * other[0]
    terms = {"epsilon": 3.0, "target_bounds": (-1, 1), "neighboring": neighboring}
    model = DPTabularRegressor(bounds=bounds, n_samples_hint=500, **terms)
    rows = slice(neighboring == "add_remove_one", None)
    model.fit(X, y).fit(other[rows], y[rows])
    (ranks, counts), (_, neighbors) = asked
    p = 3 if bounds == "auto" else 2
    changed = 2 if neighboring == "replace_one" else 1
    assert len(counts) == p
    assert np.linalg.norm(counts - neighbors) == pytest.approx(np.sqrt(p * changed))
    assert ranks.scale * ranks.mu == pytest.approx(np.sqrt(p * changed), rel=1e-3)
    assert ranks.scale * ranks.mu >= np.sqrt(p * changed)


def test_stated_bounds_stay_and_others_become_ranks():
    X, y = amounts(5000)
    model = DPTabularRegressor(bounds=PARTLY, target_bounds=(-1, 1), random_state=0)
    facts = model.fit(X, y).feature_map_.facts
    u = facts.unit_interval(X)
    np.testing.assert_allclose(u[0], (X[:, 0] + 1.0) / 2.0, atol=1e-12)
    # The largest error was .05 in 20 runs.
    shares = np.argsort(np.argsort(X[:, 1:], axis=0), axis=0).T / len(X)
    assert np.abs(u[1:] - shares).max() < 0.1
    auto = AutoFeatures(bounds=PARTLY)
    linear = DPLinearRegression(features=auto, target_bounds=(-1, 1), random_state=0)
    np.testing.assert_array_equal(linear.fit(X, y).coef_, model.coef_)


def test_unknown_bounds_beat_bounds_that_are_too_wide():
    """R² of .944 to .956 without bounds and of .19 to .22 with wide ones, in 20 runs."""
    X, y = amounts(5000)
    wide = {0: (-1.0, 1.0), 1: (0.0, 1e6), 2: (0.0, 1e6)}
    scores = [
        DPTabularRegressor(epsilon=1.0, bounds=bounds, target_bounds=(-1, 1)).fit(X, y).score(X, y)
        for bounds in (PARTLY, wide)
    ]
    assert scores[0] > scores[1] + 0.2


@pytest.mark.parametrize("epsilon", [100.0, np.inf])
def test_all_features_of_a_mixture_read_the_ranks(epsilon):
    X, y = amounts(3000)
    model = DPTabularClassifier(epsilon=epsilon, bounds=PARTLY).fit(X, y > 0.0)
    assert kind(model) == "RandomFourierFeatures"
    parts = model.feature_map_.additive.facts.ranks, model.feature_map_.other.facts.ranks
    np.testing.assert_array_equal(*parts)
    assert model.score(X, y > 0.0) > 0.9


def test_too_few_records_are_refused_before_the_spend(budget):
    """The least n·μ/(k·√p) is 20."""
    enough = int(np.ceil(20.0 * np.sqrt(2.0) * 2.0 / MU))
    X, y = amounts(enough)
    model = DPTabularRegressor(bounds=PARTLY, target_bounds=(-1, 1), budget=budget)
    with pytest.raises(ValueError, match=r"bounds of more columns.*Nothing was spent"):
        model.fit(X[:-1], y[:-1])
    assert budget.history() == []
    model.fit(X, y)


def test_names_of_columns_and_scales_are_kept():
    X, y = amounts(3000)
    frame = pd.DataFrame(X, columns=["rate", "cost", "income"]).assign(kind="a")
    named = {"bounds": {"rate": (-1, 1), "cost": "auto", "income": "auto"}}
    terms = {"categories": {"kind": ["a", "b"]}, "target_bounds": (-1, 1), "epsilon": 3.0}
    model = DPTabularRegressor(**named, transformation={"income": 100.0}, **terms).fit(frame, y)
    assert model.feature_map_.facts.units.tolist() == [np.inf, 1.0, 100.0]
    assert model.predict(frame).shape == y.shape
    with pytest.raises(ValueError, match="Unknown columns in bounds"):
        DPTabularRegressor(bounds={"cots": "auto"}, **terms).fit(frame, y)
    with pytest.raises(ValueError, match="no pair for the columns"):
        DPTabularRegressor(bounds={"cost": "auto"}, **terms).fit(frame, y)


def test_tables_of_categories_have_no_unknown_bounds():
    X = np.random.default_rng(0).integers(0, 2, size=(3000, 3))
    model = DPTabularClassifier(bounds="auto", categories=[0, 1]).fit(X, X[:, 0])
    assert "histograms" not in model.privacy_.theorem


@pytest.mark.parametrize("settings", [{"delta": 0.0}, {"solver": "dp_sgd"}])
def test_unknown_bounds_need_a_gaussian_fit(settings):
    X, y = amounts(3000)
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
    model = DPTabularClassifier(bounds=PARTLY, budget=budget, **settings)
    with pytest.raises(IncompatibleSolverError, match=r"needs delta > 0.*Nothing was spent"):
        model.fit(X, y > 0.0)
