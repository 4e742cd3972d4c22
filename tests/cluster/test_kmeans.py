"""DPKMeans: without noise it is scikit-learn's, with noise its centers are near the clusters."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from skdp import DPKMeans

DIGITS = load_digits().data
RNG = np.random.default_rng(0)
CENTERS = np.array([[-0.6, -0.6], [0.6, -0.5], [0.0, 0.7], [0.7, 0.6]])
BLOBS = CENTERS[RNG.integers(4, size=4000)] + RNG.normal(0.0, 0.05, (4000, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("max_iter", ["auto", 2])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_without_privacy_it_is_scikit_learns(dtype, max_iter):
    rows = DIGITS[:500].astype(dtype)
    ours = DPKMeans(epsilon=math.inf, n_clusters=6, max_iter=max_iter, random_state=3).fit(rows)
    steps = 300 if max_iter == "auto" else max_iter
    theirs = KMeans(6, max_iter=steps, random_state=3).fit(rows)
    for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    np.testing.assert_array_equal(ours.transform(rows), theirs.transform(rows))
    assert ours.score(rows) == pytest.approx(theirs.score(rows), rel=1e-4)


def test_a_generator_is_a_seed_without_privacy_too():
    fits = [
        DPKMeans(epsilon=math.inf, n_clusters=6, random_state=np.random.default_rng(0)).fit(
            DIGITS[:300]
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)


def test_every_cluster_has_a_center_nearby(neighboring):
    """In 200 fits under each relation no center was farther than 0.05 off; the clusters are 0.9."""
    model = DPKMeans(epsilon=3.0, n_clusters=4, bounds=(-1, 1), neighboring=neighboring).fit(BLOBS)
    assert cdist(CENTERS, model.cluster_centers_).min(axis=1).max() < 0.2
    assert model.n_iter_ == 3


def test_labels_are_returned_and_not_kept():
    model = DPKMeans(epsilon=3.0, n_clusters=4, bounds=(-1, 1))
    labels = model.fit_predict(BLOBS)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")
    np.testing.assert_array_equal(labels, model.predict(BLOBS))
    assert labels.dtype == np.int32


def test_distances_and_score_are_those_from_the_centers():
    model = DPKMeans(n_clusters=4, bounds=(-1, 1)).fit(BLOBS)
    away = cdist(BLOBS, model.cluster_centers_)
    np.testing.assert_allclose(model.transform(BLOBS), away, atol=1e-6)
    np.testing.assert_array_equal(model.predict(BLOBS), away.argmin(axis=1))
    assert model.score(BLOBS) == pytest.approx(-(away.min(axis=1) ** 2).sum())


def relative_inertia(model):
    return -model.score(DIGITS) / ((DIGITS - DIGITS.mean(axis=0)) ** 2).sum()


def test_at_epsilon_1_digits_have_clusters():
    """Means of 3 fits are .64 ± .01 and .71 ± .01: five standard deviations below the bounds."""
    for neighboring, most in (("add_remove_one", 0.72), ("replace_one", 0.76)):
        model = DPKMeans(n_clusters=10, bounds=(0, 16), neighboring=neighboring)
        assert np.mean([relative_inertia(model.fit(DIGITS)) for _ in range(3)]) < most


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [1, 7, 30])
def test_any_number_of_clusters_in_any_number_of_columns(n_clusters, neighboring):
    for n_columns in (1, 2, 11):
        rows = RNG.random((20, n_columns))
        model = DPKMeans(n_clusters=n_clusters, bounds=(0, 1), neighboring=neighboring).fit(rows)
        assert model.cluster_centers_.shape == (n_clusters, n_columns)
        assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("max_iter", [0, 1.5, None, "all"])
def test_a_number_of_steps_that_makes_no_sense_is_refused(max_iter):
    with pytest.raises(ValueError, match="max_iter"):
        DPKMeans(bounds=(-1, 1), max_iter=max_iter).fit(BLOBS)


def test_more_steps_cost_the_same_and_more_of_them_are_made():
    model = DPKMeans(n_clusters=4, bounds=(-1, 1), max_iter=7).fit(BLOBS)
    assert model.n_iter_ == 7
    assert model.privacy_.epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
