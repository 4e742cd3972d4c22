"""Scalers that spend on their numbers, alone and in a pipeline with one budget."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from skdp import DPGaussianNB, DPLogisticRegression
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPQuantileClipper, DPStandardScaler
from skdp.statistics import mean

X, Y = make_classification(4000, 5, random_state=0)
BOUNDS = (-20, 20)
SCALERS = [DPStandardScaler(bounds=BOUNDS), DPMinMaxScaler(bounds=BOUNDS)]
SCALERS += [DPQuantileClipper(bounds=BOUNDS)]
every_scaler = pytest.mark.parametrize("scaler", SCALERS, ids=lambda s: type(s).__name__)
PUBLIC = {"privacy_", "n_features_in_", "feature_names_in_"}
RELEASED = {"mean_", "var_", "scale_", "data_min_", "data_max_", "low_", "high_"}


@every_scaler
def test_nothing_but_released_and_public_attributes(scaler, neighboring):
    scaler = clone(scaler).set_params(neighboring=neighboring).fit(X)
    assert set(vars(scaler)) - set(scaler.get_params()) <= PUBLIC | RELEASED


@every_scaler
@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", "object"])
def test_a_missing_number_is_the_middle_of_its_bounds_in_every_type(scaler, dtype):
    values = pd.Series([1.0, None, 2.0, 3.0, 1.0] * 40)
    frame = pd.DataFrame({"a": values.astype(dtype), "b": values.fillna(2.0)})
    bounds = {"b": (1, 3), "a": (1, 3)}
    scaler = clone(scaler).set_params(bounds=bounds, random_state=0)
    scaler.set_output(transform="pandas")
    out = scaler.fit_transform(frame)
    same = clone(scaler).fit_transform(frame.assign(a=frame.b))
    pd.testing.assert_frame_equal(out, same)


@every_scaler
def test_what_is_refused_costs_nothing_and_quotes_nothing(scaler, unspent):
    scaler = clone(scaler).set_params(budget=unspent)
    weights, text = np.ones(len(X)), pd.DataFrame({"a": ["a secret"]})
    for fit, message in (
        (lambda: scaler.fit(X, sample_weight=weights), "does not take sample_weight"),
        (lambda: scaler.fit(text), "column 'a' contains strings"),
        (lambda: clone(scaler).set_params(bounds=None).fit(X), "bounds must be given"),
        (lambda: clone(scaler).set_params(epsilon=np.inf).fit(X), "epsilon must be finite"),
    ):
        with pytest.raises(ValueError, match=f"{message}.*Nothing was spent") as error:
            fit()
        assert "secret" not in str(error.value)


def test_without_much_noise_they_scale_as_they_should():
    scaled = DPStandardScaler(epsilon=2000.0, bounds=(-8, 8)).fit_transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, atol=0.02)
    ranged = DPMinMaxScaler(epsilon=2000.0, bounds=(-8, 8), tail=0.05).fit_transform(X)
    np.testing.assert_allclose((np.abs(ranged) == 1.0).mean(axis=0), 0.1, atol=0.01)
    clipped = DPQuantileClipper(epsilon=2000.0, bounds=(-8, 8), quantiles=(0.2, 1.0)).fit_transform(
        X
    )
    np.testing.assert_allclose(clipped.min(axis=0), np.quantile(X, 0.2, axis=0), atol=0.02)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_variance_below_its_noise_makes_no_column_large(neighboring, delta):
    narrow = np.full((3000, 8), 30.0)
    scaler = DPStandardScaler(epsilon=0.5, delta=delta, bounds=(0, 100), neighboring=neighboring)
    assert np.abs(scaler.fit_transform(narrow)).max() < 6.0  # a false alarm in 1e9 runs


def test_a_small_deviation_that_is_well_measured_is_kept():
    narrow = np.random.default_rng(0).normal(30.0, 1.0, size=(300_000, 2))
    scaler = DPStandardScaler(epsilon=1.0, delta=1e-7, bounds=(0, 100)).fit(narrow)
    assert scaler.scale_ == pytest.approx(1.0, rel=0.5)  # a false alarm in 1e5 runs


def test_three_private_steps_and_pure_privacy():
    steps = DPQuantileClipper(bounds=BOUNDS), DPStandardScaler(bounds=BOUNDS)
    model = make_private_pipeline(*steps, DPGaussianNB(bounds=(-3, 3)), delta=0.0, epsilon=9.0)
    model.fit(X, Y)
    assert model[-1].budget is model[0].budget
    assert 8.9 < model[-1].budget.spent.epsilon <= 9.0
    assert model[-1].epsilon == pytest.approx(0.9 * 9.0)


def test_the_steps_that_were_given_are_left_alone():
    given, public = DPStandardScaler(), BoundsScaler(bounds=BOUNDS)
    made = make_private_pipeline(public, given, DPLogisticRegression(), epsilon=2.0)
    assert given.epsilon == 1.0
    assert given.budget is None
    assert made[0] is public
    with pytest.raises(ValueError, match="No step is private"):
        make_private_pipeline(public)
    with pytest.raises(ValueError, match=r"StandardScaler.*would be learned"):
        make_private_pipeline(StandardScaler(), DPLogisticRegression())
    with pytest.raises(ValueError, match="model_share"):
        make_private_pipeline(given, model_share=1.0)


@pytest.mark.parametrize("make", [BoundsScaler, partial(DPMinMaxScaler, epsilon=1e3)])
def test_bounds_by_number_are_by_name_where_columns_have_numbers_for_names(make):
    rows = np.random.default_rng(0).uniform(0, 10, size=(500, 2)) * [1.0, 0.01]
    frame = pd.DataFrame(rows, columns=[1, 0])
    scaler = make(bounds={1: (0, 10), 0: (0, 0.1)}).fit(frame)
    for one in (frame, rows):
        spread = scaler.transform(one).std(axis=0)
        assert spread[1] == pytest.approx(spread[0], rel=0.2)
    swapped = clone(scaler).fit(rows[:, ::-1]).transform(rows[:, ::-1])
    assert swapped.std(axis=0)[1] == pytest.approx(swapped.std(axis=0)[0], rel=0.2)
    assert mean(frame, epsilon=1e3, bounds=scaler.bounds).value == pytest.approx(
        rows.mean(axis=0), rel=0.1
    )


def test_naive_bayes_takes_bounds_by_the_same_names():
    rows = X[:, :2] * [1.0, 0.01]
    frame = pd.DataFrame(rows, columns=[1, 0])
    named = DPGaussianNB(epsilon=1e3, bounds={1: (-9, 9), 0: (-0.09, 0.09)}).fit(frame, Y)
    placed = DPGaussianNB(epsilon=1e3, bounds=([-9, -0.09], [9, 0.09])).fit(rows, Y)
    np.testing.assert_allclose(named.theta_, placed.theta_, rtol=0.05, atol=1e-3)
    np.testing.assert_allclose(named.var_, placed.var_, rtol=0.05)


def test_a_refit_forgets_names_that_are_numbers():
    frame = pd.DataFrame(X[:, :2], columns=[1, 0])
    scaler = BoundsScaler(bounds={1: (-9, 9), 0: (-1, 1)}).fit(frame).fit(X[:, :2])
    assert scaler.transform([[1.0, 9.0]]).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("relation", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize(
    ("scale", "message"),
    [(1e3, r"\[0, 1\] may be at an end"), (1e-5, r"the variance of columns \["), (1.0, None)],
)
def test_bounds_in_other_units_are_named(scale, message, relation):
    """Values beyond or far inside of (0, 100): means at an end, a variance below the noise.

    The noise of both variances is beyond the limit in one of 10⁶ fits.
    """
    X = scale * np.random.default_rng(0).uniform(10.0, 90.0, size=(5000, 2))
    scaler = DPStandardScaler(bounds=(0, 100), neighboring=relation)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        scaler.fit(X)
    texts = [str(one.message) for one in found]
    assert texts == [] if message is None else any(re.search(message, text) for text in texts)
