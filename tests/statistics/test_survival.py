"""Survival curves follow the exact product limit, and their bands cover noise and sampling."""

import warnings
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skdp import statistics
from skdp.exceptions import FewRowsWarning

EDGES = np.linspace(0.0, 1000.0, 9)
SETTINGS = [  # rows, scale of the times, ε, neighbors
    (228, 418.0, 1.0, "replace_one"),
    (228, 3000.0, 1.0, "add_remove_one"),
    (1000, 3000.0, 0.3, "replace_one"),
    (2000, 418.0, 3.0, "add_remove_one"),
]


def patients(n, scale, rng):
    """Return times and events of about 70 % of 228 patients, as in trials of advanced cancer."""
    time, end = scale * rng.weibull(1.32, n), rng.uniform(150.0, 1020.0, n)
    return np.minimum(time, end), time <= end


def released(time, event, **terms):
    with warnings.catch_warnings(action="ignore", category=FewRowsWarning):
        return statistics.survival_curve(time, event, **{"edges": EDGES, "epsilon": 1.0} | terms)


def product_limit(time, event, edges):
    """Return the exact Kaplan-Meier curve before each of the edges."""
    order = np.argsort(time)
    time, event = time[order], event[order]
    curve = np.cumprod(1.0 - event / np.arange(time.size, 0, -1))
    return np.append(1.0, curve)[np.searchsorted(time, edges)]


def trials_of(n, scale, epsilon, neighboring):
    """Yield for ever whether the band contains the true curve, at each time."""
    rng, true = np.random.default_rng(), np.exp(-((EDGES[1:] / scale) ** 1.32))
    while True:
        terms = {"epsilon": epsilon, "neighboring": neighboring}
        low, high = released(*patients(n, scale, rng), **terms).interval()
        yield (low <= true) & (true <= high)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_bands_cover_noise_and_sampling(setting, is_covered):
    """Coverage of .93 is refused with probability 2e-5 at a time at most, 6e-4 in all."""
    assert is_covered(trials_of(*setting), good=0.93, poor=0.73, alarm=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_bands_cover_noise_and_sampling_in_many_runs(setting):
    """Coverage of .93 is refused with probability 2e-5 at a time at most, 6e-4 in all."""
    assert stats.binom.cdf(1349, 1500, 0.93) < 2e-5
    assert np.mean([*islice(trials_of(*setting), 1500)], axis=0).min() >= 0.9


@pytest.mark.parametrize(("neighboring", "most"), [("add_remove_one", 0.04), ("replace_one", 0.06)])
def test_the_curve_of_228_patients_is_near_the_exact_one(neighboring, most):
    """The median of 900 runs was .027 and .047; .67 or more of the errors are below `most`."""
    assert stats.binom.cdf(99, 200, 0.65) < 1e-5  # the false alarms of a median of 200
    rng, edges, errors = np.random.default_rng(), np.linspace(0.0, 1022.0, 11), []
    for _ in range(200):
        time, event = patients(228, 418.0, rng)
        found = released(time, event, delta=0.0, edges=edges, neighboring=neighboring)
        errors.append(np.nanmax(np.abs(found.value - product_limit(time, event, edges[1:]))))
    assert np.median(errors) <= most


def test_without_noise_the_actuarial_rule_is_nearer_than_others():
    rng, errors = np.random.default_rng(0), []
    for _ in range(20):
        time, event = patients(2000, 418.0, rng)
        exact = product_limit(time, event, EDGES[1:])
        cells = np.searchsorted(EDGES[1:], time, "right")
        n, d = (np.bincount(cells, w, EDGES.size) for w in (None, event * 1.0))
        at_risk = np.cumsum(n[::-1])[::-1]
        n, d, at_risk = n[:-1], d[:-1], at_risk[:-1]
        others = [np.cumprod(1.0 - d / (at_risk - s * (n - d))) for s in (0.0, 1.0)]
        ours = released(time, event, epsilon=1e4, delta=0.0).value
        errors.append([np.abs(one - exact).max() for one in (ours, *others)])
    first, *others = np.mean(errors, axis=0)
    assert first < 0.4 * min(others)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_curves_and_bands_never_increase(epsilon):
    rng = np.random.default_rng()
    for _ in range(20):
        time, event = patients(228, 418.0, rng)
        arm = rng.integers(0, 2, 228)
        found = released(time, event, epsilon=epsilon, by=arm, keys=[0, 1])
        for curve in (found.value, *found.interval()):
            for own, value in zip(curve, found.value, strict=True):
                assert (np.diff(own[~np.isnan(value)]) <= 0.0).all()
        hazard = found.cumulative_hazard
        assert np.array_equal(np.isnan(hazard), np.isnan(found.value))


def test_few_at_risk_are_nan_with_a_reason():
    """The sd of the noise in the number at risk is above 10, and two of them above 20."""
    found = released(np.full(3, 5.0), np.ones(3, bool), epsilon=0.1, random_state=0)
    assert np.isnan(found.value).all()
    assert "The noise outweighs" in found.notes[0]
    low, high = found.interval()
    assert (low == 0.0).all()
    assert (high == 1.0).all()


def test_odd_times_and_events_are_left_out_or_clipped():
    """At ε = 1e4 the noise is 0 but for a probability of 1e-1000."""
    time = [-3.0, 50.0, np.nan, np.inf, 5e9, None, 150.0, 150.0, 150.0, *[900.0] * 20]
    event = [1, 1, 1, 0, True, 1, 2, None, -1, *[0] * 20]
    found = statistics.survival_curve(time, event, epsilon=1e4, delta=0.0, edges=[0, 100, 200])
    assert found.value == pytest.approx([1.0 - 2.0 / 24.0] * 2)


def test_types_and_edges_are_refused_before_the_spend(unspent):
    good = {"time": [1.0, 2.0], "event": [1, 0], "edges": [0, 1], "epsilon": 1.0, "budget": unspent}
    for wrong, words in [
        ({"event": ["yes", "no"]}, "cannot equal"),
        ({"time": ["a", "b"]}, "numbers"),
        ({"time": [[1.0, 2.0], [1.0, 2.0]]}, "one column"),
        ({"edges": [1, 0]}, "increasing finite"),
        ({"edges": [0, np.inf]}, "increasing finite"),
        ({"event": [1, 0, 1]}, "as many rows"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            statistics.survival_curve(**good | wrong)


def test_columns_of_a_frame_are_named(rng):
    time, event = patients(2000, 418.0, rng)
    frame = pd.DataFrame({"days": time, "died": event, "arm": rng.integers(0, 2, 2000)})
    seeded = {"random_state": 0, "keys": [0, 1]}
    named = released(frame, "died", by="arm", **seeded)
    apart = released(frame["days"], frame["died"], by=frame["arm"], **seeded)
    assert np.array_equal(named.value, apart.value, equal_nan=True)
    assert named.to_frame().index.names == ["arm", "time"]


def test_noise_in_cells_without_events_does_not_make_deaths():
    """The standard deviation of the last value is .01; a false alarm has probability below 1e-9."""
    days, events = np.full(5000, 400.0), np.zeros(5000, dtype=bool)
    curve = statistics.survival_curve(days, events, epsilon=1.0, edges=np.linspace(0, 365, 53))
    assert curve.value[-1] > 0.9


def test_rows_that_are_left_out_are_told():
    days, codes = np.full(5000, 400.0), np.repeat([1, 2], 2500)
    curve = statistics.survival_curve(days, codes, epsilon=1.0, edges=[0, 200, 365])
    assert "None of these values, an event that is not 0 or 1, or no time: 2" in repr(curve)
    private = {"epsilon": 1.0, "edges": [0, 200, 365], "neighboring": "add_remove_one"}
    assert "None of these" not in repr(statistics.survival_curve(days, codes, **private))


def test_what_is_lost_later_does_not_move_the_known_part_of_a_curve():
    """Only the numbers at risk of later cells count, and not what happens in them."""
    days = np.repeat([50.0, 150.0, 250.0, 350.0], [900, 900, 190, 10])
    asked = {"epsilon": 0.5, "edges": np.arange(0.0, 500.0, 100.0), "random_state": 0}
    curves = [
        statistics.survival_curve(days, (days < 300.0) | late, **asked).value
        for late in (False, True)
    ]
    assert np.isnan(curves[0][-1])
    known = ~np.isnan(curves[0])
    assert known.sum() >= 2
    np.testing.assert_array_equal(curves[0][known], curves[1][known])
