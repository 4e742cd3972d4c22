"""What goes into an event: numbers of any kind become plain ones, anything else is refused."""

import dataclasses
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy import (
    ComposedEvent,
    Event,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureDPEvent,
    SelfComposedEvent,
    event_from_dict,
)
from skdp.privacy.composed_events import ApproximatedEvent, ShuffledEvent
from skdp.privacy.events import EVENTS
from skdp.privacy.noise_events import RepeatAndSelectEvent


def numbers(low, high):
    kinds = st.sampled_from([float, np.float64, np.float32, np.longdouble, Fraction])
    return st.builds(lambda kind, value: kind(value), kinds, st.floats(low, high))


def shares(integers):
    return np.array(integers) / sum(integers)


counts = st.builds(
    lambda kind, value: kind(value),
    st.sampled_from([int, np.int64, np.int32, np.uint8]),
    st.integers(1, 100),
)
leaves = st.one_of(
    st.builds(GDPEvent, numbers(0.0, 50.0)),
    st.builds(LaplaceEvent, numbers(0.1, 50.0)),
    st.builds(PoissonSampledEvent, numbers(0.01, 0.99), st.builds(PureDPEvent, numbers(0.0, 9.0))),
)
inner = leaves | st.builds(ComposedEvent, st.lists(leaves, max_size=3))
size = numbers(0.1, 50.0)
ARGUMENTS = {
    "GDPEvent": {"mu": numbers(0.0, 50.0)},
    "GaussianEvent": {"noise_multiplier": size},
    "NonPrivateEvent": {},
    "ComposedEvent": {"events": st.lists(inner, max_size=3)},
    "SelfComposedEvent": {"event": inner, "count": counts},
    "ApproxDPEvent": {"epsilon": numbers(0.0, 50.0), "delta": numbers(0.0, 0.9)},
    "ApproximatedEvent": {"event": inner, "tv": numbers(0.0, 1.0)},
    "BetweenNeighborsEvent": {"event": st.builds(LaplaceEvent, size)},
    "DataDependentNoiseEvent": {
        "distributions": st.lists(st.integers(1, 9), min_size=3, max_size=3).map(
            lambda integers: (tuple(shares(integers)), (0.0, 0.5, 0.5))
        ),
        "partition": st.sampled_from([(0, 1, 2), (-5, 0, 7)]),
        "sensitivity": counts,
    },
    "DiscreteGaussianEvent": {"scale": size, "sensitivity": counts},
    "DiscreteLaplaceEvent": {"scale": size, "sensitivity": counts},
    "FixedSizeSampledEvent": {"sampling_rate": numbers(0.01, 1.0), "event": inner},
    "LaplaceEvent": {"noise_multiplier": size},
    "ObjectivePerturbationEvent": {
        "noise_multiplier": size,
        "log_determinant": numbers(0.0, 50.0),
        "dimension": counts,
        "pulls": st.integers(0, 9),
        "cosine": numbers(0.0, 1.0),
        "joint_dimension": st.integers(0, 9),
    },
    "PiecewiseConstantNoiseEvent": {
        "probabilities": st.lists(st.integers(1, 9), min_size=1, max_size=9).map(shares),
        "sensitivity": counts,
        "atom": st.just(0.0),
    },
    "PoissonSampledEvent": {"sampling_rate": numbers(0.01, 1.0), "event": inner},
    "BoundedRangeEvent": {"epsilon": numbers(0.0, 50.0)},
    "PureDPEvent": {"epsilon": numbers(0.0, 50.0)},
    "RepeatAndSelectEvent": {
        "event": inner,
        "distribution": st.just(np.str_("negative_binomial")),
        "parameter": numbers(0.01, 0.99),
        "shape": numbers(-0.5, 3.0),
    },
    "ShuffledEvent": {"event": inner},
    "TruncatedLaplaceEvent": {"noise_multiplier": numbers(0.5, 2.0), "cut": numbers(0.5, 2.0)},
    "ZCDPEvent": {"rho": numbers(1e-9, 1e9)},
}


def test_every_argument_of_every_event_is_drawn():
    fields = {n: [f.name for f in dataclasses.fields(kind)] for n, kind in EVENTS.items()}
    assert {name: list(some) for name, some in ARGUMENTS.items()} == fields


def is_plain(value):
    if isinstance(value, Event):
        return all(is_plain(part) for part in vars(value).values())
    return all(map(is_plain, value)) if type(value) is tuple else type(value) in (int, float, str)


@pytest.mark.parametrize("name", ARGUMENTS)
@given(data=st.data())
@settings(max_examples=25)
def test_arguments_become_plain_and_survive_json(name, data):
    arguments = {field: data.draw(some) for field, some in ARGUMENTS[name].items()}
    event = EVENTS[name](**arguments)
    rebuilt = event_from_dict(json.loads(json.dumps(event.to_dict())))
    assert rebuilt == event
    assert repr(rebuilt) == repr(event)
    assert eval(repr(event), dict(EVENTS)) == event
    assert is_plain(event)
    for field, given_value in arguments.items():
        kept = getattr(event, field)
        assert np.all(kept == (tuple(given_value) if isinstance(kept, tuple) else given_value))


WRONG = [True, np.True_, None, "x", math.nan, -math.inf, -1, 1j, GDPEvent, np.zeros(2), {}, []]
RIGHT = {
    "events": (),
    "event": GDPEvent(1.0),
    "distribution": "geometric",
    "probabilities": (1.0,),
    "distributions": ((1.0,),),
    "partition": (0, 1),
    "count": 1,
    "dimension": 1,
    "pulls": 1,
    "sensitivity": 1,
    "sampling_rate": 0.5,
    "parameter": 0.5,
    "delta": 0.5,
    "tv": 0.5,
    "atom": 0.0,
}
CASES = [
    (name, field, wrong)
    for name, field in ((name, field) for name in ARGUMENTS for field in ARGUMENTS[name])
    for wrong in (WRONG[:-3] if field in ("events", "probabilities") else WRONG)
]


@pytest.mark.parametrize(("name", "field", "wrong"), CASES)
def test_a_wrong_argument_is_named_with_what_is_allowed(name, field, wrong):
    arguments = {some: RIGHT.get(some, 1.0) for some in ARGUMENTS[name]} | {field: wrong}
    with pytest.raises(ValueError, match=rf"{field}\S* must (be|lie) .*got"):
        EVENTS[name](**arguments)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (ComposedEvent, ((1,),), r"events\[0\] must be an Event, .* got 1\."),
        (ComposedEvent, ((GDPEvent(1.0), GDPEvent),), r"events\[1\] must be an Event"),
        (ComposedEvent, ({"a": 1},), r"events\[0\] must be an Event"),
        (ComposedEvent, (GDPEvent(1.0),), r"events must be a tuple or list .* got GDPEvent"),
        (SelfComposedEvent, (3, 2), "event must be an Event, .* got 3"),
        (SelfComposedEvent, (GDPEvent(1.0), 2.0), "count must be an integer .* got 2.0"),
        (GDPEvent, (10**400,), r"mu must be a number in \[0, inf\)"),
        (GDPEvent, (math.inf,), r"mu must be a number in \[0, inf\)"),
        (PureDPEvent, (math.inf,), r"epsilon must be a number in \[0, inf\)"),
        (EVENTS["ApproxDPEvent"], (1.0, Fraction(10**30 - 1, 10**30)), r"delta must lie in \[0, 1"),
        (PoissonSampledEvent, (True, GDPEvent(1.0)), r"sampling_rate must be a number in \(0, 1\]"),
        (EVENTS["PiecewiseConstantNoiseEvent"], (("1.0",), 1), r"probabilities\[0\] must be"),
        (EVENTS["PiecewiseConstantNoiseEvent"], ((0.5, True), 1), r"probabilities\[1\] must be"),
    ],
)
def test_an_error_says_what_was_wrong(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(*arguments)


def test_a_rebuilt_event_needs_a_dict():
    with pytest.raises(ValueError, match="must be a dict from"):
        event_from_dict("GDPEvent")


def test_a_list_of_events_and_a_generator_are_a_tuple():
    events = [GDPEvent(0.1), LaplaceEvent(2)]
    assert ComposedEvent(events) == ComposedEvent(tuple(events)) == ComposedEvent(iter(events))
    assert repr(GDPEvent(-0.0)) == "GDPEvent(mu=0.0)"


def test_approximate_samplers_are_taken_out_and_counted_together():
    near = ApproximatedEvent(GDPEvent(0.5), 1e-3)
    twice = ApproximatedEvent(SelfComposedEvent(near, 3), 0.02)
    event = ComposedEvent((twice, SelfComposedEvent(ShuffledEvent(near), 5), LaplaceEvent(1.0)))
    ideal, tv = event.ideal()
    assert tv == pytest.approx(0.003 + 0.02 + 0.005, rel=1e-14)
    expected = [(GDPEvent(0.5), 3), (GDPEvent(0.5), 5), (LaplaceEvent(1.0), 1)]
    assert list(ideal.leaves()) == expected


@pytest.mark.parametrize(
    "event", [GaussianEvent(1.0), RepeatAndSelectEvent(PureDPEvent(1.0), "geometric", 0.5)]
)
def test_an_exact_release_is_its_own_ideal(event):
    assert event.ideal() == (event, 0.0)


@given(tvs=st.lists(st.floats(0.0, 0.01), min_size=1, max_size=3), epsilon=st.floats(0.0, 3.0))
@settings(max_examples=30)
def test_the_ideal_costs_at_least_what_the_approximate_curve_says(tvs, epsilon):
    event = GDPEvent(0.7)
    for tv in tvs:
        event = ApproximatedEvent(event, tv)
    ideal, tv = event.ideal()
    total = ideal.curve("replace_one").delta(epsilon) + (1.0 + math.exp(epsilon)) * tv
    assert event.curve("replace_one").delta(epsilon) <= total * (1 + 1e-12)
    assert list(itertools.chain(ideal.leaves())) == [(GDPEvent(0.7), 1)]
