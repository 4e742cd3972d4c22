"""The clipped design is the clipped matrix with its intercept column, without being built."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skdp.design import ClippedDesign, clip_factors

FORMS = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sparse.csr_matrix}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def rows(n=50, d=6):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1))


def explicit(X, norm, b0):
    clipped = X * np.minimum(1.0, norm / np.linalg.norm(X, axis=1))[:, None]
    return np.column_stack([clipped, np.full(len(X), b0)]) if b0 else clipped


@every_form
@pytest.mark.parametrize("b0", [0.0, 0.3])
@pytest.mark.parametrize("k", [(), (3,)])
def test_it_multiplies_like_the_explicit_matrix(form, b0, k):
    X, rng = rows(), np.random.default_rng(1)
    design, A = ClippedDesign.clip(form(X), 2.0, b0), explicit(X, 2.0, b0)
    theta, residual = rng.normal(size=(A.shape[1], *k)), rng.normal(size=(50, *k))
    np.testing.assert_allclose(design.scores(theta), A @ theta, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        design.weighted_sum(residual), A.T @ residual, rtol=1e-10, atol=1e-10
    )
    assert (design.n_samples, design.n_features) == A.shape


@every_form
@pytest.mark.parametrize("b0", [0.0, 0.3])
@pytest.mark.parametrize("k", [(), (3,)])
def test_no_score_is_beyond_the_reach_and_some_row_attains_it(form, b0, k):
    """Rows along δ itself, or its first left singular vector, attain the spectral norm."""
    delta = np.random.default_rng(1).normal(size=(6 + bool(b0), *k))
    longest = np.linalg.svd(delta.reshape(len(delta), -1))[0][:, 0]
    X = np.vstack([rows(), longest[:6] * (b0 / longest[6] if b0 else 1.0)])
    design = ClippedDesign.clip(form(X), 1e9, b0)
    images = np.linalg.norm(design.scores(delta).reshape(len(X), -1), axis=1)
    ratios = images / np.linalg.norm(explicit(X, 1e9, b0), axis=1)
    assert ratios.max() <= design.reach(delta) * (1.0 + 1e-12)
    assert ratios.max() == pytest.approx(design.reach(delta), rel=1e-9)


@pytest.mark.parametrize("b0", [0.0, 0.3])
@pytest.mark.parametrize("k", [(), (3,)])
def test_sparse_rows_reach_no_further_than_their_entries(b0, k):
    rng = np.random.default_rng(0)
    X = sparse.random(200, 40, density=0.08, format="csr", rng=rng)
    design, delta = ClippedDesign.clip(X, 1.0, b0), rng.normal(size=(40 + bool(b0), *k))
    images = np.linalg.norm(design.scores(delta).reshape(200, -1), axis=1)
    assert (images <= design.row_norms() * design.reach(delta)).all()
    assert design.reach(delta) < np.linalg.norm(delta.reshape(len(delta), -1), 2)


@every_form
def test_the_gram_matrix_of_some_rows(form):
    X, some, weights = rows(), np.array([3, 7, 20]), np.array([1.0, 0.5, 2.0])
    A = explicit(X, 2.0, 0.3)[some]
    gram = ClippedDesign.clip(form(X), 2.0, 0.3).take(some).gram(weights)
    np.testing.assert_allclose(gram, (A.T * weights) @ A, rtol=1e-10, atol=1e-12)


@every_form
def test_no_row_is_longer_than_the_norm_even_after_rounding(form):
    X = rows(2000)
    clipped = X * clip_factors(form(X), 0.7)[:, None]
    assert np.linalg.norm(clipped, axis=1).max() <= 0.7


@pytest.mark.parametrize("claim", [None, True])
def test_entries_of_one_cell_add_up_before_the_row_is_clipped(claim):
    """CSR may store a cell in parts; a flag that says otherwise is not believed."""
    X = sparse.csr_matrix((np.ones(100), np.zeros(100, dtype=int), [0, 100]), shape=(1, 3))
    if claim:
        X.has_canonical_format = True
    z = ClippedDesign.clip(X, 1.0).scores(np.ones(3))
    np.testing.assert_allclose(z, 1.0)
    assert X.nnz == 100


def test_short_rows_keep_their_length():
    np.testing.assert_allclose(clip_factors(np.array([[0.3, 0.4], [0.0, 0.0]]), 1.0), 1.0)


@every_form
def test_blocks_cover_the_rows_once(form):
    X = rows(3000, 200)
    design, theta = ClippedDesign.clip(form(X), 2.0, 0.3), np.ones(201)
    scores = [block.scores(theta) for _, block in design.blocks()]
    np.testing.assert_allclose(np.concatenate(scores), design.scores(theta))


def test_every_row_needs_its_factor():
    with pytest.raises(ValueError, match="factors"):
        ClippedDesign(np.ones((3, 2)), np.ones(2))


def test_clipping_holds_without_an_intercept():
    X = 100.0 * np.eye(3)
    np.testing.assert_allclose(ClippedDesign.clip(X, 1.0).scores(np.ones(3)), 1.0)


@every_form
def test_the_data_are_neither_written_nor_copied(form):
    X = form(rows(20_000, 50))
    if sparse.issparse(X):
        X.data.setflags(write=False)
    else:
        X.setflags(write=False)
    tracemalloc.start()
    design = ClippedDesign.clip(X, 1.0, 0.3)
    design.weighted_sum(design.scores(np.ones(51)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 8 * 20_000


@every_form
def test_taking_a_few_rows_copies_those_alone(form):
    """`ndarray.take` copies a whole array that is not C-ordered first, as a frame's never is."""
    design = ClippedDesign.clip(form(rows(20_000, 50)), 1.0)
    tracemalloc.start()
    design.take(np.arange(0, 20_000, 2_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 8 * 50 + 20_000


def test_rows_taken_do_not_depend_on_the_order_of_storage():
    some = np.array([3, 7, 20])
    taken = [
        ClippedDesign.clip(form(rows()), 1.0).take(some).X for form in (np.array, np.asfortranarray)
    ]
    assert all(X.flags.c_contiguous for X in taken)
    np.testing.assert_array_equal(*taken)
