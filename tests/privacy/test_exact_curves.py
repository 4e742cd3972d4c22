"""Each closed curve against sums, integrals or 60-digit arithmetic of the distributions."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from skdp.privacy import (
    ApproxDPEvent,
    GaussianCurve,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    Neighboring,
    PoissonSampledEvent,
    PureDPEvent,
    ZCDPEvent,
)
from skdp.privacy.composed_events import (
    ApproximatedEvent,
    BetweenNeighborsEvent,
    FixedSizeSampledEvent,
    ShuffledEvent,
)
from skdp.privacy.gaussian import DiscreteGaussianEvent
from skdp.privacy.noise_events import (
    DiscreteLaplaceEvent,
    PiecewiseConstantNoiseEvent,
    TruncatedLaplaceEvent,
)

EPSILONS = [-3.0, -0.7, -1e-3, 0.0, 1e-3, 0.3, 0.9, 1.7, 4.0]


def integrated(density, shift, epsilon, knots, width):
    """Return the integral of max(0, f(x − shift) − e^ε·f(x)), piece by piece."""

    def integrand(x):
        return max(0.0, density(x - shift) - math.exp(epsilon) * density(x))

    inside = sorted({0.5 * (epsilon * width + shift), *knots, *(k + shift for k in knots)})
    pieces = itertools.pairwise(inside)
    return math.fsum(quad(integrand, a, b, epsabs=1e-13)[0] for a, b in pieces if b - a > 1e-12)


@pytest.mark.parametrize("multiplier", [0.4, 1.0, 3.0])
@pytest.mark.parametrize(("relation", "shift"), [("add_remove_one", 1.0), ("replace_one", 2.0)])
def test_laplace(multiplier, relation, shift):
    curve = LaplaceEvent(multiplier).curve(relation)
    for epsilon in EPSILONS:
        exact = integrated(
            lambda x: math.exp(-abs(x) / multiplier) / (2 * multiplier),
            shift,
            epsilon,
            [-40.0 * multiplier, 0.0, 40.0 * multiplier],
            multiplier,
        )
        assert curve.delta(epsilon) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("cut", [0.3, 0.8, 1.2, 2.0, 9.0])
@pytest.mark.parametrize(("relation", "shift"), [("add_remove_one", 1.0), ("replace_one", 2.0)])
def test_truncated_laplace(cut, relation, shift):
    curve, mass = TruncatedLaplaceEvent(0.7, cut).curve(relation), -1.4 * math.expm1(-cut / 0.7)
    for epsilon in EPSILONS:
        exact = integrated(
            lambda x: math.exp(-abs(x) / 0.7) / mass if abs(x) < cut else 0.0,
            shift,
            epsilon,
            [-cut, 0.0, cut],
            0.7,
        )
        assert curve.delta(epsilon) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (1.0, 1e-6), (0.5, 1e-5)])
def test_the_truncated_laplace_meets_the_target_of_its_source(epsilon, delta):
    cut = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon
    curve = TruncatedLaplaceEvent(1 / epsilon, cut).curve("add_remove_one")
    assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-9)


def summed(log_mass, shift, epsilon, reach):
    with mp.workdps(60):
        masses = {x: mp.exp(log_mass(x)) for x in range(-reach - shift, reach + shift + 1)}
        total, odds = mp.fsum(masses.values()), mp.exp(mp.mpf(epsilon))
        inside = range(-reach, reach + 1)
        return mp.fsum(max(0, masses[x - shift] - odds * masses[x]) for x in inside) / total


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "sensitivity"), [(0.2, 1), (2.5, 3), (1.0, 1), (4.0, 2)])
@pytest.mark.parametrize(("relation", "changed"), [("add_remove_one", 1), ("replace_one", 2)])
def test_discrete_laplace(scale, sensitivity, relation, changed):
    curve = DiscreteLaplaceEvent(scale, sensitivity).curve(relation)
    bound = changed * sensitivity / scale
    for epsilon in [*EPSILONS, bound * (1 - 1e-9), bound]:
        exact = summed(lambda x: -abs(x) / mp.mpf(scale), changed * sensitivity, epsilon, 500)
        assert curve.delta(epsilon) == pytest.approx(float(exact), rel=1e-6, abs=1e-15)


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.3, 1), (1.0, 1), (4.0, 3), (3.5, 1)])
@pytest.mark.parametrize(("relation", "changed"), [("add_remove_one", 1), ("replace_one", 2)])
def test_discrete_gaussian(scale, sensitivity, relation, changed):
    curve = DiscreteGaussianEvent(scale, sensitivity).curve(relation)
    for epsilon in [*EPSILONS, 8.0]:
        exact = summed(
            lambda x: -(x**2) / (2 * mp.mpf(scale) ** 2), changed * sensitivity, epsilon, 200
        )
        if exact > 1e-290:
            assert float(curve.delta(epsilon) / exact) == pytest.approx(1.0, rel=1e-11)


@pytest.mark.parametrize(
    ("scale", "printed"), [(1.0, 0.141351), (2.0, 7.24878e-3), (4.0, 3.05545e-6)]
)
def test_discrete_gaussian_is_the_printed_number_and_above_the_continuous_one(scale, printed):
    delta = DiscreteGaussianEvent(scale).curve("add_remove_one").delta(1.0)
    assert delta == pytest.approx(printed, rel=5e-6)
    assert delta > GaussianCurve(1 / scale).delta(1.0)


def test_piecewise_constant_noise_is_worst_at_whole_shifts():
    mass = np.array([0.05, 0.4, 0.3, 0.15, 0.1])
    curve = PiecewiseConstantNoiseEvent(tuple(mass), 2).curve("add_remove_one")
    for epsilon in EPSILONS:
        found = [real_shift(mass, shift, epsilon) for shift in np.linspace(-2, 2, 81)]
        assert curve.delta(epsilon) == pytest.approx(max(found), abs=1e-14)


def real_shift(mass, shift, epsilon):
    edges = np.unique(np.concatenate([np.arange(6.0), np.arange(6.0) + shift]))
    middle, width = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    padded = np.concatenate([[0.0], mass, [0.0]])

    def density(x):
        return padded[np.clip(np.floor(x).astype(int) + 1, 0, 6)]

    gap = density(middle - shift) - math.exp(epsilon) * density(middle)
    return float(np.maximum(0.0, gap) @ width)


@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.3, 0.9])
def test_poisson_sampling_mixes_the_two_distributions(discrete_curve, rate):
    delta, odds = 0.05, 0.95 / (1 + math.e)
    p, q = np.array([delta, odds * math.e, odds, 0]), np.array([0, odds, odds * math.e, delta])
    curve = PoissonSampledEvent(rate, ApproxDPEvent(1.0, delta)).curve("add_remove_one")
    mixture = tuple((1 - rate) * q + rate * p)
    remove, add = discrete_curve(mixture, tuple(q)), discrete_curve(tuple(q), mixture)
    for epsilon in EPSILONS:
        assert curve.delta(epsilon) == pytest.approx(remove.delta(epsilon), abs=1e-14)
        assert curve.reversed().delta(epsilon) == pytest.approx(add.delta(epsilon), abs=1e-14)


def substituted(rate, scale, epsilon):
    """Return the value of the pair of Theorem 1 at its threshold, in 60 digits."""
    with mp.workdps(60):
        q, s, e = mp.mpf(rate), mp.mpf(scale), mp.mpf(epsilon)
        a = (1 - q) / q * mp.exp(1 / (2 * s * s))
        t = s * s * (mp.asinh(a * mp.sinh(e / 2)) + e / 2)

        def above(mean):
            return mp.erfc((t - mean) / s / mp.sqrt(2)) / 2

        first, second = (1 - q) * above(0) + q * above(1), (1 - q) * above(0) + q * above(-1)
        return first - mp.exp(e) * second


@pytest.mark.parametrize(
    ("rate", "scale"),
    [(0.01, 1), (0.001, 0.6), (1e-5, 10), (0.5, 0.05), (0.1, 3), (1e-5, 1), (0.9, 0.3), (0.3, 100)],
)
def test_poisson_sampled_gaussian_under_replace_one(rate, scale):
    curve = PoissonSampledEvent(rate, GaussianEvent(scale)).curve("replace_one")
    for epsilon in [0.0, 1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0]:
        exact = substituted(rate, scale, epsilon)
        assert curve.log_delta(epsilon) == pytest.approx(float(mp.log(exact)), rel=1e-10, abs=1e-9)
        mirrored = substituted(rate, scale, -epsilon)
        assert curve.delta(-epsilon) == pytest.approx(float(mirrored), rel=1e-11)


def test_a_full_sample_is_the_gaussian_itself():
    curve = PoissonSampledEvent(1, GaussianEvent(2.0)).curve("replace_one")
    assert curve == GaussianCurve(1.0)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_the_three_samplings_are_ordered(scale):
    epsilon, event = np.linspace(0.0, 5.0, 51), GaussianEvent(scale)
    poisson = PoissonSampledEvent(0.1, event).curve("replace_one").delta(epsilon)
    fixed = FixedSizeSampledEvent(0.1, event).curve("replace_one").delta(epsilon)
    shuffled = ShuffledEvent(event).curve("replace_one").delta(epsilon)
    assert np.all(poisson <= fixed * (1 + 1e-12))
    assert np.all(fixed <= shuffled)
    total_variation = 0.1 * math.erf(1 / scale / math.sqrt(2))
    assert poisson[0] == pytest.approx(total_variation, rel=1e-12)
    assert fixed[0] == pytest.approx(total_variation, rel=1e-12)


def test_sampling_a_black_box_under_replace_one_is_not_amplified_in_epsilon():
    curve = PoissonSampledEvent(0.1, PureDPEvent(1.0)).curve("replace_one")
    base = PureDPEvent(1.0).curve("replace_one")
    assert curve.epsilon(0.0) == pytest.approx(1.0)
    assert curve.delta(0.3) == pytest.approx(0.1 * base.delta(0.3))
    assert curve.delta(-0.3) == pytest.approx(0.1 * base.delta(-0.3) - 0.9 * math.expm1(-0.3))


def test_the_bound_on_sampling_a_black_box_holds_where_other_batches_differ(discrete_curve):
    """A release of batch with or without the record: same size under replace-one only."""
    one, other, absent = np.array([0.75, 0.25]), np.array([0.25, 0.75]), np.array([0.01, 0.99])
    base, rate = discrete_curve(tuple(one), tuple(other)), 0.2
    p, q = (1 - rate) * absent + rate * one, (1 - rate) * absent + rate * other
    epsilon = np.linspace(0.0, 3.0, 31)
    sampled = discrete_curve(tuple(p), tuple(q)).delta(epsilon)
    assert np.all(sampled <= rate * base.delta(epsilon) + 1e-15)
    amplified = math.log1p(rate * (3.0 - 1.0))  # what would hold under add/remove
    assert discrete_curve(tuple(p), tuple(q)).delta(amplified) > 1e-3


@given(mu=st.floats(0.05, 4.0), tv=st.floats(1e-8, 0.3), epsilon=st.floats(-3.0, 3.0))
@settings(max_examples=50, deadline=None)
def test_an_approximate_sampler_costs_for_both_neighbors(mu, tv, epsilon):
    curve = ApproximatedEvent(GDPEvent(mu), tv).curve("replace_one")
    sum_of_both = GaussianCurve(mu).delta(epsilon) + (1 + math.exp(epsilon)) * tv
    assert curve.delta(epsilon) <= sum_of_both * (1 + 1e-12)
    if sum_of_both < 0.5 and GaussianCurve(mu).delta(epsilon + 0.01) + tv * math.exp(epsilon) > 0.5:
        assert curve.delta(epsilon) == pytest.approx(sum_of_both)


@given(shares=st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), epsilon=st.floats(-2, 4))
@settings(max_examples=200, deadline=None)
def test_no_sampler_within_tv_is_worse_than_the_approximated_curve(discrete_curve, shares, epsilon):
    """Move tv of mass in both distributions of randomized response, in any direction."""
    tv, p, q = 0.05, np.array([0.7, 0.3, 0.0]), np.array([0.3, 0.7, 0.0])
    a, b, c, d = shares
    p = p + tv * a * np.array([1, -1, 0]) + tv * (1 - a) * b * np.array([0, -1, 1])
    q = q + tv * c * np.array([-1, 1, 0]) + tv * (1 - c) * d * np.array([-1, 0, 1])
    curve = ApproximatedEvent(PureDPEvent(math.log(7 / 3)), tv).curve("replace_one")
    assert discrete_curve(tuple(p), tuple(q)).delta(epsilon) <= curve.delta(epsilon) + 1e-12


@pytest.mark.parametrize(
    ("rho", "delta", "printed"),
    [
        (0.5, 1e-5, 4.72839),
        (0.1, 1e-5, 1.91424),
        (0.5, 1e-6, 5.22154),
        (2, 1e-5, 10.724824),
        (0.01, 1e-6, 0.62169),
    ],
)
def test_zcdp_is_the_printed_conversion(rho, delta, printed):
    epsilon = ZCDPEvent(rho).curve("replace_one").epsilon(delta)
    assert epsilon == pytest.approx(printed, abs=6e-6)


@given(log_rho=st.floats(-12.0, 4.0), scaled=st.floats(-6.0, 6.0))
@settings(max_examples=200, deadline=None)
def test_zcdp_covers_every_zcdp_distribution_that_is_known(log_rho, scaled):
    rho = math.exp(log_rho)
    epsilon, curve = scaled * math.sqrt(rho), ZCDPEvent(rho).curve("replace_one")
    pure = math.sqrt(2 * rho)  # ε-DP is ε²/2-zCDP
    assert GaussianCurve(pure).delta(epsilon) <= curve.delta(epsilon) * (1 + 1e-12)
    assert PureDPEvent(pure).curve("replace_one").delta(epsilon) <= curve.delta(epsilon) + 1e-15


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [(0.1, 0.122326), (0.5, 0.561764), (1, 1.030064), (2, 1.800905), (4, 2.986779)],
)
def test_the_mu_of_laplace_is_printed_and_least(epsilon, printed):
    event = LaplaceEvent(1 / epsilon)
    mu = event.gdp_mu("add_remove_one")
    assert mu == pytest.approx(printed, abs=6e-7)
    at_zero = event.curve("add_remove_one").delta(0.0)
    assert GaussianCurve(mu * (1 - 1e-9)).delta(0.0) < at_zero


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [(0.1, 0.125309), (0.5, 0.623893), (1, 1.232035), (2, 2.357961), (4, 4.194478)],
)
def test_the_mu_of_a_pure_box_is_printed(epsilon, printed):
    assert PureDPEvent(epsilon).gdp_mu("replace_one") == pytest.approx(printed, abs=6e-7)


@given(log_noise=st.floats(-2.0, 10.0), log_less=st.floats(-6.0, 6.0))
def test_the_renyi_divergence_of_laplace_is_exact_and_never_below(log_noise, log_less):
    event, order = LaplaceEvent(10.0**log_noise), 1.0 + 10.0**log_less
    with mp.workdps(60):
        a, shift = mp.mpf(order), mp.mpf(event.pure_epsilon("replace_one"))
        up, down = mp.exp((a - 1) * shift), mp.exp(-a * shift)
        truth = mp.log((a * up + (a - 1) * down) / (2 * a - 1)) / (a - 1)
        assert 0 <= event.rdp(order, "replace_one") / truth - 1 < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("scale", [31.9, 32.0, 77.7, 1000.0, 20_000.0])
@pytest.mark.parametrize("ratio", [0.0, 0.01, 1.0, 30.0])
def test_long_sums_of_the_discrete_gaussian_are_those_of_their_terms(scale, ratio):
    shift = max(1, round(ratio * scale))
    event, mu = DiscreteGaussianEvent(scale, shift), shift / scale
    steps = np.arange(-math.floor(13 * scale), math.ceil(45 * scale), dtype=float)  # from the mean
    masses = np.exp(-0.5 * (steps / scale) ** 2)
    losses = (steps + 0.5 * shift) * shift / scale**2
    for epsilon in (0.0, 0.3 * mu, 0.5 * mu * mu, 0.5 * mu * mu + 3 * mu, 0.5 * mu * mu + 30 * mu):
        kept = losses > epsilon
        terms = masses[kept] * -np.expm1(epsilon - losses[kept])
        truth = math.fsum(terms.tolist()) / math.fsum(masses.tolist())
        found = event.curve("add_remove_one").delta(epsilon)
        assert found == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("sensitivity", [1, 10**6, 10**9])
def test_the_largest_discrete_gaussian_takes_no_longer(sensitivity):
    curve = DiscreteGaussianEvent(1e6, sensitivity).curve("add_remove_one")
    gaussian = GaussianCurve(sensitivity / 1e6)
    epsilon = gaussian.mu * np.linspace(0.0, gaussian.mu + 8.0, 3001)
    assert np.allclose(curve.delta(epsilon), gaussian.delta(epsilon), rtol=1e-6, atol=1e-300)
    assert curve._forward(np.array([1e15])) == 0.0


def test_sizes_between_neighbors_do_not_double_where_two_records_change():
    event = LaplaceEvent(2.0)
    between = BetweenNeighborsEvent(event)
    for relation in Neighboring:
        assert between.pure_epsilon(relation) == event.pure_epsilon("add_remove_one")
        assert between.curve(relation) == event.curve("add_remove_one")
    assert event.pure_epsilon("replace_one") == 2.0 * between.pure_epsilon("replace_one")
    with pytest.raises(ValueError, match="additive noise"):
        BetweenNeighborsEvent(PoissonSampledEvent(0.1, event))
