"""What DPPCA and DPKMeans share: sensitivities, nothing beside what is released, costs."""

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skdp import DPPCA, DPKMeans
from skdp.exceptions import BudgetExceededError, OutOfRangeError

BOUNDS = ([-1.0, 0.0], [3.0, 10.0])
RNG = np.random.default_rng(0)
X = np.r_[RNG.normal([0.0, 2.0], 0.3, (300, 2)), RNG.normal([2.0, 8.0], 0.3, (300, 2))]
MODELS = {
    "pca": DPPCA(n_components=1, bounds=BOUNDS),
    "all components": DPPCA(bounds=BOUNDS, data_norm=1.0),
    "k-means": DPKMeans(n_clusters=2, bounds=BOUNDS),
    "one cluster": DPKMeans(n_clusters=1, bounds=BOUNDS, max_iter=1),
}
PUBLIC = {"privacy_", "n_features_in_", "feature_names_in_", "n_components_", "n_iter_", "_filling"}
RELEASED = {
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
    "n_samples_",  # public under replace_one
    "cluster_centers_",
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def attributes(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@every_model
def test_nothing_but_released_and_public_attributes(model, relation):
    model = clone(model).set_params(neighboring=relation).fit(X)
    assert set(vars(model)) - set(model.get_params()) <= PUBLIC | RELEASED


@every_model
def test_what_is_refused_costs_nothing_and_quotes_nothing(model, unspent):
    frame = pd.DataFrame({"a": ["a secret", "b"], "b": [1.0, 2.0]})
    cases = [
        ({"bounds": None}, X, "bounds must be given"),
        ({"bounds": (1, -1)}, X, "bounds of column .* are reversed"),
        ({"bounds": {"a": (0, 1)}}, X, "Unknown columns in bounds"),
        ({"bounds": {0: (0, 1)}}, X, "bounds have no pair"),
        ({"epsilon": math.inf}, X, "epsilon"),
        ({"delta": 0.0}, X, "needs delta > 0"),
        ({}, frame, "column 'a' contains strings"),
        ({}, X[:0], "0 sample"),
        ({}, np.zeros((2, 5000)), "takes at most 4096 columns"),
    ]
    for parameters, rows, message in cases:
        wrong = clone(model).set_params(budget=unspent, **parameters)
        with pytest.raises((ValueError, BudgetExceededError), match=message) as error:
            wrong.fit(rows)
        assert "Nothing was spent" in str(error.value)
        assert "secret" not in str(error.value)
        assert not attributes(wrong)
    with pytest.raises(TypeError, match=r"Sparse data .*Nothing was spent"):
        clone(model).set_params(budget=unspent).fit(sparse.csr_matrix(X))


@every_model
def test_parameters_that_make_no_sense_are_refused(model):
    name = "n_components" if isinstance(model, DPPCA) else "n_clusters"
    for value in (0, -1, 2.0, True, "two"):
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**{name: value}).fit(X)
    with pytest.raises(OutOfRangeError, match="needs delta > 0"):
        clone(model).set_params(delta=0.0).fit(X)


@pytest.mark.slow
@every_model
@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 5.0]],
        np.full((50, 2), 2.0),
        [[np.nan, 5.0], [1.0, np.inf]],
        np.c_[X[:, 0], np.ones(600)],
    ],
    ids=["one row", "one place", "missing and infinite", "a constant column"],
)
def test_rows_without_any_spread_give_a_finite_result(model, relation, rows):
    model = clone(model).set_params(neighboring=relation, delta=1e-6).fit(rows)
    for name, value in attributes(model).items():
        if isinstance(value, np.ndarray | float):
            assert np.isfinite(value).all(), name
    assert np.isfinite(model.transform([[1.0, np.nan]])).all()


@every_model
def test_frames_and_arrays_of_every_type_are_read_alike(model):
    rows = np.floor(X)
    bounds = {"b": (0, 10), "a": (-1, 3)}
    model = clone(model).set_params(random_state=0)
    expected = clone(model).fit(rows).transform(rows)
    frame = pd.DataFrame(rows, columns=["a", "b"])
    for one in (frame, frame.astype({"a": "int8"}), frame.astype("Int64")):
        named = clone(model).set_params(bounds=bounds).fit(one)
        np.testing.assert_array_equal(named.transform(one), expected)
    for kind in (np.int8, np.float32, np.float16):
        found = clone(model).fit(rows.astype(kind)).transform(rows)
        np.testing.assert_array_equal(found, expected)
    assert clone(model).fit(rows).transform(rows.astype(np.float32)).dtype == np.float32


@every_model
def test_a_missing_number_is_the_middle_of_its_bounds(model):
    holes = X.copy()
    holes[::3, 0] = np.nan
    filled = np.where(np.isnan(holes), 1.0, holes)
    model = clone(model).set_params(random_state=0)
    one, other = (clone(model).fit(rows) for rows in (holes, filled))
    np.testing.assert_array_equal(one.transform(holes), other.transform(filled))
    with pytest.raises(ValueError, match="infinity"):
        one.transform([[np.inf, 0.0]])


@every_model
def test_parameters_set_after_a_fit_do_not_change_what_it_does(model):
    fitted, rows = clone(model).fit(X), np.where(X[:3] > 5.0, np.nan, X[:3])
    rows[0, 0] = np.nan
    before = fitted.transform(rows)
    fitted.set_params(bounds=(50.0, 60.0), epsilon=math.inf)
    np.testing.assert_array_equal(fitted.transform(rows), before)


@every_model
def test_names_of_what_comes_out(model):
    prefix = type(model).__name__.lower()
    fitted = clone(model).fit(X)
    width = fitted.transform(X).shape[1]
    assert fitted.get_feature_names_out().tolist() == [f"{prefix}{j}" for j in range(width)]


@every_model
def test_float32_is_not_copied(model):
    rows = RNG.random((100_000, 2), dtype=np.float32)
    wide = np.repeat(rows, 10, axis=1)
    model = clone(model).set_params(bounds=(0, 1), delta=1e-7)
    model.fit(wide[:10])
    tracemalloc.start()
    model.fit(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20  # eight blocks, whatever the number of rows
