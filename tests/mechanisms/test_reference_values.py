"""Published and independently computed numbers."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from skdp.mechanisms import Gaussian, Geometric, Laplace, Staircase, TruncatedLaplace
from skdp.mechanisms.noise import best_gamma

TRUNCATED = [  # epsilon, delta, E|X|, E X² (Geng, Ding, Guo and Kumar 2020, closed forms)
    (0.2, 0.05, 2.36335, 8.24167),
    (0.5, 0.1, 1.10876, 1.85863),
    (1.0, 0.005, 0.97001, 1.78554),
    (1.0, 0.1, 0.73685, 0.87873),
    (1.0, 0.3, 0.52802, 0.41809),
    (2.0, 0.05, 0.46734, 0.39921),
    (5.0, 0.25, 0.19614, 0.07406),
]


@pytest.mark.parametrize(("epsilon", "delta", "l1", "l2"), TRUNCATED)
def test_losses_of_truncated_laplace_noise(epsilon, delta, l1, l2):
    noise = TruncatedLaplace.calibrate(epsilon, delta, 1.0)
    assert noise.expected_loss("l1") == pytest.approx(l1, abs=6e-6)
    assert noise.expected_loss("l2") == pytest.approx(l2, abs=6e-6)
    assert noise.event.curve("replace_one").delta(epsilon) == pytest.approx(delta, rel=1e-7)


def test_the_inverse_of_the_truncated_distribution():
    noise = TruncatedLaplace.calibrate(1.0, 0.1, 1.0)
    assert noise.cut == pytest.approx(2.260868, abs=1e-6)
    assert noise.quantile(0.25) == pytest.approx(-0.593972, abs=1e-6)
    assert noise.quantile(0.999) == pytest.approx(2.243831, abs=1e-6)
    assert noise.quantile(0.5) == 0.0
    assert noise.quantile(1e-300) == pytest.approx(-noise.cut)


def test_noise_cut_close_to_the_sensitivity_is_calibrated_too():
    noise = TruncatedLaplace.calibrate(1.0, 0.75, 1.0)
    assert noise.event.curve("replace_one").delta(1.0) <= 0.75
    assert noise.cut < 1.0


def test_standard_deviations_of_the_optimized_noise_paper():
    """(1, 0.2)-DP for the sensitivity 360 (Selvi, Liu and Wiesemann 2024, Example 1)."""
    noises = {
        273.48: TruncatedLaplace.calibrate(1.0, 0.2, 360.0),
        300.96: Gaussian.calibrate(1.0, 0.2, 360.0),
        689.21: Gaussian.calibrate(1.0, 0.2, 360.0, method="classic"),
    }
    for deviation, noise in noises.items():
        assert math.sqrt(noise.expected_loss("l2")) == pytest.approx(deviation, abs=0.006)


def test_gaussian_noise_by_three_arguments():
    exact = Gaussian.calibrate(1.0, 0.1, 1.0)
    assert exact.scale == pytest.approx(1.0858777651918, rel=1e-8)
    for epsilon, delta in ((0.3, 1e-6), (1.0, 1e-3)):
        scales = [
            Gaussian.calibrate(epsilon, delta, 1.0, method=method).scale
            for method in ("analytic", "zcdp", "classic")
        ]
        assert scales == sorted(scales)
    with pytest.raises(ValueError, match=r"classic.* must be a number in \(0, 1\], got 1.1"):
        Gaussian.calibrate(1.1, 1e-3, 1.0, method="classic")
    with pytest.raises(ValueError, match=r"method must be one of 'analytic', 'classic', 'zcdp'"):
        Gaussian.calibrate(1.0, 1e-3, 1.0, method="renyi")


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 5.0, 12.0])
def test_the_staircase_reaches_the_least_expected_size(epsilon):
    """Δ·e^(ε/2)/(e^ε − 1) (Geng and Viswanath 2016), below Laplace's Δ/ε."""
    noise = Staircase.calibrate(epsilon, 0.0, 2.0)
    least = 2.0 * math.exp(0.5 * epsilon) / math.expm1(epsilon)
    assert noise.expected_loss("l1") == pytest.approx(least, rel=1e-8)
    assert least < Laplace.calibrate(epsilon, 0.0, 2.0).expected_loss("l1")


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_central_step_of_the_staircase_is_the_best(loss, epsilon):
    found = minimize_scalar(
        lambda gamma: Staircase(sensitivity=1.0, epsilon=epsilon, gamma=gamma).expected_loss(loss),
        bounds=(1e-3, 1 - 1e-3),
    )
    assert best_gamma(epsilon, loss) == pytest.approx(found.x, abs=1e-4)
    assert Staircase.calibrate(epsilon, 0.0, 1.0, loss=loss).gamma == pytest.approx(
        best_gamma(epsilon, loss)
    )


def test_a_staircase_costs_epsilon_for_every_number_that_a_record_changes():
    noise = Staircase.calibrate(1.0, 0.0, 1.0, dimension=10, l0_sensitivity=2)
    assert noise.epsilon == pytest.approx(0.5)
    assert noise.event.pure_epsilon("replace_one") <= 1.0
    assert noise.release(np.zeros(10), np.random.default_rng()).shape == (10,)


def test_many_small_moves_of_a_staircase_cost_more_than_a_large_one():
    """Why the staircase has no l1 sensitivity: two moves by Δ/2 may each cost the whole ε."""
    epsilon, gamma = 1.0, 0.4
    density = lambda x: math.exp(-epsilon * max(math.ceil(abs(x) - gamma), 0))  # noqa: E731
    cost = math.log(density(0.3) / density(0.3 + 0.5))
    assert 2 * cost == pytest.approx(2 * epsilon)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_two_sided_geometric_distribution(epsilon):
    noise = Geometric.calibrate(epsilon, 0.0, 1)
    l1 = 2.0 * math.exp(-epsilon) / -math.expm1(-2.0 * epsilon)
    assert noise.expected_loss("l1") == pytest.approx(l1, rel=1e-5)
    assert noise.quantile(0.5) == 0.0
