"""What one record can change in the answers is at most what the queries say, and just that."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.naive_bayes._base import CategoricalFeature, NumericFeature, counts_query
from skdp.privacy import Neighboring

NUMERIC = NumericFeature(-3.0, 5.0, 1e-3)
CATEGORICAL = CategoricalFeature(np.array([0, 1, 2]), 1.0)
N_CLASSES = 3
ROUNDING = 1e-14

numbers = st.floats(-1e3, 1e3) | st.sampled_from([-3.0, 1.0, 5.0])
codes = st.integers(-1, 2)
labels = st.integers(0, N_CLASSES - 1)
relations = st.sampled_from(list(Neighboring))


def check_distance(feature, before, after, neighboring):
    """Compare the answers of two lists of (value, class) with what the query declares."""
    dtype = float if feature is NUMERIC else np.intp

    def answer(records):
        x, classes = (np.array([record[i] for record in records]) for i in range(2))
        return feature.answer(x.astype(dtype), classes.astype(np.intp), N_CLASSES)

    query = feature.query("x", N_CLASSES, neighboring)
    distance = np.abs(answer(before) - answer(after))
    assert distance.size == query.size
    assert np.count_nonzero(distance) <= query.l0_sensitivity
    assert distance.max() <= query.linf_sensitivity * (1.0 + ROUNDING)
    assert distance.sum() <= query.l1_sensitivity * (1.0 + ROUNDING)
    assert np.linalg.norm(distance) <= query.l2_sensitivity * (1.0 + ROUNDING)
    return np.linalg.norm(distance) / query.l2_sensitivity


def neighbors(record, other, neighboring):
    rest = [(0.5 if isinstance(record[0], float) else 1, 0)]
    if neighboring is Neighboring.ADD_REMOVE_ONE:
        return [*rest, record], rest
    return [*rest, record], [*rest, other]


@given(st.tuples(numbers, labels), st.tuples(numbers, labels), relations)
@settings(max_examples=500, deadline=None)
def test_a_number_moves_two_sums_by_what_is_declared(record, other, neighboring):
    check_distance(NUMERIC, *neighbors(record, other, neighboring), neighboring)


@given(st.tuples(codes, labels), st.tuples(codes, labels), relations)
@settings(deadline=None)
def test_a_category_moves_counts_by_what_is_declared(record, other, neighboring):
    check_distance(CATEGORICAL, *neighbors(record, other, neighboring), neighboring)


@pytest.mark.parametrize("neighboring", Neighboring)
def test_no_less_would_do(neighboring):
    """The farthest neighbors are as far apart as declared."""
    nearly = (5.0, 0), (1.0 + 4.0 * -0.1464498349120783, 0)  # where rounding adds most
    check_distance(NUMERIC, *neighbors(*nearly, neighboring), neighboring)
    u = 0.25 * (2.0 + math.sqrt(2.0))  # 1 and u − 1 differ by 2 − u and sum to u
    pair = (5.0, 0), (1.0 + 4.0 * (u - 1.0), 0)
    ratio = check_distance(NUMERIC, *neighbors(*pair, neighboring), neighboring)
    assert ratio == pytest.approx(1.0, abs=1e-5)
    ratio = check_distance(CATEGORICAL, *neighbors((0, 0), (2, 1), neighboring), neighboring)
    assert ratio == pytest.approx(1.0)
    sizes = counts_query("classes", N_CLASSES, neighboring.n_changed)
    assert (sizes.l1_sensitivity, sizes.l2_sensitivity) == (
        neighboring.n_changed,
        math.sqrt(neighboring.n_changed),
    )


def test_sums_are_exact_whatever_the_order_of_the_rows(rng):
    x, classes = rng.uniform(-4.0, 6.0, 100_000), rng.integers(N_CLASSES, size=100_000)
    order = rng.permutation(x.size)
    np.testing.assert_array_equal(
        NUMERIC.answer(x, classes, N_CLASSES), NUMERIC.answer(x[order], classes[order], N_CLASSES)
    )
