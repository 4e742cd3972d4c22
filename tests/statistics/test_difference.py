"""Differences and ratios of groups cover the truth, and no record moves more than was spent for."""

import warnings
from itertools import islice, product

import numpy as np
import pytest
from scipy import stats

from skdp import statistics
from skdp.exceptions import FewRowsWarning
from skdp.statistics.population import RatesStatistic
from skdp.workloads import QueryPlan
from skdp.workloads.plan import counts_query

SETTINGS = [  # rows, share of the second group, rates, ε, neighbors, and other terms
    (300, 0.5, (0.01, 0.01), 0.3, "replace_one", {}),
    (300, 0.2, (0.03, 0.01), 3.0, "replace_one", {}),
    (1000, 0.1, (0.01, 0.03), 1.0, "add_remove_one", {}),
    (4000, 0.5, (0.2, 0.2), 1.0, "replace_one", {"noise": "gaussian"}),
    (4000, 0.2, (0.2, 0.5), 0.3, "add_remove_one", {"noise": "laplace", "delta": 0.0}),
    (4000, 0.5, (0.05, 0.1), 1.0, "replace_one", {"bounds": (0, 1)}),
    (100_000, 0.5, (0.01, 0.01), 0.3, "add_remove_one", {"bounds": (0, 1)}),
]


def trials_of(n, share, rates, epsilon, neighboring, terms, n_groups=1):
    """Yield for ever whether all intervals of differences, and all of ratios, contain the truth."""
    rng = np.random.default_rng()
    while True:
        arm = (rng.random(n) < share) * rng.integers(1, n_groups + 1, n)
        x = rng.random(n) < np.where(arm > 0, rates[1], rates[0])
        x = x * 1.0 if "bounds" in terms else x
        asked = {"by": arm, "keys": range(n_groups + 1), "neighboring": neighboring, **terms}
        with warnings.catch_warnings(action="ignore", category=FewRowsWarning):
            found = statistics.difference(x, epsilon=epsilon, **asked)
        pairs = found.interval(simultaneous=True), found.ratio_interval(simultaneous=True)
        true = rates[1] - rates[0], rates[1] / rates[0]
        yield [np.all((one[0] <= t) & (t <= one[1])) for one, t in zip(pairs, true, strict=True)]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_cover_noise_and_sampling(setting, is_covered):
    assert is_covered(trials_of(*setting))


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_cover_noise_and_sampling_in_many_runs(setting, n_groups):
    """Coverage of .94 is refused below .911 in 1500 runs: at most 1e-5 a number."""
    assert stats.binom.cdf(0.911 * 1500, 1500, 0.94) < 1e-5
    trials = islice(trials_of(*setting, n_groups), 1500)
    assert np.mean([*trials], axis=0).min() >= 0.911


def test_intervals_cover_persons_with_rows_in_both_groups(is_covered):
    rng, person = np.random.default_rng(), np.repeat(np.arange(1000), 4)

    def trials():
        while True:
            x = (rng.random(1000)[person] < 0.2) ^ (rng.random(4000) < 0.1)
            asked = {"by": rng.random(4000) < 0.5, "keys": [False, True], "groups": person}
            low, high = statistics.difference(x, epsilon=1.0, **asked).interval()
            yield low[0] <= 0.0 <= high[0]

    assert is_covered(trials())


@pytest.mark.parametrize("n_changed", [1, 2])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_record_moves_the_table_as_far_as_stated(noise, n_changed, monkeypatch):
    """Brute force over all pairs of values, gaps and groups of a row, or of persons with two."""
    seen = []

    def release(plan, answers, rng):
        seen.append((np.ravel(answers["cells"]), plan.queries[0]))
        return {"cells": np.ones(plan.queries[0].size)}

    monkeypatch.setattr(QueryPlan, "release", release)
    relation = ("add_remove_one", "replace_one")[n_changed - 1]
    rng, cells = np.random.default_rng(), [*product([True, False, None], repeat=2)]
    records = [(*numbers, key) for numbers in cells for key in (0, 1, None)]
    of_one = [[row] for row in records]
    of_two = [[records[i] for i in rng.integers(len(records), size=2)] for _ in range(60)]
    for own in (of_one, of_two):
        seen.clear()
        for added in [*own, []]:
            table = np.array([(True, False, 0), (None, True, 1), *added], dtype=object)
            groups = [0, 1, *[2] * len(added)] if own is of_two else None
            asked = {"by": table[:, 2], "keys": [0, 1], "groups": groups, "noise": noise}
            with warnings.catch_warnings(action="ignore"):
                statistics.difference(table[:, :2], epsilon=1.0, neighboring=relation, **asked)
        sums, query = np.array([sums for sums, _ in seen]), seen[0][1]
        others = sums[-1:] if n_changed == 1 else sums[:-1]
        moved = np.abs(sums[:-1, None] - others)
        assert moved.max() <= query.linf_sensitivity
        assert moved.sum(axis=2).max() <= query.l1_sensitivity
        assert np.linalg.norm(moved, axis=2).max() <= query.l2_sensitivity
        if own is of_one:
            assert query == counts_query("cells", 8, 2 * n_changed)


@pytest.mark.parametrize(("relation", "square"), [("add_remove_one", 2.09), ("replace_one", 4.18)])
def test_squares_of_numbers_add_little_to_the_noise(relation, square, monkeypatch):
    """A value, .3 of its square and 1, in one or two groups; brute force over values."""
    seen = []

    def release(plan, answers, rng):
        seen.append((np.ravel(answers["sums"]), plan.queries[0].l2_sensitivity))
        return {"sums": np.ones(plan.queries[0].size)}

    monkeypatch.setattr(QueryPlan, "release", release)
    values = [*product(np.linspace(-1.0, 1.0, 9), [0, 1, 2]), (np.nan, 0)]
    for x, key in values:
        asked = {"bounds": (-1, 1), "by": [0, 1, key], "keys": [0, 1], "noise": "gaussian"}
        with warnings.catch_warnings(action="ignore"):
            statistics.difference([0.5, 0.5, x], epsilon=1.0, neighboring=relation, **asked)
    rows, limit = np.array([sums for sums, _ in seen]), seen[0][1]
    others = rows[-1:] if relation == "add_remove_one" else rows  # nan adds nothing
    moved = np.linalg.norm(rows[:, None] - others, axis=2).max()
    assert moved <= limit == pytest.approx(square**0.5, rel=1e-5)
    assert moved >= 0.999 * limit


def test_p_values_are_the_risks_at_which_intervals_end_at_zero():
    arm = np.arange(4000) % 3
    x = np.random.default_rng(0).random(4000) < np.array([0.2, 0.24, 0.2])[arm]
    found = statistics.difference(x, epsilon=1.0, by=arm, keys=[0, 1, 2], random_state=0)
    for j, p in enumerate(found.p_value):
        low, high = found.interval(1.0 - p)
        assert min(abs(low[j]), abs(high[j])) < 0.005
    assert (found.p_value >= 1e-9).all()


def test_a_p_value_below_5_percent_is_as_rare_as_that(is_covered):
    """Under no difference, at most .06 in the mean."""
    rng = np.random.default_rng()

    def trials():
        while True:
            arm, x = rng.integers(0, 2, 3000), rng.random(3000) < 0.1
            found = statistics.difference(x, epsilon=1.0, by=arm, keys=[0, 1])
            yield found.p_value[0] >= 0.05

    assert is_covered(trials())


@pytest.mark.parametrize("bounds", [None, (0, 1)])
@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_arm_is_nan_with_a_reason(bounds, empty):
    """At ε = 9 the noise in a count of 0 exceeds two standard deviations in 5 %: it is seeded."""
    arm = np.full(4000, 1 - empty)
    x = np.arange(4000) % 5 == 0
    asked = {"by": arm, "keys": [0, 1], "bounds": bounds, "random_state": 3}
    found = statistics.difference(x if bounds is None else x * 1.0, epsilon=1.0, **asked)
    assert np.isnan([*found.value, *found.ratio, *found.p_value]).all()
    assert "The noise outweighs" in found.notes[0]
    assert found.interval() == ([-1.0], [1.0])
    assert found.ratio_interval() == ([0.0], [np.inf])


def test_the_ratio_to_a_rate_near_zero_is_unbounded():
    arm, x = np.arange(4000) % 2, np.arange(4000) % 4 == 1
    found = statistics.difference(x, epsilon=1.0, by=arm, keys=[0, 1], random_state=0)
    low, high = found.ratio_interval()
    assert 0.0 < low[0] < high[0] == np.inf
    assert found.p_value[0] < 1e-6


def test_signed_numbers_have_no_ratio():
    x, arm = np.linspace(-1.0, 1.0, 4000), np.arange(4000) % 2
    found = statistics.difference(x, epsilon=1.0, bounds=(-1, 1), by=arm, keys=[0, 1])
    assert np.isnan(found.ratio).all()


def test_wrong_arguments_are_refused_before_the_spend(unspent):
    x, arm = np.arange(40) % 2 == 0, np.arange(40) % 2
    for wrong, words in [
        ({"keys": [0]}, "at least two groups"),
        ({"keys": None}, "at least two groups"),
        ({"by": None}, "at least two groups"),
        ({"x": arm}, "x must hold True and False.*Numbers need bounds"),
    ]:
        asked = {"x": x, "by": arm, "keys": [0, 1], "epsilon": 1.0, "budget": unspent} | wrong
        with pytest.raises(ValueError, match=words):
            statistics.difference(**asked)


def test_rates_have_less_noise_than_means_of_zeros_and_ones():
    arm, x = np.arange(3000) % 2, np.arange(3000) % 3 == 0
    widths = [
        np.diff(
            statistics.difference(values, epsilon=0.1, by=arm, keys=[0, 1], **own).interval(),
            axis=0,
        )
        for values, own in [(x, {}), (x * 1.0, {"bounds": (0, 1)})]
    ]
    assert widths[0] < 0.8 * widths[1]
    assert RatesStatistic.released_as == "statistics.difference"
