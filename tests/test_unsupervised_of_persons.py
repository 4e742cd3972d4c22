"""DPPCA and DPKMeans of persons with several rows: all of them count together as one record."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPPCA, DPKMeans

RNG = np.random.default_rng(0)
LOW, HIGH = np.array([-1.0, 0.0, -1e3]), np.array([1.0, 9.0, 1e3])
BOUNDS = list(zip(LOW.tolist(), HIGH.tolist(), strict=True))
MODELS = {
    "pca": DPPCA(epsilon=2.0, n_components=2, bounds=BOUNDS),
    "pca, norm": DPPCA(epsilon=2.0, n_components=2, data_norm=500.0, bounds=BOUNDS),
    "one cluster": DPKMeans(epsilon=2.0, n_clusters=1, bounds=BOUNDS),
    "four clusters": DPKMeans(epsilon=20.0, n_clusters=4, max_iter=2, bounds=BOUNDS),
}
N = 300
COUNTS = RNG.integers(1, 6, N)
WHOSE = RNG.permutation(np.repeat(np.arange(N), COUNTS))
X = RNG.uniform(LOW, HIGH, (WHOSE.size, 3)) * (0.2 * COUNTS[WHOSE])[:, None]
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def test_groups_of_single_rows_release_what_no_groups_release(relation):
    """Where values are whole numbers of steps, so that no rounding differs."""
    rows = np.round(RNG.uniform(-1.0, 1.0, (500, 3)) * 64.0) / 64.0
    model = DPKMeans(n_clusters=2, bounds=(-1, 1), neighboring=relation, random_state=0)
    alone, grouped = clone(model).fit(rows), clone(model).fit(rows, groups=np.arange(500))
    np.testing.assert_array_equal(grouped.cluster_centers_, alone.cluster_centers_)
    assert (alone.privacy_.unit, grouped.privacy_.unit) == ("record", "person")


@pytest.mark.parametrize("epsilon", [5000.0, np.inf])
def test_persons_count_alike(epsilon, relation):
    weights = 1.0 / COUNTS[WHOSE]
    bounds = {"bounds": BOUNDS, "neighboring": relation, "random_state": 0}
    rows = np.clip(X, LOW, HIGH)
    pca = DPPCA(epsilon=epsilon, n_components=1, data_norm=2000.0, **bounds).fit(rows, groups=WHOSE)
    expected = np.average(rows, axis=0, weights=weights)
    np.testing.assert_allclose(pca.mean_, expected, rtol=0.02, atol=0.02)
    assert abs(pca.mean_[1] / rows.mean(axis=0)[1] - 1.0) > 0.1
    covariance = np.cov(rows.T, aweights=weights, ddof=0) * N / (N - 1.0)
    values, vectors = np.linalg.eigh(covariance)
    assert abs(pca.components_[0] @ vectors[:, -1]) > 0.999
    assert pca.explained_variance_[0] == pytest.approx(values[-1], rel=0.02)
    assert pca.n_samples_ == pytest.approx(N, rel=0.01)
    kmeans = DPKMeans(epsilon=epsilon, n_clusters=1, **bounds).fit(rows, groups=WHOSE)
    if epsilon == np.inf:
        np.testing.assert_allclose(kmeans.cluster_centers_[0], expected, rtol=1e-6)


def test_what_is_public_of_persons_is_their_number():
    """Under replace_one, where a person may have any number of rows."""
    fits = [
        DPPCA(bounds=BOUNDS, random_state=0).fit(X[rows], groups=WHOSE[rows])
        for rows in (slice(None), np.unique(WHOSE, return_index=True)[1])
    ]
    assert fits[0].n_samples_ == fits[1].n_samples_ == N


def test_labels_and_coordinates_go_with_a_fit_of_persons():
    kmeans = DPKMeans(n_clusters=2, bounds=BOUNDS)
    assert kmeans.fit_predict(X, groups=WHOSE).shape == WHOSE.shape
    assert kmeans.privacy_.unit == "person"
    pca = DPPCA(n_components=1, bounds=BOUNDS)
    assert pca.fit_transform(X, groups=WHOSE).shape == (WHOSE.size, 1)
    assert pca.privacy_.unit == "person"
