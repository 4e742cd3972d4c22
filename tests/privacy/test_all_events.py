"""What every event of the registry promises. A new event needs an example here."""

import itertools
import math
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from skdp.privacy import (
    ApproxDPEvent,
    ComposedEvent,
    GaussianCurve,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    Neighboring,
    NonPrivateEvent,
    PoissonSampledEvent,
    PureDPEvent,
    SelfComposedEvent,
    ZCDPEvent,
    event_from_dict,
)
from skdp.privacy.composed_events import (
    ApproximatedEvent,
    BetweenNeighborsEvent,
    FixedSizeSampledEvent,
    ShuffledEvent,
)
from skdp.privacy.events import EVENTS, NoClosedCurveError
from skdp.privacy.gaussian import DiscreteGaussianEvent
from skdp.privacy.noise_events import (
    BoundedRangeEvent,
    DiscreteLaplaceEvent,
    PiecewiseConstantNoiseEvent,
    RepeatAndSelectEvent,
    TruncatedLaplaceEvent,
)
from skdp.privacy.objective_perturbation import ObjectivePerturbationEvent
from skdp.research.data_dependent_noise import DataDependentNoiseEvent

RELATION = Neighboring.REPLACE_ONE
SAMPLED = PoissonSampledEvent(0.1, GaussianEvent(1.0))
NESTED = FixedSizeSampledEvent(0.3, PoissonSampledEvent(0.5, GaussianEvent(1.0)))
EXAMPLES = {
    "GDPEvent": [GDPEvent(0.0), GDPEvent(0.1), GDPEvent(1 / 3), GDPEvent(25.0)],
    "GaussianEvent": [GaussianEvent(0.7), GaussianEvent(20.0)],
    "NonPrivateEvent": [NonPrivateEvent()],
    "SelfComposedEvent": [SelfComposedEvent(GDPEvent(0.1), 7), SelfComposedEvent(GDPEvent(1.0), 0)],
    "ComposedEvent": [
        ComposedEvent(()),
        ComposedEvent((GDPEvent(0.3), GDPEvent(0.4))),
        ComposedEvent((GDPEvent(1e-9), ComposedEvent((NonPrivateEvent(),)))),
        ComposedEvent((LaplaceEvent(3.0), PureDPEvent(0.1))),
    ],
    "PureDPEvent": [PureDPEvent(0.0), PureDPEvent(0.1), PureDPEvent(30.0)],
    "ApproxDPEvent": [ApproxDPEvent(1.0, 1e-5), ApproxDPEvent(0.0, 0.3), ApproxDPEvent(2.0, 0.0)],
    "ZCDPEvent": [ZCDPEvent(0.0), ZCDPEvent(1e-4), ZCDPEvent(0.5), ZCDPEvent(1e6)],
    "LaplaceEvent": [LaplaceEvent(0.3), LaplaceEvent(10.0)],
    "DiscreteLaplaceEvent": [DiscreteLaplaceEvent(2.5, 3), DiscreteLaplaceEvent(0.2)],
    "DiscreteGaussianEvent": [DiscreteGaussianEvent(0.5), DiscreteGaussianEvent(4.0, 3)],
    "BetweenNeighborsEvent": [
        BetweenNeighborsEvent(LaplaceEvent(2.0)),
        BetweenNeighborsEvent(DiscreteGaussianEvent(3.0, 2)),
        BetweenNeighborsEvent(TruncatedLaplaceEvent(1.0, 1.5)),
    ],
    "TruncatedLaplaceEvent": [
        TruncatedLaplaceEvent(1.0, 8.0),
        TruncatedLaplaceEvent(1.0, 1.5),
        TruncatedLaplaceEvent(0.5, 0.4),
    ],
    "ObjectivePerturbationEvent": [
        ObjectivePerturbationEvent(4.0, 0.0253, 1),
        ObjectivePerturbationEvent(0.3, 0.0, 1),
        ObjectivePerturbationEvent(5.0, 0.1, 2),
        ObjectivePerturbationEvent(4.0, 0.2, 1, pulls=1),
        ObjectivePerturbationEvent(4.0, 0.2, 1, pulls=2, cosine=0.0),
        ObjectivePerturbationEvent(5.0, 0.1, 9, pulls=10, cosine=0.75),
        ObjectivePerturbationEvent(0.7, 1.5, 9),
    ],
    "PiecewiseConstantNoiseEvent": [
        PiecewiseConstantNoiseEvent((0.1, 0.2, 0.4, 0.2, 0.1), 1),
        PiecewiseConstantNoiseEvent((0.05, 0.5, 0.3, 0.15), 2),
        PiecewiseConstantNoiseEvent((0.05, 0.5, 0.25, 0.15), 2, 0.05),
    ],
    "DataDependentNoiseEvent": [
        DataDependentNoiseEvent(((0.2, 0.6, 0.2), (0.1, 0.5, 0.4)), (-3, 0, 2), 1),
        DataDependentNoiseEvent(((0.2, 0.6, 0.2),), (0, 9), 2),
    ],
    "PoissonSampledEvent": [
        SAMPLED,
        PoissonSampledEvent(0.01, LaplaceEvent(0.5)),
        PoissonSampledEvent(0.3, ApproxDPEvent(1.0, 1e-3)),
        PoissonSampledEvent(1.0, GDPEvent(0.5)),
        PoissonSampledEvent(0.2, PoissonSampledEvent(0.5, PureDPEvent(1.0))),
    ],
    "FixedSizeSampledEvent": [
        FixedSizeSampledEvent(0.05, GaussianEvent(2.0)),
        FixedSizeSampledEvent(0.2, PureDPEvent(1.0)),
        FixedSizeSampledEvent(0.3, PoissonSampledEvent(0.5, LaplaceEvent(1.0))),
        NESTED,
        FixedSizeSampledEvent(1, LaplaceEvent(1.0)),
    ],
    "ShuffledEvent": [ShuffledEvent(GaussianEvent(1.5)), ShuffledEvent(LaplaceEvent(2.0))],
    "ApproximatedEvent": [
        ApproximatedEvent(GDPEvent(1.0), 1e-6),
        ApproximatedEvent(PureDPEvent(1.0), 0.01),
        ApproximatedEvent(SAMPLED, 1e-4),
        ApproximatedEvent(GDPEvent(0.5), 0.0),
        ApproximatedEvent(GDPEvent(0.5), 1.0),
        ApproximatedEvent(GDPEvent(0.0), 0.01),
        ApproximatedEvent(TruncatedLaplaceEvent(1.0, 1.5), 0.05),
    ],
    "BoundedRangeEvent": [BoundedRangeEvent(1.0), BoundedRangeEvent(0.0), BoundedRangeEvent(8.0)],
    "RepeatAndSelectEvent": [
        RepeatAndSelectEvent(PureDPEvent(0.5), "geometric", 0.1),
        RepeatAndSelectEvent(GDPEvent(0.3), "poisson", 5.0),
        RepeatAndSelectEvent(LaplaceEvent(2.0), "negative_binomial", 0.2, 0.5),
        RepeatAndSelectEvent(GDPEvent(0.7), "fixed", 4),
    ],
}
WITHOUT_CURVE = [EXAMPLES["ComposedEvent"][3]]
EVERY_EXAMPLE = [event for some in EXAMPLES.values() for event in some]
events = pytest.mark.parametrize("event", EVERY_EXAMPLE, ids=repr)


def test_every_event_has_an_example_of_its_own_kind():
    assert set(EXAMPLES) == set(EVENTS)
    assert all(type(event) is EVENTS[name] for name, some in EXAMPLES.items() for event in some)


def both_curves(event, relation):
    """Return the curve and its reverse; nothing where the event says that it has none."""
    if type(event) is FixedSizeSampledEvent and relation == "add_remove_one":
        with pytest.raises(ValueError, match=r"add_remove_one"):
            event.curve(relation)
        return []
    if event in WITHOUT_CURVE:
        with pytest.raises(NoClosedCurveError, match="no curve in closed form"):
            event.curve(relation)
        return []
    curve = event.curve(relation)
    return [curve, curve.reversed()]


@events
def test_the_curve_and_its_reverse_are_privacy_curves(event, relation):
    epsilon = np.sort(np.append(np.linspace(-30.0, 30.0, 301), [-0.01, 1e-9, 0.01, 600.0, 1e5]))
    for curve in both_curves(event, relation):
        delta = curve.delta(epsilon)
        assert np.all(delta >= -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 1e-15))
        assert np.all(delta <= 1.0)
        assert np.all(np.diff(delta) <= 1e-15)


@pytest.mark.slow
@events
def test_the_curve_and_its_reverse_are_convex_in_the_odds(event, relation):
    odds = np.geomspace(1e-4, 1e4, 401)
    one, other = odds[:-2], odds[2:]
    for curve in both_curves(event, relation):
        chord = 0.5 * (curve.delta(np.log(one)) + curve.delta(np.log(other)))
        assert np.all(curve.delta(np.log(0.5 * (one + other))) <= chord * (1 + 1e-10) + 1e-14)


@events
def test_the_reverse_is_the_mirror_image(event, relation):
    epsilon = np.linspace(-4.0, 4.0, 81)
    for curve in both_curves(event, relation):
        mirrored = np.exp(epsilon) * (curve.delta(-epsilon) + np.expm1(-epsilon))
        np.testing.assert_allclose(curve.reversed().delta(epsilon), mirrored, atol=2e-13)


@pytest.mark.slow
@events
def test_gdp_mu_covers_the_curve(event, relation):
    epsilon = np.linspace(-12.0, 12.0, 961)
    for curve in both_curves(event, relation):
        covering = GaussianCurve(event.gdp_mu(relation))
        assert np.all(curve.delta(epsilon) <= covering.delta(epsilon) * (1 + 1e-10) + 1e-15)


@events
def test_pure_epsilon_is_where_the_curve_ends(event, relation):
    for curve in both_curves(event, relation):
        bound = event.pure_epsilon(relation)
        assert curve.epsilon(1e-15) <= bound * (1 + 1e-12) + 1e-14


ORDERS = (1.1, 2.0, 5.0, 20.0)
divergent = pytest.mark.parametrize(
    "event",
    [
        pytest.param(event, marks=pytest.mark.slow) if event == NESTED else event
        for event in EVERY_EXAMPLE
    ],
    ids=repr,
)


@cache
def divergences_of(event, relation):
    """Return the Rényi divergences of ORDERS; Gaussian samples of samples take seconds for each."""
    return [event.rdp(order, relation) for order in ORDERS]


@pytest.mark.slow
@divergent
def test_rho_covers_the_renyi_divergences_which_grow_with_the_order(event, relation):
    if not both_curves(event, relation):
        return
    divergences = divergences_of(event, relation)
    assert all(low <= high * (1 + 1e-4) for low, high in itertools.pairwise(divergences))
    rho = event.zcdp_rho(relation)
    assert all(r <= rho * a * (1 + 1e-3) for r, a in zip(divergences, ORDERS, strict=True))


@divergent
def test_the_renyi_divergence_implies_a_curve_above(event, relation):
    epsilon = np.linspace(0.0, 20.0, 41)
    for curve in both_curves(event, relation):
        for order, divergence in zip(ORDERS, divergences_of(event, relation), strict=True):
            exponent = (order - 1) * (divergence - epsilon)
            factor = (1 - 1 / order) ** order / (order - 1)
            implied = np.exp(np.minimum(exponent, 700.0)) * factor
            assert np.all(curve.delta(epsilon) <= implied * (1 + 1e-9) + 1e-300)


@events
@pytest.mark.parametrize("order", [1.0, 0.5, math.nan, "2"])
def test_an_impossible_order_is_refused(event, order):
    if not math.isinf(event.zcdp_rho(RELATION)) and list(event.leaves()):
        with pytest.raises(ValueError, match="order must be a number"):
            event.rdp(order, RELATION)


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


IMPOSSIBLE = [
    (ApproxDPEvent, (1.0, 1.0), "delta must lie in"),
    (ZCDPEvent, (1e-31,), "rho must be 0 or at least 1e-30"),
    (LaplaceEvent, (0.0,), "noise_multiplier must be a number"),
    (DiscreteLaplaceEvent, (1.0, 0), "sensitivity must be a positive integer"),
    (DiscreteGaussianEvent, (1.0, 1.5), "sensitivity must be a positive integer"),
    (DiscreteGaussianEvent, (1e9,), "scale must be a number"),
    (TruncatedLaplaceEvent, (1.0, 0.0), "cut must be a number"),
    (TruncatedLaplaceEvent, (1.0, 501.0), "cut must lie between"),
    (ObjectivePerturbationEvent, (0.0, 0.1, 1), "noise_multiplier must be a number"),
    (ObjectivePerturbationEvent, (1.0, 0.1, 1.5), "dimension must be a positive integer"),
    (ObjectivePerturbationEvent, (1.0, 0.1, 1, -1), "pulls must be an integer of at least 0"),
    (ObjectivePerturbationEvent, (1.0, 0.1, 1, 1, 1.5), "cosine must be a number"),
    (
        ObjectivePerturbationEvent,
        (1.0, 0.1, 1, 1, 1.0, -1),
        "joint_dimension must be an integer of at least 0",
    ),
    (PiecewiseConstantNoiseEvent, ((0.5, 0.4), 1), "sum to 1"),
    (PiecewiseConstantNoiseEvent, ((1.5, -0.5), 1), "at least 0"),
    (PiecewiseConstantNoiseEvent, ((0.5, 0.4), 1, 0.2), "sum to 1"),
    (PiecewiseConstantNoiseEvent, ((1.0,), 1, -0.1), "atom must be a number in [0, 1]"),
    (DataDependentNoiseEvent, (((0.5, 0.4),), (0, 1), 1), "sum to 1"),
    (DataDependentNoiseEvent, (((1.0,), (1.0,)), (0, 1), 1), "3 increasing integers"),
    (DataDependentNoiseEvent, (((1.0,),), (1, 0), 1), "2 increasing integers"),
    (DataDependentNoiseEvent, (((1.0,),), (0, 0.5), 1), "2 increasing integers"),
    (
        DataDependentNoiseEvent,
        (((1.0,), (0.5, 0.5)), (0, 1, 2), 1),
        "distributions must be on the same cells",
    ),
    (PoissonSampledEvent, (0.0, GDPEvent(1.0)), "sampling_rate must be a number"),
    (PoissonSampledEvent, (1.1, GDPEvent(1.0)), "sampling_rate must be a number"),
    (ApproximatedEvent, (GDPEvent(1.0), 1.5), "tv must be a number in [0, 1]"),
    (RepeatAndSelectEvent, (GDPEvent(1.0), "always_3", 0.1), "distribution must be one of"),
    (RepeatAndSelectEvent, (GDPEvent(1.0), "geometric", 1.0), "parameter must be a number"),
    (RepeatAndSelectEvent, (GDPEvent(1.0), "geometric", 0.5, 2.0), "takes no shape"),
]


@pytest.mark.parametrize(("kind", "fields", "message"), IMPOSSIBLE)
def test_an_impossible_field_is_refused(kind, fields, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        kind(*fields)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceEvent(1e-9),
        DiscreteLaplaceEvent(1e-9, 10**9),
        DiscreteGaussianEvent(1e-3),
        ZCDPEvent(1e30),
        ZCDPEvent(1e-30),
        PureDPEvent(1e9),
        PoissonSampledEvent(1e-12, GaussianEvent(0.01)),
        PoissonSampledEvent(1e-12, LaplaceEvent(1e-3)),
        TruncatedLaplaceEvent(1e-3, 0.4),
        ObjectivePerturbationEvent(1e-6, 1e6, 3),
        ObjectivePerturbationEvent(1e6, 0.0, 40),
        ObjectivePerturbationEvent(1e-6, 1e6, 3, pulls=3),
        ObjectivePerturbationEvent(1e6, 0.0, 40, pulls=5, cosine=0.3),
    ],
    ids=repr,
)
def test_extremes_give_curves_without_warnings(event, relation):
    for curve in both_curves(event, relation):
        delta = curve.delta(np.array([-1e9, -800.0, -1.0, 0.0, 1.0, 800.0, 1e9]))
        assert np.all((delta >= 0.0) & (delta <= 1.0))
        assert np.all(np.diff(delta) <= 1e-15)
        assert curve.epsilon(0.5) >= 0.0
    assert event.gdp_mu(relation) > 0.0
    assert event.zcdp_rho(relation) > 0.0


def test_repetition_costs_by_its_source():
    gamma, run = 0.1, GDPEvent(0.3)
    geometric = RepeatAndSelectEvent(run, "geometric", gamma)
    orders = 1.0 + np.geomspace(1e-3, 1e4, 20001)
    rho = run.zcdp_rho(RELATION)
    inner = 2 * (rho * (orders - 1) - math.log(gamma) / orders)
    printed = 40.0 * rho + inner.min() + math.log(10.0) / 39.0  # E[K] = 1/γ
    assert geometric.rdp(40.0, RELATION) == pytest.approx(printed, rel=1e-6)
    poisson = RepeatAndSelectEvent(run, "poisson", 8.0)
    failure = GaussianCurve(0.3).delta(math.log(40.0 / 39.0))
    exact = 40.0 * rho + 8.0 * failure + math.log(8.0) / 39.0
    assert poisson.rdp(40.0, RELATION) == pytest.approx(exact, rel=1e-12)
    assert geometric.rdp(1.5, RELATION) <= geometric.rdp(9.0, RELATION) * (1 + 1e-6) <= printed


@pytest.mark.parametrize(
    ("distribution", "shape", "factor"), [("geometric", 1, 3), ("logarithmic", 1, 2)]
)
def test_repetition_of_a_pure_release_is_pure(distribution, shape, factor):
    event = RepeatAndSelectEvent(PureDPEvent(0.5), distribution, 0.1, shape)
    assert event.pure_epsilon(RELATION) == factor * 0.5


def test_nothing_is_left_of_an_event_that_never_happened():
    never = SelfComposedEvent(NonPrivateEvent(), 0)
    assert never.pure_epsilon(RELATION) == never.zcdp_rho(RELATION) == never.gdp_mu(RELATION) == 0


def test_the_mean_of_a_truncated_negative_binomial_distribution():
    for gamma, shape in ((0.1, 0.5), (0.3, 2.0), (0.2, -0.5)):
        event = RepeatAndSelectEvent(GDPEvent(1.0), "negative_binomial", gamma, shape)
        k = np.arange(1, 2000)
        log_mass = gammaln(k + shape) - gammaln(k + 1) + k * math.log(1 - gamma)
        mass = np.exp(log_mass - log_mass.max())
        assert event.count.mean == pytest.approx((k * mass).sum() / mass.sum(), rel=1e-10)


def test_a_composition_of_one_release_has_the_curve_of_that_release():
    composed = ComposedEvent((SelfComposedEvent(LaplaceEvent(1.0), 1), ComposedEvent(())))
    assert composed.curve(RELATION) == LaplaceEvent(1.0).curve(RELATION)
