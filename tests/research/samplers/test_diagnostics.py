"""Diagnostics on chains and samples whose quality is known."""

import numpy as np
import one_dimension
import pytest
from problems import target_with
from scipy import signal

from skdp.design import ClippedDesign
from skdp.losses import HingeLoss, LogisticLoss
from skdp.research.samplers.diagnostics import (
    _axes,
    _probabilities,
    compare_with_quadrature,
    effective_sample_size,
    split_rhat,
)

PLANE = [(1, 0.2), (-0.5, 0.6), (0.3, -0.9), (0.1, 0.7), (-0.8, -0.3), (0.4, 0.4)]


def autoregression(rho, m=4, n=20_000, seed=0):
    noise = np.random.default_rng(seed).standard_normal((m, n))
    return signal.lfilter([1.0], [1.0, -rho], noise, axis=1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregression(rho):
    """It is (1 − ρ)/(1 + ρ) of the length; 6 standard deviations of the estimate for ρ = 0.9."""
    size = effective_sample_size(autoregression(rho))
    assert size == pytest.approx(80_000 * (1.0 - rho) / (1.0 + rho), rel=0.3)


def test_an_alternating_chain_counts_for_more_and_a_constant_one_in_full():
    assert effective_sample_size(autoregression(-0.5)) > 150_000
    assert effective_sample_size(np.ones((2, 10))) == 20.0


def test_chains_that_disagree_count_for_little():
    apart = autoregression(0.0) + np.arange(4)[:, None]
    assert effective_sample_size(apart) < 20.0
    assert split_rhat(apart) > 1.3


def test_rhat_sees_a_drift_in_one_chain():
    assert split_rhat(autoregression(0.5)) == pytest.approx(1.0, abs=0.01)
    assert split_rhat(np.linspace(0.0, 1.0, 1000)) > 1.5
    assert split_rhat(np.ones((2, 10))) == 1.0


@pytest.mark.parametrize("call", [effective_sample_size, split_rhat])
@pytest.mark.parametrize("chains", [[1.0, 2.0], [np.nan] * 8, np.zeros((2, 3, 9))])
def test_refusals(call, chains):
    with pytest.raises(ValueError, match="chains must be finite"):
        call(chains)


@pytest.mark.parametrize(
    ("loss", "mean", "covariance"),
    [
        (LogisticLoss(), (0.226777, 0.332496), (1.174216, -0.025232, 1.208936)),
        (HingeLoss(), (0.343169, 0.631414), (1.056561, -0.049158, 1.105208)),
    ],
    ids=repr,
)
def test_quadrature_has_the_printed_moments_of_two_dimensions(loss, mean, covariance):
    target = target_with(
        ClippedDesign(np.array(PLANE), np.ones(6), targets=np.ones(6)), loss, 2.0, 0.8, 0.5
    )
    axes = _axes(target)
    masses = _probabilities(target, axes)
    x, y = np.meshgrid(*axes, indexing="ij")
    means = (masses * x).sum(), (masses * y).sum()
    a, b = x - means[0], y - means[1]
    second = (masses * a * a).sum(), (masses * a * b).sum(), (masses * b * b).sum()
    tolerance = 1e-6 if loss == LogisticLoss() else 2e-4  # non-smooth points off the grid
    np.testing.assert_allclose(means, mean, atol=tolerance)
    np.testing.assert_allclose(second, covariance, atol=tolerance)


def test_samples_of_the_distribution_pass_and_shifted_or_stretched_ones_do_not():
    target = one_dimension.target(LogisticLoss())
    masses = one_dimension.normalized(-one_dimension.potential(target))
    cumulative = np.cumsum(masses) * one_dimension.STEP
    uniform = np.random.default_rng(0).random(4000)
    draws = np.interp(uniform, cumulative, one_dimension.GRID + 0.5 * one_dimension.STEP)[:, None]
    right = compare_with_quadrature(draws, target)
    assert right.passes()
    assert max(map(abs, right.mean_z + right.variance_z)) < 5.5
    assert not compare_with_quadrature(draws + 0.2, target).passes()
    stretched = compare_with_quadrature(1.3 * draws - 0.3 * draws.mean(), target)
    assert stretched.variance_z[0] > 8.0


def test_quadrature_refuses_three_coefficients():
    design = ClippedDesign(np.ones((1, 3)), np.ones(1), targets=np.ones(1))
    target = target_with(design, LogisticLoss(), 2.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="one or two coefficients"):
        compare_with_quadrature(np.zeros((5, 3)), target)
