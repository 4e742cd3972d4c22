"""Every mechanism of the registry draws what it says, and that costs what its event says.

Statistical tests raise a false alarm with probability 1e-6 each, whatever the seed.
"""

import dataclasses
import math
import pickle

import numpy as np
import pytest
from distributions import cdf
from scipy import stats

from skdp.mechanisms import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    Staircase,
    TruncatedLaplace,
)
from skdp.mechanisms.grid_gaussian import to_steps
from skdp.mechanisms.noise import MECHANISMS
from skdp.privacy import Event

FALSE_ALARM = 1e-6
EPSILON, DELTA = 1.0, 1e-3
RELATION = "replace_one"
INSTANCES = [
    Laplace(sensitivity=1.0, scale=1.0),
    Laplace(sensitivity=0.9, scale=0.7),
    Gaussian(sensitivity=1.0, scale=1.0),
    Gaussian(sensitivity=0.3, scale=2.0),
    TruncatedLaplace(sensitivity=1.0, scale=1.0, cut=2.3),
    TruncatedLaplace(sensitivity=1.1, scale=1.5, cut=1.2),
    Staircase(sensitivity=1.0, epsilon=1.0),
    Staircase(sensitivity=2.7, epsilon=0.3, gamma=0.8),
    Staircase(sensitivity=1.0, epsilon=5.0),
    Geometric(sensitivity=1, scale=1.0),
    Geometric(sensitivity=3, scale=0.4),
    Geometric(sensitivity=2, scale=7.3),
    DiscreteGaussian(sensitivity=1, scale=1.0),
    DiscreteGaussian(sensitivity=2, scale=0.3),
    DiscreteGaussian(sensitivity=3, scale=6.1),
]
every_instance = pytest.mark.parametrize("mechanism", INSTANCES, ids=repr)
every_kind = pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))


@pytest.fixture
def coarse(monkeypatch):
    """A grid of 8 to 15 steps in the sensitivity, on which every step can be seen."""
    monkeypatch.setattr("skdp.mechanisms.grid_gaussian._BITS_OF_SENSITIVITY", 3)


def rebuilt(mechanism):
    """The same mechanism on the grid that is in force now."""
    return dataclasses.replace(mechanism)


def masses(mechanism):
    """The integers of the noise that matter, and their exact probabilities."""
    reach = math.ceil(45.0 * math.sqrt(mechanism.expected_loss("l2")) / mechanism.step) + 2
    n = np.arange(-reach, reach + 1)
    return n, np.diff(cdf(mechanism)(np.append(n, reach + 1) * mechanism.step))


def farthest(mechanism):
    """How many steps neighbors can be apart after rounding."""
    return math.ceil(mechanism.sensitivity / mechanism.step)


def test_every_registered_mechanism_is_covered():
    assert {type(mechanism) for mechanism in INSTANCES} == set(MECHANISMS.values())


def lumped(counts, expected):
    """The table with neighboring cells joined until each expects about fifty samples or more."""
    group = np.floor(np.cumsum(expected) / 50.0).astype(int)
    return np.bincount(group, counts), np.bincount(group, expected)


def misfit(draws, n, mass):
    """The p-value of a χ² test."""
    assert np.isin([draws.min(), draws.max()], n).all()
    counts = np.bincount(draws - n[0], minlength=n.size)
    counts, expected = lumped(counts, mass * draws.size)
    seen = expected > 0.0
    assert not counts[~seen].any()
    statistic = ((counts - expected)[seen] ** 2 / np.maximum(expected[seen], 25.0)).sum()
    return stats.chi2.sf(statistic, seen.sum() - 1)


@every_instance
@pytest.mark.parametrize("n", [40_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_samples_have_the_exact_distribution(mechanism, n, coarse):
    mechanism = rebuilt(mechanism)
    draws = mechanism._draw(n, np.random.default_rng())
    assert misfit(draws, *masses(mechanism)) > FALSE_ALARM


@every_instance
def test_samples_have_the_exact_distribution_on_the_fine_grid_too(mechanism):
    draws = mechanism._draw(20_000, np.random.default_rng()) * mechanism.step
    below, x = cdf(mechanism), np.unique(draws)
    above = np.abs(below(x + mechanism.step) - np.searchsorted(np.sort(draws), x, "right") / 20_000)
    assert above.max() < stats.kstwo.isf(FALSE_ALARM, 20_000)


@every_instance
def test_the_exact_distribution_never_costs_more_than_the_event_says(mechanism, coarse):
    """Every shift up to the sensitivity, both orders, on a grid where rounding is expensive."""
    mechanism = rebuilt(mechanism)
    _, mass = masses(mechanism)
    curve = mechanism.event.curve(RELATION)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 3.0):
        claim = min(curve.delta(epsilon), curve.reversed().delta(epsilon))
        for shift in range(1, farthest(mechanism) + 1):
            p, q = np.pad(mass, (shift, 0)), np.pad(mass, (0, shift))
            for one, other in ((p, q), (q, p)):
                assert np.maximum(one - math.exp(epsilon) * other, 0.0).sum() <= claim + 1e-12


@pytest.mark.parametrize(
    "mechanism",
    [Laplace(sensitivity=1.0, scale=1.0), Gaussian(sensitivity=1.0, scale=1.0)],
    ids=repr,
)
@pytest.mark.parametrize("move", [(1.0, 0.0), (0.5, 0.5), (0.99, 0.01), (0.7, -0.7)])
def test_rounding_a_vector_is_spent_for(mechanism, move, coarse):
    """Two numbers that move together, on a grid where each of them gets up to a step of its own."""
    mechanism = dataclasses.replace(mechanism, dimension=2)
    order = int(mechanism.sensitivity_norm[1])
    move = np.array(move) / max(1.0, np.linalg.norm(move, order))
    _, mass = masses(mechanism)
    curve = mechanism.event.curve(RELATION)
    starts = np.random.default_rng(0).uniform(size=(1000, 2))
    here, there = (to_steps(v, mechanism.step) for v in (starts, starts + move))
    for shifts in np.unique(np.abs(there - here), axis=0):
        pairs = [(np.pad(mass, (shift, 0)), np.pad(mass, (0, shift))) for shift in shifts]
        p, q = (np.multiply.outer(pairs[0][i], pairs[1][i]) for i in (0, 1))
        for epsilon in (0.5, 1.0):
            assert np.maximum(p - math.exp(epsilon) * q, 0.0).sum() <= curve.delta(epsilon) + 1e-12


@every_instance
def test_the_event_has_a_finite_curve_and_is_the_same_under_both_relations(mechanism):
    event = mechanism.event
    assert isinstance(event, Event)
    curves = [event.curve(relation) for relation in ("replace_one", "add_remove_one")]
    assert curves[0] == curves[1]
    assert 0.0 < curves[0].delta(0.1) < 1.0


@every_instance
def test_quantiles_and_losses_are_those_of_the_distribution(mechanism):
    below, p = cdf(mechanism), np.array([1e-6, 0.01, 0.2, 0.4, 0.7, 0.9, 0.999, 1 - 1e-9])
    x = mechanism.quantile(p)
    slack = 1.0 if mechanism.step == 1.0 else 1e-6
    assert (below(x + slack) >= p - 1e-12).all()
    assert (below(x - 1e-9) <= p + 1e-7).all()
    assert mechanism.quantile(0.7) == pytest.approx(x[4])
    edges = np.linspace(x[0] * 4 - 1, -x[0] * 4 + 1, 400_001)
    points = 0.5 * (edges[1:] + edges[:-1]) if slack < 1 else np.arange(-3000.0, 3001.0)
    edges = edges if slack < 1 else np.append(points, 3001.0)
    mass = np.diff(below(edges))
    for loss, cost in (("l1", np.abs), ("l2", np.square), (np.exp, np.exp)):
        if loss is not np.exp or type(mechanism) in (Gaussian, TruncatedLaplace):
            assert mechanism.expected_loss(loss) == pytest.approx(mass @ cost(points), rel=2e-5)
    assert mechanism.expected_loss(np.ones_like) == pytest.approx(1.0, abs=1e-12)


@every_kind
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-3), (3.0, 0.1)])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_calibration_meets_its_target_from_below_and_hardly_misses_it(
    kind, epsilon, delta, sensitivity
):
    mechanism = kind.calibrate(epsilon, delta, sensitivity)
    curve = mechanism.event.curve(RELATION)
    assert curve.delta(epsilon) <= delta
    assert curve.epsilon(delta) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("kind", [Laplace, Geometric, Staircase], ids=lambda kind: kind.__name__)
def test_pure_privacy_is_met(kind):
    for epsilon in (0.05, 1.0, 7.0):
        event = kind.calibrate(epsilon, 0.0, 2).event
        assert epsilon * (1 - 1e-5) <= event.pure_epsilon(RELATION) <= epsilon


@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian, TruncatedLaplace])
def test_noise_that_is_never_pure_says_so(kind):
    with pytest.raises(ValueError, match=r"cannot be met, "):
        kind.calibrate(1.0, 0.0, 1)


@every_kind
@pytest.mark.parametrize("dimension", [1, 5])
def test_releases_lie_on_the_grid_and_repeat_with_the_seed(kind, dimension):
    mechanism = kind.calibrate(EPSILON, DELTA, 1, dimension=dimension)
    value = 0.1 + np.arange(dimension)
    one, again = (mechanism.release(value, np.random.default_rng(7)) for _ in range(2))
    others = [mechanism.release(value, np.random.default_rng(seed)) for seed in range(30)]
    assert one.shape == value.shape
    assert (one == again).all()
    assert any((one != other).any() for other in others)
    assert (one / mechanism.step == np.round(one / mechanism.step)).all()
    if dimension == 1:
        assert type(mechanism.release(0.1, np.random.default_rng(7))) is float


@every_kind
def test_a_mechanism_is_a_value(kind):
    mechanism = kind.calibrate(EPSILON, DELTA, 1)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism == kind.calibrate(EPSILON, DELTA, 1)
    assert hash(pickle.loads(pickle.dumps(mechanism))) == hash(mechanism)
    assert eval(repr(mechanism), {kind.__name__: kind}) == mechanism


@pytest.mark.parametrize("kind", [Laplace, Gaussian, Staircase, TruncatedLaplace])
def test_noise_scales_with_the_sensitivity(kind):
    one, many = (kind.calibrate(EPSILON, DELTA, sensitivity) for sensitivity in (1.0, 64.0))
    assert many.quantile(0.9) == 64.0 * one.quantile(0.9)
    assert many.event == one.event
    odd = kind.calibrate(EPSILON, DELTA, 77.7)
    assert odd.expected_loss("l2") == pytest.approx(77.7**2 * one.expected_loss("l2"), rel=1e-7)


@every_kind
def test_no_private_number_is_refused(kind):
    mechanism = kind.calibrate(EPSILON, DELTA, 1)
    for value, near in [(math.nan, 0.0), (math.inf, 2.0**61), (-1e308, -(2.0**61))]:
        released = mechanism.release(value, np.random.default_rng())
        assert abs(released / mechanism.step - near * (near != 0)) < 2.0**42


@every_kind
def test_what_is_refused(kind):
    mechanism = kind.calibrate(EPSILON, DELTA, 1)
    for wrong in (0, -1.0, math.nan, math.inf, "1", None):
        with pytest.raises(ValueError, match=r"sensitivity must "):
            dataclasses.replace(mechanism, sensitivity=wrong)
        with pytest.raises(ValueError, match=r"sensitivity must "):
            kind.calibrate(EPSILON, DELTA, wrong)
    for wrong in (0, 2.5, "1"):
        with pytest.raises(ValueError, match=r"dimension must "):
            dataclasses.replace(mechanism, dimension=wrong)
    with pytest.raises(ValueError, match=r"value must have 1 entries"):
        mechanism.release([1.0, 2.0], np.random.default_rng())
    with pytest.raises(ValueError, match=r"loss must be one of "):
        mechanism.expected_loss("l3")
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match=r"p must lie in \(0, 1\)"):
            mechanism.quantile(wrong)
    for arguments in ((0.0, DELTA), (-1.0, DELTA), (math.inf, DELTA), (EPSILON, 1.0)):
        with pytest.raises(ValueError, match=r"epsilon must |delta must "):
            kind.calibrate(*arguments, 1)


@pytest.mark.parametrize("kind", [Laplace, Gaussian, TruncatedLaplace, Geometric, DiscreteGaussian])
def test_a_scale_out_of_range_is_refused(kind):
    mechanism = kind.calibrate(EPSILON, DELTA, 1)
    for wrong in (0.0, math.nan, 1e9, 1e-9):
        with pytest.raises(ValueError, match=r"scale must "):
            dataclasses.replace(mechanism, scale=wrong)


def proved_epsilon(one, other, delta):
    """An ε that is below the true one at δ with probability 1 − FALSE_ALARM.

    Clopper and Pearson, for thresholds that a tenth of the samples has chosen.
    """
    pilot = one.size // 10
    thresholds = np.quantile(np.r_[one[:pilot], other[:pilot]], np.linspace(0.02, 0.98, 25))
    risk, best = FALSE_ALARM / (4 * thresholds.size), -math.inf
    one, other = one[pilot:], other[pilot:]
    for t in thresholds:
        for hits, false in ((one >= t, other >= t), (other < t, one < t)):
            power = stats.beta.ppf(risk, max(hits.sum(), 1e-9), (~hits).sum() + 1)
            level = stats.beta.ppf(1.0 - risk, false.sum() + 1, max((~false).sum(), 1e-9))
            best = max(best, math.log((power - delta) / level) if power > delta else best)
    return best


@every_kind
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_an_attack_on_the_worst_pair_proves_less_than_the_claim(kind, epsilon):
    """40 000 independent releases for values that are one sensitivity apart."""
    n, scalar = 40_000, kind.calibrate(epsilon, DELTA, 1)
    mechanism = dataclasses.replace(scalar, dimension=n)
    one, other = (mechanism.release(np.full(n, v), np.random.default_rng()) for v in (1.0, 0.0))
    assert 0.4 * epsilon < proved_epsilon(one, other, DELTA) <= epsilon
