"""Rényi divergences of sampled Gaussians: binomial sums, quadrature in 30 digits, orders."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy import GaussianEvent, PoissonSampledEvent
from skdp.privacy.combined import SampledGaussianPair
from skdp.privacy.curve import log_excess, renyi_divergence

PAIRS = {"remove": (True, False), "add": (False, True), "replace": (True, True)}
NARROW = 3e-11  # what the rule and its rounding may add, relative


def binomial(mu, rate, order):
    """Return log Σ C(α, k)·(1 − q)^(α − k)·q^k·e^((k² − k)μ²/2)/(α − 1) in 60 digits."""
    with mp.workdps(60):
        q, m = mp.mpf(rate), mp.mpf(mu)
        terms = (
            mp.binomial(order, k) * (1 - q) ** (order - k) * q**k * mp.exp((k * k - k) * m * m / 2)
            for k in range(order + 1)
        )
        return mp.log(mp.fsum(terms)) / (order - 1)


@pytest.mark.parametrize("mu", [0.001, 0.05, 0.3, 1.0, 3.3, 50.0])
@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.5, 0.99])
def test_removal_at_integer_orders_is_the_binomial_sum(mu, rate):
    for order in (2, 3, 17, 150):
        exact = binomial(mu, rate, order)
        found = SampledGaussianPair(mu, rate, True, False).renyi(order)
        assert exact <= found * (1 + 1e-15)
        assert found <= exact * (1 + NARROW)


def quadrature(mu, rate, order, first, second):
    with mp.workdps(30):
        q, m, a = mp.mpf(rate), mp.mpf(mu), mp.mpf(order)

        def density(x, sign):
            return 1 - q + q * mp.exp(sign * m * x - m * m / 2)

        def excess(x):
            p = density(x, 1) if first else mp.mpf(1)
            r = density(x, -1) if second else mp.mpf(1)
            return mp.npdf(x) * r * ((p / r) ** a - 1 - a * (p / r - 1))

        end = float(m * a) + 13.0
        pieces = mp.linspace(-13 - m, end, int(end) + 16)
        whole = mp.quad(excess, pieces, method="gauss-legendre", maxdegree=3)  # to 20 digits
        return mp.log1p(whole) / (a - 1)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("mu", "rate", "order"),
    [(0.05, 1e-3, 1.5), (1.0, 0.01, 1.001), (1.0, 0.3, 12.7), (0.3, 0.9, 40.5), (3.3, 0.02, 2.5)],
)
def test_every_pair_is_its_integral(pair, mu, rate, order):
    exact = quadrature(mu, rate, order, *PAIRS[pair])
    found = SampledGaussianPair(mu, rate, *PAIRS[pair]).renyi(order)
    assert exact <= found <= exact * (1 + NARROW)


mus = st.floats(-3.0, 1.5).map(lambda x: 10.0**x)
rates = st.floats(-8.0, -0.01).map(lambda x: 10.0**x)
orders = st.floats(-3.0, 6.0).map(lambda x: 1.0 + 10.0**x)


@given(mu=mus, rate=rates, order=orders)
@settings(max_examples=100)
def test_the_pairs_are_ordered_and_sampling_helps(mu, rate, order):
    remove, add, replace = (
        SampledGaussianPair(mu, rate, *which).renyi(order) for which in PAIRS.values()
    )
    slack = 1 + 1e-9
    assert 0.0 < add <= remove * slack  # Mironov, Talwar and Zhang 2019, Theorem 5
    assert remove <= replace * slack
    assert remove <= 0.5 * order * mu**2 * slack
    assert replace <= 2.0 * order * mu**2 * slack


@given(mu=mus, rate=rates, order=orders, which=st.sampled_from(list(PAIRS.values())))
@settings(max_examples=100)
def test_divergences_grow_with_the_order_and_the_rate(mu, rate, order, which):
    pair = SampledGaussianPair(mu, rate, *which)
    assert pair.renyi(order) <= pair.renyi(1.0 + 1.5 * (order - 1.0)) * (1 + 1e-9)
    more = SampledGaussianPair(mu, 0.5 * (1.0 + rate), *which)
    assert pair.renyi(order) <= more.renyi(order) * (1 + 1e-9)


def test_the_chords_of_the_curve_lie_closely_above(neighboring):
    event = PoissonSampledEvent(0.01, GaussianEvent(1.0))
    curve, exact = event.curve(neighboring), event.rdp(3.0, neighboring)
    chords = max(renyi_divergence(curve, 3.0), renyi_divergence(curve.reversed(), 3.0))
    assert exact * (1 - 1e-9) <= chords <= exact * 1.01


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("mu", [1e-50, 1e-6, 1e-3, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("rate", [1e-300, 0.01, 1.0 - 1e-15, 1.0])
def test_no_parameters_take_many_nodes(pair, mu, rate):
    for order in (1.0 + 1e-12, 2.0, 16384.0, 1e12):
        which = SampledGaussianPair(mu, rate, *PAIRS[pair])
        nodes = None if rate == 1.0 else which._nodes(order)
        assert nodes is None or nodes[0].size <= 65537
        assert 0.0 <= which.renyi(order) < math.inf


@pytest.mark.parametrize("pair", ["remove", "replace"])
def test_little_noise_at_a_high_order_is_one_term(pair):
    which = SampledGaussianPair(50.0, 0.01, *PAIRS[pair])
    order = 16384.0
    log_moment = order * math.log(0.01) + 0.5 * order * (order - 1.0) * 2500.0
    if pair == "replace":
        log_moment -= (order - 1.0) * math.log(0.99)
    assert which.renyi(order) == pytest.approx(log_moment / (order - 1.0), rel=1e-13)


@given(loss=st.floats(-20.0, 20.0), order=orders)
@settings(max_examples=200)
def test_the_excess_loses_no_digits(loss, order):
    with mp.workdps(60):
        a, x = mp.mpf(order), mp.mpf(loss)
        excess = mp.exp(a * x) - 1 - a * mp.expm1(x)
        expected = float(mp.log(excess)) if excess > 1e-50 else None
    if expected is not None:
        found = float(log_excess(np.array([loss]), order)[0])
        assert found == pytest.approx(expected, rel=1e-14, abs=1e-11)
