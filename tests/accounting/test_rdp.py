"""Rényi accounting where other accountants, closed forms and tiny targets check it."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.accounting import GDPAccountant, PLDAccountant, RDPAccountant, ZCDPAccountant, calibrate
from skdp.privacy import (
    ComposedEvent,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    RepeatAndSelectEvent,
    SelfComposedEvent,
)

RELATIONS = ["replace_one", "add_remove_one"]
relations = pytest.mark.parametrize("relation", RELATIONS)


@relations
@given(
    rate=st.floats(-4.0, -0.1).map(lambda x: 10.0**x),
    noise=st.floats(0.5, 20.0),
    count=st.integers(1, 1000),
    delta=st.floats(-9.0, -3.0).map(lambda x: 10.0**x),
)
@settings(max_examples=15)
def test_sampled_gaussians_cost_between_the_lower_bound_and_zcdp(
    relation, rate, noise, count, delta
):
    event = SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(noise)), count)
    renyi = RDPAccountant(relation).epsilon(event, delta)
    assert PLDAccountant(relation).bounds(event, delta)[0] <= renyi
    unsampled = SelfComposedEvent(GaussianEvent(noise), count)
    assert renyi <= ZCDPAccountant(relation).epsilon(unsampled, delta) * (1 + 1e-9)


@relations
@given(
    mus=st.lists(st.floats(0.01, 2.0), max_size=3),
    scale=st.floats(0.3, 20.0),
    count=st.integers(1, 1000),
    delta=st.floats(-12.0, -1.0).map(lambda x: 10.0**x),
)
@settings(max_examples=25)
def test_renyi_is_never_dearer_than_zcdp_for_events_that_are_known(
    relation, mus, scale, count, delta
):
    event = ComposedEvent((*map(GDPEvent, mus), SelfComposedEvent(LaplaceEvent(scale), count)))
    renyi, zcdp = (kind(relation).epsilon(event, delta) for kind in (RDPAccountant, ZCDPAccountant))
    assert renyi <= zcdp * (1 + 1e-9)
    at = 0.8 * renyi
    deltas = [kind(relation).delta(event, at) for kind in (RDPAccountant, ZCDPAccountant)]
    assert deltas[0] <= deltas[1] * (1 + 1e-9)


@relations
@pytest.mark.parametrize("delta", [1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-6])
def test_tiny_targets_have_an_answer_near_that_of_the_gaussian(relation, epsilon, delta):
    """A sampled Gaussian with much noise is nearly one with q/s in place of 1/s."""

    def noise(make, kind):
        return calibrate(make, epsilon, delta, low=0.1, high=1e9, accountant=kind(relation))

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
