"""Private choices: their exact probabilities, costs, and where one direction is not one."""

import itertools
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from skdp.mechanisms import ExponentialMechanism, PermuteAndFlip

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
