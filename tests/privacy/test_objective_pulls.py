"""Objective perturbation with known pulls: exact distributions of monotone maps, and searches."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erfcx, ndtr

from skdp.accounting import PLDAccountant
from skdp.privacy import GaussianCurve, Neighboring
from skdp.privacy.objective_perturbation import ObjectivePerturbationEvent, covering_pull

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
    axis = np.linspace(-8.0, 8.0, 401)
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


SEVERAL = [  # events whose least bound of replacement changes with ε, or is one that is named
    (ObjectivePerturbationEvent(5.0, 0.1, 9, pulls=10, cosine=0.75), "changes"),
    (ObjectivePerturbationEvent(20.0, 0.02, 8, pulls=9, cosine=0.5), "changes"),
    (ObjectivePerturbationEvent(10.0, 0.1, 20, pulls=20), "twice the pulls"),
    (ObjectivePerturbationEvent(10.0, 0.1, 3, pulls=3000, joint_dimension=3), "any direction"),
]


def bounds_of_replacement(event, epsilon):
    """The three bounds of the page, for ε ≥ a: pairs, twice the pulls, and any direction."""
    p, m = event.pulls, 1.0 / event.noise_multiplier
    k = event.joint_dimension or 2 * event.dimension
    anywhere = ObjectivePerturbationEvent(0.5 / m, event.log_determinant, k)
    double, oblique, single = (
        GaussianCurve(size).delta(epsilon - event.log_determinant)
        for size in (2.0 * m, math.sqrt(2.0 + 2.0 * event.cosine) * m, m)
    )
    pairs = p * double + (p * p - p) * oblique + 2 * p * single
    return {
        "pairs": pairs,
        "twice the pulls": 2 * p * double,
        "any direction": anywhere.curve(ADD).delta(epsilon),
    }


@pytest.mark.parametrize(("found", "least"), SEVERAL, ids=repr)
def test_replacement_costs_the_least_of_three_bounds(found, least):
    m = 1.0 / found.noise_multiplier
    epsilon = found.log_determinant + 2.0 * m * (m + np.linspace(3.0, 9.0, 121))
    bounds = bounds_of_replacement(found, epsilon)
    lowest = np.min(list(bounds.values()), axis=0)
    ratio = found.curve(REPLACE).delta(epsilon) / lowest
    assert np.all(ratio <= 1.0 + 1e-8)
    assert np.all(ratio >= 0.99)  # the hull gains more only where δ is larger
    names = {min(bounds, key=lambda name, i=i: bounds[name][i]) for i in range(epsilon.size)}
    assert names == {least} if least != "changes" else len(names) > 1


@pytest.mark.parametrize("found", [event for event, least in SEVERAL if least == "changes"])
def test_where_one_bound_takes_over_the_curve_stays_convex(found):
    curve, m = found.curve(REPLACE), 1.0 / found.noise_multiplier
    epsilon = found.log_determinant + 2.0 * m * (m + np.linspace(3.0, 9.0, 1001))

    def bend(delta):
        """How much steeper δ becomes in e^ε, from a cell to the next."""
        slope = np.diff(delta) / np.diff(np.exp(epsilon))
        return np.max(slope[1:] / slope[:-1] - 1.0)

    least = np.min(list(bounds_of_replacement(found, epsilon).values()), axis=0)
    assert bend(least) > 0.01
    assert bend(curve.delta(epsilon)) < 1e-9


def ring(p, m, first=0.0, last=2.0 * math.pi):
    """p pulls of length m in the plane, evenly spread over angles."""
    angles = np.linspace(first, last, p, endpoint=False)
    return m * np.column_stack([np.cos(angles), np.sin(angles)])


def opposite_records(own, epsilon):
    """δ(ε) of records with opposite pulls, whose change is the costliest of all at every point.

    All changes lie in the hull of 0 and twice the pulls of one record, and the loss is convex. For
    pulls of one length m it is 2·c·r + 2·m² at a distance r in a direction along which the pulls
    reach as far as c > 0. With r₀ = (ε − 2·m²)/(2·c) ≥ 0 and Mills' ratio M, the integral of
    (1 − e^(ε − loss))₊·r·e^(−r²/2) over r is 2·c·e^(−r₀²/2)·M(r₀ + 2·c).
    """
    angles = np.linspace(0.0, 2.0 * math.pi, 60_001)[:-1]  # kinks at angles: off by 1e-7
    reach = np.max(own @ np.array([np.cos(angles), np.sin(angles)]), axis=0)
    c = reach[reach > 0.0]
    start = (epsilon[:, None] - 2.0 * (own[0] @ own[0])) / (2.0 * c)
    mills = math.sqrt(0.5 * math.pi) * erfcx((start + 2.0 * c) / math.sqrt(2.0))
    return np.sum(2.0 * c * np.exp(-0.5 * start**2) * mills, axis=1) / angles.size


@pytest.mark.parametrize(
    ("own", "claimed", "attained"),
    [
        (ring(2, 0.3, last=math.pi), {"pulls": 2, "cosine": 0.0}, 0.98),  # e₁ and e₂
        (ring(60, 0.3), {"pulls": 60, "joint_dimension": 2}, 0.98),
        (ring(1, 0.3), {"pulls": 1}, 0.98),
        (ring(5, 0.3, last=0.6), {"pulls": 5}, 0.0),
        (ring(12, 0.3, last=3.0), {"pulls": 12}, 0.0),
    ],
    ids=["two axes", "circle", "line", "narrow", "wide"],
)
def test_pulls_in_the_plane_are_within_the_claim_of_replacement(own, claimed, attained):
    """Pulls along one line, at right angles or all around attain it, where δ is small."""
    found = ObjectivePerturbationEvent(1.0 / 0.3, 0.0, 2, **claimed)
    epsilon = 0.6 * (0.3 + np.linspace(2.0, 5.0, 7))
    delta, claim = opposite_records(own, epsilon), found.curve(REPLACE).delta(epsilon)
    assert np.all(delta <= claim * (1.0 + 1e-6))
    assert delta[-1] >= attained * claim[-1]


def smooth_pulls(rng, pulls, width, points):
    """The gradient and the Hessian of width·log(1 + Σ exp((v·θ + c)/width)), v the pulls."""
    scores = points @ pulls.T / width + rng.normal(size=len(pulls)) * rng.choice([0.0, 3.0])
    largest = np.maximum(scores.max(axis=1), 0.0)[:, None]
    shares = np.exp(scores - largest)
    shares /= np.exp(-largest) + shares.sum(axis=1, keepdims=True)
    g = shares @ pulls
    second = np.einsum("ni,ij,ik->njk", shares, pulls, pulls) - g[:, :, None] * g[:, None]
    return g, second / width


@pytest.mark.parametrize("p", [2, 3, 6])
def test_two_records_of_several_pulls_are_within_the_claim_of_replacement(p):
    """Exact densities, determinants included, of minimizers of smooth losses with λ = 1."""
    rng, line = np.random.default_rng(p), np.linspace(-9.0, 9.0, 121)
    points = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    weight = (line[1] - line[0]) ** 2
    for m in (0.2, 0.5, 1.0):
        width = m * m / rng.choice([0.02, 0.2, 1.0])
        determinant = 2.0 * math.log1p(m * m / width / 2.0)
        found = ObjectivePerturbationEvent(1.0 / m, determinant, 2, pulls=p, joint_dimension=2)
        claim = found.curve(REPLACE).delta(EPSILONS)
        densities = []
        for record in (ring(p, m, rng.uniform(0.0, 6.0), 6.0), ring(p, m, 0.0, 3.0)):
            g, second = smooth_pulls(rng, record, width, points)
            densities.append(normal(*(points + g).T) * np.linalg.det(np.eye(2) + second))
            assert densities[-1].sum() * weight == pytest.approx(1.0, abs=1e-3)
        delta = sticks(*densities, weight)
        assert np.all(delta <= claim * (1.0 + 1e-2) + 1e-12)


@pytest.mark.xfail(strict=True, reason="exponents of (ε/m)² cancel: δ is 3.4e-7 of it too small")
def test_the_curve_covers_a_steep_map_beside_much_noise():
    m, a, epsilon = 1.856431695513303e-05, 0.38751040709849777, 0.3827220889178061
    event = ObjectivePerturbationEvent(1.0 / m, a, 1, pulls=1)
    with mp.workdps(50):
        width = mp.mpf(m) / mp.expm1(a)  # h rises from 0 to m, as steeply as it may, around 0
        start = -(mp.mpf(m) + width) / 2
        image = mp.ncdf(start + width + m) - mp.ncdf(start)
        attained = image - mp.exp(epsilon) * (mp.ncdf(start + width) - mp.ncdf(start))
        assert mp.mpf(float(event.curve(ADD).delta(epsilon))) >= attained
