"""Weighted sums of products of rows, and of gradients of records."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from skdp.data.persons import Persons
from skdp.design import ClippedDesign, SharedDesign, row_products, slope_products
from skdp.losses import LogisticLoss
from skdp.losses.weighted import SharedLoss, weighted_targets

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 3)) * (rng.random((700, 3)) < 0.6)
Y = np.where(rng.random(700) < 0.4, 1.0, -1.0)
THETA = np.array([0.5, -1.0, 0.2, 0.3])
LOSS = LogisticLoss()


def rows():
    """The clipped rows with their intercept, as a matrix."""
    factors = np.minimum(1.0, 1.5 / np.maximum(np.linalg.norm(X, axis=1), 1e-300))
    return np.column_stack([X * factors[:, None], np.full(700, 0.4)])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, np.float32])
def test_products_are_those_of_the_rows(kind):
    A, design = rows(), ClippedDesign.clip(kind(X), 1.5, 0.4, Y)
    h, g = LOSS.hessian(Y, A @ THETA), LOSS.gradient(Y, A @ THETA)
    found = row_products(design, LOSS.hessian, THETA)
    np.testing.assert_allclose(found, (A.T * h) @ A, rtol=1e-6, atol=1e-5)
    found = slope_products(design, LOSS.gradient, THETA)
    np.testing.assert_allclose(found, (A.T * g**2) @ A, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("in_order", [False, True])
def test_gradients_of_a_person_add_up_before_they_are_squared(kind, in_order):
    codes = rng.integers(0, 200, size=700)
    codes = np.unique(np.sort(codes) if in_order else codes, return_inverse=True)[1]
    persons = Persons(codes, int(codes.max()) + 1)
    weights = 2.0 * persons.row_weights()
    loss, targets = SharedLoss(LOSS, 2.0), weighted_targets(Y, weights)
    design = SharedDesign(ClippedDesign.clip(kind(X), 1.5, 0.4, targets), persons, 2.0)
    A = rows()
    slopes = (weights * LOSS.gradient(Y, A @ THETA))[:, None] * A
    sums = np.array([slopes[codes == p].sum(axis=0) for p in range(persons.n_persons)])
    found = slope_products(design, loss.gradient, THETA)
    np.testing.assert_allclose(found, sums.T @ sums, rtol=1e-10, atol=1e-10)


def test_no_persons_add_nothing():
    targets = weighted_targets(np.zeros(0), np.zeros(0))
    design = ClippedDesign.clip(np.zeros((0, 3)), 1.0, 0.4, targets)
    shared = SharedDesign(design, Persons(np.zeros(0, dtype=int), 0), 1.0)
    assert not slope_products(shared, SharedLoss(LOSS, 1.0).gradient, THETA).any()


def test_rows_in_blocks_have_the_same_products():
    from skdp import DPLogisticRegression

    model = DPLogisticRegression(standard_errors="robust", classes=[-1, 1], random_state=0)
    whole = model.fit(X, Y).coef_covariance_
    blocks = model.fit(da.from_array(X, chunks=(100, 3)), da.from_array(Y, chunks=100))
    np.testing.assert_allclose(blocks.coef_covariance_, whole, rtol=1e-5)
