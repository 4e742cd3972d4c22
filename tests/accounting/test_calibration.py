"""Calibration: as much noise as needed, and never a breath less."""

import math

import numpy as np
import pytest
from exact_gaussian import exact_delta
from hypothesis import given
from hypothesis import strategies as st

from skdp.accounting import gdp_mu
from skdp.privacy import GaussianCurve

epsilons = st.floats(-6.0, 3.0).map(lambda x: 10.0**x)
deltas = st.floats(-300.0, math.log10(0.5)).map(lambda x: 10.0**x)

PRINTED = [
    (0.1, 1e-5, 0.032521),
    (0.5, 1e-5, 0.142211),
    (1.0, 1e-5, 0.268051),
    (3.0, 1e-5, 0.719117),
    (10.0, 1e-5, 2.000446),
    (1.0, 1e-6, 0.236704),
    (1.0, 0.99e-5, 0.267889),
]


@given(epsilon=epsilons, delta=deltas)
def test_mu_never_overshoots(epsilon, delta):
    assert exact_delta(epsilon, gdp_mu(epsilon, delta)) <= delta


@given(epsilon=epsilons, delta=deltas)
def test_mu_is_within_1e_10_of_the_root(epsilon, delta):
    assert exact_delta(epsilon, gdp_mu(epsilon, delta) * (1 + 1e-10)) > delta


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 500.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.5])
def test_the_corners_are_as_exact_as_the_middle(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert exact_delta(epsilon, mu) <= delta < exact_delta(epsilon, mu * (1 + 1e-10))


@pytest.mark.parametrize(("epsilon", "delta", "printed"), PRINTED)
def test_mu_is_the_printed_number(epsilon, delta, printed):
    assert gdp_mu(epsilon, delta) == pytest.approx(printed, abs=5.1e-7)


@given(epsilon=epsilons, delta=deltas)
def test_the_curve_at_mu_asks_for_no_more_than_epsilon(epsilon, delta):
    assert GaussianCurve(gdp_mu(epsilon, delta)).epsilon(delta) <= epsilon


def test_delta_zero_allows_nothing():
    assert gdp_mu(1.0, 0.0) == 0.0


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_epsilon_infinite_allows_everything(delta):
    assert gdp_mu(math.inf, delta) == math.inf


def test_numbers_may_be_numpy_scalars_and_integers():
    assert gdp_mu(1, np.float64(1e-5)) == gdp_mu(np.int64(1), 1e-5) == gdp_mu(1.0, 1e-5)
    assert type(gdp_mu(np.float32(1), np.float32(1e-5))) is float


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, -math.inf, None, "1", True, 1j])
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match=r"epsilon must be a positive number"):
        gdp_mu(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2.0, math.nan, None, "0", False])
def test_an_impossible_delta_is_refused(delta):
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\)"):
        gdp_mu(1.0, delta)
