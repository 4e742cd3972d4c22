"""What holds for every accountant: nothing costs nothing, order is nothing, nothing is free."""

import math
from dataclasses import FrozenInstanceError, dataclass

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.accounting import (
    ACCOUNTANTS,
    AdvancedAccountant,
    BasicAccountant,
    PLDAccountant,
    RDPAccountant,
    UnpricedEventError,
    ZCDPAccountant,
)
from skdp.privacy import (
    ApproxDPEvent,
    ComposedEvent,
    Event,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    NonPrivateEvent,
    PoissonSampledEvent,
    PureDPEvent,
    SelfComposedEvent,
    ZCDPEvent,
)
from skdp.privacy.composed_events import ApproximatedEvent
from skdp.privacy.events import NoClosedCurveError
from skdp.privacy.gaussian import DiscreteGaussianEvent
from skdp.privacy.noise_events import DiscreteLaplaceEvent, TruncatedLaplaceEvent

RELATIONS = ["replace_one", "add_remove_one"]
every = pytest.mark.parametrize("kind", ACCOUNTANTS.values(), ids=ACCOUNTANTS)
mus = st.floats(0.01, 1.5)
counts = st.integers(1, 20)
deltas = st.floats(-9.0, -2.0).map(lambda x: 10.0**x)
leaves = st.one_of(
    st.builds(GDPEvent, st.floats(0.001, 1.5)),
    st.builds(LaplaceEvent, st.floats(0.5, 200.0)),
    st.builds(PureDPEvent, st.floats(0.001, 1.5)),
    st.builds(ApproxDPEvent, st.floats(0.001, 1.5), st.floats(1e-12, 1e-4)),
    st.builds(ZCDPEvent, st.floats(1e-4, 0.5)),
    st.builds(DiscreteGaussianEvent, st.floats(0.5, 10.0)),
    st.builds(DiscreteLaplaceEvent, st.floats(0.5, 50.0), st.integers(1, 3)),
    st.builds(TruncatedLaplaceEvent, st.floats(0.5, 5.0), st.floats(5.0, 50.0)),
    st.builds(PoissonSampledEvent, st.floats(1e-5, 0.5), st.just(GaussianEvent(1.0))),
    st.builds(PoissonSampledEvent, st.floats(1e-3, 0.5), st.just(LaplaceEvent(2.0))),
    st.builds(ApproximatedEvent, st.builds(GDPEvent, st.floats(0.01, 1.0)), st.floats(1e-12, 0.1)),
    st.builds(ApproximatedEvent, st.just(PureDPEvent(1.0)), st.floats(1e-6, 0.4)),
)
plans = st.lists(st.tuples(leaves, st.integers(1, 12)), min_size=1, max_size=3)


def cost_of(accountant, event, delta):
    try:
        return accountant.epsilon(event, delta)
    except UnpricedEventError:
        return math.inf


@dataclass(frozen=True)
class Unknown(Event):
    def curve(self, neighboring):
        raise NoClosedCurveError("no curve")


@every
@pytest.mark.parametrize(
    "event",
    [
        GDPEvent(0.0),
        ComposedEvent(()),
        SelfComposedEvent(GaussianEvent(1.0), 0),
        SelfComposedEvent(NonPrivateEvent(), 0),
        SelfComposedEvent(GDPEvent(0.0), 1000),
    ],
)
def test_no_release_costs_nothing(kind, event):
    assert kind().epsilon(event, 1e-6) == kind().epsilon(event, 0.0) == 0.0
    assert kind().delta(event, 0.0) == kind().delta(event, 1.0) == 0.0


@every
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.5])
def test_a_release_without_privacy_costs_everything(kind, delta):
    event = ComposedEvent((GDPEvent(0.1), NonPrivateEvent()))
    assert kind().epsilon(event, delta) == math.inf
    assert kind().delta(event, 100.0) == 1.0


@every
def test_an_unknown_leaf_is_refused_by_name(kind):
    event = ComposedEvent((GDPEvent(0.1), SelfComposedEvent(Unknown(), 3)))
    with pytest.raises(UnpricedEventError, match=r"Unknown\(\)"):
        kind().epsilon(event, 1e-5)
    with pytest.raises(UnpricedEventError, match=r"Unknown\(\)"):
        kind().delta(event, 1.0)


@every
@pytest.mark.parametrize("event", [None, 1.0, "gaussian", (GDPEvent(1.0),)])
def test_what_is_not_an_event_is_refused(kind, event):
    with pytest.raises(UnpricedEventError, match="not an Event"):
        kind().epsilon(event, 1e-5)


@every
@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, None])
def test_an_impossible_delta_is_refused(kind, delta):
    with pytest.raises(ValueError, match="delta must lie in"):
        kind().epsilon(GDPEvent(1.0), delta)


@every
@pytest.mark.parametrize("epsilon", [-1e-9, math.nan])
def test_an_impossible_epsilon_is_refused(kind, epsilon):
    with pytest.raises(ValueError, match="epsilon must lie in"):
        kind().delta(GDPEvent(1.0), epsilon)


@every
def test_an_unknown_relation_is_refused(kind):
    with pytest.raises(ValueError, match="remove"):
        kind(neighboring="remove")


@every
def test_accountants_are_values(kind):
    assert kind() == kind(neighboring="replace_one") != kind(neighboring="add_remove_one")
    assert hash(kind()) == hash(kind())
    with pytest.raises(FrozenInstanceError):
        kind().neighboring = "add_remove_one"


@every
@given(a=mus, b=mus, count=counts, delta=deltas)
@settings(max_examples=10)
def test_nesting_and_order_do_not_matter(kind, a, b, count, delta):
    first, second = GDPEvent(a), GDPEvent(b)
    flat = ComposedEvent((first, *[second] * count))
    nested = ComposedEvent((SelfComposedEvent(ComposedEvent((second,)), count), first))
    assert kind().epsilon(flat, delta) == kind().epsilon(nested, delta)


@every
@given(mu=mus, count=counts, delta=deltas, more=st.floats(1.01, 3.0))
@settings(max_examples=10)
def test_more_costs_more(kind, mu, count, delta, more):
    cost = kind().epsilon(SelfComposedEvent(GDPEvent(mu), count), delta)
    assert cost <= kind().epsilon(SelfComposedEvent(GDPEvent(mu), count + 1), delta)
    assert cost <= kind().epsilon(SelfComposedEvent(GDPEvent(mu * more), count), delta)
    assert cost <= kind().epsilon(SelfComposedEvent(GDPEvent(mu), count), delta / more)


@every
@given(mu=mus, count=counts, delta=deltas)
@settings(max_examples=10)
def test_delta_and_epsilon_are_each_others_inverse(kind, neighboring, mu, count, delta):
    accountant = kind(neighboring=neighboring)
    event = SelfComposedEvent(GaussianEvent(1.0 / mu), count)
    epsilon = accountant.epsilon(event, delta)
    if epsilon > 0.0:
        assert accountant.delta(event, epsilon) == pytest.approx(delta, rel=1e-5)


@every
def test_replacing_costs_more_than_adding(kind):
    event = SelfComposedEvent(GaussianEvent(5.0), 10)
    replace, add = (kind(neighboring=relation).epsilon(event, 1e-5) for relation in RELATIONS)
    assert replace > 1.9 * add


@every
def test_delta_takes_arrays(kind):
    epsilons = np.array([[0.5, 1.0], [2.0, 4.0]])
    event = GDPEvent(0.5)
    found = kind().delta(event, epsilons)
    assert found.shape == (2, 2)
    assert found[1, 0] == kind().delta(event, 2.0)
    assert np.all(np.diff(found.ravel()) <= 0.0)


@pytest.mark.parametrize("kind", [kind for name, kind in ACCOUNTANTS.items() if name != "gdp"])
@given(mu=mus, size=st.floats(0.01, 1.5), count=st.integers(1, 12), delta=deltas)
@settings(max_examples=15)
def test_no_answer_is_below_the_exact_one(kind, black_box, exact, mu, size, count, delta):
    event = ComposedEvent((GDPEvent(mu), SelfComposedEvent(black_box(size), count)))
    epsilon = kind().epsilon(event, delta)
    assert exact(mu, size, 0.0, count, epsilon) <= delta * (1 + 1e-9)
    if epsilon > 1e-3:
        at = 0.7 * epsilon
        assert exact(mu, size, 0.0, count, at) <= kind().delta(event, at) * (1 + 1e-9)


@pytest.mark.slow
@given(plan=plans, delta=deltas)
@settings(max_examples=25)
def test_the_accountants_keep_their_order(neighboring, plan, delta):
    """lower ≤ upper ≤ Rényi ≤ zCDP, basic and advanced, but for what the grid may add to ε."""
    event = ComposedEvent(tuple(SelfComposedEvent(leaf, count) for leaf, count in plan))
    low, high = PLDAccountant(neighboring).bounds(event, delta)
    assert 0.0 <= low <= high == PLDAccountant(neighboring).epsilon(event, delta)
    renyi, zcdp, advanced, basic = (
        cost_of(kind(neighboring), event, delta)
        for kind in (RDPAccountant, ZCDPAccountant, AdvancedAccountant, BasicAccountant)
    )
    assert high <= min(renyi, zcdp, advanced, basic) * (1.0 + 1e-6) + 1e-9
    assert renyi <= zcdp * (1.0 + 1e-9) + 1e-12


@given(mu=st.floats(1e-4, 1.5), size=st.floats(0.01, 1.5), count=counts, delta=deltas)
@settings(max_examples=60)
def test_numerical_encloses_the_exact_one_closely(black_box, exact, mu, size, count, delta):
    event = ComposedEvent((GDPEvent(mu), SelfComposedEvent(black_box(size), count)))
    low, high = PLDAccountant().bounds(event, delta)
    assert exact(mu, size, 0.0, count, high) <= delta * (1.0 + 1e-9)
    assert low == 0.0 or exact(mu, size, 0.0, count, low) >= delta * (1.0 - 1e-9)
    if high > 3e-4:
        assert exact(mu, size, 0.0, count, high - 3e-4) >= delta * (1.0 - 1e-9)


@every
@given(mu=mus, count=counts, delta=deltas)
@settings(max_examples=15)
def test_nothing_is_below_the_exact_gaussian(kind, mu, count, delta):
    event = SelfComposedEvent(GDPEvent(mu), count)
    exact = event.curve("replace_one").epsilon(delta)
    assert kind().epsilon(event, delta) >= exact * (1 - 1e-11)


def test_no_delta_of_a_gaussian_is_below_the_truth_far_out():
    mu, epsilon = 1.12, 40.2  # the exact δ is 2.8e-275
    with mp.workdps(50):
        u, m = mp.mpf(epsilon) / mp.mpf(mu) - mp.mpf(mu) / 2, mp.mpf(mu)
        exact = mp.ncdf(-u) - mp.exp(mp.mpf(epsilon)) * mp.ncdf(-u - m)
        assert mp.mpf(PLDAccountant().delta(GDPEvent(mu), epsilon)) >= exact
