"""Pairs of columns that are all taken, found privately, or rejected: what they are and cost."""

import itertools

import numpy as np
import pandas as pd
import pytest
from additive_models import FACTS, labels, people
from sklearn.base import clone

from skdp import DPAdditiveClassifier, DPAdditiveRegressor, DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.additive.stages import SENSITIVITY, PairCells, _fitting, score_of
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures
from skdp.features.additive import AdditiveMap
from skdp.features.base import TableFacts
from skdp.solvers import NoisyGD

LETTERS = list("abcd")
N_FEATURES = 26  # of `mixed` without pairs, with the intercept
MIXED = {"bounds": {"x": (-1.0, 1.0)}, "categories": dict.fromkeys("uvw", LETTERS)}


def mixed(n=16_000, seed=0):
    """Rows whose target is 1 if the letters u and v are in the same half of the alphabet."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(-1.0, 1.0, size=n)})
    for name in "uvw":
        X[name] = rng.choice(LETTERS, size=n)
    return X, ((X["u"] < "c") == (X["v"] < "c")).to_numpy().astype(int)


def numbers(n=4000, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, d))
    return X, X[:, 0] * X[:, 1]


def additive(**settings):
    return DPAdditiveClassifier(interactions="auto", **{"epsilon": 3.0, **MIXED, **settings})


@pytest.mark.parametrize("n_rows", [0, 1, 2, 40])
@pytest.mark.parametrize("n_own", [1, 3])
def test_a_record_changes_scores_by_what_the_choice_allows_for(n_rows, n_own):
    """A record of several rows in some cells, beside others with the worst residuals."""
    facts = TableFacts.of(2, (), bounds=(0.0, 1.0), categories={1: ["a", "b"]})
    cells, rng, n = PairCells(facts, ((0, 1),)), np.random.default_rng(n_rows), n_rows + n_own
    shares = np.append(np.ones(n_rows), np.full(n_own, 1.0 / n_own))
    for sign, own, _ in itertools.product([1.0, -1.0], [1.0, -1.0], range(20)):
        rows = np.column_stack([rng.choice([0.0, 0.5, np.nan], n), rng.integers(-1, 2, n)])
        residuals = shares * np.append(np.full(n_rows, sign), np.full(n_own, own))
        steps = np.ldexp(np.vstack([shares, residuals]), 31).round()
        before, after = (
            score_of(np.ldexp(cells.sums(rows[:k], steps[:, :k])["0 1"].astype(float), -31))
            for k in (n_rows, n)
        )
        assert 1.0 - 2.0 * SENSITIVITY <= after - before + 0.01 <= 1.0


def test_scores_of_many_neighbors():
    """Sums of a cell on a grid: a row lowers a score by at most 2 − √3/2, from 2 records to 3."""
    for n in range(60):
        for total in np.linspace(-n, n, 2 * n + 1):
            before = score_of(np.array([[n], [total]], float))
            for r in (-1.0, -0.3, 0.0, 1.0):
                after = score_of(np.array([[n + 1.0], [total + r]]))
                assert np.sqrt(0.75) - 2.0 - 1e-12 <= after - before + 0.01 <= 1.0 + 1e-12


def test_the_pair_that_matters_is_found(neighboring):
    """The five others lie 22 times the scale of a choice, 13 records, below the end: 5·e^−22."""
    X, y = mixed(32_000)
    model = additive(epsilon=8.0, neighboring=neighboring).fit(X, y)
    assert model.interactions_ == [("u", "v")]
    assert "u & v" in model.term_names_
    assert model.score(X, y) > 0.9
    effect = model.explain_global()["u & v"].effect
    assert effect[0, 0] > effect[0, 3]
    parts = model.explain_local(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model._scores(X).ravel(), atol=1e-10)


def test_a_search_is_named_in_the_guarantee():
    X, y = mixed()
    theorem = additive().fit(X, y).privacy_.theorem
    assert "pairs of columns by the exponential mechanism" in theorem


def test_few_records_and_noise_have_no_pairs():
    """Labels without a signal: a false pair has a chance of 6·e^−22 or less."""
    X, y = mixed(200)
    assert additive(epsilon=0.5).fit(X, y).interactions_ == []
    X, _ = mixed(32_000)
    noise = np.random.default_rng(1).integers(0, 2, size=len(X))
    assert additive(epsilon=8.0).fit(X, noise).interactions_ == []
    X, product = numbers(200)
    assert additive(bounds=(-1, 1), categories=None).fit(X, product > 0).interactions_ == []


def test_all_pairs_of_few_numbers_need_no_search(neighboring):
    """A count with a standard deviation of 14 records decides; the limit is 900 rows or more."""
    X, product = numbers()
    box = {"bounds": (-1, 1), "categories": None, "neighboring": neighboring}
    model = additive(**box).fit(X, product > 0)
    assert model.interactions_ == [(0, 1), (0, 2), (1, 2)]
    number = DPAdditiveRegressor(
        bounds=(-1, 1), target_bounds=(-1, 1), epsilon=3.0, interactions="auto"
    ).fit(X, product)
    assert number.interactions_ == model.interactions_
    assert number.score(X, product) > 0.5


def test_wide_tables_are_searched_and_found_pairs_leave_the_metric():
    X, product = numbers(20_000, d=14)
    number = DPAdditiveRegressor(
        bounds=(-1, 1), target_bounds=(-1, 1), epsilon=8.0, interactions="auto", n_terms=3
    ).fit(X, product)
    assert number.interactions_ == [(0, 1)]
    facts = TableFacts.of(14, (), bounds=(-1.0, 1.0))
    full = AdditiveMap.of(facts, AdditiveFeatures(bounds=(-1, 1), n_terms=71, missing="error"))
    assert _fitting(((0, 1),), full) == ()  # 1022 features, and 9 of each pair


def test_persons_weights_and_several_classes():
    X, y = mixed()
    groups = np.arange(len(X)) // 2
    model = additive(max_weight=1.0, max_rows=2, solver="noisy_gd", epsilon=8.0)
    model.fit(X, y, sample_weight=np.ones(len(X)), groups=groups)
    assert ("u", "v") in model.interactions_
    three = additive(epsilon=8.0, solver="noisy_gd").fit(X, y + (X["w"] == "a"))
    assert ("u", "v") in three.interactions_


def test_without_privacy_the_best_pair_is_found():
    X, y = mixed()
    assert additive(epsilon=np.inf).fit(X, y).interactions_[0] == ("u", "v")
    X, product = numbers()
    model = clone(additive(epsilon=np.inf, bounds=(-1, 1), categories=None)).fit(X, product > 0)
    assert len(model.interactions_) == 3


def test_bounds_may_be_unknown_as_well():
    X, y = mixed(32_000)
    model = additive(bounds="auto", epsilon=8.0).fit(X, y)
    assert model.interactions_ == [("u", "v")]
    assert model.privacy_.gdp_mu == pytest.approx(gdp_mu(8.0, 1e-5), rel=1e-6)


@pytest.mark.parametrize("solver", ["dp_sgd", "objective_perturbation"])
def test_solvers_that_are_not_gaussian_are_rejected(solver, unspent):
    X, y = mixed()
    with pytest.raises(IncompatibleSolverError, match=r"interactions='auto'.*Nothing was spent"):
        additive(solver=solver, budget=unspent).fit(X, y)


class Narrow(NoisyGD):
    """Takes the features of single columns, and no more."""

    def plan(self, problem, epsilon, delta):
        if problem.n_features > N_FEATURES:
            raise ValueError("too many features")
        return super().plan(problem, epsilon, delta)


def test_a_solver_that_rejects_the_pairs_does_so_before_the_spend(unspent):
    X, y = mixed(32_000)
    with pytest.raises(ValueError, match=r"too many features\.? Nothing was spent"):
        additive(epsilon=8.0, solver=Narrow(), budget=unspent).fit(X, y)
    plain = additive(solver=Narrow()).set_params(interactions=None)
    assert plain.fit(X, y).coef_.size + 1 == N_FEATURES


def test_too_many_pairs_are_rejected_before_the_spend(unspent):
    X, product = numbers(200, d=30)
    model = DPAdditiveClassifier(bounds=(-1, 1), interactions="pairs", budget=unspent)
    with pytest.raises(ValueError, match=r"4215 features.*'auto'.*Nothing was spent"):
        model.fit(X, product > 0)
    many = AdditiveFeatures(categories=[*range(200)], interactions="pairs")
    with pytest.raises(ValueError, match="features, of which 10 in a row"):
        DPLogisticRegression(features=many, budget=unspent).fit(X[:, :4].round(), product > 0)


def test_missing_values_and_unknown_categories_have_cells():
    model = DPAdditiveClassifier(**FACTS, epsilon=8.0, interactions="auto")
    X = people(3000)
    assert model.fit(X, labels(X)).predict(X).shape == (3000,)


def test_a_search_sends_no_rows_of_its_fit(monkeypatch):
    """What runs on blocks of a collection is pickled for each of them."""
    seen, plain = [], DPAdditiveRegressor._residuals

    def residuals(learned, y, scores):
        seen.append(learned.design)
        return plain(learned, y, scores)

    monkeypatch.setattr(DPAdditiveRegressor, "_residuals", staticmethod(residuals))
    X = np.random.default_rng(0).uniform(size=(400, 13))
    model = DPAdditiveRegressor(
        bounds=(0, 1), target_bounds=(0, 1), interactions="auto", n_terms=1, epsilon=np.inf
    )
    model.fit(X, X[:, 0])
    assert seen
    assert all(design is None for design in seen)
