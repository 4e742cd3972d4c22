"""The accountant of composed steps against exact values, closed forms and itself."""

import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from skdp.accounting.grid_choice import profile
from skdp.accounting.loss_pairs import (
    ApproximatePair,
    CurvePair,
    GaussianPair,
    LaplacePair,
    LossPair,
    PoissonGaussianPair,
    ReplaceOneGaussianPair,
    loss_pair,
    optimistic,
    pessimistic,
)
from skdp.accounting.pld import compose
from skdp.privacy import GaussianCurve, GaussianEvent, PoissonSampledEvent, PrivacyCurve
from skdp.privacy.combined import PoissonSampledCurve
from skdp.privacy.composed_events import FixedSizeSampledEvent

EXCESS = 5e-4
# q, s, T, delta, then ε by a contour integral, without any discretized loss: remove, add, replace
ROWS = [
    (0.01, 1.0, 10_000, 1e-5, 6.187712, 5.611509, 10.880782),
    (0.01, 1.0, 1_000, 1e-5, 1.828237, 1.416662, 2.843440),
    (0.001, 0.6, 50_000, 1e-6, 5.123099, 3.539837, 6.560118),
    (0.02, 2.0, 2_000, 1e-5, 1.933433, 1.829241, 3.859939),
    (0.1, 3.0, 300, 1e-5, 2.494794, 2.298383, 5.153624),
    (0.05, 0.8, 200, 1e-5, 7.702169, 3.903711, 10.326009),
    (1.0, 20.0, 100, 1e-5, 1.993091, 1.993091, 4.377178),
    (0.004, 1.1, 15_000, 1e-5, 2.295370, 2.166800, 4.068066),
    (0.01, 10.0, 100, 1e-5, 0.027709, 0.026885, 0.058638),
    (0.01, 1.0, 10_000, 1e-12, 10.346690, 8.903889, 16.982584),
    (0.001, 0.8, 100_000, 1e-10, 4.069167, 3.686577, 6.217647),
    (1e-5, 1.0, 1_000_000, 1e-12, 0.080735, 0.079696, 0.134452),
]
DIGITS = 1.5e-6  # of the exact values
CASES = [(row[:4], kind, row[4 + i]) for row in ROWS for i, kind in enumerate("rax")]


class OneWay(CurvePair):
    """A pair composed in one order only."""

    @property
    def backward(self):
        return self


def fixed_size(q, s):
    return loss_pair(FixedSizeSampledEvent(q, GaussianEvent(s)).curve("replace_one"))


def by_curve(curve, q):
    """A Poisson-sampled release whose pair is known by its curves alone."""
    sampled = PoissonSampledCurve(curve, q)
    return CurvePair(sampled, CurvePair(sampled.reversed()))


@dataclass(frozen=True)
class CurveOfPair(PrivacyCurve):
    pair: LossPair

    def _delta(self, epsilon):
        return np.clip(self.pair.evaluate(epsilon)[0], 0.0, 1.0)


def one_way(pair):
    return OneWay(CurveOfPair(pair), rounding=1e-12)


def pair_of(kind, q, s):
    if q == 1.0:
        return GaussianPair((2.0 if kind == "x" else 1.0) / s)
    if kind == "x":
        return ReplaceOneGaussianPair(1.0 / s, q)
    removed = PoissonGaussianPair(1.0 / s, q)
    return removed if kind == "r" else removed.backward


def bounds_one_way(pair, count, delta):
    from skdp.accounting import pld as composition

    terms = ((pair, count),)
    return composition._epsilon(terms, delta, False), composition._epsilon(terms, delta, True)


@pytest.mark.parametrize(("row", "kind", "exact"), CASES)
def test_reference_table_of_poisson_sampled_gaussians(row, kind, exact):
    q, s, count, delta = row
    lower, upper = bounds_one_way(pair_of(kind, q, s), count, delta)
    assert lower <= exact + DIGITS
    assert exact - DIGITS <= upper <= exact + EXCESS
    assert exact - lower <= 1e-3


@pytest.mark.parametrize("row", ROWS)
def test_add_remove_is_the_worse_of_its_two_orders(row):
    q, s, count, delta, removed, added, _ = row
    for pair in (pair_of("r", q, s), pair_of("a", q, s)):
        lower, upper = compose([(pair, count)]).bounds_epsilon(delta)
        assert lower <= max(removed, added) + DIGITS
        assert max(removed, added) - DIGITS <= upper <= max(removed, added) + EXCESS


@pytest.mark.parametrize("count", [1, 7, 100, 10_000])
@pytest.mark.parametrize("mu", [0.003, 0.1, 0.5, 3.0])
def test_gaussians_against_the_closed_form(mu, count):
    if mu * math.sqrt(count) > 60.0:
        return  # ε in the thousands
    exact, steps = GaussianCurve(mu * math.sqrt(count)), compose([(GaussianPair(mu), count)])
    for delta in (1e-12, 1e-6, 1e-2, 0.3):
        lower, upper = steps.bounds_epsilon(delta)
        assert lower <= exact.epsilon(delta) * (1 + 1e-12) + 1e-12
        # the curve rounds δ up by 4e-12
        assert exact.epsilon(delta * (1 + 1e-11)) <= upper <= exact.epsilon(delta) + EXCESS
    for epsilon in (-2.0, -0.1, 0.0, 0.3, 2.0, 9.0):
        lower, upper = steps.bounds_delta(epsilon)
        assert lower <= exact.delta(epsilon) * (1 + 1e-11)
        assert exact.delta(epsilon) * (1 - 1e-11) <= upper
        if exact.delta(epsilon) > 1e-30:
            shifted = exact.delta(epsilon - EXCESS)
            assert upper <= shifted * (1 + 1e-9) + 1e-9 * exact.delta(epsilon) + 1e-15


def optimal(epsilon, failure, count, at):
    """δ of Kairouz, Oh and Viswanath 2015 at any ε: the binomial sum, with an atom at infinity."""
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(at)
        p = 1 / (1 + mpmath.exp(-e))
        total = mpmath.mpf(0)
        for wins in range(count + 1):
            loss = (2 * wins - count) * e
            if loss > a:
                mass = mpmath.binomial(count, wins) * p**wins * (1 - p) ** (count - wins)
                total += mass * (1 - mpmath.exp(a - loss))
        return float(1 - (1 - mpmath.mpf(failure)) ** count * (1 - total))


@pytest.mark.parametrize(
    ("count", "epsilon", "delta", "best"),
    [
        (10, 0.1, 1e-6, 0.9994),
        (100, 0.1, 1e-6, 4.7746),
        (1000, 0.1, 1e-6, 19.3447),
        (1000, 0.01, 1e-6, 1.3654),
        (10, 1.0, 1e-5, 9.9998),
        (100, 1.0, 1e-6, 83.5307),
        (1000, 1.0, 1e-5, 577.8332),
    ],
)
def test_pure_mechanisms_against_optimal_composition(count, epsilon, delta, best):
    lower, upper = compose([(ApproximatePair(epsilon), count)]).bounds_epsilon(delta)
    assert lower - 6e-5 <= best <= upper + 6e-5
    assert optimal(epsilon, 0.0, count, upper) <= delta <= optimal(epsilon, 0.0, count, lower)
    assert upper - lower <= EXCESS


@pytest.mark.parametrize("failure", [1e-9, 1e-7, 1e-4])
def test_approximate_mechanisms_against_optimal_composition(failure):
    steps = compose([(ApproximatePair(0.2, failure), 50)])
    for at in (-0.5, 0.0, 1.0, 4.0, 9.0, 11.0):
        lower, upper = steps.bounds_delta(at)
        exact = optimal(0.2, failure, 50, at)
        assert lower * (1 - 1e-12) <= exact <= upper * (1 + 1e-12)
        assert upper <= exact * 1.01
    assert steps.epsilon(50 * failure * 0.5) == math.inf
    assert steps.bounds_epsilon(50 * failure * 0.5)[0] == math.inf


def test_laplace_once_is_its_curve_and_often_lies_below_pure_composition():
    for scale in (0.1, 1.0, 4.0):
        for at in (0.0, 0.3 * scale, 0.99 * scale):
            lower, upper = compose([(LaplacePair(scale), 1)]).bounds_delta(at)
            exact = -math.expm1(0.5 * (at - scale))
            assert lower <= exact * (1 + 1e-12)
            assert exact * (1 - 1e-12) <= upper <= exact + EXCESS
    assert compose([(LaplacePair(1.0), 100)]).epsilon(1e-6) < 72.0


def test_two_laplace_against_an_integral():
    lower, upper = compose([(LaplacePair(1.0), 2)]).bounds_delta(0.5)

    def tail(first):  # E over the second loss of (1 − e^(ε − l1 − l2))_+
        return max(0.0, -math.expm1(0.5 * (min(max(0.5 - first, -1.0), 1.0) - 1.0)))

    grid = np.linspace(-1.0, 1.0, 200_001)
    density = 0.25 * np.exp(0.5 * (grid - 1.0))  # of l between −1 and 1: e^(l/2)/(4·e^(1/2))
    middle = trapezoid(density * np.array([tail(x) for x in grid]), grid)
    exact = middle + 0.5 * tail(1.0) + 0.5 * math.exp(-1.0) * tail(-1.0)
    assert lower - 1e-9 <= exact <= upper + 1e-9
    assert upper - lower <= EXCESS


def test_different_gaussians_add_in_squares():
    mus = [(0.1, 10), (0.5, 2), (0.03, 1000), (1.5, 1)]
    exact = GaussianCurve(math.sqrt(sum(n * m * m for m, n in mus))).epsilon(1e-7)
    lower, upper = compose([(GaussianPair(m), n) for m, n in mus]).bounds_epsilon(1e-7)
    assert lower <= exact <= upper <= exact + EXCESS


def test_splitting_a_run_changes_nothing():
    pair, q = PoissonGaussianPair(1.0, 0.01), 0.01
    whole = compose([(pair, 1000)])
    assert compose([(pair, 400), (pair, 600)]) == whole
    lower, upper = compose([(pair, 400), (by_curve(GaussianCurve(1.0), q), 600)]).bounds_epsilon(
        1e-5
    )
    assert lower <= 1.828237 + DIGITS
    assert 1.828237 - DIGITS <= upper <= 1.828237 + EXCESS


def test_mixed_mechanisms_do_not_depend_on_their_order():
    terms = [(LaplacePair(0.3), 5), (PoissonGaussianPair(1.0, 0.02), 300), (GaussianPair(0.2), 3)]
    one, other = compose(terms).bounds_epsilon(1e-6), compose(terms[::-1]).bounds_epsilon(1e-6)
    assert one == pytest.approx(other, abs=1e-9)
    assert one[1] - one[0] <= 1e-3
    assert one[1] <= sum(compose([term]).epsilon(1e-6 / 3) for term in terms)


@pytest.mark.parametrize(
    ("q", "s", "count", "measured"),
    [
        (0.01, 1.0, 1000, 14.821),
        (0.02, 2.0, 2000, 7.007),
        (0.1, 3.0, 300, 7.188),
        (0.004, 1.1, 15000, 17.832),
        (0.05, 0.8, 200, 48.46),
    ],
)
def test_fixed_size_batches(q, s, count, measured):
    lower, upper = compose([(fixed_size(q, s), count)]).bounds_epsilon(1e-5)
    assert upper - lower <= 1e-3
    assert abs(upper - measured) <= (1e-2 if measured == 48.46 else 1.5e-3)


def test_fixed_size_is_never_below_poisson():
    for q, s in ((0.01, 1.0), (0.1, 3.0)):
        fixed = compose([(fixed_size(q, s), 50)])
        poisson = compose([(ReplaceOneGaussianPair(1.0 / s, q), 50)])
        for at in (0.0, 0.2, 1.0):
            assert fixed.delta(at) >= poisson.bounds_delta(at)[0]


def exact_once(kind, q, s, at):
    """δ of one step by its threshold in x, in 150 digits."""
    with mpmath.workdps(150):
        q, s, c = mpmath.mpf(q), mpmath.mpf(s), mpmath.exp(mpmath.mpf(at))

        def up(center, x):
            return mpmath.ncdf((center - x) / s)

        def down(center, x):
            return mpmath.ncdf((x - center) / s)

        def loss(x):
            mixed = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))
            return mixed / (1 - q + q * mpmath.exp((-2 * x - 1) / (2 * s * s))), mixed

        def part(x):
            mixed, none = (1 - q) * up(0, x) + q * up(1, x), up(0, x)
            if kind == "r":
                return mixed - c * none
            if kind == "x":
                return mixed - c * ((1 - q) * none + q * up(-1, x))
            return down(0, x) - c * ((1 - q) * down(0, x) + q * down(1, x))

        target = (
            (lambda x: loss(x)[0] - c)
            if kind == "x"
            else ((lambda x: loss(x)[1] - c) if kind == "r" else (lambda x: 1 / loss(x)[1] - c))
        )
        low, high = mpmath.mpf(-60) * s, mpmath.mpf(60) * s
        if target(low) * target(high) > 0:
            return float(max(0, 1 - c))
        for _ in range(400):
            middle = (low + high) / 2
            low, high = (middle, high) if target(low) * target(middle) > 0 else (low, middle)
        return float(part(low))


def curve_of(pmf, at):
    factors = np.maximum(-np.expm1(np.minimum(at - pmf.losses, 1.0)), 0.0)
    return pmf.infinite + float(pmf.masses @ factors)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from("rax"),
    q=st.floats(1e-4, 0.9),
    s=st.floats(0.4, 5.0),
    step=st.floats(1e-4, 0.05),
    at=st.floats(-3.0, 3.0),
)
def test_the_grid_encloses_one_step(kind, q, s, step, at):
    pair, cells = pair_of(kind, q, s), math.ceil(4.0 / step)
    exact = exact_once(kind, q, s, at)
    value, slope, error = (float(x[0]) for x in pair.evaluate(np.array([at])))
    assert abs(value - exact) <= error + 1e-60
    assert slope >= 0.0
    slack = 1e-13 * exact + 1e-300
    assert curve_of(optimistic(pair, step, -cells, cells), at) <= exact + slack + 1e-15
    assert curve_of(pessimistic(pair, step, -cells, cells), at) >= exact - slack - 1e-15


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from("rx"),
    q=st.floats(1e-5, 0.5),
    s=st.floats(0.5, 4.0),
    count=st.integers(1, 5000),
    log_delta=st.floats(-27.0, -1.0),
    more=st.floats(1.0, 3.0),
)
def test_bounds_are_ordered_and_monotone(kind, q, s, count, log_delta, more):
    delta = math.exp(log_delta)
    lower, upper = compose([(pair_of(kind, q, s), count)]).bounds_epsilon(delta)
    assert 0.0 <= lower <= upper < math.inf
    # beyond, the lower side is known to be loose: few heavy-tailed steps, losses in the hundreds
    assert q < 0.01 or upper > 50.0 or upper <= lower + 0.02
    longer = compose([(pair_of(kind, q, s), int(count * more))])
    assert longer.epsilon(delta) >= lower
    denser = compose([(pair_of(kind, min(0.9, q * more), s), count)])
    assert denser.epsilon(delta) >= lower
    looser = compose([(pair_of(kind, q, s), count)]).epsilon(min(0.9, delta * more))
    assert looser <= upper + EXCESS


@settings(max_examples=30, deadline=None)
@given(
    q=st.floats(1e-3, 0.5),
    s=st.floats(0.6, 4.0),
    count=st.integers(1, 2000),
    at=st.floats(-1.0, 6.0),
    further=st.floats(0.0, 1.0),
)
def test_delta_falls_with_epsilon_and_inverts_it(q, s, count, at, further):
    steps = compose([(ReplaceOneGaussianPair(1.0 / s, q), count)])
    lower, upper = steps.bounds_delta(at)
    assert 0.0 <= lower <= upper <= 1.0
    assert steps.bounds_delta(at + further)[0] <= upper
    if at > 0.0 and 1e-30 < upper < 0.9:
        assert steps.bounds_epsilon(upper)[0] <= at + 1e-9
        if lower > 1e-30:
            assert steps.epsilon(lower) >= at - 1e-9


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_poisson_sampling_of_a_curve_is_the_closed_form(mu):
    losses = np.linspace(-0.5, 3.0, 301)
    generic, closed = by_curve(GaussianCurve(mu), 0.2), PoissonGaussianPair(mu, 0.2)
    for one, other in ((generic, closed), (generic.backward, closed.backward)):
        exact = pytest.approx(other.evaluate(losses)[0], rel=1e-9, abs=1e-15)
        assert one.curve.delta(losses) == exact


def test_small_delta_many_steps():
    steps = compose([(PoissonGaussianPair(1.0, 1e-5), 1_000_000)])
    lower, upper = steps.bounds_epsilon(1e-12)
    assert upper <= 0.08082 + EXCESS
    assert lower <= upper <= lower + 1e-3
    assert steps.epsilon(1e-50) == math.inf
    assert steps.epsilon(0.0) == math.inf


def test_edges():
    with pytest.raises(ValueError, match="nothing"):
        compose([])
    assert compose([(GaussianPair(0.1), 1)]).bounds_epsilon(0.5) == (0.0, 0.0)
    with pytest.raises(ValueError, match="count"):
        compose([(GaussianPair(0.1), 0)])
    with pytest.raises(ValueError, match="delta"):
        compose([(GaussianPair(0.1), 1)]).epsilon(1.5)


def test_a_repeated_query_is_remembered():
    from skdp.accounting import pld as composition

    pair = ReplaceOneGaussianPair(1.0, 0.0123)
    first = compose([(pair, 77)]).epsilon(1e-6)
    hits = composition._epsilon.cache_info().hits
    again = compose([(ReplaceOneGaussianPair(1.0, 0.0123), 77)]).epsilon(1e-6)
    assert again == first
    assert composition._epsilon.cache_info().hits > hits


def test_points_of_a_coarse_distribution_are_further_apart_than_rounding():
    """Points an ulp apart, which depend on how NumPy rounds, would carry masses of pure noise."""
    pair = loss_pair(PoissonSampledEvent(0.1, GaussianEvent(4.0)).curve("replace_one"))
    gaps = np.diff(profile(pair).losses)
    assert gaps.min() > 1e-10 * np.ptp(profile(pair).losses)


def test_the_largest_loss_of_an_added_record_is_rounded_upwards():
    mu, rate = 9.897059239143756, 0.08236174204003847
    pair = PoissonGaussianPair(mu, rate).backward
    largest = -math.log1p(-rate)  # a little less than −log(1 − q)
    with mpmath.workdps(50):
        weight = 1 - mpmath.exp(mpmath.mpf(largest)) * (1 - mpmath.mpf(rate))
        inner = mpmath.log(mpmath.exp(mpmath.mpf(largest)) * mpmath.mpf(rate) / weight)
        m = mpmath.mpf(mu)
        u = inner / m - m / 2
        exact = weight * (mpmath.ncdf(-u) - mpmath.exp(inner) * mpmath.ncdf(-u - m))
        assert mpmath.mpf(float(pair.above(np.array([largest]))[0])) >= exact  # 0 and 3.4e-18
