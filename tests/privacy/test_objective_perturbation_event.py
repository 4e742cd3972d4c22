"""The curve of objective perturbation: printed values, quadrature, hull, composition."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from skdp.accounting import PLDAccountant
from skdp.privacy import GaussianCurve, Neighboring, SelfComposedEvent
from skdp.privacy.objective_perturbation import (
    ObjectivePerturbationCurve,
    ObjectivePerturbationEvent,
)

ADD = Neighboring.ADD_REMOVE_ONE
# (ε, L, s, β, λ): δ, with the log-determinant −ln(1 − β/λ) of the source
PRINTED = {
    (1, 1, 4, 0.25, 10): 9.00470273e-6,
    (1, 1, 1, 0.25, 1): 3.72352419e-1,
    (0.5, 1, 8, 0.25, 20): 3.53777756e-6,
    (8, 1, 0.5, 0.25, 1): 1.61219240e-3,
}


@pytest.mark.parametrize(("numbers", "delta"), PRINTED.items())
def test_the_printed_values(numbers, delta):
    epsilon, slope, s, beta, ridge = numbers
    curve = ObjectivePerturbationEvent(s / slope, -math.log1p(-beta / ridge), 1).curve(ADD)
    bound = math.exp(curve._log_bound(np.asarray(float(epsilon))))
    assert bound == pytest.approx(delta, rel=1e-8)
    assert curve.delta(epsilon) <= bound


@pytest.mark.parametrize("k", [1, 2, 3, 8, 17])
@pytest.mark.parametrize(("m", "a"), [(0.01, 0.0), (0.2, 0.1), (1.0, 0.3), (5.0, 1.0)])
def test_the_bound_is_the_expectation_from_above(k, m, a):
    curve, least = ObjectivePerturbationCurve(m, a, k), a + 0.5 * m * m
    for epsilon in (0.0, 0.5 * least, least + m * math.sqrt(k), least + m * (math.sqrt(k) + 5.0)):
        start = max((epsilon - least) / m, 0.0)

        def part(x, epsilon=epsilon):
            return stats.chi.pdf(x, k) * -math.expm1(min(epsilon - least - m * x, 0.0))

        ends = [start, start + 3.0, start + 9.0, start + 30.0]
        pieces = itertools.pairwise(ends)
        exact = sum(integrate.quad(part, *piece, epsabs=0, limit=200)[0] for piece in pieces)
        bound = math.exp(curve._log_bound(np.asarray(epsilon)))
        assert exact * (1.0 - 1e-12) <= bound <= exact * (1.0 + 1e-5)


def test_the_hull_is_the_least_that_convexity_allows():
    curve = ObjectivePerturbationCurve(0.5, 0.2, 1)
    touch, log_slope = curve._line
    odds = np.exp(np.linspace(0.0, 4.0, 20001))
    bound = np.exp(curve._log_bound(np.log(odds)))
    lines = 1.0 - np.outer(np.exp(log_slope) * np.array([1.0, 1.0 + 1e-6]), 1.0 + odds)
    assert np.all(lines[0] <= bound + 1e-12)
    assert curve.delta(0.5 * touch) == pytest.approx(
        1.0 - (1.0 + math.exp(0.5 * touch)) * math.exp(log_slope)
    )
    assert abs(bound - lines[0]).min() < 1e-6


def test_it_is_dearer_than_gaussian_noise_on_the_gradient():
    """b alone is worth N(m, 1) against N(0, 1): no analysis can claim less."""
    epsilon = np.linspace(0.0, 5.0, 51)
    for relation in Neighboring:
        for k in (1, 4):
            curve = ObjectivePerturbationEvent(2.0, 0.0, k).curve(relation)
            least = GaussianCurve(relation.n_changed / 2.0).delta(epsilon)
            assert np.all(curve.delta(epsilon) >= least)


@pytest.mark.parametrize("k", [1, 3])
def test_the_numerical_accountant_composes_it(relation, k):
    event = ObjectivePerturbationEvent(20.0, 0.01, k)
    one = event.curve(relation).epsilon(1e-5)
    accountant = PLDAccountant(relation)
    assert one <= accountant.epsilon(event, 1e-5) <= one + 1e-3
    ten = accountant.epsilon(SelfComposedEvent(event, 10), 1e-5)
    assert one < ten < 10.0 * one


def test_renyi_divergences_are_finite(relation):
    event = ObjectivePerturbationEvent(4.0, 0.05, 1)
    m = relation.n_changed / 4.0
    for order in (1.5, 4.0, 30.0):
        assert 0.5 * order * m * m < event.rdp(order, relation) < 0.5 * order * m * m + 0.1 + 3 * m
