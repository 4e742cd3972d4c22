"""X of every real type is read as it is stored: same fit as in float64, no whole copy."""

import tracemalloc
from decimal import Decimal

import numpy as np
import pytest
from sklearn.datasets import make_classification

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.design import ClippedDesign

SOLVERS = [
    "auto",
    "regularized_exponential",
    "noisy_gd",
    "dp_sgd",
    "objective_perturbation",
    "output_perturbation",
    "phased_sgd",
    "coordinate_descent",
]
TYPES = [np.float16, np.int8, np.int64, np.uint8, bool]


def table(n=300, d=6):
    X, y = make_classification(n_samples=n, n_features=d, random_state=0)
    return X.clip(-3.0, 3.0), y


def stored(X, dtype):
    return X > 0.0 if dtype is bool else np.abs(20.0 * X).astype(dtype)


@pytest.mark.parametrize(
    ("solver", "dtype"),
    [(solver, np.float32) for solver in SOLVERS] + [("auto", dtype) for dtype in TYPES],
)
def test_the_type_that_x_is_stored_as_changes_nothing(solver, dtype):
    X, y = table()
    X = stored(X, dtype)
    one, other = (
        DPLogisticRegression(epsilon=1.0, delta=1e-5, solver=solver, random_state=0).fit(rows, y)
        for rows in (X, X.astype(np.float64))
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_least_squares_from_moments_read_float32_as_it_is(order):
    X, y = table()
    X = np.asarray(X, dtype=np.float32, order=order)
    one, other = (
        DPLinearRegression(
            epsilon=1.0, delta=1e-5, solver="adassp", target_bounds=(0.0, 1.0), random_state=0
        ).fit(rows, y)
        for rows in (X, X.astype(np.float64))
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8], ids=lambda t: t.__name__)
def test_rows_at_the_edge_are_no_longer_than_the_bound(dtype):
    """In exact integers: the computed rows s·x of any type have norm at most `data_norm`."""
    rng = np.random.default_rng()
    X = rng.integers(-100, 100, (200, 37)).astype(dtype)
    X[:, 0] += 1  # no row of zeros
    factors = ClippedDesign.clip(X, 1.0).factors
    exact = [sum(int(v) ** 2 for v in row) for row in X]
    for factor, square in zip(factors, exact, strict=True):
        top, bottom = float(factor).as_integer_ratio()
        assert top**2 * square <= bottom**2


@pytest.mark.parametrize(
    ("solver", "order"), [("auto", "C"), ("auto", "F"), ("noisy_gd", "F"), ("dp_sgd", "C")]
)
def test_float32_is_not_copied(solver, order, rng):
    """A fit adds a few numbers per row, and one block of a fixed size at a time."""
    X = np.asarray(rng.normal(size=(100_000, 40)), dtype=np.float32, order=order)
    y = rng.integers(0, 2, 100_000)
    model = DPLogisticRegression(epsilon=1.0, delta=1e-6, solver=solver, random_state=0)
    tracemalloc.start()
    model.fit(X, y)
    model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.35 * X.nbytes + 2**22


def test_a_file_in_memory_is_not_copied(tmp_path):
    X, y = table(5000)
    stored = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=X.shape)
    stored[:] = X
    rows = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=X.shape)
    one = DPLogisticRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(rows, y)
    other = DPLogisticRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(
        X.astype(np.float32), y
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("kind", [np.uint64, np.longdouble, ">f4", ">f8", object, str], ids=str)
def test_what_is_no_plain_number_becomes_float64(kind):
    X, y = table()
    X = np.abs(1e6 * X).astype(np.int64).astype(kind)
    one, other = (
        DPLogisticRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(rows, y)
        for rows in (X, X.astype(np.float64))
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
def test_times_are_no_numbers(kind):
    """As numbers a missing time would be the smallest integer, and not missing."""
    X, y = table()
    with pytest.raises(TypeError, match="column 0 is not numeric"):
        DPLogisticRegression(epsilon=1.0, delta=1e-5).fit(X.astype(np.int64).astype(kind), y)


@pytest.mark.parametrize("value", [2**70, Decimal("1.5")], ids=repr)
def test_lists_of_any_numbers_become_float64(value):
    rows, y = [[value, 1.0]] + 20 * [[0.0, 2.0]], [0, 1, 1] * 7
    one, other = (
        DPLogisticRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(X, y)
        for X in (rows, [[float(v) for v in row] for row in rows])
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
