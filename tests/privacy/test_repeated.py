"""The best of K runs: its curve against brute force, and the choices that it is made of."""

import math
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import poisson

from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import GaussianCurve, GDPEvent, Neighboring, PureDPEvent
from skdp.privacy.curve import DiscretePairCurve
from skdp.privacy.noise_events import BestOfCurve, BoundedRangeEvent, RepeatAndSelectEvent, RunCount

RELATION = Neighboring.REPLACE_ONE
EPSILONS = np.concatenate([np.linspace(0.0, 3.0, 16), np.linspace(3.5, 8.0, 10)])
COUNTS = {
    "geometric": RunCount("negative_binomial", 0.15),
    "logarithmic": RunCount("negative_binomial", 0.1, 0.0),
    "negative": RunCount("negative_binomial", 0.05, -0.5),
    "steep": RunCount("negative_binomial", 0.3, 2.5),
    "poisson": RunCount("poisson", 6.0),
    "fixed": RunCount("fixed", 5),
    "once": RunCount("fixed", 1),
}


@cache
def masses_of(count):
    """Return numbers of runs and their probabilities."""
    k = np.arange(1, 4000)
    if count.distribution == "fixed":
        return np.array([count.parameter]), np.ones(1)
    if count.distribution == "poisson":
        return np.r_[0, k], poisson.pmf(np.r_[0, k], count.parameter)
    gamma, eta = count.parameter, count.shape
    log_ratio = np.log((k[:-1] + eta) / k[1:] * (1.0 - gamma))
    mass = np.exp(np.concatenate([[0.0], np.cumsum(log_ratio)]))
    return k, mass / mass.sum()


def generating_function(count, t):
    """Return E[t^K], from the masses of K."""
    k, mass = masses_of(count)
    return np.power.outer(t, k) @ mass


def best_of(count, masses):
    """Return the distribution of the best of K, best point first, and of no run at all."""
    better = np.concatenate([[0.0], np.cumsum(masses)])
    at_least = generating_function(count, np.maximum(1.0 - better, 0.0))
    return np.append(at_least[:-1] - at_least[1:], at_least[-1])


def hockey_stick(p, q, epsilon):
    return np.maximum(p - np.exp(epsilon)[:, None] * q, 0.0).sum(axis=1)


def random_pair(rng):
    """Return a pair of distributions on a few points, some of them near to each other."""
    p = rng.dirichlet(np.full(rng.integers(2, 9), rng.choice([0.3, 1.0, 5.0])))
    q = p * np.exp(rng.choice([0.1, 0.5, 2.0]) * rng.uniform(-1.0, 1.0, p.size))
    return p, q / q.sum()


@pytest.mark.parametrize("name", COUNTS)
def test_no_order_of_scores_beats_the_curve(name):
    """Some 20 000 exact distributions and epsilons in all, none above the bound."""
    rng, count = np.random.default_rng(), COUNTS[name]
    for _ in range(7):
        p, q = random_pair(rng)
        for first, second in ((p, q), (q, p)):
            bound = BestOfCurve(DiscretePairCurve(tuple(first), tuple(second)), count)
            allowed = bound.delta(EPSILONS) * (1.0 + 1e-9) + 1e-12
            for order in (rng.permutation(p.size) for _ in range(8)):
                a, b = (best_of(count, some[order]) for some in (first, second))
                assert np.all(hockey_stick(a, b, EPSILONS) <= allowed)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
def test_a_rare_winner_costs_all_that_the_curve_says_but_3_percent(name, epsilon):
    p, q = (np.array([a, 1.0 - a]) for a in (1e-6, 1e-6 * math.exp(-2.0)))
    a, b = (best_of(COUNTS[name], some) for some in (p, q))
    exact = hockey_stick(a, b, np.array([epsilon]))[0]
    bound = BestOfCurve(DiscretePairCurve(tuple(p), tuple(q)), COUNTS[name]).delta(epsilon)
    assert 0.97 * bound < exact <= bound * (1.0 + 1e-8)


@pytest.mark.parametrize(
    ("mean", "at_most", "at_least"), [(5, 1.39, 1.371), (10, 1.55, 1.531), (30, 1.81, 1.781)]
)
def test_geometric_repetition_costs_little_more_than_its_worst_case(mean, at_most, at_least):
    event = RepeatAndSelectEvent(GDPEvent(0.268051), "geometric", 1.0 / mean)
    assert at_least <= event.curve(RELATION).epsilon(1e-5) <= at_most


def test_a_fixed_number_of_runs_costs_less_than_all_their_releases():
    assert RepeatAndSelectEvent(GDPEvent(0.268051), "fixed", 5).curve(RELATION).epsilon(
        1e-5
    ) < GaussianCurve(0.268051 * math.sqrt(5)).epsilon(1e-5)


def test_one_run_costs_what_it_costs():
    once = RepeatAndSelectEvent(GDPEvent(0.7), "fixed", 1).curve(RELATION)
    assert once.epsilon(1e-5) == pytest.approx(GaussianCurve(0.7).epsilon(1e-5), abs=1e-4)


def test_both_orders_of_a_one_sided_pair_count():
    pair = DiscretePairCurve((0.9, 0.1, 0.0), (0.5, 0.4, 0.1))
    bound = BestOfCurve(pair, COUNTS["geometric"])
    for p, q in ((pair.p, pair.q), (pair.q, pair.p)):
        a, b = (best_of(COUNTS["geometric"], np.array(some)) for some in (p, q))
        assert np.all(hockey_stick(a, b, EPSILONS) <= bound.delta(EPSILONS) + 1e-12)


def two_points(epsilon, t):
    """Return the pair with the privacy losses t and t − ε."""
    q = (math.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
    return (math.exp(t) * q, 1.0 - math.exp(t) * q), (q, 1.0 - q)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 15.0])
def test_a_bounded_range_is_the_worst_pair_of_two_losses(epsilon):
    event, at = BoundedRangeEvent(epsilon), np.linspace(-epsilon, epsilon, 21)
    t = np.linspace(0.0, epsilon, 20_001)[1:-1]
    worst = np.max([DiscretePairCurve(*two_points(epsilon, u)).delta(at) for u in t[::40]], axis=0)
    exact = event.curve(RELATION).delta(at)
    assert np.all(worst <= exact + 1e-12)
    assert worst == pytest.approx(exact, abs=2e-4 * epsilon)
    vertices = np.array([(p[0], q[0]) for p, q in (two_points(epsilon, u) for u in t)])
    needed = ndtri(vertices[:, 0]) - ndtri(vertices[:, 1])  # μ that covers a vertex of a trade-off
    assert needed.max() == pytest.approx(event.gdp_mu(RELATION), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 2.0, 9.0])
@pytest.mark.parametrize("order", [1.5, 8.0, 60.0])
def test_a_bounded_range_is_concentrated(epsilon, order):
    event = BoundedRangeEvent(epsilon)
    for t in np.linspace(0.0, epsilon, 41)[1:-1]:
        _, (q, _) = two_points(epsilon, t)
        moment = q * math.exp(order * t) + (1.0 - q) * math.exp(order * (t - epsilon))
        assert math.log(moment) / (order - 1.0) <= order * event.zcdp_rho(RELATION) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-16, 1e-8, 1e-3, 0.9, 1.1, 30.0])
def test_mu_of_tiny_releases_is_not_lost_to_rounding(epsilon):
    with mpmath.workdps(60):
        exact = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
    for event in (PureDPEvent(epsilon), BoundedRangeEvent(2.0 * epsilon)):
        assert float(exact) <= event.gdp_mu(RELATION) * (1 + 1e-13)
        assert event.gdp_mu(RELATION) == pytest.approx(float(exact), rel=1e-12)


def test_the_exponential_mechanism_costs_half_on_a_gaussian_ledger():
    event = ExponentialMechanism(sensitivity=1.0, epsilon=1.0).event
    assert event.gdp_mu(RELATION) == pytest.approx(0.624, abs=1e-3)
    assert event.pure_epsilon(RELATION) == pytest.approx(1.0, rel=1e-4)
