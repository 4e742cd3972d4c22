"""Rounding never lengthens a move, and samples have exactly their probabilities.

Statistical tests raise a false alarm with probability 1e-6 each, whatever the seed.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skdp.mechanisms.grid_gaussian import (
    bernoulli_exp,
    discrete_normal,
    from_steps,
    geometric,
    grid_step,
    ratio_below,
    rejection,
    to_steps,
    whole_steps_of_normal,
)

FALSE_ALARM = 1e-6
END = 2**61
finite = st.floats(-1e6, 1e6)
sensitivities = st.floats(1e-9, 1e9)


@given(one=finite, other=finite, sensitivity=sensitivities)
def test_a_move_is_no_longer_on_the_grid_than_its_length_rounded_up(one, other, sensitivity):
    step = grid_step(sensitivity)
    length = abs(Fraction(one) - Fraction(other)) / Fraction(step)
    here, there = (int(to_steps(v, step)) for v in (one, other))
    assert abs(here - there) <= math.ceil(length)
    if abs(here) < END:
        assert abs(Fraction(one) / Fraction(step) - here) <= Fraction(1, 2)


@given(sensitivity=sensitivities)
def test_the_grid_is_a_power_of_two_far_finer_than_the_sensitivity(sensitivity):
    step = grid_step(sensitivity)
    assert math.frexp(step)[0] == 0.5
    assert 2**30 <= sensitivity / step < 2**31


def test_whatever_is_private_has_a_place_on_the_grid():
    values = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, 0.0]
    for step in (2.0**-200, 2.0**-30, 2.0**100):
        steps = to_steps(values, step)
        assert steps.dtype == np.int64
        assert steps[[0, 5, 6, 7]].tolist() == [0, 0, 0, 0]
        assert steps[[1, 2]].tolist() == [END, -END]
        assert np.abs(steps).max() <= END
        assert (from_steps(steps + 2**61, step) <= END * step).all()


@given(a=st.integers(1, 2**60), b=st.integers(1, 2**60))
def test_a_ratio_is_rounded_down(a, b):
    assert Fraction(ratio_below(a, b)) <= Fraction(a, b)
    assert Fraction(math.nextafter(ratio_below(a, b), math.inf)) > Fraction(a, b)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 3), (1, 1), (7, 3), (2**54 + 1, 2**56), (9, 2)])
def test_bernoulli_samples_have_their_probability(a, b):
    n = 200_000
    hits = bernoulli_exp(np.full(n, a), b, np.random.default_rng()).sum()
    assert stats.binomtest(int(hits), n, math.exp(-a / b)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("scale", "below"), [(1, None), (3, None), (3, 2), (3, 10), (2**40, 2**39)]
)
def test_geometric_integers(scale, below):
    draws = geometric(scale, 50_000, np.random.default_rng(), below)
    end = below or 60 * scale
    assert 0 <= draws.min() <= draws.max() < end
    bins = np.unique(np.linspace(0, min(end, 6 * scale), 12).astype(int))
    mass = -np.expm1(-bins / scale) / -np.expm1(-end / scale)
    expected = np.append(np.diff(mass), 1.0 - mass[-1]) * draws.size
    counts = np.histogram(draws, np.append(bins, max(end, bins[-1] + 1)))[0]
    keep = expected > 1.0
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > FALSE_ALARM


@pytest.mark.parametrize("scale", [1, 2, 7])
def test_the_whole_part_of_a_normal_number(scale):
    """So coarse that most comparisons tie and need further digits."""
    draws = whole_steps_of_normal(scale, 20_000, np.random.default_rng())
    top = 4 * scale
    mass = np.diff(stats.norm.cdf(np.arange(top + 1) / scale)) * 2.0
    counts = np.bincount(np.minimum(draws, top), minlength=top + 1)
    expected = np.append(mass, 1.0 - mass.sum()) * draws.size
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(1, 100), (1, 2), (1, 1), (5, 2), (7, 3)])
def test_normal_integers(a, b):
    draws = discrete_normal(a, b, 50_000, np.random.default_rng())
    reach = math.ceil(3.5 * a / b)
    m = np.arange(-60 * reach, 60 * reach + 1)
    mass = np.exp(-0.5 * (m * b / a) ** 2)
    mass /= mass.sum()
    clipped = np.clip(m, -reach, reach) + reach
    expected = np.bincount(clipped, mass) * draws.size
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=expected.size)
    keep = expected > 1.0
    assert not counts[~keep].any()
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    assert stats.chi2.sf(statistic, max(keep.sum() - 1, 1)) > FALSE_ALARM


def test_rejection_keeps_what_is_accepted_in_order():
    stream = iter(range(1000))

    def propose(n):
        values = np.array([next(stream) for _ in range(n)])
        return values, values % 3 == 0

    assert rejection(5, propose, 0.3).tolist() == [0, 3, 6, 9, 12]
