"""The least Gaussian cover: printed numbers, covers indeed, least indeed, both orders."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from skdp.accounting import gdp_mu
from skdp.accounting.concentrated import covering_mu
from skdp.privacy import GaussianCurve, GaussianEvent, PoissonSampledEvent, PrivacyCurve, ZCDPEvent
from skdp.privacy.composed_events import FixedSizeSampledEvent
from skdp.privacy.gaussian import DiscreteGaussianEvent

LAPLACE = {
    0.1: (0.122326, 0.122326, 0.122323, 0.122075),
    0.5: (0.561764, 0.561764, 0.561762, 0.561504),
    1.0: (1.030064, 1.030064, 1.030061, 1.029778),
    2.0: (1.800905, 1.800905, 1.800901, 1.800529),
    4.0: (2.986779, 2.986779, 2.986771, 2.986016),
}
SLACKS = (0.0, 1e-9, 1e-6, 1e-4)
PURE = {0.1: 0.125309, 0.5: 0.623893, 1.0: 1.232035, 2.0: 2.357961, 4.0: 4.194478}
APPROXIMATE = [(1.0, 1e-5, 1.232021), (0.5, 1e-5, 0.623886), (3.0, 1e-5, 3.340592)]
TABLE = [(size, s, m) for size, row in LAPLACE.items() for s, m in zip(SLACKS, row, strict=True)]


@dataclass(frozen=True)
class OneSided(PrivacyCurve):
    """p on {0, 1, 2} against q: not its own mirror image."""

    p: tuple = (0.5, 0.3, 0.2)
    q: tuple = (0.6, 0.38, 0.02)

    def _delta(self, epsilon):
        p, q = np.array(self.p), np.array(self.q)
        return np.maximum(0.0, p - np.exp(epsilon)[..., None] * q).sum(axis=-1)

    def reversed(self):
        return OneSided(self.q, self.p)


@pytest.mark.parametrize(("size", "slack", "printed"), TABLE)
def test_laplace_is_the_printed_number(laplace_curve, size, slack, printed):
    assert covering_mu(laplace_curve(size), slack) == pytest.approx(printed, abs=1e-6)


@pytest.mark.parametrize("size", LAPLACE)
def test_laplace_binds_at_total_variation(laplace_curve, size):
    root = 2.0 * ndtri(1.0 - 0.5 * math.exp(-0.5 * size))
    found = covering_mu(laplace_curve(size))
    assert root <= found <= root * (1 + 1e-8)


@pytest.mark.parametrize(("size", "printed"), PURE.items())
def test_a_pure_black_box_is_the_printed_number(black_box, size, printed):
    found = covering_mu(black_box(size).curve("replace_one"))
    assert found == pytest.approx(printed, abs=6e-7)
    assert found >= 2.0 * ndtri(1.0 / (1.0 + math.exp(-size)))


@pytest.mark.parametrize(("size", "failure", "printed"), APPROXIMATE)
def test_an_approximate_black_box_at_its_own_slack(black_box, size, failure, printed):
    curve = black_box(size, failure).curve("replace_one")
    assert covering_mu(curve, failure * (1 + 1e-9)) == pytest.approx(printed, abs=2e-6)
    assert covering_mu(curve, 0.9 * failure) == math.inf


@settings(max_examples=6)
@given(mu=st.floats(0.05, 5.0), slack=st.floats(-9.0, -3.0).map(lambda x: 10.0**x))
def test_a_gaussian_needs_at_most_itself(mu, slack):
    assert covering_mu(GaussianCurve(mu), 0.0) == mu
    assert 0.5 * mu < covering_mu(GaussianCurve(mu), slack) <= mu * (1 + 1e-8)


@pytest.mark.parametrize("slack", [0.0, 1e-6, 1e-3, 0.02])
def test_both_orders_are_covered_by_the_same_slack_and_less_is_not_enough(slack):
    grid = np.linspace(-12.0, 12.0, 20001)
    found = covering_mu(OneSided(), slack)
    cover, less = GaussianCurve(found).delta(grid), GaussianCurve(found * (1 - 1e-3)).delta(grid)
    orders = OneSided().delta(grid), OneSided().reversed().delta(grid)
    assert all(np.all(order <= cover + slack + 1e-12) for order in orders)
    assert any(np.any(order > less + slack) for order in orders)


def test_one_order_at_every_real_epsilon_does_not_cover_the_other():
    """The quieter order alone, with slack, covers the louder one only up to e^ε·slack."""
    slack, grid = 0.02, np.linspace(-12.0, 12.0, 4001)
    quiet = OneSided().reversed()
    for mu in np.linspace(0.02, 3.0, 150):
        if np.all(quiet.delta(grid) <= GaussianCurve(mu).delta(grid) + slack):
            break
    assert np.any(OneSided().delta(grid) > GaussianCurve(mu).delta(grid) + slack + 1e-4)


def test_more_slack_needs_less(laplace_curve):
    found = [covering_mu(laplace_curve(1.0), slack) for slack in (0.0, 1e-4, 1e-2, 0.1, 0.5)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.0


def test_a_slack_of_everything_covers_with_nothing(laplace_curve):
    assert covering_mu(laplace_curve(0.1), 0.5) == 0.0


def test_a_black_box_is_five_times_a_gaussian_of_the_same_promise(black_box):
    found = covering_mu(black_box(1.0, 1e-5).curve("replace_one"), 1.0001e-5)
    assert 4.5 < found / gdp_mu(1.0, 1e-5) < 4.7


@pytest.mark.parametrize("slack", [-1e-9, 1.0, math.nan])
def test_an_impossible_slack_is_refused(laplace_curve, slack):
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\)"):
        covering_mu(laplace_curve(1.0), slack)


@pytest.mark.slow
@pytest.mark.parametrize(
    "event",
    [
        PoissonSampledEvent(0.001, GaussianEvent(1.0)),
        DiscreteGaussianEvent(5.0),
        ZCDPEvent(0.1),
        FixedSizeSampledEvent(0.1, GaussianEvent(2.0)),
    ],
)
def test_nothing_covers_an_unbounded_loss_without_slack(event):
    """Where δ underflows it has not ended; a sampled Gaussian has the tail of the Gaussian."""
    assert covering_mu(event.curve("replace_one"), 0.0) == math.inf
    assert covering_mu(event.curve("replace_one"), 1e-200) < 3.0
