"""Trade-off functions: the dual of the curve, and the limits of any attack."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.privacy import GaussianCurve
from skdp.privacy.curve import PrivacyCurve


class ByLines(GaussianCurve):
    """A Gaussian curve without its closed form of the dual."""

    _beta = PrivacyCurve._beta


def closed_form(mu):
    return GaussianCurve(mu).tradeoff()


def by_lines(mu):
    return ByLines(mu).tradeoff()


MUS = [0.01, 0.3, 1.0, 3.0, 6.0]
ALPHAS = np.array([0.0, 1e-6, 0.01, 0.2, 0.5, 0.9, 1.0])

mus = st.floats(1e-3, 8.0)
alphas = st.floats(0.0, 1.0)


@pytest.mark.parametrize("mu", MUS)
def test_the_dual_of_the_gaussian_curve_is_its_closed_form(mu):
    dual = by_lines(mu)(ALPHAS)
    closed = closed_form(mu)(ALPHAS)
    np.testing.assert_allclose(dual, closed, atol=1e-8)
    assert np.all(dual <= closed + 1e-12)  # an attack is never called weaker than it is


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.5, 2.0])
def test_the_curve_is_the_dual_of_the_closed_form(mu, epsilon):
    alpha = np.concatenate([np.geomspace(1e-12, 0.5, 5000), 1 - np.geomspace(1e-12, 0.5, 5000)])
    lines = 1 - closed_form(mu)(alpha) - np.exp(epsilon) * alpha
    assert max(0.0, lines.max()) == pytest.approx(GaussianCurve(mu).delta(epsilon), abs=1e-5)


def test_the_dual_of_a_discrete_curve_is_the_neyman_pearson_test(discrete_curve):
    # The best tests reject where p/q is largest: nothing, the first point, the first two, all.
    tradeoff = discrete_curve((0.6, 0.3, 0.1), (0.1, 0.3, 0.6)).tradeoff()
    np.testing.assert_allclose(tradeoff([0.1, 0.4, 1.0]), [0.4, 0.1, 0.0], atol=1e-6)
    assert tradeoff(0.25) == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("kind", [closed_form, by_lines])
@given(mu=mus, one=alphas, other=alphas)
def test_beta_is_convex_decreasing_and_no_better_than_guessing(kind, mu, one, other):
    low, high = sorted([one, other])
    at_low, at_high, at_middle = kind(mu)([low, high, 0.5 * (low + high)])
    assert 0.0 <= at_low <= 1.0 - low + 1e-12
    assert at_high <= at_low + 1e-8
    assert at_middle <= 0.5 * (at_low + at_high) + 1e-8


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("tradeoff", [closed_form(1.0), by_lines(1.0)])
def test_beta_keeps_the_shape(tradeoff, shape):
    assert np.shape(tradeoff(np.full(shape, 0.3))) == shape
