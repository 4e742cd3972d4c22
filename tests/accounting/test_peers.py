"""The same numbers as released accountants, where these are installed."""

import math

import pytest

from skdp.accounting import PLDAccountant, RDPAccountant, ZCDPAccountant, calibrate
from skdp.privacy import (
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureDPEvent,
    SelfComposedEvent,
)

RELATION = "add_remove_one"
PLANS = [  # q, s, T, δ
    (0.01, 1.0, 1000, 1e-5),
    (0.02, 2.0, 2000, 1e-5),
    (0.05, 0.8, 200, 1e-5),
    (0.1, 3.0, 300, 1e-6),
]


def sampled(rate, noise, count):
    return SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(noise)), count)


@pytest.mark.parametrize(("rate", "noise", "count", "delta"), PLANS)
@pytest.mark.filterwarnings("ignore")
def test_sampled_gaussians_cost_what_dp_accounting_says(rate, noise, count, delta):
    dp = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    event = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise))
    theirs = pld.PLDAccountant().compose(event, count).get_epsilon(delta)
    low, high = PLDAccountant(RELATION).bounds(sampled(rate, noise, count), delta)
    assert low <= theirs  # theirs is an upper bound
    assert high == pytest.approx(theirs, abs=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_a_mixed_plan_costs_what_dp_accounting_says():
    dp = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    accountant = pld.PLDAccountant().compose(dp.LaplaceDpEvent(10.0), 20)
    accountant.compose(dp.GaussianDpEvent(5.0), 3)
    event = ComposedEvent(
        (SelfComposedEvent(LaplaceEvent(10.0), 20), SelfComposedEvent(GaussianEvent(5.0), 3))
    )
    low, high = PLDAccountant(RELATION).bounds(event, 1e-6)
    assert low <= accountant.get_epsilon(1e-6)
    assert high == pytest.approx(accountant.get_epsilon(1e-6), abs=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [LaplaceEvent, GaussianEvent])
def test_renyi_is_that_of_dp_accounting_at_its_own_orders(make):
    dp = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    peer = {LaplaceEvent: dp.LaplaceDpEvent, GaussianEvent: dp.GaussianDpEvent}[make](8.0)
    theirs = rdp.RdpAccountant().compose(peer, 50).get_epsilon(1e-6)
    ours = RDPAccountant(RELATION).epsilon(SelfComposedEvent(make(8.0), 50), 1e-6)
    assert ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=5e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rate", "noise", "count", "delta"), PLANS[:2])
def test_sampled_gaussians_lie_between_the_bounds_of_prv_accountant(rate, noise, count, delta):
    prv = pytest.importorskip("prv_accountant")
    distribution = prv.PoissonSubsampledGaussianMechanism(rate, noise)
    accountant = prv.PRVAccountant(
        prvs=[distribution], max_self_compositions=[count], eps_error=0.01, delta_error=delta * 1e-4
    )
    below, _, above = accountant.compute_epsilon(delta, [count])
    low, high = PLDAccountant(RELATION).bounds(sampled(rate, noise, count), delta)
    assert low <= above
    assert below <= high


@pytest.mark.filterwarnings("ignore")
def test_pure_releases_cost_what_prv_accountant_says():
    prv = pytest.importorskip("prv_accountant")
    accountant = prv.PRVAccountant(
        prvs=[prv.PureDPMechanism(0.2)],
        max_self_compositions=[50],
        eps_error=0.01,
        delta_error=1e-10,
    )
    below, _, above = accountant.compute_epsilon(1e-6, [50])
    ours = PLDAccountant(RELATION).epsilon(SelfComposedEvent(PureDPEvent(0.2), 50), 1e-6)
    assert below <= ours <= above


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("noise", [5.0, 20.0])
def test_zcdp_is_the_renyi_value_of_autodp(noise):
    zoo = pytest.importorskip("autodp.mechanism_zoo")
    transformers = pytest.importorskip("autodp.transformer_zoo")
    theirs = transformers.Composition()([zoo.GaussianMechanism(noise)], [30]).get_approxDP(1e-5)
    event = SelfComposedEvent(GaussianEvent(noise), 30)
    assert ZCDPAccountant(RELATION).epsilon(event, 1e-5) == pytest.approx(theirs, rel=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_noise_for_sampled_gaussians_is_that_of_dp_accounting():
    dp = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    ours = calibrate(
        lambda noise: sampled(0.01, noise, 500),
        1.0,
        1e-5,
        low=0.5,
        high=10.0,
        accountant=PLDAccountant(RELATION),
    )
    event = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(ours))
    theirs = pld.PLDAccountant().compose(event, 500).get_epsilon(1e-5)
    assert theirs == pytest.approx(1.0, abs=1e-3)
    assert math.isfinite(ours)
