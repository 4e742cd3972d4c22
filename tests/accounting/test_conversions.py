"""zCDP, Rényi and Gaussian DP: conversions against printed numbers and 50-digit minimization."""

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.accounting import GDPAccountant, RDPAccountant, UnpricedEventError, ZCDPAccountant
from skdp.privacy import ComposedEvent, GaussianCurve, GaussianEvent, GDPEvent, SelfComposedEvent
from skdp.privacy.curve import randomized_response_divergence

# ρ, δ, classic, tight, exact Gaussian
PRINTED = [
    (0.5, 1e-5, 5.29853, 4.72839, 4.37718),
    (0.1, 1e-5, 2.24597, 1.91424, 1.76006),
    (0.5, 1e-6, 5.75652, 5.22154, 4.88655),
    (2.0, 1e-5, 11.59705, 10.72482, 9.99726),
    (0.01, 1e-6, 0.75338, 0.62169, 0.57506),
]


@pytest.mark.parametrize(("rho", "delta", "classic", "tight", "gaussian"), PRINTED)
def test_the_printed_table(rho, delta, classic, tight, gaussian):
    event = GDPEvent(math.sqrt(2.0 * rho))
    for kind in (ZCDPAccountant, RDPAccountant):
        assert kind(conversion="classic").epsilon(event, delta) == pytest.approx(classic, abs=6e-6)
        assert kind().epsilon(event, delta) == pytest.approx(tight, abs=6e-6)
    assert GDPAccountant().epsilon(event, delta) == pytest.approx(gaussian, abs=6e-6)


def log_tight_delta(rho, epsilon, order):
    with mp.workdps(50):
        a = mp.mpf(order)
        bound = (a - 1) * (mp.mpf(rho) * a - epsilon) - mp.log(a - 1) + a * mp.log(1 - 1 / a)
        return bound


@given(
    rho=st.floats(-4.0, 1.0).map(lambda x: 10.0**x),
    delta=st.floats(-12.0, -2.0).map(lambda x: 10.0**x),
)
@settings(max_examples=30)
def test_the_tight_conversion_is_the_least_over_the_orders(rho, delta):
    event = GDPEvent(math.sqrt(2.0 * rho))
    epsilon = ZCDPAccountant().epsilon(event, delta)

    def at(x):
        return log_tight_delta(rho, epsilon, 1.0 + math.exp(0.01 * x))

    near = min(range(-1000, 1500, 40), key=at)
    best = min(at(x) for x in range(near - 40, near + 41))
    assert best <= math.log(delta) + 2e-3
    assert epsilon == 0.0 or best == pytest.approx(math.log(delta), abs=2e-3)


@given(rho=st.floats(-4.0, 1.0).map(lambda x: 10.0**x), epsilon=st.floats(0.01, 20.0))
@settings(max_examples=30)
def test_tight_delta_is_above_the_gaussian_and_below_the_classic(rho, epsilon):
    event = GDPEvent(math.sqrt(2.0 * rho))
    exact = GaussianCurve(math.sqrt(2.0 * rho)).delta(epsilon)
    tight = ZCDPAccountant().delta(event, epsilon)
    assert exact * (1 - 1e-9) <= tight <= ZCDPAccountant(conversion="classic").delta(event, epsilon)
    pinsker = math.sqrt(min(0.5 * rho, -math.expm1(-rho)))  # the KL divergence is rho
    assert RDPAccountant().delta(event, epsilon) == pytest.approx(min(tight, pinsker), rel=1e-6)


@given(size=st.floats(1e-3, 8.0), order=st.floats(-3.0, 3.0).map(lambda x: 1.0 + 10.0**x))
def test_the_renyi_divergence_of_randomized_response(size, order):
    with mp.workdps(50):
        p = 1 / (1 + mp.exp(-mp.mpf(size)))
        a = mp.mpf(order)
        exact = mp.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
    found = randomized_response_divergence(size, order)
    assert exact <= found <= exact * (1 + 1e-10)
    assert exact <= size * math.tanh(0.5 * size) * order <= 0.5 * size**2 * order


def test_pure_releases_enter_zcdp_and_renyi(black_box):
    event = SelfComposedEvent(black_box(0.1), 100)
    assert ZCDPAccountant().rho(event) == pytest.approx(10.0 * math.tanh(0.05))
    assert 4.7 < ZCDPAccountant().epsilon(event, 1e-5) < 4.72839
    assert 4.0 < RDPAccountant().epsilon(event, 1e-5) <= ZCDPAccountant().epsilon(event, 1e-5)
    assert RDPAccountant().epsilon(event, 0.0) == pytest.approx(10.0)
    assert RDPAccountant().rdp(event, 2.0) <= ZCDPAccountant().rho(event) * 2.0


@pytest.mark.parametrize("kind", [ZCDPAccountant, RDPAccountant])
def test_an_approximate_release_is_refused(kind, black_box):
    with pytest.raises(UnpricedEventError, match=r"BlackBox\(size=0.1, failure=1e-06\)"):
        kind().epsilon(black_box(0.1, 1e-6), 1e-5)
    with pytest.raises(ValueError, match="conversion must be one of"):
        kind(conversion="loose")


@pytest.mark.parametrize(("relation", "mu"), [("replace_one", 1.0), ("add_remove_one", 0.5)])
def test_gaussians_add_in_squares(relation, mu):
    event = SelfComposedEvent(GaussianEvent(20.0), 100)
    accountant = GDPAccountant(neighboring=relation)
    assert accountant.mu(event) == pytest.approx(mu, rel=1e-14)
    exact = GaussianCurve(mu).epsilon(1e-5)
    assert accountant.epsilon(event, 1e-5) == pytest.approx(exact, rel=1e-12)
    low, high = accountant.bounds(event, 1e-5)
    assert low <= exact * (1 + 1e-12)
    assert high - low <= 1e-9 * high


def test_what_is_not_gaussian_needs_a_slack(black_box, exact):
    event = ComposedEvent((GDPEvent(0.3), SelfComposedEvent(black_box(0.2), 5)))
    with pytest.raises(UnpricedEventError, match="a Gaussian cover at slack 0"):
        GDPAccountant().epsilon(event, 1e-5)
    accountant = GDPAccountant(slack=1e-7)
    epsilon = accountant.epsilon(event, 1e-5)
    assert exact(0.3, 0.2, 0.0, 5, epsilon) <= 1e-5
    assert accountant.delta(event, epsilon) == pytest.approx(1e-5, rel=1e-9)
    assert accountant.epsilon(event, 0.9e-7) == math.inf
    with pytest.raises(UnpricedEventError, match="lower bound"):
        accountant.bounds(event, 1e-5)


def test_a_slack_below_a_leafs_own_failure_is_refused(black_box):
    event = SelfComposedEvent(black_box(0.2, 1e-7), 10)
    with pytest.raises(UnpricedEventError, match="cover at slack 5e-08"):
        GDPAccountant(slack=5e-7).epsilon(event, 1e-5)
    assert GDPAccountant(slack=2e-6).epsilon(event, 1e-5) < 10.0


def test_other_accountants_have_no_lower_side():
    with pytest.raises(UnpricedEventError, match="no lower bound"):
        ZCDPAccountant().bounds(GDPEvent(1.0), 1e-5)
