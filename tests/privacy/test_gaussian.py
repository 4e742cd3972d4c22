"""The Gaussian curve against 80-digit arithmetic and printed numbers."""

import math

import numpy as np
import pytest
from exact_gaussian import exact_delta

from skdp.accounting import gdp_mu
from skdp.privacy import GaussianCurve

EPSILONS = [1e-6, 1e-3, 0.03, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0, 200.0, 500.0]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-30, 1e-10, 1e-5, 1e-2, 0.5]
GRID = [(epsilon, gdp_mu(epsilon, delta)) for epsilon in EPSILONS for delta in DELTAS]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("epsilon", "mu"), GRID)
def test_delta_has_ten_correct_digits(epsilon, mu, sign):
    exact = exact_delta(sign * epsilon, mu)
    assert abs(GaussianCurve(mu).delta(sign * epsilon) / exact - 1) < 1e-10


@pytest.mark.parametrize(
    ("epsilon", "mu", "printed"), [(1.0, 1.0, 0.12693674), (0.5, 2.0, 0.59918562)]
)
def test_delta_is_the_printed_number(epsilon, mu, printed):
    assert GaussianCurve(mu).delta(epsilon) == pytest.approx(printed, abs=5e-9)


@pytest.mark.parametrize("epsilon", [0.0, *EPSILONS])
def test_the_formulas_for_small_and_large_mu_meet(epsilon):
    below, above = GaussianCurve(math.nextafter(1.0, 0.0)), GaussianCurve(1.0)
    assert below.delta(epsilon) == pytest.approx(above.delta(epsilon), rel=1e-10, abs=1e-307)


@pytest.mark.parametrize(("epsilon", "mu"), GRID)
def test_epsilon_is_within_rounding_of_the_least(epsilon, mu):
    delta = GaussianCurve(mu).delta(epsilon)
    found = GaussianCurve(mu).epsilon(delta)
    assert exact_delta(found, mu) <= delta * (1 + 1e-11)
    assert exact_delta(found * (1 - 1e-9), mu) > delta * (1 - 1e-11)


def test_epsilon_never_understates():
    found = [(GaussianCurve(mu).epsilon(1e-5), mu) for mu in np.geomspace(1e-4, 30, 100)]
    assert all(exact_delta(epsilon, mu) <= 1e-5 for epsilon, mu in found)


def test_mu_zero_is_perfectly_private():
    curve = GaussianCurve(0.0)
    epsilon = np.array([-2.0, -1e-9, 0.0, 1.0])
    np.testing.assert_array_equal(curve.delta(epsilon), np.maximum(0, -np.expm1(epsilon)))
    assert curve.epsilon(0.0) == curve.epsilon(0.1) == 0.0
    assert GaussianCurve(0.0).tradeoff()(0.3) == pytest.approx(0.7)


def test_mu_zero_is_perfectly_private_at_a_large_epsilon():
    assert GaussianCurve(0.0).delta(1000.0) == 0.0


def test_mu_infinite_is_not_private():
    curve = GaussianCurve(math.inf)
    assert np.all(curve.delta(np.array([-5.0, 0.0, 500.0])) == 1.0)
    assert curve.epsilon(0.999) == math.inf
    assert np.all(GaussianCurve(math.inf).tradeoff()([1e-9, 0.5]) == 0.0)


def test_mu_infinite_has_a_trade_off_at_both_ends():
    assert np.all(GaussianCurve(math.inf).tradeoff()([0.0, 1.0]) == 0.0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0, math.inf])
def test_delta_keeps_the_shape(shape, mu):
    assert np.shape(GaussianCurve(mu).delta(np.ones(shape))) == shape


def test_delta_underflows_to_zero_in_silence():
    assert GaussianCurve(1.0).delta(1e6) == GaussianCurve(0.1).delta(1e6) == 0.0
