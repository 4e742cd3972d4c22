"""Private choices: their exact probabilities, costs, and where one direction is not one."""

import itertools
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from skdp.mechanisms import ExponentialMechanism, PermuteAndFlip
from skdp.mechanisms.selection import _floor_of_exp, _weights, choose

FALSE_ALARM = 1e-6
UTILITIES = [3.0, 2.5, 0.0, 2.5]
both = pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
either = pytest.mark.parametrize("monotonic", [False, True])


def exponential(utilities, rate):
    weights = np.exp(rate * (np.array(utilities) - max(utilities)))
    return weights / weights.sum()


def permute_and_flip(utilities, rate):
    """Over all orders: the first success."""
    probabilities = np.exp(rate * (np.array(utilities) - max(utilities)))
    chances = np.zeros(probabilities.size)
    for order in itertools.permutations(range(probabilities.size)):
        left = 1.0
        for candidate in order:
            chances[candidate] += left * probabilities[candidate]
            left *= 1.0 - probabilities[candidate]
    return chances / math.factorial(probabilities.size)


PROBABILITIES = {ExponentialMechanism: exponential, PermuteAndFlip: permute_and_flip}


@both
@either
def test_the_choice_has_its_exact_distribution(kind, monotonic):
    mechanism, rng = (
        kind(sensitivity=1.0, epsilon=1.5, monotonic=monotonic),
        np.random.default_rng(),
    )
    draws = [mechanism.release(UTILITIES, rng) for _ in range(3000)]
    chances = PROBABILITIES[kind](UTILITIES, 1.5 if monotonic else 0.75)
    assert stats.chisquare(np.bincount(draws, minlength=4), 3000 * chances).pvalue > FALSE_ALARM


@both
def test_each_of_many_equal_candidates_is_as_likely(kind):
    repeats, rng = [3, 40, 1, 7, 200, 1], np.random.default_rng()
    utilities = np.repeat([9.0, 8.0, 6.3, 9.0, 4.5, 6.0], repeats)
    mechanism = kind(sensitivity=1.0, epsilon=2.0)
    draws = np.array([mechanism.release(utilities, rng) for _ in range(4000)])
    best = np.bincount(draws[(draws < 3) | (draws == 44)], minlength=45)[[0, 1, 2, 44]]
    assert stats.chisquare(best).pvalue > FALSE_ALARM
    if kind is ExponentialMechanism:
        groups = np.searchsorted(np.cumsum(repeats), draws, side="right")
        chances = np.add.reduceat(exponential(utilities, 1.0), np.cumsum([0, *repeats[:-1]]))
        found = np.bincount(groups, minlength=6)
        assert stats.chisquare(found, 4000 * chances).pvalue > FALSE_ALARM


@pytest.mark.parametrize("size", [1, 2**20, 2**48])
def test_a_choice_among_many_repeats_has_its_exact_distribution(size):
    """Of the largest size nearly every proposal is decided by more bits of a uniform number."""
    gaps, repeats = np.array([0, 5, 27, 41, 9, 71]), np.array([1, 2, 30, 200, 0, 1000])
    rng = np.random.default_rng()
    draws = [choose(gaps, 10, rng, size * repeats) for _ in range(4000)]
    chances = repeats * np.exp(-0.1 * gaps)
    kept, counts = repeats > 0, np.bincount(draws, minlength=6)
    expected = 4000 * chances[kept] / chances.sum()
    assert stats.chisquare(counts[kept], expected).pvalue > FALSE_ALARM
    assert counts[~kept].sum() == 0


def test_weights_of_whole_units_are_exact_and_decided_by_exact_bits():
    """2^bits·e^(−k), rounded up, and rounded down where a uniform number needs more bits."""
    with mp.workdps(120):
        for bits in (1, 2, 5, 40, 100):
            scaled = [mp.mpf(2) ** bits * mp.exp(-k) for k in range(1, bits)]
            assert [_floor_of_exp(bits, k) for k in range(1, bits)] == [int(x) for x in scaled]
        assert _weights(40).tolist() == [2**40, *(int(x * 2.0**-60) + 1 for x in scaled[:28])]


@both
@either
def test_no_neighbor_changes_a_probability_by_more_than_the_claim(kind, monotonic):
    """All moves of four utilities by at most 1, in one direction if `monotonic`."""
    claim = kind(sensitivity=1.0, epsilon=1.5, monotonic=monotonic).event.pure_epsilon(
        "replace_one"
    )
    rate, largest = (claim if monotonic else 0.5 * claim), 0.0
    ends = [(0.0, 1.0)] if monotonic else [(-1.0, 0.0, 1.0)]
    for start in ([3.0, 2.5, 0.0, 2.5], [0.0, 0.0, 0.0, 0.0], [5.0, -1.0, 4.0, 4.5]):
        for move in itertools.product(*ends * 4):
            one, other = (PROBABILITIES[kind](u, rate) for u in (start, np.add(start, move)))
            largest = max(largest, np.abs(np.log(one / other)).max())
    assert 0.7 * claim < largest <= claim + 1e-12


@both
def test_one_direction_is_not_kept_where_one_count_rises_and_another_falls(kind):
    """What `monotonic` would claim for replacing a record, and why it must not."""
    one, other = PROBABILITIES[kind]([1.0, 6.0], 1.5), PROBABILITIES[kind]([0.0, 7.0], 1.5)
    claim = kind(sensitivity=1.0, epsilon=1.5, monotonic=True).event.pure_epsilon("replace_one")
    assert np.log(one / other).max() > 1.9 * claim


def test_permute_and_flip_serves_better():
    utilities = np.array(UTILITIES)
    assert permute_and_flip(utilities, 0.7) @ utilities > exponential(utilities, 0.7) @ utilities


@both
def test_a_choice_is_calibrated_repeats_and_is_a_value(kind):
    mechanism = kind.calibrate(2.0, 0.0, 3.0)
    assert 2.0 * (1 - 1e-9) < mechanism.event.pure_epsilon("replace_one") <= 2.0
    draws = [
        [mechanism.release(UTILITIES, rng) for _ in range(20)]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    ]
    assert draws[0] == draws[1]
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with_delta = kind.calibrate(2.0, 0.01, 3.0)
    assert with_delta.epsilon > 2.0
    assert with_delta.event.curve("replace_one").delta(2.0) <= 0.01


@both
def test_no_private_utility_is_refused(kind):
    mechanism = kind(sensitivity=1.0, epsilon=1.0)
    for utilities in ([math.nan, 1.0], [math.inf, -math.inf], [1e300, 0.0, -1e300], [2.0]):
        assert 0 <= mechanism.release(utilities, np.random.default_rng()) < len(utilities)
    assert mechanism.release([-math.inf, math.inf], np.random.default_rng()) == 1


@both
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"monotonic": "yes"}, "monotonic"),
    ],
)
def test_what_is_refused(kind, arguments, name):
    with pytest.raises(ValueError, match=rf"{name} must "):
        kind(**{"sensitivity": 1.0, "epsilon": 1.0} | arguments)


@both
def test_a_choice_needs_a_list_of_candidates(kind):
    for wrong in ([], 1.0, [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="at least one candidate"):
            kind(sensitivity=1.0, epsilon=1.0).release(wrong, np.random.default_rng())
