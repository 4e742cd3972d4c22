"""Objective perturbation with known pulls: exact distributions of monotone maps, and searches."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from skdp.accounting import PLDAccountant
from skdp.privacy import GaussianCurve, Neighboring, ObjectivePerturbationEvent
from skdp.privacy.events.objective_pulls import covering_pull

ADD, REPLACE = Neighboring.ADD_REMOVE_ONE, Neighboring.REPLACE_ONE
EPSILONS = np.concatenate([[0.0], np.geomspace(0.01, 8.0, 25)])
LINE = np.linspace(-12.0, 12.0, 60_001)
CASES = [(0.24, 0.15), (0.24, 1.0), (0.7, 0.5), (0.5, 5.0), (2.0, 0.3), (0.05, 0.04)]
every_case = pytest.mark.parametrize(("m", "slope"), CASES)


def normal(*t):
    """The density of independent standard normal variables."""
    return math.prod(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) for x in t)


def sticks(p, q, weight):
    """The larger δ(ε) of the two orders, at all ε."""
    both = [
        [np.maximum(a - math.exp(e) * b, 0.0).sum() * weight for e in EPSILONS]
        for a, b in ((p, q), (q, p))
    ]
    return np.max(both, axis=0)


def monotone(rng, m, slope, two_sided=False):
    """A random h with values in [0, m], or [−m, m], and slopes in [0, slope], and its slopes."""
    low = -m if two_sided else 0.0
    size = rng.integers(1, 4)
    starts = np.sort(rng.uniform(-6.0, 5.0, size))
    lengths = rng.exponential((m - low) / slope, size)
    rises = np.any((LINE[:, None] >= starts) & (LINE[:, None] < starts + lengths), axis=1)
    step = LINE[1] - LINE[0]
    h = low + rng.choice([0.0, 0.3]) * (m - low) + slope * step * np.cumsum(rises)
    return np.minimum(h, m), slope * (rises & (h < m))


def event(m, slope, pulls=1):
    return ObjectivePerturbationEvent(1.0 / m, math.log1p(slope), 1, pulls=pulls, cosine=0.0)


@pytest.mark.slow
@every_case
@pytest.mark.parametrize("pulls", [1, 2])
def test_no_monotone_map_exceeds_the_claim(m, slope, pulls):
    claim = event(m, slope, pulls).curve(ADD).delta(EPSILONS)
    cover = GaussianCurve(covering_pull(m, math.log1p(slope))).delta(EPSILONS)
    rng, weight = np.random.default_rng(0), LINE[1] - LINE[0]
    for _ in range(60):
        h, rate = monotone(rng, m, slope, pulls == 2)
        delta = sticks(normal(LINE), normal(LINE + h) * (1.0 + rate), weight)
        assert np.all(delta <= claim + 1e-4 * m)  # the sum's own error, at the jumps of h'
        if pulls == 1:
            assert np.all(delta <= cover + 1e-4 * m)


@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.1, 0.7, 1.5, 4.0])
@every_case
def test_the_integral_is_computed_from_above_and_closely(m, slope, epsilon):
    """J by a plain sum over h and t, for determinants from a tenth of m to nine times as much."""
    levels = (np.arange(200) + 0.5) * (m / 200)
    t = np.linspace(-60.0, 2.0, 80_001)
    plain = 0.0
    for h in levels:
        after = t[t >= -epsilon / h - 0.5 * h]
        here, there = normal(after), normal(after + h)
        largest = np.max(there + (there - math.exp(epsilon) * here) / slope, initial=0.0)
        plain += largest * m / 200
    bound = math.exp(event(m, slope).curve(ADD)._log_bound(np.asarray(epsilon)))
    assert plain * (1.0 - 2e-3) - 1e-30 <= bound
    if epsilon > m * m and plain > 1e-30:
        assert bound <= 1.15 * plain


def best_of_all_maps(epsilon, m, slope, levels=240):
    """sup N(T(S)) − e^ε·N(S) over maps and sets, by dynamic programming: every path is allowed."""
    step, odds = m / slope / levels, math.exp(epsilon)
    h = slope * step * np.arange(levels + 1)
    value = np.zeros(levels + 1)
    for t in np.arange(-9.0, 4.0, step):
        start, end = ndtr(t + h) - odds * ndtr(t), ndtr(t + step + h) - odds * ndtr(t + step)
        level = value + np.maximum(end - start, 0.0)
        risen = value[:-1] + np.maximum(end[1:] - start[:-1], 0.0)
        value = np.concatenate([level[:1], np.maximum(level[1:], risen)])
    return float(value.max())


@pytest.mark.parametrize(
    ("epsilon", "m", "slope"),
    [
        (1.0, 0.24, 0.15),
        (1.0, 0.24, 0.5),
        (3.0, 0.7, 0.5),
        (0.0, 0.5, 1.0),
        (0.5, 0.5, 0.1),
        (1.2, 0.25, 5.0),  # the determinant alone is worth more than ε
        (1.7, 0.25, 5.0),
    ],
)
def test_the_claim_is_that_of_the_worst_map(epsilon, m, slope):
    worst = best_of_all_maps(epsilon, m, slope)
    assert worst <= math.exp(event(m, slope).curve(ADD)._log_bound(np.asarray(epsilon)))
    assert math.exp(event(m, slope).curve(ADD)._log_bound(np.asarray(epsilon))) < 1.08 * worst


@pytest.mark.parametrize("angle", [0.3, 1.5, math.pi])
@pytest.mark.parametrize(("pulls", "m", "slope"), [(1, 0.3, 0.2), (2, 0.3, 0.2), (1, 0.8, 0.1)])
def test_two_records_of_any_angle_are_within_the_claim_of_replacement(angle, pulls, m, slope):
    """Both push one point of the plane, in different directions, and change its density."""
    axis = np.linspace(-8.0, 8.0, 601)
    x, y = np.meshgrid(axis, axis)
    rng, weight = np.random.default_rng(1), (axis[1] - axis[0]) ** 2
    claim = event(m, slope, pulls).curve(REPLACE).delta(EPSILONS)
    for _ in range(3):
        densities = []
        for direction in (0.0, angle):
            cos, sin = math.cos(direction), math.sin(direction)
            h, rate = monotone(rng, m, slope, pulls == 2)
            along = x * cos + y * sin
            push, change = np.interp(along, LINE, h), np.interp(along, LINE, rate)
            density = normal(x + cos * push, y + sin * push) * (1.0 + change)
            densities.append(density / (density.sum() * weight))
        assert np.all(sticks(*densities, weight) <= claim + 3e-3 * m)


def test_replacement_of_one_pull_is_gaussian_and_hardly_dearer_than_both_pulls():
    found = event(0.12, 0.11)
    alone = found.gdp_mu(ADD)
    assert 0.12 < alone < 1.2 * 0.12
    assert found.gdp_mu(REPLACE) == 0.12 + alone
    assert found.curve(REPLACE) == GaussianCurve(0.12 + alone)
    assert event(0.12, 1e-9).gdp_mu(ADD) < 0.12 * 1.001


@pytest.mark.parametrize("m", [1e-6, 0.01, 1.0, 5.0])
def test_without_a_determinant_one_pull_is_the_gaussian_mechanism(m):
    found = ObjectivePerturbationEvent(1.0 / m, 0.0, 1, pulls=1).curve(ADD)
    epsilon = np.linspace(0.5 * m * m + m, 0.5 * m * m + 6.0 * m, 30)
    ratio = found.delta(epsilon) / GaussianCurve(m).delta(epsilon)
    assert np.all((ratio >= 1.0) & (ratio < 1.001))


@pytest.mark.parametrize("relation", list(Neighboring))
@pytest.mark.parametrize("pulls", [1, 2, 9])
def test_known_pulls_cost_less_and_compose(relation, pulls):
    k = max(1, pulls - 1)
    known = ObjectivePerturbationEvent(20.0, 0.02, k, pulls=pulls, cosine=0.5)
    unknown = ObjectivePerturbationEvent(20.0, 0.02, k)
    one, other = (e.curve(relation).epsilon(1e-5) for e in (known, unknown))
    assert one < 0.95 * other
    assert one <= PLDAccountant(relation).epsilon(known, 1e-5) <= one + 1e-3


@pytest.mark.parametrize("determinant", [710.0, 1e6])
def test_a_determinant_beyond_floats_is_charged(determinant):
    curve = ObjectivePerturbationEvent(2.0, determinant, 1, pulls=1).curve(ADD)
    assert np.all(curve.delta(np.array([1.0, 0.9 * determinant])) > 0.1)
    assert curve.delta(determinant + 20.0) < 1e-9
    assert math.isinf(covering_pull(0.5, determinant))


def test_events_of_older_ledgers_cost_what_they_cost():
    assert ObjectivePerturbationEvent(4.0, 0.1, 3) == ObjectivePerturbationEvent(
        4.0, 0.1, 3, pulls=0
    )
    assert math.isinf(ObjectivePerturbationEvent(4.0, 0.1, 1).gdp_mu(ADD))
