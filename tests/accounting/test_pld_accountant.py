"""The numerical accountant on events: printed exact values in both relations, and its pairs."""

import itertools
import warnings

import numpy as np
import pytest

from skdp.accounting import PLDAccountant, RDPAccountant
from skdp.accounting.loss_pairs import loss_pair
from skdp.privacy import (
    ApproxDPEvent,
    ComposedEvent,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureDPEvent,
    SelfComposedEvent,
    ZCDPEvent,
)
from skdp.privacy.composed_events import ApproximatedEvent, FixedSizeSampledEvent
from skdp.privacy.gaussian import DiscreteGaussianEvent
from skdp.privacy.noise_events import TruncatedLaplaceEvent

RELATIONS = ["add_remove_one", "replace_one"]
# q, s, T, δ, exact ε under add/remove (the record removed) and under replace-one
EXACT = [
    (0.01, 1.0, 10_000, 1e-5, 6.187712, 10.880782),
    (0.01, 1.0, 1_000, 1e-5, 1.828237, 2.843440),
    (0.02, 2.0, 2_000, 1e-5, 1.933433, 3.859939),
    (0.1, 3.0, 300, 1e-5, 2.494794, 5.153624),
    (0.05, 0.8, 200, 1e-5, 7.702169, 10.326009),
    (1.0, 20.0, 100, 1e-5, 1.993091, 4.377178),
    (0.004, 1.1, 15_000, 1e-5, 2.295370, 4.068066),
    (0.01, 10.0, 100, 1e-5, 0.027709, 0.058638),
]
LEAVES = [
    GaussianEvent(3.0),
    LaplaceEvent(4.0),
    ApproxDPEvent(0.4, 1e-6),
    ZCDPEvent(0.1),
    PoissonSampledEvent(0.1, GaussianEvent(1.5)),
    PoissonSampledEvent(0.1, LaplaceEvent(1.5)),
]


@pytest.mark.parametrize(("rate", "noise", "count", "delta", "remove", "replace"), EXACT)
def test_the_exact_columns(rate, noise, count, delta, remove, replace):
    event = SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(noise)), count)
    for relation, exact in zip(RELATIONS, (remove, replace), strict=True):
        low, high = PLDAccountant(relation).bounds(event, delta)
        assert low <= exact + 1.5e-6
        assert exact - 1.5e-6 <= high <= exact + 5e-4
        assert PLDAccountant(relation).delta(event, high) <= delta * (1 + 2e-2)


@pytest.mark.parametrize("leaf", LEAVES, ids=repr)
def test_a_pair_has_the_curves_of_its_leaf(leaf, neighboring):
    curve = leaf.curve(neighboring)
    grid = np.linspace(-3.0, 3.0, 601)
    for pair, one in [(loss_pair(curve), curve), (loss_pair(curve).backward, curve.reversed())]:
        above = pair.above(grid)
        assert np.all(above >= one.delta(grid) * (1 - 1e-12))
        assert above == pytest.approx(one.delta(grid), rel=1e-7, abs=1e-12)


def test_gaussian_leaves_of_a_mixed_plan_are_merged(neighboring):
    sampled = SelfComposedEvent(PoissonSampledEvent(0.01, GaussianEvent(1.0)), 200)
    apart = ComposedEvent((sampled, *[GaussianEvent(8.0)] * 2, GaussianEvent(4.0)))
    merged = ComposedEvent((sampled, GaussianEvent(4.0 / np.sqrt(1.5))))
    found = PLDAccountant(neighboring).bounds(apart, 1e-6)
    assert found == pytest.approx(PLDAccountant(neighboring).bounds(merged, 1e-6), rel=1e-9)


def test_a_tiny_gaussian_does_not_lose_the_answer():
    """A nearly exact lattice plus a Gaussian once gave an infinite ε."""
    event = ComposedEvent((GaussianEvent(4.0), ApproxDPEvent(0.75, 0.0)))
    low, high = PLDAccountant().bounds(event, 0.01)
    assert low <= high <= low + 1e-3


@pytest.mark.parametrize("rate", [1e-4, 1e-5])
def test_a_few_rarely_sampled_steps_beside_a_gaussian_cost_little_more_than_it(neighboring, rate):
    steps = SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(3.0)), 3)
    event, alone = ComposedEvent((steps, GDPEvent(0.57))), GDPEvent(0.57)
    accountant = PLDAccountant(neighboring)
    for delta in (1e-8, 1e-2):
        exact = alone.curve(neighboring).epsilon(delta)
        assert exact <= accountant.epsilon(event, delta) <= exact + 2e-3


@pytest.mark.parametrize(
    ("leaf", "delta"),
    [
        *[(leaf, 1e-3) for leaf in LEAVES],
        (ApproximatedEvent(GDPEvent(0.5), 1e-9), 1e-5),
        (DiscreteGaussianEvent(0.1), 1e-6),
        (PoissonSampledEvent(1e-5, GaussianEvent(0.1)), 1e-6),
        (ZCDPEvent(1e-20), 1e-30),
    ],
    ids=repr,
)
def test_one_release_costs_what_its_curve_says(leaf, delta):
    curve = leaf.curve("replace_one")
    low, high = PLDAccountant().bounds(leaf, delta)
    least = curve.epsilon(delta * (1 + 1e-9))
    assert least <= high <= curve.epsilon(delta * (1 - 1e-9)) * (1 + 1e-9) + 1e-12
    assert high * (1 - 1e-3) <= low <= high
    assert curve.delta(high) <= PLDAccountant().delta(leaf, high) <= delta


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("delta", [1e-5, 0.9])
def test_a_release_too_far_from_its_target_has_no_epsilon(count, delta):
    event = SelfComposedEvent(ApproximatedEvent(PureDPEvent(1.0), 0.3), count)
    assert PLDAccountant().bounds(event, delta) == (np.inf, np.inf)
    assert PLDAccountant().delta(event, 5.0) == 1.0


@pytest.mark.parametrize(
    "leaf",
    [
        TruncatedLaplaceEvent(2.0, 20.0),
        ApproximatedEvent(LaplaceEvent(2.0), 1e-6),
        PoissonSampledEvent(0.3, TruncatedLaplaceEvent(2.0, 20.0)),
    ],
    ids=repr,
)
def test_what_no_epsilon_removes_is_at_infinite_loss(leaf):
    never = leaf.curve("replace_one").delta(600.0)
    event = SelfComposedEvent(leaf, 5)
    total = -np.expm1(5 * np.log1p(-never))
    assert PLDAccountant().bounds(event, total * (1 - 1e-6))[0] == np.inf
    low, high = PLDAccountant().bounds(event, 2.0 * total)
    assert low <= high <= low + 2e-3


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_rare_steps_of_heavy_loss_are_enclosed(neighboring, noise):
    event = SelfComposedEvent(PoissonSampledEvent(1e-5, GaussianEvent(noise)), 100)
    low, high = PLDAccountant(neighboring).bounds(event, 1e-6)
    assert low <= high <= low + 1e-3


def test_losses_in_the_ten_thousands():
    event = SelfComposedEvent(PoissonSampledEvent(0.5, GaussianEvent(0.1)), 1000)
    low, high = PLDAccountant().bounds(event, 1e-6)
    assert low <= high <= low * (1 + 1e-5)
    assert high <= RDPAccountant().epsilon(event, 1e-6)


def test_a_single_release_of_huge_loss_is_bounded_by_its_divergences():
    assert PLDAccountant().epsilon(ZCDPEvent(1e4), 1e-6) == pytest.approx(10739.07, abs=0.01)


def test_zcdp_releases_are_merged_and_met_with_their_divergences():
    together = PLDAccountant().epsilon(SelfComposedEvent(ZCDPEvent(0.05), 10), 1e-5)
    assert together == pytest.approx(PLDAccountant().epsilon(ZCDPEvent(0.5), 1e-5), rel=1e-9)
    mixed = ComposedEvent((ZCDPEvent(0.25), GDPEvent(np.sqrt(0.5))))
    assert PLDAccountant().epsilon(mixed, 1e-5) <= RDPAccountant().epsilon(mixed, 1e-5)
    assert PLDAccountant().delta(mixed, 3.0) <= RDPAccountant().delta(mixed, 3.0)


def test_beyond_all_losses_nothing_is_left():
    event = SelfComposedEvent(PoissonSampledEvent(0.0015, GaussianEvent(1.2)), 3)
    near, far = PLDAccountant("add_remove_one").delta(event, [0.08, 3.0])
    assert far < 1e-6 * near


def test_a_delta_near_one_is_no_dearer_than_a_smaller_one():
    steps = SelfComposedEvent(PoissonSampledEvent(0.5, GaussianEvent(0.5)), 2571)
    accountant = PLDAccountant("add_remove_one")
    answers = [accountant.epsilon(steps, delta) for delta in (0.1, 0.3, 0.6, 0.9, 0.99)]
    assert all(y <= x + 5e-4 for x, y in itertools.pairwise(answers))


TINY = [
    SelfComposedEvent(PoissonSampledEvent(0.0387, GaussianEvent(2.304)), 48),
    SelfComposedEvent(FixedSizeSampledEvent(0.00129, GaussianEvent(2.257)), 36),
    ComposedEvent(
        (
            SelfComposedEvent(PoissonSampledEvent(0.004, TruncatedLaplaceEvent(9.0, 71.0)), 413),
            FixedSizeSampledEvent(0.006, PureDPEvent(6.0)),
            SelfComposedEvent(ZCDPEvent(1.3), 5),
        )
    ),
]


@pytest.mark.parametrize("event", TINY)
def test_delta_falls_to_where_it_is_hardly_there_without_warnings(event):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = PLDAccountant().delta(event, np.linspace(0.0, 4.0, 17))
    assert np.all(np.diff(values) <= 1e-9 * values[:-1] + 1e-25)
