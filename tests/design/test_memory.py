"""The clipped design is the clipped matrix with its intercept column, without being built."""

import tracemalloc
from fractions import Fraction

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
def test_sparse_rows_reach_no_further_than_their_entries(b0, k, rng):
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


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sparse.csr_matrix,
}
TYPES = ["f8", "f4", "f2", "i1", "u1", "i2", "i4", "u4", "i8", "u8", "?"]


def wide_ranging(dtype, n=700, d=5):
    rng = np.random.default_rng(0)
    if dtype == "?":
        return rng.random((n, d)) < 0.5
    if dtype[0] == "f":
        return (rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1))).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size=(n, d), dtype=dtype, endpoint=True)


OPERATIONS = {
    "factors": lambda A, w: A.factors,
    "scores": lambda A, w: A.scores(w[: A.n_features]),
    "scores of classes": lambda A, w: A.scores(np.outer(w[: A.n_features], [1.0, -2.0])),
    "weighted_sum": lambda A, w: A.weighted_sum(w),
    "weighted_sum of classes": lambda A, w: A.weighted_sum(np.outer(w, [1.0, -2.0])),
    "gram": lambda A, w: A.gram(w),
    "gram_diagonal": lambda A, w: A.gram_diagonal(w),
    "cross_product": lambda A, w: A.cross_product(),
    "row_norms": lambda A, w: A.row_norms(),
    "take": lambda A, w: A.take(np.arange(600, 3, -7)).scores(w[: A.n_features]),
    "slope_sum": lambda A, w: A.slope_sum(lambda y, z: y * np.tanh(z), w[: A.n_features]),
}


@pytest.mark.parametrize(
    ("dtype", "layout"),
    [(t, name) for t in TYPES for name in LAYOUTS if (t, name) != ("f2", "csr")],  # SciPy has none
)
def test_every_operation_on_every_type_is_that_of_float64(dtype, layout):
    X, layout = wide_ranging(dtype), LAYOUTS[layout]
    weights, targets = np.random.default_rng(1).random((2, len(X)))
    stored, plain = (ClippedDesign.clip(A, 1.0, 0.3, targets) for A in (layout(X), X.astype(float)))
    for name, operation in OPERATIONS.items():
        found, expected = operation(stored, weights), operation(plain, weights)
        assert found.dtype == np.float64, name
        size = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13 * size, err_msg=name)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_cells_of_small_types_in_parts_add_up_without_overflow(dtype):
    large = 100.0 if dtype is np.int8 else 3e38
    data, columns = np.array([large, large, 1.0]).astype(dtype), [0, 0, 1]
    X = sparse.csr_matrix((data, columns, [0, 3]), shape=(1, 2))
    design = ClippedDesign.clip(X, 1.0)
    both = 2.0 * float(data[0])
    assert design.factors[0] == pytest.approx(1.0 / np.hypot(both, 1.0), rel=1e-9)
    assert design.scores(np.array([1.0, 0.0])) == pytest.approx([design.factors[0] * both])


def hard_rows(d=40):
    """Rows that cancel, that span all exponents, that underflow or overflow a narrower type."""
    rng = np.random.default_rng()
    signs = rng.choice([-1.0, 1.0], size=(30, d))
    yield (signs * 1e8 + rng.normal(size=(30, d))).astype(np.float32)
    yield signs * 10.0 ** rng.uniform(-300, 99, size=(30, d))
    yield (signs * 10.0 ** rng.uniform(-44, 38, size=(30, d))).astype(np.float32)
    yield (signs * np.float32(1.4e-45)).astype(np.float32)
    yield signs * 5e-324
    yield (signs * 65504.0).astype(np.float16)
    yield (signs * 6e-8).astype(np.float16)
    yield np.nextafter(signs / np.sqrt(d), 2.0 * signs)
    yield np.nextafter((signs / np.sqrt(d)).astype(np.float32), np.float32(2.0) * signs)
    yield rng.integers(-(2**63), 2**63 - 1, size=(30, d))
    yield np.full((30, d), -128, dtype=np.int8)


@pytest.mark.parametrize("norm", [1.0, 0.3, 1e-50, 1e50, 7e-12])
def test_what_a_row_adds_to_a_sum_as_computed_is_within_the_norm(norm):
    """In exact fractions: each product is rounded, and all of them together keep to |r|·norm."""
    residuals = np.random.default_rng().uniform(-1.0, 1.0, size=30)
    for X in hard_rows():
        weights = ClippedDesign.clip(X, norm).factors * residuals
        products = weights[:, None] * X.astype(np.float64)
        for row, residual in zip(products.tolist(), residuals.tolist(), strict=True):
            square = sum(Fraction(value) ** 2 for value in row)
            assert square <= (Fraction(residual) * Fraction(norm)) ** 2
