"""Columns of which no bounds are known: private histograms, and ranks in them."""

import itertools

import numpy as np
import pytest
from additive_models import FACTS, labels, people
from sklearn.base import clone

from skdp import DPAdditiveClassifier, DPAdditiveRegressor, PrivacyBudget
from skdp.exceptions import IncompatibleSolverError
from skdp.features.base import TableFacts
from skdp.inspection import AdditiveEffectsDisplay
from skdp.linear_model._first_releases import N_BINS, counts_of, ranks_of

INF = float("inf")
JOBS = {"categories": FACTS["categories"], "bounds": "auto"}


def test_counts_of_neighbors_are_no_farther_apart_than_the_noise_allows(rng):
    """By brute force over rows with ends, zeros, missing values and infinities."""
    facts = TableFacts.of(3, (), bounds=(-1e9, 1e9), transformation="log")
    values = [-np.inf, -1e9, -3.0, 0.0, 0.5, 7e8, np.inf, np.nan]
    rows = rng.choice(values, size=(60, 3))
    counts = [counts_of(facts, row[None], N_BINS) for row in rows]
    assert max(np.linalg.norm(one) for one in counts) == pytest.approx(np.sqrt(3.0))
    apart = [np.linalg.norm(one - other) for one, other in itertools.combinations(counts, 2)]
    assert max(apart) == pytest.approx(np.sqrt(6.0))


def test_curves_are_learned_without_bounds_and_predictions_go_with_the_release():
    X, y = people(8000), labels(people(8000))
    model = DPAdditiveClassifier(epsilon=1.0, **JOBS, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    before = model.predict_proba(X)
    model.set_params(bounds={"age": (0, 1), "income": (0, 1)})
    np.testing.assert_array_equal(model.predict_proba(X), before)
    parts = model.explain_local(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model._scores(X).ravel(), atol=1e-10)
    pytest.importorskip("matplotlib").use("Agg")
    AdditiveEffectsDisplay.from_estimator(model)


def test_ranks_are_shares_below():
    facts = TableFacts.of(1, (), bounds=(-1e9, 1e9), transformation="log")
    x = np.random.default_rng(0).lognormal(5, 2, size=(20_000, 1))
    ranks = ranks_of(counts_of(facts, x, N_BINS))
    assert ranks.shape == (1, 129)
    found = TableFacts(**{**vars(facts), "ranks": ranks}).unit_interval(x)[0]
    exact = np.argsort(np.argsort(x[:, 0])) / 20_000
    assert np.abs(found - exact).max() < 0.02
    np.testing.assert_array_equal(ranks_of(np.zeros((1, 128))), [np.linspace(0, 1, 129)])


def test_a_number_is_learned_too_and_without_privacy(rng):
    X = rng.lognormal(3, 2, size=(5000, 1))
    y = np.abs(np.log(X[:, 0]) - 3)
    model = DPAdditiveRegressor(epsilon=2.0, bounds="auto", target_bounds=(0, 6), random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8
    assert clone(model).set_params(epsilon=INF).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("solver", ["dp_sgd", "objective_perturbation"])
def test_solvers_that_are_not_gaussian_are_refused(solver, unspent):
    model = DPAdditiveClassifier(**JOBS, solver=solver, budget=unspent)
    with pytest.raises(IncompatibleSolverError, match=r"needs delta > 0.*Nothing was spent"):
        model.fit(people(), labels(people()))


def test_a_gaussian_budget_counts_it_without_loss():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, composition="gdp")
    model = DPAdditiveClassifier(**JOBS, budget=budget).fit(people(), labels(people()))
    assert budget.history()[0]["epsilon"] == pytest.approx(model.epsilon, rel=1e-6)
