"""What every privacy curve has, on pairs of distributions that can be summed by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skdp.privacy import GaussianCurve

weights = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3)
distributions = weights.map(lambda w: tuple(np.array(w) / sum(w)))
epsilons = st.floats(-4.0, 4.0)


@given(p=distributions, q=distributions, epsilon=epsilons)
def test_reversed_is_the_curve_of_the_swapped_pair(discrete_curve, p, q, epsilon):
    backwards = discrete_curve(p, q).reversed()
    assert backwards.delta(epsilon) == pytest.approx(discrete_curve(q, p).delta(epsilon), abs=1e-12)


@given(p=distributions, q=distributions)
def test_reversed_twice_is_the_curve_itself(discrete_curve, p, q):
    curve = discrete_curve(p, q)
    assert curve.reversed().reversed() == curve


@given(mu=st.floats(1e-3, 20.0), low=epsilons, high=epsilons)
def test_delta_does_not_increase_and_stays_in_range(mu, low, high):
    low, high = sorted([low, high])
    at_low, at_high = GaussianCurve(mu).delta(np.array([low, high]))
    assert at_high <= at_low * (1 + 1e-12)
    assert max(0.0, -math.expm1(low)) <= at_low * (1 + 1e-15) <= 1.0 + 1e-15


@given(mu=st.floats(1e-3, 20.0), one=st.floats(0.02, 50.0), other=st.floats(0.02, 50.0))
def test_delta_is_convex_in_the_odds(mu, one, other):
    odds = np.array([one, other, 0.5 * (one + other)])
    at_one, at_other, at_middle = GaussianCurve(mu).delta(np.log(odds))
    assert at_middle <= 0.5 * (at_one + at_other) + 1e-13


@given(p=distributions, q=distributions, delta=st.floats(1e-6, 0.5))
def test_epsilon_is_the_least_that_meets_delta(discrete_curve, p, q, delta):
    curve = discrete_curve(p, q)
    epsilon = curve.epsilon(delta)
    assert epsilon >= 0.0
    assert curve.delta(epsilon) <= delta
    assert epsilon == 0.0 or curve.delta(epsilon * (1 - 1e-9) - 1e-9) > delta


@given(mu=st.floats(1e-3, 20.0), tenths=st.floats(1e-2, 300.0))
def test_epsilon_and_delta_are_inverse(mu, tenths):
    curve, epsilon = GaussianCurve(mu), 0.1 * math.pi * tenths
    delta = curve.delta(epsilon)
    assume(1e-300 < delta < curve.delta(0.0) * (1 - 1e-3))
    assert curve.delta(curve.epsilon(delta)) == pytest.approx(delta, rel=1e-10)
    assert curve.epsilon(delta) >= epsilon * (1.0 - 1e-13)


@pytest.mark.parametrize(("mu", "epsilon"), [(5.0, 4.0), (7.0, 8.0)])
def test_epsilon_and_delta_are_inverse_at_the_end_of_a_bracket(mu, epsilon):
    curve = GaussianCurve(mu)
    assert curve.epsilon(curve.delta(epsilon)) == pytest.approx(epsilon, rel=1e-9)


def test_epsilon_is_infinite_if_some_outcome_gives_the_record_away(discrete_curve):
    curve = discrete_curve((0.25, 0.5, 0.25), (0.0, 0.5, 0.5))
    assert curve.epsilon(0.2) == math.inf
    assert curve.epsilon(0.25) < math.inf


def test_epsilon_of_randomized_response_is_its_log_odds(discrete_curve):
    curve = discrete_curve((0.75, 0.25), (0.25, 0.75))
    assert curve.epsilon(0.0) == pytest.approx(math.log(3.0), rel=1e-12)


def test_a_reversed_curve_has_an_epsilon(discrete_curve):
    p, q = (0.2, 0.5, 0.3), (0.1, 0.3, 0.6)
    assert discrete_curve(p, q).reversed().epsilon(0.01) == pytest.approx(
        discrete_curve(q, p).epsilon(0.01), rel=1e-12
    )


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, None, "0.1", True])
def test_epsilon_refuses_an_impossible_delta(delta):
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\)"):
        GaussianCurve(1.0).epsilon(delta)
