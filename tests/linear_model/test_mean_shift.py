"""The mean of predictions is that of the targets: the release after a fit, and its cost."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from skdp import (
    DPAdditiveRegressor,
    DPHuberRegressor,
    DPLinearRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPTabularRegressor,
)
from skdp.features import RandomFourierFeatures
from skdp.linear_model._base import learn, progress_of
from skdp.linear_model._last_releases import LogShift, ScoreShift, _shrunk
from skdp.linear_model._records import TargetRange
from skdp.losses import PoissonLoss, SquaredLoss
from skdp.losses.weighted import SharedLoss
from skdp.privacy import Neighboring

N = 20_000


def data(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(N, 2))
    strength = np.exp(2.0 * X[:, 0])
    if kind == "counts":
        return X, np.minimum(rng.poisson(0.05 * strength), 3), (0, 3)
    if kind == "zeros":
        amounts = np.exp(rng.normal(size=N)) * (rng.random(N) < 0.1 * strength)
        return X, np.minimum(amounts, 20), (0, 20)
    if kind == "amounts":
        return X, np.minimum(strength * np.exp(rng.normal(size=N)), 40), (0, 40)
    return X, 9.0 + X[:, 0], (0, 10)  # far from the middle of the bounds


MODELS = {
    "linear": DPLinearRegression(),
    "poisson": DPPoissonRegressor(),
    "noisy steps": DPLinearRegression(solver="noisy_gd"),
    "additive": DPAdditiveRegressor(bounds=(-0.5, 0.5)),
    "waves": DPLinearRegression(
        features=RandomFourierFeatures(bounds=(-0.5, 0.5), n_components=20)
    ),
}


@pytest.mark.parametrize("kind", ["counts", "zeros", "amounts", "far"])
@pytest.mark.parametrize("name", MODELS)
def test_the_mean_of_predictions_is_that_of_the_targets(name, kind, neighboring):
    """The noise of a shift is .001 of the width of the range that targets are clipped to.

    That is at most .1 of the mean (zeros, under replacement), so that half of the mean is five of
    them: 6e-7. Without a shift clipped derivatives move the first two means by more.
    """
    X, y, bounds = data(kind)
    settings = {"target_bounds": bounds, "neighboring": neighboring, "epsilon": 3.0}
    model = MODELS[name].__class__(**{**MODELS[name].get_params(deep=False), **settings}).fit(X, y)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.1 if kind == "far" else 0.5)
    assert "a mean error" in model.privacy_.theorem
    low, high = model.target_bounds_
    assert bounds[0] <= low <= high <= bounds[1]


def test_features_that_a_count_chooses_are_shifted_too():
    """The noise is an eighth of the mean."""
    X, y, bounds = data("zeros")
    X, y = X[:6000], y[:6000]
    settings = {"epsilon": 8.0, "neighboring": "add_remove_one"}
    model = DPTabularRegressor(bounds=(-0.5, 0.5), target_bounds=bounds, **settings).fit(X, y)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.6)


@pytest.mark.parametrize("unit", ["persons", "weights", "blocks", "a sample"])
@pytest.mark.parametrize("Model", [DPLinearRegression, DPPoissonRegressor])
def test_records_of_any_kind_are_shifted(Model, unit):
    """The noise is an eighth of the mean at most. Weights make one half of the rows count."""
    X, y, bounds = data("counts")
    model, more, wanted = Model(epsilon=5.0, target_bounds=bounds), {}, y.mean()
    if unit == "persons":
        more["groups"] = np.arange(N) // 2
        model.set_params(max_rows=2)
    if unit == "weights":
        more["sample_weight"] = np.where(X[:, 1] > 0, 2.0, 0.0)
        y = np.where(X[:, 1] > 0, y, 3)
        model.set_params(max_weight=2.0)
        wanted = y[X[:, 1] > 0].mean()
    if unit == "a sample":
        model.set_params(subsample=0.5)
    if unit == "blocks":
        da = pytest.importorskip("dask.array")
        model.set_params(solver="noisy_gd")
        model.fit(da.from_array(X, chunks=(6000, 2)), da.from_array(y, chunks=6000))
    else:
        model.fit(X, y, **more)
    assert "a mean error" in model.privacy_.theorem
    rows = X[X[:, 1] > 0] if unit == "weights" else X
    assert model.predict(rows).mean() == pytest.approx(wanted, rel=0.5)


@pytest.mark.parametrize(
    "model",
    [
        DPLinearRegression(epsilon=0.05),
        DPLinearRegression(fit_intercept=False),
        DPLinearRegression(standard_errors=True),
        DPLinearRegression(solver="dp_sgd"),
        DPHuberRegressor(),
        DPQuantileRegressor(),
    ],
    ids=["few rows", "no intercept", "standard errors", "not Gaussian", "Huber", "median"],
)
def test_no_mean_is_released_where_public_facts_speak_against_it(model):
    X, y, bounds = data("counts")
    model.set_params(target_bounds=bounds).fit(X, y)
    assert "a mean error" not in model.privacy_.theorem


def test_a_small_number_of_records_that_is_private_is_not_shifted():
    """A shift needs 1500 rows at ε = 1. There are 500, and their count has noise of about 100."""
    X, y, bounds = data("counts")
    model = DPLinearRegression(target_bounds=bounds, neighboring="add_remove_one")
    model.fit(X[:500], y[:500])
    assert "a mean error" in model.privacy_.theorem
    parameters = model._release_parameters()
    records = model._check_data(parameters, X[:500], y[:500])
    plan = model._plan(parameters, records).fit
    learned = learn(plan, records, np.random.default_rng(0), progress_of(model))
    assert learned.facts.task.shift == 0.0


# -- sensitivity ---------------------------------------------------------------------------------


def numbers_of(rng, kind, neighboring):
    """Return the numbers of rows for a random range in random bounds, and the coefficients."""
    low, high = 0.0, float(rng.uniform(1, 9))
    ends = np.sort(rng.uniform(low, high, 2)) if rng.random() < 0.7 else np.array([low, high])
    if kind is LogShift:
        ends[0] = 0.0
    theta = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1)
    problem = SimpleNamespace(
        loss=SharedLoss(PoissonLoss() if kind is LogShift else SquaredLoss(), 1.0),
        data_norm=float(rng.uniform(0.5, 2.0)),
        intercept_scaling=0.5,
        neighboring=neighboring,
    )
    shift = kind(
        mu=0.1,
        bounds=TargetRange(low, high),
        widening=float(rng.uniform(3, 9)),
        n_records=None,
        n_expected=math.inf,
    )
    found = TargetRange(*ends.tolist())
    wide = shift._around(found)
    assert low <= wide.low <= found.low < found.high <= wide.high <= high
    return shift._numbers(wide, found, problem, theta), theta, problem.data_norm


@pytest.mark.parametrize("kind", [ScoreShift, LogShift])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_errors_of_scores_move_the_numbers_by_no_more_than_the_slope(kind, seed):
    rng = np.random.default_rng(seed)
    numbers, _, _ = numbers_of(rng, kind, Neighboring.REPLACE_ONE)
    y, scores = rng.uniform(-1, 1, 500), rng.uniform(-4, 4, 500)
    moved = numbers.of_rows(y, scores + 1e-3) - numbers.of_rows(y, scores)
    assert np.abs(moved).max() <= 1e-3 * numbers.slope * (1.0 + 1e-9)


# -- the shift -----------------------------------------------------------------------------------


@given(shift=st.floats(-10, 10), noise=st.floats(1e-3, 10))
def test_a_shift_shrinks_to_its_likeliest_posterior_mean(shift, noise):
    """By brute force over the variance of true shifts."""
    variances = np.linspace(0.0, 100.0, 20_001)
    total = variances + noise**2
    best = variances[np.argmin(0.5 * np.log(total) + 0.5 * shift**2 / total)]
    wanted = shift * best / (best + noise**2)
    assert _shrunk(shift, noise, 1.0) == pytest.approx(wanted, abs=0.02 * max(1.0, 1.0 / noise))
    certain = shift if abs(shift) > 3.0 * noise else 0.0
    assert _shrunk(shift, noise, 3.0) == (certain and _shrunk(shift, noise, 1.0))


def test_no_shift_is_no_error():
    assert _shrunk(0.0, 1.0, 1.0) == 0.0
    assert math.isfinite(_shrunk(1e-200, 1.0, 1.0))


@pytest.mark.parametrize(("n", "certain"), [(1000, None), (2500, 3.0), (6000, 1.0)])
def test_few_records_need_a_certain_shift(n, certain, neighboring):
    """At ε = 1 n·μ is 268, 670 and 1600."""
    X, y, bounds = data("amounts")
    model = DPLinearRegression(
        target_bounds=bounds, neighboring=neighboring, n_samples_hint=n, random_state=0
    ).fit(X[:n], y[:n])
    assert ("a mean error" in model.privacy_.theorem) == (certain is not None)
    parameters = model._release_parameters()
    for kind in (ScoreShift, LogShift):
        for release in kind.plan(parameters, model._check_data(parameters, X[:n], y[:n])):
            noise = 0.5 * math.sqrt(n)  # so that sums of 0.9 and 1.1 times the limit are near n
            for share in (0.9, 1.1):
                # of residuals and the count, or of counts and predictions: log(1 + s) is the shift
                off = share * certain * noise
                sums = np.array([off, 0.25 * n]) if kind is ScoreShift else sums_apart(off, noise)
                shift = release._shift(TargetRange(0.0, 1.0), sums, noise)
                assert (shift != 0.0) == (share > 1.0)


def sums_apart(off, noise):
    """Return counted and predicted sums; the shift is `off`/`noise` times its error."""
    predicted, found = 100.0 * noise, off / noise
    ratio = optimize.brentq(
        lambda r: math.log(r) - found * math.hypot(1.0 / r, 1.0) / 100.0, 1.0, 10.0
    )
    return np.array([ratio * predicted, predicted])
