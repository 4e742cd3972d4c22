"""What every event of the registry promises. A new event needs an example here."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.privacy import (
    ComposedEvent,
    GaussianEvent,
    GDPEvent,
    Neighboring,
    NonPrivateEvent,
    SelfComposedEvent,
    event_from_dict,
)
from skdp.privacy.events import EVENTS

RELATION = Neighboring.REPLACE_ONE
EXAMPLES = {
    "GDPEvent": [GDPEvent(0.0), GDPEvent(0.1), GDPEvent(1 / 3), GDPEvent(25.0)],
    "GaussianEvent": [GaussianEvent(0.7), GaussianEvent(20.0)],
    "NonPrivateEvent": [NonPrivateEvent()],
    "SelfComposedEvent": [SelfComposedEvent(GDPEvent(0.1), 7), SelfComposedEvent(GDPEvent(1.0), 0)],
    "ComposedEvent": [
        ComposedEvent(()),
        ComposedEvent((GDPEvent(0.3), GDPEvent(0.4))),
        ComposedEvent((GDPEvent(1e-9), ComposedEvent((NonPrivateEvent(),)))),
    ],
}
EVERY_EXAMPLE = [event for some in EXAMPLES.values() for event in some]
events = pytest.mark.parametrize("event", EVERY_EXAMPLE, ids=repr)


def test_every_event_has_an_example_of_its_own_kind():
    assert set(EXAMPLES) == set(EVENTS)
    assert all(type(event) is EVENTS[name] for name, some in EXAMPLES.items() for event in some)


@events
def test_the_curve_is_a_privacy_curve(event):
    epsilon = np.linspace(-30.0, 30.0, 61)
    delta = event.curve(RELATION).delta(epsilon)
    assert np.all(delta >= np.maximum(0.0, -np.expm1(epsilon)) * (1 - 1e-15))
    assert np.all(delta <= 1.0)
    assert np.all(np.diff(delta) <= 1e-15)


@events
def test_gdp_mu_covers_the_curve(event):
    assert event.gdp_mu(RELATION) >= 0.0
    assert np.all(
        event.curve(RELATION).delta(np.zeros(1))
        <= math.erf(event.gdp_mu(RELATION) / 8**0.5) + 1e-15
    )


@events
def test_an_event_survives_json(event):
    rebuilt = event_from_dict(json.loads(json.dumps(event.to_dict())))
    assert rebuilt == event
    assert rebuilt.gdp_mu(RELATION) == event.gdp_mu(RELATION)


@events
def test_an_event_is_a_value(event):
    twin = pickle.loads(pickle.dumps(event))
    assert twin == event
    assert hash(twin) == hash(event)
    assert eval(repr(event), dict(EVENTS)) == event


@events
def test_an_event_cannot_be_changed(event):
    with pytest.raises(AttributeError):
        event.mu = 0.5


def test_different_events_differ():
    assert len(set(EVERY_EXAMPLE)) == len(EVERY_EXAMPLE)


@pytest.mark.parametrize("data", [{"kind": "Wish"}, {}, {"mu": 1.0}])
def test_an_unknown_event_is_refused(data):
    with pytest.raises(ValueError, match=r"Unknown event .*known: .*GDPEvent"):
        event_from_dict(data)


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="Unknown event 'Wish'"):
        event_from_dict({"kind": "ComposedEvent", "events": [{"kind": "Wish"}]})


@pytest.mark.parametrize("mu", [-1e-9, math.inf, math.nan])
def test_an_impossible_mu_is_refused(mu):
    with pytest.raises(ValueError, match=r"mu must lie in \[0, inf\)"):
        GDPEvent(mu)


@given(mus=st.lists(st.floats(0.0, 100.0), max_size=6))
def test_gaussian_events_compose_in_squares(mus):
    composed = ComposedEvent(tuple(map(GDPEvent, mus)))
    assert composed.gdp_mu(RELATION) == pytest.approx(
        math.sqrt(math.fsum(m * m for m in mus)), rel=1e-14
    )


def test_nothing_private_is_left_beside_a_non_private_event():
    composed = ComposedEvent((GDPEvent(0.1), NonPrivateEvent()))
    assert composed.gdp_mu(RELATION) == math.inf
    assert composed.curve(RELATION).epsilon(0.5) == math.inf
