"""Bounds of the targets that are too wide: a narrower range is found privately."""

import itertools
import warnings

import numpy as np
import pytest
from linear_models import HUBER, LEAST_SQUARES, QUANTILE

from skdp import (
    DPAdditiveRegressor,
    DPLinearRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPTabularRegressor,
)
from skdp.accounting import gdp_mu
from skdp.data.records import Records
from skdp.linear_model._first_releases import TargetSearch, counts_below
from skdp.linear_model._records import TargetRange
from skdp.privacy import Neighboring

RIGHT = (-1.0, 1.0)
WIDE = (-200.0, 200.0)
every_regressor = pytest.mark.parametrize("Model", [HUBER, QUANTILE, LEAST_SQUARES])


def data(n=4000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, 2))
    return X, X @ [1.0, -0.5] + 0.1 * rng.normal(size=n)


def found(model):
    return model.target_bounds_


@every_regressor
def test_wide_bounds_are_narrowed_and_the_fit_is_accurate(Model, neighboring):
    """Of five halvings, two must err by 2.5 standard deviations of the noise: 4e-5 per fit.

    A range without a fifth of the targets is less likely still.
    """
    X, y = data()
    settings = {"epsilon": 2.0, "neighboring": neighboring, "target_bounds": WIDE}
    model = Model(**settings).fit(X, y)
    low, high = found(model)
    assert np.mean((low <= y) & (y <= high)) >= 0.8
    assert high - low < 0.1 * (WIDE[1] - WIDE[0])
    assert model.score(X, y) > 0.2


@pytest.mark.parametrize(
    "model",
    [
        DPLinearRegression(target_bounds=WIDE, epsilon=0.01),
        DPLinearRegression(target_bounds=WIDE, solver="dp_sgd"),
        DPLinearRegression(
            target_bounds=WIDE, solver="exponential_mechanism", epsilon=1e-3, delta=0.0
        ),
        DPQuantileRegressor(target_bounds=WIDE, quantile=[0.5, 0.95]),
        DPLinearRegression(solver="dp_sgd", target_bounds=WIDE),
    ],
    ids=["small n·μ", "not Gaussian", "pure", "extreme quantiles", "sgd"],
)
def test_no_search_where_public_facts_speak_against_it(model):
    model.fit(*data(1000))
    assert found(model) == WIDE
    assert "range of the targets" not in model.privacy_.theorem


def test_an_estimate_of_a_private_small_number_ends_the_search():
    """100 rows at ε = 0.1: the count has a standard deviation of 720 rows, 8,200 are needed."""
    model = DPLinearRegression(target_bounds=WIDE, epsilon=0.1, neighboring="add_remove_one")
    assert found(model.fit(*data(100))) == WIDE


@pytest.mark.parametrize("Model", [HUBER, QUANTILE, LEAST_SQUARES])
@pytest.mark.parametrize(("hint", "n", "when"), [(300, 300, "before"), (None, 200, "after")])
def test_too_few_records_for_a_search_are_warned_of(Model, hint, n, when):
    """The released count has a standard deviation of 53 rows, 530 are needed: 3e-10.

    Below 373 the model is called noise, which says enough.
    """
    X, y = data(n)
    model = Model(target_bounds=WIDE, n_samples_hint=hint, neighboring="add_remove_one")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    of_count = ("With so few records no range", "A noisy count finds about")
    starts = ("300 rows are few",) if when == "before" else of_count
    (one,) = (str(w.message) for w in caught if str(w.message).startswith(starts))
    assert when == "after" or "no range of the targets" in one
    assert found(model) == WIDE


def test_right_bounds_are_kept():
    """Uniform targets: a range of less than a third has less than half of them, 20 σ away."""
    X, _ = data()
    y = np.random.default_rng(1).uniform(*RIGHT, size=len(X))
    assert found(DPLinearRegression(target_bounds=RIGHT, epsilon=2.0).fit(X, y)) == RIGHT


@pytest.mark.parametrize("value", [0.0, 7.25, -200.0, 200.0])
def test_equal_targets_leave_the_bounds(value):
    """A range that is found by noise of 2.5 standard deviations still has the value in it."""
    X, _ = data()
    model = DPLinearRegression(target_bounds=WIDE, epsilon=2.0).fit(X, np.full(len(X), value))
    low, high = found(model)
    assert low <= value <= high


def test_most_targets_at_one_value_do_not_hide_the_others():
    """A tenth of the targets are 1, the others 0; at this ε a range leaves 0.5 % outside."""
    X, _ = data(20_000)
    y = (np.arange(len(X)) % 10 == 0).astype(float)
    low, high = found(DPLinearRegression(target_bounds=WIDE, epsilon=20.0).fit(X, y))
    assert low <= 0.0
    assert high >= 1.0


OTHERS = {
    "counts": lambda rng, n: 1.0 + rng.poisson(0.3, n),
    "amounts": lambda rng, n: np.exp(rng.normal(size=n)),
    "below": lambda rng, n: -np.exp(rng.normal(size=n)),
    "far": lambda rng, n: rng.normal(8.0, 1.0, n),
}


@pytest.mark.parametrize("too_wide", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize("kind", OTHERS)
def test_a_point_mass_does_not_hide_the_others(kind, share, too_wide, neighboring, rng):
    """A count has a standard deviation of 83 rows at most (under replacement), so that a tenth of
    1000 others must be missed by six of them: 1e-8."""
    y, X = np.zeros(20_000), np.zeros((20_000, 1))
    few = round(share * len(y))
    y[:few] = OTHERS[kind](rng, few)
    settings = {"target_bounds": (-20 * too_wide, 20 * too_wide), "neighboring": neighboring}
    low, high = found(DPLinearRegression(epsilon=1.0, **settings).fit(X, y))
    assert np.mean((low <= y[:few]) & (y[:few] <= high)) >= 0.5


@pytest.mark.parametrize(("n_far", "says"), [(0, True), (1, True), (900, False)])
def test_a_fit_says_if_bounds_may_be_too_wide(n_far, says):
    """A count has a standard deviation of 113 rows, a warning needs fewer than 281.

    A fit with one far target sees as many by noise in .6 %, so one of two fits must warn: 4e-5.
    900 far targets are too few for a radius, which needs 1008, unless noise of 252 rows adds to
    them. They are seen in all but 2e-8.
    """
    y, X = np.zeros(20_000), np.zeros((20_000, 1))
    y[:n_far] = 150.0
    model = DPLinearRegression(target_bounds=WIDE, epsilon=0.3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranges = {found(model.fit(X, y)) for _ in range(2)}
    assert bool(caught) == says
    assert WIDE in ranges or n_far == 900
    assert all("narrower bounds" in str(one.message) for one in caught)


SHAPES = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "amounts": lambda rng, n: np.exp(rng.normal(size=n)),
    "counts": lambda rng, n: rng.poisson(0.5, n).astype(float),
}


@pytest.mark.parametrize("power", range(13))
@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_are_no_noise_unless_a_fit_says_that_bounds_are_too_wide(shape, power, rng):
    """Noise hides it in .6 % of fits, if all targets are in one cell: 2e-7 for three fits."""
    X, y = rng.uniform(-0.5, 0.5, size=(4000, 2)), SHAPES[shape](rng, 4000)
    model = DPLinearRegression(target_bounds=(0, 5 * 10.0**power))

    def says_so_or_is_right():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            right = model.fit(X, y).score(X, y) > -1.0
        return right or any("narrower bounds" in str(one.message) for one in caught)

    assert any(says_so_or_is_right() for _ in range(3))


def test_the_warning_does_not_raise_once_the_fit_is_paid():
    """Warnings are errors here. The model is there, whatever the noise."""
    model = DPLinearRegression(target_bounds=WIDE, epsilon=0.3)
    for _ in range(2):
        model.fit(np.zeros((20_000, 1)), np.zeros(20_000))
        assert found(model) == WIDE


def test_bounds_at_the_limit_of_floating_point_are_kept():
    X, _ = data()
    y = np.full(len(X), 1e16)
    low, high = found(DPLinearRegression(target_bounds=(1e16, 1e16 + 4.0)).fit(X, y))
    assert low < high


def test_counts_of_targets_are_found_around_zero():
    X, _ = data(8000)
    y = np.random.default_rng(1).poisson(3.0 * np.exp(X @ [2.0, -1.0]))
    model = DPPoissonRegressor(target_bounds=(0, 5000), epsilon=2.0).fit(X, y)
    low, high = found(model)
    assert low == 0.0
    assert 5.0 < high < 500.0
    assert model.score(X, y) > 0.1


def test_the_range_is_on_the_scale_of_the_transform_and_predictions_stay_within(rng):
    X = rng.uniform(-1, 1, size=(4000, 1))
    y = np.exp(5.0 + X[:, 0])
    model = DPAdditiveRegressor(
        bounds=(-1, 1), target_bounds=(-1e40, 1e40), target_transform="log", epsilon=2.0
    ).fit(X, y)
    low, high = found(model)
    assert -31.0 < low < 5.0 < high < 31.0
    assert model.score(X, y) > 0.5
    assert model.predict(X).max() <= np.expm1(high) * (1.0 + 1e-9)


def test_curves_in_unknown_bounds_and_a_sample_are_searched_too():
    X, y = data(20_000)
    common = {"target_bounds": WIDE, "epsilon": 3.0, "random_state": 0}
    ranked = DPAdditiveRegressor(bounds="auto", **common).fit(X, y)
    sampled = DPLinearRegression(subsample=0.5, **common).fit(X, y)
    for model in (ranked, sampled):
        assert found(model)[1] < 20.0
        assert model.score(X, y) > 0.5
        assert model.privacy_.epsilon(1e-5) <= 3.0 * (1.0 + 1e-9)
    assert ranked.coef_noise_bound_ < 1.0  # in the units of the range, not of the bounds


# -- sensitivity ---------------------------------------------------------------------------------


def records_of(y, groups=None, weights=None):
    y = np.asarray(y, dtype=float)
    records = Records.of_rows(np.zeros((len(y), 1)), y, groups)
    return (
        records if weights is None else records.__class__(**{**vars(records), "weights": weights})
    )


def test_a_record_changes_each_count_by_at_most_one():
    """By brute force: all intervals of cells, and all pairs of one record's targets."""
    bounds, values = TargetRange(0.0, 1.0), [-1e300, 0.0, 1e-9, 0.4, 0.5, 1.0, 1e300]
    counts = [counts_below(bounds, records_of([0.3, value])) for value in values]
    counts.append(counts_below(bounds, records_of([0.3])))
    for one, other in itertools.combinations(counts, 2):
        below = one - other
        below = below[np.diff(below, prepend=np.inf) != 0.0]  # at the cells that differ, in order
        inside = np.triu(below[None, :] - below[:, None])
        for share in np.linspace(0.0, 1.0, 5):
            assert np.abs(inside - share * below[-1]).max() <= 1.0


def test_the_rows_of_a_person_share_one_count():
    bounds, groups = TargetRange(0.0, 1.0), np.array([0, 0, 0, 1])
    counts = np.diff(counts_below(bounds, records_of([0.1, 0.5, 0.9, 0.5], groups)))
    assert counts.sum() == pytest.approx(2.0, abs=1e-8)
    assert counts.max() <= 1.0 + 1 / 3
    assert counts[: 2**13].sum() <= 1 / 3


def test_a_person_with_many_rows_counts_as_one_record():
    X, y = data()
    people = np.arange(len(X)) // 2
    model = DPLinearRegression(target_bounds=WIDE, epsilon=3.0, max_rows=2)
    model.fit(X, y, groups=people)
    low, high = found(model)
    assert np.mean((low <= y) & (y <= high)) >= 0.8
    assert model.privacy_.epsilon(1e-5) <= 3.0 * (1.0 + 1e-9)


@pytest.mark.parametrize(("n", "share"), [(None, 0.05), (1000, 0.02), (250, 8.4 / 250), (20, 0.0)])
def test_a_search_has_a_small_share_of_the_cost(neighboring, n, share):
    """What its counts cost is compared with this share in tests/test_tight_noise.py."""
    search = TargetSearch.plan(1.0, n, Neighboring(neighboring))
    assert (0.0 if search is None else search.mu**2) == pytest.approx(share)


def test_features_that_a_count_chooses_are_fitted_after_one_search(neighboring):
    """DPTabularRegressor counts first if n is private; the search follows, and is paid once."""
    X, y = data(8000)
    model = DPTabularRegressor(
        bounds=(-0.5, 0.5), target_bounds=WIDE, epsilon=2.0, neighboring=neighboring
    ).fit(X, y)
    assert found(model)[1] < 20.0
    assert model.score(X, y) > 0.5
    assert gdp_mu(2.0, 1e-5) * (1.0 - 1e-6) <= model.privacy_.gdp_mu
    assert model.privacy_.epsilon(1e-5) <= 2.0 * (1.0 + 1e-9)
