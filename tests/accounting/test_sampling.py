"""What a release on a Poisson sample costs: exact calibration, and all small mechanisms."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtri

from skdp.accounting import gdp_mu
from skdp.accounting.calibration import sampled_gdp_mu, sampled_pure_epsilon
from skdp.exceptions import OutOfRangeError
from skdp.privacy import (
    GaussianEvent,
    GDPEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    PureDPEvent,
)

RELATIONS = ["replace_one", "add_remove_one"]
TARGETS = [(1.0, 1e-8), (0.1, 1e-5), (3.0, 1e-6), (8.0, 1e-3)]


def guarantee(mu, rate, relation):
    return PrivacyGuarantee(PoissonSampledEvent(rate, GaussianEvent(1.0 / mu)), relation, "test")


@pytest.mark.parametrize("rate", [1e-3, 0.01, 0.1, 0.5, 0.99, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
def test_the_sample_costs_what_is_asked_and_no_more(epsilon, delta, rate, neighboring):
    if rate <= delta:
        return
    mu = sampled_gdp_mu(epsilon, delta, rate, neighboring)
    found = guarantee(mu, rate, neighboring)
    assert found.delta(epsilon) <= delta
    assert mu <= 20.0
    if mu < 20.0:
        assert guarantee(mu * (1 + 1e-8), rate, neighboring).delta(epsilon) > delta
        assert found.delta(epsilon) == pytest.approx(delta, rel=1e-6)


def test_without_a_sample_it_is_calibration():
    for relation, k in zip(RELATIONS, (2, 1), strict=True):
        assert sampled_gdp_mu(1.0, 1e-5, 1.0, relation) == pytest.approx(
            gdp_mu(1.0, 1e-5) / k, rel=1e-8
        )


def test_known_values():
    for relation in RELATIONS:
        assert sampled_gdp_mu(1.0, 1e-8, 1e-3, relation) == pytest.approx(1.570, abs=5e-4)
    assert sampled_gdp_mu(1.0, 1e-5, 2e-5, "replace_one") > 3.0


@pytest.mark.parametrize("rate", [1e-5, 1e-6])
def test_a_rate_below_delta_is_refused(rate):
    with pytest.raises(OutOfRangeError, match="above delta=1e-05"):
        sampled_gdp_mu(1.0, 1e-5, rate, "replace_one")


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 50.0])
def test_pure_releases_are_calibrated_exactly(epsilon, rate, neighboring):
    inside = sampled_pure_epsilon(epsilon, rate, neighboring)
    total = math.log1p(rate * math.expm1(inside))
    if neighboring == "replace_one":
        total -= -inside if rate == 1.0 else math.log1p(rate * math.expm1(-inside))
    assert total <= epsilon * (1 + 1e-14)
    assert total == pytest.approx(epsilon, rel=1e-10 if epsilon > 1e-5 else 1e-2)


# Every mechanism on samples of at most two of the records 0, 1 is a table of distributions, one for
# each multiset. What it costs on samples of {a} and of {b}, beside others, is summed up exactly.

ANSWERS = 3
SAMPLES = [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
FACTORS = np.exp(np.linspace(-4.0, 4.0, 81))
EVENTS = [np.array(s, bool) for s in itertools.product((0, 1), repeat=ANSWERS)]


def adjacent():
    """Samples that differ in the presence of one record."""
    for small, large in itertools.product(SAMPLES, repeat=2):
        if len(large) == len(small) + 1 and any(
            tuple(sorted((*small, record))) == large for record in (0, 1)
        ):
            yield small, large
            yield large, small


def mu_of(table):
    """The least μ for which the mechanism is μ-Gaussian DP when a record is added or removed."""
    pairs = [(table[s][e].sum(), table[t][e].sum()) for s, t in adjacent() for e in EVENTS[1:-1]]
    return max(float(ndtri(p) - ndtri(q)) for p, q in pairs)


def pure_of(table):
    return max(float(np.log(table[s] / table[t]).max()) for s, t in adjacent())


def output(table, data, rate):
    """The distribution of the answer on a Poisson sample of the data."""
    total = np.zeros(ANSWERS)
    for kept in itertools.product((0, 1), repeat=len(data)):
        sample = tuple(sorted(itertools.compress(data, kept)))
        weight = math.prod(rate if k else 1.0 - rate for k in kept)
        total += weight * table[sample]
    return total


def excess(p, q):
    """H_c(P‖Q) for every factor c."""
    return np.maximum(p - FACTORS[:, None] * q, 0.0).sum(axis=1)


def neighbors(relation):
    if relation == "replace_one":
        return [(a, b) for a, b in itertools.product(SAMPLES[1:], repeat=2) if differ(a, b) == 1]
    return adjacent()


def differ(a, b):
    if len(a) != len(b):
        return -1
    return min(
        sum(x != y for x, y in zip(a, one, strict=True)) for one in itertools.permutations(b)
    )


def tables(rng, n):
    for _ in range(n):
        sharp = rng.uniform(0.05, 3.0)
        yield {s: rng.dirichlet(np.ones(ANSWERS)) ** sharp for s in SAMPLES}


def normal(table):
    return {s: weights / weights.sum() for s, weights in table.items()}


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
def test_no_small_mechanism_costs_more_than_the_theorem_says(neighboring, rate, rng):
    """Any μ-Gaussian DP mechanism for records that come and go, on samples, is below the pair."""
    closest = 0.0
    for table in map(normal, tables(rng, 40)):
        bound = guarantee(mu_of(table), rate, neighboring)
        allowed = bound.delta(np.log(FACTORS))
        pure = pure_of(table)
        most = math.log1p(rate * math.expm1(pure))
        if neighboring == "replace_one":
            most -= math.log1p(rate * math.expm1(-pure))
        for one, other in neighbors(neighboring):
            p, q = output(table, one, rate), output(table, other, rate)
            spent = excess(p, q)
            assert (spent <= allowed * (1 + 1e-9) + 1e-12).all()
            assert np.log(p / q).max() <= most + 1e-12
            closest = max(closest, float((spent[45:] / np.maximum(allowed[45:], 1e-9)).max()))
    assert closest > 0.5


def test_the_bound_is_reached_by_a_sampled_gaussian():
    """Answers that cut the line finely: the pair of the theorem itself, up to the cells."""
    mu, rate = 1.2, 0.2
    edges = np.linspace(-8.0, 8.0, 4001)
    cells = {shift: np.diff([0.5 * math.erfc(-(x - shift) / 2**0.5) for x in edges])
             for shift in (-mu, 0.0, mu)}  # fmt: skip
    p, q = ((1 - rate) * cells[0.0] + rate * cells[side] for side in (mu, -mu))
    found = np.array([np.maximum(p - c * q, 0.0).sum() for c in FACTORS[40:70]])
    bound = guarantee(mu, rate, "replace_one").delta(np.log(FACTORS[40:70]))
    np.testing.assert_allclose(found, bound, rtol=2e-3)


def test_gaussian_dp_for_replaced_records_alone_would_not_do():
    """A fit that shows whether the record is in the sample is cheap for equal sizes only."""
    rate, mu = 0.1, 1.0
    claim = guarantee(0.5 * mu, rate, "replace_one")  # of a group of two, each half of μ
    true = rate * PrivacyGuarantee(GDPEvent(mu), "replace_one", "").delta(2.0)
    assert true > 5.0 * claim.delta(2.0)
    pure = PoissonSampledEvent(rate, PureDPEvent(1.0))
    assert pure.pure_epsilon("replace_one") == 1.0
