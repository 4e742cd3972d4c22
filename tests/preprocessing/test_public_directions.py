"""Directions of public rows: what they do to rows, and no fit to private rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.exceptions import PrivacyLeakError
from skdp.pipeline import check_pipeline, make_private_pipeline
from skdp.preprocessing import BoundsScaler, PublicDirections


def rows(n=300, p=40, seed=0):
    rng = np.random.default_rng(seed)
    return 3.0 + rng.normal(size=(n, p)) * np.geomspace(1.0, 0.01, p)


def test_directions_are_principal_ones_with_the_root_of_their_deviations():
    X = rows(n=20_000)
    prior = PublicDirections(n_components=5).fit(X)
    out = prior.transform(X)
    assert out.shape == (20_000, 5)
    np.testing.assert_allclose(out.mean(axis=0), 0.0, atol=1e-9)
    covariance = np.cov(out.T)
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0.0, atol=1e-9)
    ratios = np.diag(covariance) / covariance[0, 0]  # variances of roots are deviations
    np.testing.assert_allclose(ratios, np.geomspace(1.0, 0.01, 40)[:5], rtol=0.05)
    short = np.linalg.norm(out, axis=1) < 1.0
    assert abs(short.mean() - 0.1) < 0.001


def test_rows_are_mapped_one_by_one():
    X = rows()
    prior = PublicDirections(n_components=4).fit(X)
    np.testing.assert_allclose(prior.transform(X)[7:9], prior.transform(X[7:9]), rtol=1e-9)
    assert prior.get_feature_names_out().tolist()[0] == "publicdirections0"


@pytest.mark.parametrize(
    ("n", "epsilon", "expected"), [(500, 1.0, 12), (100, 0.1, 8), (800, 1, 18)]
)
def test_the_number_of_directions_follows_n_and_epsilon(n, epsilon, expected):
    prior = PublicDirections(n_samples_hint=n, epsilon_hint=epsilon).fit(rows())
    assert prior.n_components_ == expected
    assert expected == max(8, np.ceil(n * gdp_mu(epsilon, 1e-5) / 12))


def test_with_little_noise_rows_stay_as_they_are():
    X = rows()
    for n, p in [(1000, 40), (1e6, 40), (100, 23)]:
        prior = PublicDirections(n_samples_hint=n).fit(X[:, :p])
        assert prior.mean_ is None
        np.testing.assert_array_equal(prior.transform(X[:, :p]), X[:, :p])
    assert PublicDirections(n_components=40).fit(X).mean_ is not None


def test_tables_of_categories_stay_as_they_are():
    X = rows()
    X[:, :21] = X[:, :21] > 3.0
    assert PublicDirections(n_samples_hint=100).fit(X).mean_ is None
    assert PublicDirections(n_samples_hint=100).fit(X[:, 2:]).mean_ is not None


def test_equal_rows_show_no_direction():
    with pytest.raises(ValueError, match="are equal"):
        PublicDirections(n_components=2).fit(np.ones((5, 3)))


def test_constant_columns_and_few_rows_give_fewer_directions():
    X = rows(n=6)
    X[:, 3] = 1.0
    prior = PublicDirections(n_components=30).fit(X)
    assert prior.n_components_ == 5
    assert np.isfinite(prior.transform(rows())).all()


@pytest.mark.parametrize(
    ("prior", "X", "message"),
    [
        (PublicDirections(), rows(), "needs n_samples_hint"),
        (PublicDirections(n_components=0), rows(), "n_components"),
        (PublicDirections(n_samples_hint=-1), rows(), "n_samples_hint"),
        (PublicDirections(n_samples_hint=10, epsilon_hint=0), rows(), "epsilon_hint"),
        (PublicDirections(n_components=2), rows(n=1), "two public rows"),
        (PublicDirections(n_components=2), [[1.0, np.nan]] * 3, "missing"),
    ],
)
def test_what_is_wrong_is_rejected(prior, X, message):
    with pytest.raises(ValueError, match=message):
        prior.fit(X)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_pipeline_does_not_fit_it_to_private_rows(fitted):
    prior = PublicDirections(n_components=3)
    prior = prior.fit(rows()) if fitted else prior
    [leak] = check_pipeline(make_pipeline(prior, DPLogisticRegression()))
    assert (leak.severity, leak.kind) == ("high", "learns")
    with pytest.raises(PrivacyLeakError, match="FrozenEstimator"):
        make_private_pipeline(prior, DPLogisticRegression(), epsilon=1.0)


def test_a_frozen_one_stays_as_it_is(budget):
    public, X = rows(), rows(seed=1) - 5.0
    y = (X[:, 0] > -2.0).astype(int)
    prior = FrozenEstimator(PublicDirections(n_components=3).fit(public))
    assert check_pipeline(make_pipeline(prior, DPLogisticRegression())) == []
    model = make_private_pipeline(prior, DPLogisticRegression(), epsilon=2.0, budget=budget)
    model = clone(model).set_params(dplogisticregression__budget=budget).fit(X, y)
    np.testing.assert_array_equal(model[0].estimator.mean_, prior.estimator.mean_)
    assert len(budget.history()) == 1


@pytest.mark.parametrize(("epsilon", "gain"), [(0.3, 0.0), (1.0, -0.025)])
def test_digits_are_recognized_better_with_public_rows(epsilon, gain):
    """By experiment .07 and .005, with standard errors of .01 and .004: seven of them apart."""
    X, y = load_digits(return_X_y=True)
    X = BoundsScaler(bounds=(0, 16)).fit_transform(X)
    gains = []
    for seed in range(16):
        order = np.random.default_rng(seed).permutation(len(X))
        public, test, train = order[:200], order[200:520], order[520:]
        hints = {"n_samples_hint": len(train), "epsilon_hint": epsilon}
        prior = PublicDirections(**hints).fit(X[public])
        scores = []
        for step in (FrozenEstimator(prior), "passthrough"):
            model = DPLogisticRegression(
                epsilon=epsilon,
                classes=range(10),
                neighboring="add_remove_one",
                n_samples_hint=len(train),
            )
            model = make_pipeline(step, model).fit(X[train], y[train])
            scores.append(model.score(X[test], y[test]))
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > gain
