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


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, None, "0.1", True])
def test_epsilon_refuses_an_impossible_delta(delta):
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\)"):
        GaussianCurve(1.0).epsilon(delta)
