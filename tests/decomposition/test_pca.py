"""DPPCA: without noise it is scikit-learn's, with noise it finds what varies most."""

import math

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skdp import DPPCA, DPLogisticRegression
from skdp.pipeline import make_private_pipeline

DIGITS, LABELS = load_digits(return_X_y=True)
ATTRIBUTES = [
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
]


@pytest.mark.parametrize("n_components", [None, 1, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_privacy_it_is_scikit_learns(n_components, dtype):
    rows = DIGITS.astype(dtype)
    ours = DPPCA(epsilon=math.inf, n_components=n_components, bounds=(0, 1)).fit(rows)
    theirs = PCA(n_components).fit(rows)
    for name in ATTRIBUTES:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    reduced = ours.transform(rows)
    assert reduced.dtype == dtype
    np.testing.assert_allclose(reduced, theirs.transform(rows), atol=1e-3)
    back = theirs.inverse_transform(reduced)
    np.testing.assert_allclose(ours.inverse_transform(reduced), back, atol=1e-3)


@pytest.mark.parametrize("data_norm", [None, 60.0])
def test_with_little_noise_attributes_are_near_scikit_learns(neighboring, data_norm):
    rng, turned = np.random.default_rng(0), ortho_group.rvs(6, random_state=0)
    rows = rng.normal(size=(4000, 6)) * [9.0, 6.0, 4.0, 1.0, 1.0, 1.0] @ turned + 5.0
    ours = DPPCA(
        epsilon=1e4, n_components=3, bounds=(-50, 50), neighboring=neighboring, data_norm=data_norm
    ).fit(rows)
    theirs = PCA(3).fit(rows)
    np.testing.assert_allclose(np.abs((ours.components_ * theirs.components_).sum(1)), 1, atol=0.02)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=0.05)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=0.1)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=0.1
    )
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=0.1)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=0.3)
    assert ours.n_samples_ == pytest.approx(4000, abs=1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_attributes_are_those_of_principal_components(neighboring, epsilon):
    pca = DPPCA(epsilon=epsilon, n_components=10, bounds=(0, 16), neighboring=neighboring).fit(
        DIGITS
    )
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(10), atol=1e-12)
    largest = np.abs(pca.components_).argmax(axis=1)
    assert (pca.components_[np.arange(10), largest] > 0.0).all()
    assert (np.diff(pca.explained_variance_) <= 0.0).all()
    assert pca.explained_variance_.min() >= 0.0
    assert 0.0 <= pca.explained_variance_ratio_.sum() <= 1.0 + 1e-12
    assert ((pca.mean_ >= 0.0) & (pca.mean_ <= 16.0)).all()
    assert pca.n_components_ == 10
    reduced = pca.transform(DIGITS)
    np.testing.assert_allclose(reduced, (DIGITS - pca.mean_) @ pca.components_.T, atol=1e-9)
    again = pca.transform(pca.inverse_transform(reduced))
    np.testing.assert_allclose(again, reduced, atol=1e-9)


def captured(pca):
    rows = DIGITS - DIGITS.mean(axis=0)
    return ((rows @ pca.components_.T) ** 2).sum() / (rows**2).sum()


def test_at_epsilon_1_nine_tenths_of_what_can_be_captured_are():
    """Means of 3 fits are .67 ± .003 and .704 ± .003: ten standard deviations above the bounds."""
    for neighboring, least in (("replace_one", 0.63), ("add_remove_one", 0.67)):
        model = DPPCA(n_components=10, bounds=(0, 16), neighboring=neighboring)
        assert np.mean([captured(model.fit(DIGITS)) for _ in range(3)]) > least


def test_a_constant_column_has_no_part_in_components(rng):
    rows = np.c_[rng.normal(size=2000), np.full(2000, 3.0)]
    pca = DPPCA(epsilon=50.0, n_components=1, bounds=(-5, 5)).fit(rows)
    assert abs(pca.components_[0, 1]) < 0.05


def test_more_components_than_columns_are_refused_and_more_than_rows_are_not(budget):
    message = r"n_components must be at most the number of columns, 64, got 65.*Nothing was spent"
    with pytest.raises(ValueError, match=message):
        DPPCA(n_components=65, bounds=(0, 16), budget=budget).fit(DIGITS)
    with pytest.raises(ValueError, match="data_norm"):
        DPPCA(data_norm=-1.0, bounds=(0, 16), budget=budget).fit(DIGITS)
    assert DPPCA(n_components=5, bounds=(0, 16)).fit(DIGITS[:2]).components_.shape == (5, 64)


def test_it_shares_a_budget_with_the_model_behind_it():
    pca = DPPCA(n_components=5, bounds=(0, 16))
    model = DPLogisticRegression(data_norm=40.0, classes=range(10))
    pipeline = make_private_pipeline(pca, model, epsilon=3.0).fit(DIGITS, LABELS)
    labels = [release["label"] for release in pipeline[-1].budget.history()]
    assert labels == ["DPPCA", "DPLogisticRegression"]
    assert pipeline[-1].budget.spent.epsilon <= 3.0
