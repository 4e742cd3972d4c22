"""Transformers that learn nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skdp.preprocessing import BoundsScaler, RowClipper

X = np.array([[0.0, 10.0, 5.0], [50.0, 15.0, 5.5], [200.0, -3.0, 6.0]])
LOW, HIGH = [0.0, 10.0, 5.0], [100.0, 20.0, 6.0]


@pytest.mark.parametrize(
    "bounds", [(LOW, HIGH), list(zip(LOW, HIGH, strict=True)), np.array([LOW, HIGH])]
)
def test_bounds_map_to_minus_one_and_one_and_clip(bounds):
    expected = [[-1, -1, -1], [0, 0, 0], [1, -1, 1]]
    np.testing.assert_allclose(BoundsScaler(bounds=bounds).fit_transform(X), expected, atol=1e-12)


def test_scalars_bound_every_feature():
    np.testing.assert_allclose(
        BoundsScaler(bounds=(0, 16)).fit_transform([[0.0, 8.0, 16.0]]), [[-1, 0, 1]]
    )


def test_the_output_never_leaves_the_box_by_rounding(rng):
    low = rng.normal(size=50) * 10.0 ** rng.integers(-8, 8, 50)
    high = low + 10.0 ** rng.integers(-8, 8, 50)
    for dtype in (np.float64, np.float32):
        scaled = BoundsScaler(bounds=(low, high)).fit_transform(
            rng.normal(size=(99, 50)).astype(dtype)
        )
        assert scaled.dtype == dtype
        assert np.abs(scaled).max() <= 1.0


@pytest.mark.parametrize("Transformer", [BoundsScaler(bounds=(-1.0, 1.0)), RowClipper()], ids=repr)
def test_what_a_row_becomes_does_not_depend_on_the_others(Transformer):
    alone = Transformer.fit(X[:1]).transform(X[:1])
    np.testing.assert_array_equal(alone, Transformer.fit(1e3 * X).transform(X)[:1])
    fitted = vars(Transformer.fit(X)).keys() - Transformer.get_params().keys()
    assert fitted <= {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("Transformer", [BoundsScaler(bounds=(-1.0, 1.0)), RowClipper()], ids=repr)
def test_frames_in_frames_out(Transformer):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    out = Transformer.set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "bounds",
    [(1, 0), (0, 0), ([0, 0], [1, 1]), 3, (0, np.inf), (np.nan, 1), "ab", [(0, 1)] * 4, None],
    ids=repr,
)
def test_bad_bounds_are_refused(bounds):
    with pytest.raises(ValueError, match=r"bounds|low"):
        BoundsScaler(bounds=bounds).fit(X)


def test_bounds_may_be_given_by_name():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    bounds = {"c": (5, 6), "a": (0, 100), 1: (10, 20)}
    np.testing.assert_array_equal(
        BoundsScaler(bounds=bounds).fit_transform(frame),
        BoundsScaler(bounds=(LOW, HIGH)).fit_transform(X),
    )
    with pytest.raises(ValueError, match=r"no pair for the columns \['c'\]"):
        BoundsScaler(bounds={"a": (0, 1), "b": (0, 1)}).fit(frame)
    with pytest.raises(ValueError, match="Unknown columns in bounds"):
        BoundsScaler(bounds=bounds | {"d": (0, 1)}).fit(frame)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", "object", "boolean"])
def test_missing_values_are_refused_or_the_middle_in_every_type(dtype):
    frame = pd.DataFrame({"a": pd.Series([0, None, 1], dtype=dtype), "b": [0.0, 1.0, 1.0]})
    with pytest.raises(ValueError, match=r"column 'a' has missing.*BoundsScaler") as error:
        BoundsScaler(bounds=(0, 1)).fit(frame)
    assert "'b'" not in str(error.value)
    middle = BoundsScaler(bounds=(0, 1), missing="middle").set_output(transform="pandas")
    out = middle.fit_transform(frame)
    assert out.columns.tolist() == ["a", "b"]
    assert out.to_numpy().tolist() == [[-1.0, -1.0], [0.0, 1.0], [1.0, 1.0]]
    both = BoundsScaler(bounds=(0, 1), missing="indicator").set_output(transform="pandas")
    out = both.fit_transform(frame)
    assert out.columns.tolist() == ["a", "b", "missing_a", "missing_b"]
    assert out["missing_a"].tolist() == [-1.0, 1.0, -1.0]
    assert out["missing_b"].tolist() == [-1.0, -1.0, -1.0]
    with pytest.raises(ValueError, match="missing must be one of 'error', 'middle'"):
        BoundsScaler(bounds=(0, 1), missing="median").fit(frame)


def test_a_frame_of_another_library_with_missing_values():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [0, None, 1]})
    scaled = BoundsScaler(bounds={"a": (0, 1)}, missing="middle").fit_transform(frame)
    assert np.ravel(scaled).tolist() == [-1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match=r"\.collect\(\)"):
        BoundsScaler(bounds={"a": (0, 1)}).fit(frame.lazy())


def test_rows_are_clipped_to_the_norm_and_short_ones_kept():
    out = RowClipper(max_norm=2.0).fit_transform(X)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 2.0)
    np.testing.assert_allclose(RowClipper(max_norm=1e3).fit_transform(X), X)


def test_sparse_rows_stay_sparse():
    out = RowClipper(max_norm=2.0).fit_transform(sparse.csr_matrix(X))
    assert sparse.issparse(out)
    np.testing.assert_allclose(out.toarray(), RowClipper(max_norm=2.0).fit_transform(X))


@pytest.mark.parametrize("max_norm", [0, -1, np.nan, "wide"])
def test_a_bad_norm_is_refused(max_norm):
    with pytest.raises(ValueError, match="max_norm"):
        RowClipper(max_norm=max_norm).fit(X)
