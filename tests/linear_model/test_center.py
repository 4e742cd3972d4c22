"""A learned center: its cost and noise, the rows that are shifted by it, and when it is learned."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from linear_models import CLASSIFIERS, REGRESSORS
from problems import problem_with
from scipy import sparse, stats
from sklearn.base import clone, is_classifier
from sklearn.metrics import roc_auc_score

from skdp import (
    DPAdditiveClassifier,
    DPHingeClassifier,
    DPLogisticRegression,
    DPRandomForestClassifier,
)
from skdp.data.records import Records
from skdp.design.base import SumGrid
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures, RandomFourierFeatures
from skdp.linear_model._first_releases import CenterRelease
from skdp.linear_model._records import LinearFacts, row_sums
from skdp.losses import LogisticLoss
from skdp.privacy import Neighboring
from skdp.solvers import SOLVERS

RELATIONS = ("replace_one", "add_remove_one")
every_model = pytest.mark.parametrize("Model", CLASSIFIERS + REGRESSORS)
NORM = 2.0
CERTAIN = 1e-6  # false-alarm rate of each statistical test


def flags(n=400, d=20, seed=0):
    """Rare flags, which have most of their length in common, and labels of one of them."""
    rng = np.random.default_rng(seed)
    X = 2.0 * (rng.random((n, d)) < 0.15) - 1.0
    return X, ((X[:, 0] > 0) ^ (rng.random(n) < 0.1)).astype(int)


GRID = SumGrid.of(1e6)


def targets(Model, y):
    return y if is_classifier(Model()) else 2.0 * y - 1.0


def release(neighboring, mu=0.5, n_records=None, n_columns=3):
    problem = problem_with(
        LogisticLoss(), n_records, Neighboring(neighboring), norm=NORM, intercept=0.3
    )
    return CenterRelease.plan(mu, problem, n_columns, n_records)


def sums_of(rows, weights=None, groups=None):
    """The sums that are released of the rows of some records, without noise, for norm 1."""
    model = DPLogisticRegression(data_norm=NORM, max_weight=None if weights is None else 3.0)
    records = records_of(model, rows, weights, groups)
    return GRID.floats(row_sums(NORM, NORM / 2.0, GRID, records)["sums"]) / NORM


def records_of(model, rows, weights=None, groups=None):
    y = np.ones(len(rows))
    records = Records.of(model, rows, y, weights, groups, max_weight=3.0)
    facts = LinearFacts(None, SOLVERS["auto"](), None, rows.shape[1], None)
    return records.with_facts(facts)


def every_record():
    """The sums of all records of a small domain: rows long and short, weights, several rows."""
    rows = np.array(list(itertools.product([-9.0, 0.0, 0.5, 9.0], repeat=3)))
    yield from (sums_of(row[None]) for row in rows)
    for row in rows[::5]:
        yield from (sums_of(row[None], weights=np.array([w])) for w in (0.0, 1.0, 2.9, 3.0, 50.0))
    for pair in itertools.product(rows[::9], repeat=2):
        yield sums_of(np.array(pair), groups=["one person"] * 2)
        yield sums_of(np.array(pair), np.array([3.0, 0.6]), groups=["one person"] * 2)


def test_no_record_moves_the_sums_by_more_than_the_noise_allows():
    """By brute force; both bounds are attained."""
    every = np.array(list(every_record()))
    added = np.linalg.norm(every, axis=1).max()
    assert added == pytest.approx(np.sqrt(1.25), rel=1e-9)
    replaced = np.linalg.norm(every[:, None] - every, axis=2).max()
    assert replaced == pytest.approx(2.0, rel=1e-9)
    for neighboring, apart in (("add_remove_one", added), ("replace_one", replaced)):
        first = release(neighboring)
        assert apart / first.added.scale <= first.mu
        assert apart / first.added.scale == pytest.approx(first.mu, rel=1e-3)


def test_sums_are_sums_over_records():
    X, _ = flags(30, 3)
    total = sums_of(X)
    np.testing.assert_allclose(total, sum(sums_of(row[None]) for row in X), rtol=1e-12)
    assert total[-1] == pytest.approx(15.0)


def test_noise_of_the_sums_is_normal_with_the_planned_deviation(neighboring, monkeypatch):
    """Kolmogorov–Smirnov over 4000 entries, with a false-alarm rate of 1e-6."""
    monkeypatch.setattr(CenterRelease, "center", lambda first, noisy: noisy)
    X, _ = flags(50, 3)
    records = records_of(DPLogisticRegression(), X)
    first, rng = release(neighboring), np.random.default_rng()
    exact = sums_of(X)
    noise = [first.release(records, rng) - exact for _ in range(1000)]
    assert stats.kstest(np.ravel(noise) / first.added.scale, "norm").pvalue > CERTAIN


def clipped(rows, norm):
    return rows * np.minimum(1.0, norm / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[:, None]


def both_clips(model, rows):
    around = clipped(rows, model.data_norm_) - model.center_
    return model.center_ + clipped(around, model.center_radius_)


@every_model
def test_scores_are_affine_in_rows_after_both_clips(Model, neighboring):
    X, y = flags()
    model = Model(neighboring=neighboring, data_norm=NORM, epsilon=3.0).fit(X, targets(Model, y))
    assert model.center_ is not None
    scores = both_clips(model, X) @ np.atleast_2d(model.coef_).T + model.intercept_
    np.testing.assert_allclose(model._scores(X), scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model._scores(sparse.csr_matrix(X)), scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model._scores(X.astype(np.int8)), scores, rtol=1e-9, atol=1e-9)


def test_parts_of_additive_models_add_up_to_scores_after_both_clips(neighboring):
    X, y = flags(d=4)
    model = DPAdditiveClassifier(bounds=(-1, 1), neighboring=neighboring).fit(X, y)
    rows = AdditiveFeatures(bounds=(-1, 1)).fit_transform(X)
    scores = both_clips(model, rows) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model._scores(X)[:, 0], scores, atol=1e-9)
    parts = model.explain_local(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, scores, atol=1e-9)
    assert all(np.isfinite(effect.noise).all() for effect in model.explain_global().values())


def test_without_noise_the_center_is_the_mean_and_the_radius_that_of_the_rest():
    first = replace(release("replace_one", mu=1e9, n_records=4), most_records=np.inf)
    rows = np.array([[0.6, 0.8, 0.0], [0.6, -0.8, 0.0], [0.6, 0.0, 0.8], [0.6, 0.0, -0.8]])
    center = first.center(np.append(rows.sum(axis=0), 2.0))
    np.testing.assert_allclose(center.point, [NORM * 0.6, 0.0, 0.0], atol=1e-6)
    assert center.radius == pytest.approx(NORM * 0.8, rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(NORM * rows - center.point, axis=1), center.radius)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e9])
def test_every_release_gives_a_center_within_the_norm(neighboring, size):
    """Whatever the noise is: nothing may fail after the spend."""
    for noisy in size * np.random.default_rng(0).normal(size=(200, 4)):
        for n_records in (None, 1, 1000):
            first = release(neighboring, n_records=n_records)
            if (center := first.center(noisy)) is not None:
                assert np.linalg.norm(center.point) <= NORM * (1.0 + 1e-9)
                assert 0.2 * NORM <= center.radius <= 1.5 * NORM


def test_larger_units_change_nothing():
    """Powers of two, so that every number is rounded alike."""
    X, y = flags()
    model = DPLogisticRegression(center=True, random_state=0, intercept_scaling=0.25)
    one = model.fit(X, y)
    other = clone(model).set_params(data_norm=4.0).fit(4.0 * X, y)
    np.testing.assert_array_equal(4.0 * one.center_, other.center_)
    assert 4.0 * one.center_radius_ == other.center_radius_


def test_blocks_persons_and_weights_of_one_have_the_same_center(neighboring):
    da = pytest.importorskip("dask.array")
    X, y = flags()
    model = DPLogisticRegression(center=True, neighboring=neighboring, classes=(0, 1))
    # with weights, also of classes, no errors of probabilities are released
    seeded = model.set_params(random_state=0, max_weight=1.0, class_weight={0: 1.0, 1: 1.0})
    one = clone(seeded).fit(X, y)
    in_blocks = da.from_array(X, chunks=(90, 20)), da.from_array(y, chunks=90)
    blocks = clone(seeded).set_params(subsample=1.0).fit(*in_blocks)
    persons = clone(seeded).fit(X, y, groups=np.arange(400))
    for other in (blocks, persons):
        np.testing.assert_allclose(other.center_, one.center_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.asarray(blocks.predict(in_blocks[0])), blocks.predict(X))
    if neighboring == "add_remove_one":
        weighted = clone(seeded).fit(X, y, sample_weight=np.ones(400))
        np.testing.assert_allclose(weighted.center_, one.center_, rtol=1e-9, atol=1e-12)


def test_sparse_blocks_stay_as_they_are():
    da = pytest.importorskip("dask.array")
    X, y = flags()
    blocks = da.from_array(X, chunks=(100, 20)).map_blocks(sparse.csr_matrix)
    model = DPLogisticRegression(classes=(0, 1), subsample=1.0)
    assert model.fit(blocks, da.from_array(y, chunks=100)).center_ is None


def test_rows_of_weight_zero_do_not_count():
    X, y = flags()
    model = DPLogisticRegression(
        center=True, neighboring="add_remove_one", max_weight=1.0, random_state=0
    )
    some = np.arange(400) % 4 > 0
    one = clone(model).fit(X[some], y[some], sample_weight=np.ones(300))
    other = clone(model).fit(X, y, sample_weight=some.astype(float))
    np.testing.assert_allclose(other.center_, one.center_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"center": False},
        {"fit_intercept": False},
        {"solver": "dp_sgd"},
        {"solver": "objective_perturbation"},
        {"epsilon": float("inf")},
    ],
    ids=str,
)
def test_rows_stay_as_they_are(neighboring, settings):
    X, y = flags()
    model = DPLogisticRegression(neighboring=neighboring, **settings).fit(X, y)
    assert model.center_ is model.center_radius_ is None
    assert "mean of the rows" not in model.privacy_.theorem


def test_random_features_sparse_rows_and_partial_fits_stay_as_they_are(neighboring):
    X, y = flags(d=4)
    forest = DPRandomForestClassifier(bounds=(-1, 1), neighboring=neighboring)
    waves = DPLogisticRegression(
        features=RandomFourierFeatures(bounds=(-1, 1)), neighboring=neighboring
    )
    for model in (forest, waves):
        assert model.fit(X, y).center_ is None
    fitted = DPLogisticRegression(neighboring=neighboring).fit(sparse.csr_matrix(X), y)
    assert fitted.center_ is None
    stochastic = DPHingeClassifier(solver="dp_sgd", neighboring=neighboring).fit(X, y)
    assert stochastic.partial_fit(X, y).center_ is None


def test_auto_decides_by_public_numbers():
    X, y = flags(3000, 3)
    few, many, noisy = X[:200], X, X[:20]
    for neighboring in RELATIONS:
        model = DPLogisticRegression(neighboring=neighboring, classes=(0, 1))
        assert model.fit(few, y[:200]).center_ is not None
        model.set_params(n_samples_hint=200)
        assert model.fit(few, y[:200]).center_ is not None
        model.set_params(n_samples_hint=100_000, neighboring="add_remove_one")
        assert model.fit(few, y[:200]).center_ is None
    public = DPLogisticRegression(classes=(0, 1))
    assert public.fit(many, y).center_ is None
    assert public.fit(noisy, y[:20]).center_ is None
    assert clone(public).set_params(center=True).fit(many, y).center_ is not None
    curves = DPAdditiveClassifier(bounds=(-1, 1), missing="error", classes=(0, 1))
    X, y = flags(3000, 1)  # 9 features: x is 8 and 45 for each
    assert curves.fit(X[:550], y[:550]).center_ is not None
    assert curves.fit(X, y).center_ is None


def test_a_released_count_decides_where_the_number_is_private():
    """The cost is the same: it must not depend on the number."""
    X, y = flags(20_000, 4)
    model = DPLogisticRegression(neighboring="add_remove_one", classes=(0, 1))
    few, many = clone(model).fit(X[:400], y[:400]), clone(model).fit(X, y)
    assert few.center_ is not None
    assert many.center_ is None
    assert few.privacy_.gdp_mu == many.privacy_.gdp_mu
    assert few.privacy_.theorem == many.privacy_.theorem


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"fit_intercept": False}, "fit_intercept=True"),
        ({"solver": "objective_perturbation"}, "Gaussian DP solver"),
        ({"delta": 0.0, "solver": "exponential_mechanism"}, "delta > 0"),
    ],
    ids=str,
)
def test_a_center_that_cannot_be_learned_is_refused_before_the_spend(settings, why, unspent):
    X, y = flags(d=2)
    model = DPLogisticRegression(center=True, budget=unspent, **settings)
    with pytest.raises(IncompatibleSolverError, match=f"center=True needs .*{why}"):
        model.fit(X, y)


def test_sparse_rows_and_wrong_values_are_refused():
    X, y = flags()
    with pytest.raises(IncompatibleSolverError, match="dense rows"):
        DPLogisticRegression(center=True).fit(sparse.csr_matrix(X), y)
    for wrong in ("yes", 1, None, 0.5):
        with pytest.raises(ValueError, match="center must be 'auto', True or False"):
            DPLogisticRegression(center=wrong).fit(X, y)


def test_a_copy_predicts_alike():
    X, y = flags()
    model = DPLogisticRegression().fit(X, y)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X)
    )
    before = model.decision_function(X)
    np.testing.assert_allclose(model.sparsify().decision_function(X), before)


def test_it_helps_where_rows_have_most_of_their_length_in_common(neighboring):
    """By about 0.14 in the mean of 32 pairs of fits, with a standard error of about 0.027.

    False alarms are below 1e-5. A center that does not help passes in a quarter of the runs, and
    one that harms by as much in none.
    """
    gains = []
    for seed in range(32):
        rng = np.random.default_rng(seed)
        X = np.column_stack([0.1 * rng.normal(size=(1400, 10)), np.ones((1400, 10))])
        y = (X[:, 0] + 0.05 * rng.normal(size=1400) > 0).astype(int)
        fits = [
            DPLogisticRegression(center=center, neighboring=neighboring).fit(X[:400], y[:400])
            for center in (True, False)
        ]
        one, other = (roc_auc_score(y[400:], fit.decision_function(X[400:])) for fit in fits)
        gains.append(one - other)
    assert np.mean(gains) > 0.02
