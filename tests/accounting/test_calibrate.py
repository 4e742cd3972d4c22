"""Noise, steps, rates and ε from a target: met, barely, and more for more."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.accounting import (
    ACCOUNTANTS,
    GDPAccountant,
    RDPAccountant,
    ZCDPAccountant,
    calibrate,
    gdp_mu,
)
from skdp.accounting.base import UnpricedEventError
from skdp.privacy import GaussianEvent, GDPEvent, SelfComposedEvent
from skdp.privacy.noise_events import RepeatAndSelectEvent

NAMES = [name for name in ACCOUNTANTS if name != "pld"]


def steps(count):
    return SelfComposedEvent(GaussianEvent(500.0), int(count))


@pytest.mark.parametrize("name", NAMES)
def test_the_target_is_met_and_barely(name):
    accountant = ACCOUNTANTS[name]()

    def make(noise):
        return SelfComposedEvent(GaussianEvent(noise), 4)

    noise = calibrate(make, 1.0, 1e-5, low=0.1, high=1e3, accountant=name)
    assert accountant.epsilon(make(noise), 1e-5) <= 1.0
    assert accountant.epsilon(make(noise * (1 - 1e-9)), 1e-5) > 1.0


@settings(max_examples=20)
@given(epsilon=st.floats(0.05, 5.0), delta=st.floats(-12.0, -2.0).map(lambda x: 10.0**x))
def test_gaussian_noise_is_the_closed_form(epsilon, delta):
    noise = calibrate(GaussianEvent, epsilon, delta, low=1e-3, high=1e5)
    assert noise == pytest.approx(2.0 / gdp_mu(epsilon, delta), rel=1e-10)
    assert GDPAccountant().epsilon(GaussianEvent(noise), delta) <= epsilon


@pytest.mark.parametrize("name", ["gdp", "zcdp", "rdp", "basic"])
def test_a_number_of_steps_is_the_last_that_fits(name):
    accountant = ACCOUNTANTS[name]()
    count = calibrate(steps, 2.0, 1e-5, low=1, high=10**6, accountant=accountant, integer=True)
    assert isinstance(count, int)
    assert (
        accountant.epsilon(steps(count), 1e-5) <= 2.0 < accountant.epsilon(steps(count + 1), 1e-5)
    )


def test_targets_may_be_arrays_and_more_target_never_gives_worse():
    epsilons = np.geomspace(0.1, 10.0, 9)[:, None]
    deltas = np.array([1e-8, 1e-6, 1e-4])
    noise = calibrate(GaussianEvent, epsilons, deltas, low=1e-2, high=1e3)
    assert noise.shape == (9, 3)
    assert np.all(np.diff(noise, axis=0) < 0.0)
    assert np.all(np.diff(noise, axis=1) < 0.0)
    counts = calibrate(steps, epsilons, deltas, low=1, high=10**7, integer=True)
    assert counts.dtype.kind == "i"
    assert np.all(np.diff(counts, axis=0) > 0)
    assert noise[3, 1] == calibrate(GaussianEvent, epsilons[3, 0], 1e-6, low=1e-2, high=1e3)


def test_a_parameter_that_costs_more_is_found_from_below():
    mu = calibrate(GDPEvent, 1.0, 1e-5, low=1e-3, high=10.0)
    assert mu == pytest.approx(gdp_mu(1.0, 1e-5), rel=1e-10)
    assert GDPAccountant().epsilon(GDPEvent(mu), 1e-5) <= 1.0


def test_ends_that_meet_the_target_are_answers():
    assert calibrate(GaussianEvent, 10.0, 1e-5, low=5.0, high=50.0) == 5.0
    assert calibrate(GDPEvent, math.inf, 1e-5, low=0.1, high=3.0) == 3.0


def test_a_target_out_of_reach_is_refused():
    with pytest.raises(ValueError, match=r"No parameter in .* meets epsilon=0.1"):
        calibrate(GaussianEvent, 0.1, 1e-5, low=1.0, high=2.0)
    with pytest.raises(ValueError, match="No parameter"):
        calibrate(GaussianEvent, 1.0, 0.0, low=1.0, high=1e6)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (1.0, math.inf)])
def test_impossible_ends_are_refused(ends):
    with pytest.raises(ValueError, match="low, high must satisfy"):
        calibrate(GaussianEvent, 1.0, 1e-5, low=ends[0], high=ends[1])


def test_an_unknown_accountant_is_refused():
    with pytest.raises(ValueError, match="accountant must be one of"):
        calibrate(GaussianEvent, 1.0, 1e-5, low=1.0, high=2.0, accountant="best")


def test_the_relation_is_the_accountants():
    replace = calibrate(GaussianEvent, 1.0, 1e-5, low=0.1, high=1e3, accountant=ZCDPAccountant())
    add = calibrate(
        GaussianEvent, 1.0, 1e-5, low=0.1, high=1e3, accountant=ZCDPAccountant("add_remove_one")
    )
    assert replace == pytest.approx(2.0 * add, rel=1e-9)


def test_an_accountant_without_a_bound_names_others_that_have_one():
    def repeated(mu):
        return RepeatAndSelectEvent(GDPEvent(mu), "geometric", 0.1)

    ends = {"low": 1e-3, "high": 5.0}
    for name in ("gdp", "zcdp"):
        with pytest.raises(UnpricedEventError, match="'rdp' or 'pld' or 'basic'"):
            calibrate(repeated, 3.0, 1e-5, accountant=name, **ends)
    mu = calibrate(repeated, 3.0, 1e-5, accountant="rdp", **ends)
    assert 2.999 < RDPAccountant().epsilon(repeated(mu), 1e-5) <= 3.0
