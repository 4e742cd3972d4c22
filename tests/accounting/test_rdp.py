"""Rényi accounting where other accountants, closed forms and tiny targets check it."""

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.accounting import (
    GDPAccountant,
    PLDAccountant,
    RDPAccountant,
    UnpricedEventError,
    ZCDPAccountant,
    calibrate,
)
from skdp.accounting.concentrated import delta_from_rdp, epsilon_from_rdp, tight_epsilon
from skdp.privacy import (
    ComposedEvent,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    SelfComposedEvent,
)
from skdp.privacy.noise_events import RepeatAndSelectEvent, TruncatedLaplaceEvent


@given(
    rate=st.floats(-4.0, -0.1).map(lambda x: 10.0**x),
    noise=st.floats(0.5, 20.0),
    count=st.integers(1, 1000),
    delta=st.floats(-9.0, -3.0).map(lambda x: 10.0**x),
)
@settings(max_examples=15)
def test_sampled_gaussians_cost_between_the_lower_bound_and_zcdp(
    neighboring, rate, noise, count, delta
):
    event = SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(noise)), count)
    renyi = RDPAccountant(neighboring).epsilon(event, delta)
    assert PLDAccountant(neighboring).bounds(event, delta)[0] <= renyi
    unsampled = SelfComposedEvent(GaussianEvent(noise), count)
    assert renyi <= ZCDPAccountant(neighboring).epsilon(unsampled, delta) * (1 + 1e-9)


@given(
    mus=st.lists(st.floats(0.01, 2.0), max_size=3),
    scale=st.floats(0.3, 20.0),
    count=st.integers(1, 1000),
    delta=st.floats(-12.0, -1.0).map(lambda x: 10.0**x),
)
@settings(max_examples=25)
def test_renyi_is_never_dearer_than_zcdp_for_events_that_are_known(
    neighboring, mus, scale, count, delta
):
    event = ComposedEvent((*map(GDPEvent, mus), SelfComposedEvent(LaplaceEvent(scale), count)))
    renyi, zcdp = (
        kind(neighboring).epsilon(event, delta) for kind in (RDPAccountant, ZCDPAccountant)
    )
    assert renyi <= zcdp * (1 + 1e-9)
    at = 0.8 * renyi
    deltas = [kind(neighboring).delta(event, at) for kind in (RDPAccountant, ZCDPAccountant)]
    assert deltas[0] <= deltas[1] * (1 + 1e-9)


@pytest.mark.parametrize("delta", [1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("epsilon", [1e-3, pytest.param(1e-6, marks=pytest.mark.slow)])
def test_tiny_targets_have_an_answer_near_that_of_the_gaussian(neighboring, epsilon, delta):
    """A sampled Gaussian with much noise is nearly one with q/s in place of 1/s."""

    def noise(make, kind):
        return calibrate(make, epsilon, delta, low=0.1, high=1e9, accountant=kind(neighboring))

    rate, steps = 0.01, 100
    sampled = noise(
        lambda s: SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(s)), steps),
        RDPAccountant,
    )
    plain = noise(lambda s: GaussianEvent(s / math.sqrt(steps) / rate), GDPAccountant)
    assert plain * (1 - 1e-4) <= sampled <= 1.6 * plain


@given(mu=st.floats(-6.0, 0.0).map(lambda x: 10.0**x), epsilon=st.floats(0.0, 0.1))
@settings(max_examples=30)
def test_no_delta_is_above_the_total_variation(mu, epsilon):
    event = GDPEvent(mu)
    found, exact = RDPAccountant().delta(event, epsilon), event.curve("replace_one").delta(epsilon)
    assert exact * (1 - 1e-9) <= found <= 0.5 * mu * (1 + 1e-5)
    assert RDPAccountant().epsilon(event, 0.5 * mu * (1 + 1e-5)) == 0.0
    assert RDPAccountant().epsilon(event, 0.9 * event.curve("replace_one").delta(0.0)) > 0.0


def test_a_release_no_one_notices_costs_nothing():
    event = PoissonSampledEvent(1e-5, GaussianEvent(1.0))  # its total variation is 3.8e-6
    assert RDPAccountant("add_remove_one").epsilon(event, 1e-5) == 0.0
    assert RDPAccountant("add_remove_one").epsilon(event, 3e-6) > 0.0


def test_repetition_of_a_quiet_release_is_quiet():
    """(1 + η)(ρλ + log(1/γ)/λ) is least at λ = √(log(1/γ)/ρ), 2e5 and more here."""
    run, gamma = GaussianEvent(1e5), 0.1
    rho = run.zcdp_rho("add_remove_one")
    event = RepeatAndSelectEvent(run, "geometric", gamma)
    inner = 2.0 * (2.0 * math.sqrt(rho * math.log(1.0 / gamma)) - rho)
    order = 1e7
    expected = rho * order + inner + math.log(1.0 / gamma) / (order - 1.0)
    assert event.rdp(order, "add_remove_one") == pytest.approx(expected, rel=1e-6)
    assert RDPAccountant("add_remove_one").epsilon(event, 1e-6) < 2e-4


def test_an_end_of_mass_however_small_has_no_renyi_divergence():
    event = TruncatedLaplaceEvent(0.5, 60.0)
    assert 0.0 < event.curve("replace_one").delta(1e9) < 1e-50
    assert event.rdp(1.000001, "replace_one") == math.inf
    with pytest.raises(UnpricedEventError, match="finite Rényi divergences"):
        RDPAccountant().epsilon(event, 1e-60)


@pytest.mark.parametrize("largest", [1.01, 5.0, 1e5, math.inf])
def test_divergences_that_end_at_some_order_are_no_trouble(largest):
    def rdp(order):
        return 0.1 * order if order < largest else math.inf

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        epsilon, delta = epsilon_from_rdp(rdp, 1e-5, "tight"), delta_from_rdp(rdp, 2.0, "tight")
    at_once = [tight_epsilon(a, rdp(a), math.log(1e-5)) for a in (1.005, 4.9, 20.0)]
    assert 1.9 < epsilon <= min(at_once) * (1 + 1e-11)
    assert 0.0 < delta <= 1.0


def test_the_best_order_is_found_however_large():
    noise, delta = 1e9, 1e-12
    exact = GDPAccountant("add_remove_one").epsilon(GaussianEvent(noise), delta)
    for kind in (RDPAccountant, ZCDPAccountant):
        assert exact < kind("add_remove_one").epsilon(GaussianEvent(noise), delta) < 1.2 * exact


@pytest.mark.parametrize("noise", [1e4, 1e6, 1e9])
def test_quiet_laplace_releases_cost_no_less_than_they_do(noise):
    event = SelfComposedEvent(LaplaceEvent(noise), 1000)
    assert RDPAccountant().epsilon(event, 1e-5) >= PLDAccountant().bounds(event, 1e-5)[0]
    limit = GDPEvent(2.0 / noise * math.sqrt(1000.0)).curve("replace_one")
    assert RDPAccountant().delta(event, 0.0) >= 0.99 * limit.delta(0.0)
