"""Weights of a survey: intervals cover, units are those of the weights, and errors come first."""

import warnings
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skdp import statistics
from skdp.exceptions import FewRowsWarning

RELATIONS = ["replace_one", "add_remove_one"]
SETTINGS = [  # rows, ε, max_weight, δ, relation
    (300, 0.3, 4.0, 1e-5, "replace_one"),
    (1000, 1.0, 4.0, 0.0, "add_remove_one"),
    (1000, 3.0, 400.0, 1e-5, "replace_one"),
    (4000, 1.0, 3.0, 1e-5, "add_remove_one"),
    (20_000, 0.3, 20.0, 1e-5, "replace_one"),
]


def survey(n, rng):
    """Return values with a share of gaps, strata, and weights from 1 to 4 that depend on both."""
    stratum = rng.integers(0, 2, n)
    x = np.clip(rng.normal(30.0 + 10.0 * stratum, 8.0, n), 0.0, 100.0).round()
    weight = 1.0 + 2.0 * stratum + x / 100.0
    return np.where(rng.random(n) < 0.1, np.nan, x), stratum, weight


def hits(n, epsilon, max_weight, delta, relation, rng):
    """Yield whether intervals contain the numbers of the rows, or of the population, in order."""
    x, stratum, weight = survey(n, rng)
    clipped, known = np.minimum(weight, max_weight), ~np.isnan(x)
    asked = {"epsilon": epsilon, "delta": delta, "neighboring": relation}
    asked |= {"sample_weight": weight, "max_weight": max_weight}
    groups, cells = {"by": stratum, "keys": [0, 1]}, [0.0, 25.0, 50.0, 100.0]
    mean = statistics.mean(x, bounds=(0, 100), **asked)
    yield mean.interval(), np.average(x[known], weights=clipped[known])
    if max_weight >= 4.0:
        yield mean.population_interval(), TRUE
    of_group = [
        np.average(x[k], weights=clipped[k]) for k in (known & (stratum == j) for j in (0, 1))
    ]
    yield (
        statistics.mean(x, bounds=(0, 100), **groups, **asked).interval(simultaneous=True),
        of_group,
    )
    yield statistics.count(stratum == 1, **asked).interval(), clipped[stratum == 1].sum()
    yield statistics.sum(x, bounds=(0, 100), **asked).interval(), (clipped * x)[known].sum()
    found = statistics.histogram(x, edges=cells, **asked).interval(simultaneous=True)
    yield found, np.histogram(x[known], cells, weights=clipped[known])[0]
    found = statistics.marginals(stratum, categories=[0, 1], **asked).interval(0.975)[0,]
    yield found, np.bincount(stratum, clipped)
    order = np.argsort(x[known])
    ranks = np.cumsum(clipped[known][order])
    median = x[known][order][np.searchsorted(ranks, 0.5 * ranks[-1])]
    ends = statistics.quantile(x, q=0.5, bounds=(0, 100), level=0.95, **asked)
    yield ends.interval(), median


def _true_mean():
    """Return the weighted mean of the population, a sum over the 101 values of both strata."""
    values, total, weights = np.arange(101.0), 0.0, 0.0
    for stratum in (0, 1):
        inner = stats.norm(30.0 + 10.0 * stratum, 8.0).cdf(values[:-1] + 0.5)
        mass = np.diff([0.0, *inner, 1.0]) * (1.0 + 2.0 * stratum + values / 100.0)
        total, weights = total + values @ mass, weights + mass.sum()
    return total / weights


TRUE = _true_mean()


def trials_of(setting):
    """Yield for ever whether the intervals contain the true numbers."""
    rng = np.random.default_rng()
    while True:
        with warnings.catch_warnings(action="ignore", category=FewRowsWarning):
            pairs = [*hits(*setting, rng)]
        yield [np.all((low <= t) & (t <= high)) for (low, high), t in pairs]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_contain_the_weighted_numbers(setting, is_covered):
    assert is_covered(trials_of(setting))


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_contain_the_weighted_numbers_in_many_runs(setting):
    """Coverage of .94 is refused with probability 1e-5 a number at most, 4e-4 in all."""
    assert stats.binom.cdf(905, 1000, 0.94) < 1e-5
    assert np.mean([*islice(trials_of(setting), 1000)], axis=0).min() >= 0.906


@pytest.mark.parametrize("relation", RELATIONS)
def test_equal_weights_at_the_bound_only_change_the_unit(relation):
    x, asked = np.arange(4000) % 90, {"epsilon": 1.0, "neighboring": relation, "random_state": 0}
    asked |= {"edges": [0, 30, 60, 90], "noise": "gaussian"}
    plain = statistics.histogram(x, **asked)
    weighted = statistics.histogram(x, sample_weight=2.5, max_weight=2.5, **asked)
    assert np.allclose(weighted.value, 2.5 * plain.value, rtol=1e-5)
    assert np.allclose(weighted.interval(), 2.5 * np.array(plain.interval()), rtol=1e-5)


def test_describe_uses_weights_and_the_name_of_a_column():
    x, stratum, weight = survey(50_000, np.random.default_rng(0))
    known, frame = ~np.isnan(x), pd.DataFrame({"x": x, "stratum": stratum, "w": weight})
    asked = {"bounds": {"x": (0, 100)}, "categories": {"stratum": [0, 1]}, "random_state": 0}
    found = statistics.describe(frame, epsilon=8.0, sample_weight="w", max_weight=4, **asked)
    mean = np.average(x[known], weights=weight[known])
    true = [weight[known].sum(), mean]
    true += [np.sqrt(np.average((x[known] - mean) ** 2, weights=weight[known]))]
    assert np.allclose(found.value[:3], true, rtol=0.01)
    assert np.allclose(found.value[-2:], np.bincount(stratum, weight), rtol=0.01)
    assert "None of these" not in repr(found)


def test_weights_that_hardly_count_are_noise_and_not_a_plausible_mean():
    """200 rows add up to .02 rows of the largest weight."""
    x, _, weight = survey(200, np.random.default_rng(0))
    with warnings.catch_warnings(action="ignore"):
        found = statistics.mean(
            x, epsilon=50.0, bounds=(0, 100), sample_weight=weight, max_weight=30_000
        )
    assert np.isnan(found.value)
    assert found.interval() == (0.0, 100.0)
    assert found.notes[0].startswith("The noise outweighs")


@pytest.mark.parametrize("weights", [{}, {"sample_weight": [1.0] * 5, "max_weight": 1.0}])
def test_quantiles_of_few_rows_are_nan(weights):
    """Ranks of five rows are noise; with weights of 1 six to ten in a hundred were shown."""
    x, asked = np.linspace(10.0, 90.0, 5), {"bounds": (0, 100), "epsilon": 1.0, **weights}
    with warnings.catch_warnings(action="ignore"):
        for _ in range(50):
            assert np.isnan(statistics.quantile(x, q=0.5, level=0.95, **asked).value)
            assert np.isnan(statistics.describe(x, **asked).to_frame().estimate.iloc[4])


def test_wrong_weights_are_refused_before_the_spend(budget):
    x = np.arange(40.0)
    frame = pd.DataFrame({"x": x, "w": x})
    for function, own in [
        (statistics.mean, {"bounds": (0, 50)}),
        (statistics.quantile, {"bounds": (0, 50), "q": 0.5}),
        (statistics.histogram, {"edges": [0, 20, 40]}),
        (statistics.describe, {"bounds": {"x": (0, 50)}}),
    ]:
        for wrong, words in [
            ({"sample_weight": x}, "needs max_weight"),
            ({"sample_weight": x, "max_weight": 0.0}, "max_weight must be"),
            ({"sample_weight": x[:-1], "max_weight": 1.0}, "one weight for each row"),
            ({"sample_weight": np.where(x > 3, x, np.nan), "max_weight": 1.0}, "missing"),
            ({"sample_weight": ["a"] * 40, "max_weight": 1.0}, "must hold numbers"),
            ({"sample_weight": x.astype("M8[s]"), "max_weight": 1.0}, "must hold numbers"),
            ({"sample_weight": "v", "max_weight": 1.0}, "one of the columns"),
        ]:
            with pytest.raises(ValueError, match=words):
                function(frame, epsilon=0.5, budget=budget, **own, **wrong)
    assert budget.history() == []
