"""Stable samplers against neighbors' exact distributions, on grids of losses, steps and lengths.

Quadrature, no chance: 1e-5 is left to it.
"""

import math

import numpy as np
import one_dimension
import pytest
from scipy import stats
from test_langevin import chain_masses as langevin_masses

from skdp.losses import (
    ClippedLogisticLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SmoothedHingeLoss,
)
from skdp.research.samplers.langevin import LangevinSampler
from skdp.samplers.proximal import ProximalSampler

ABSOLUTE, PINBALL = one_dimension.NonSmoothLoss(1.0, 1.0), one_dimension.NonSmoothLoss(0.3, 0.7)
MARGINS = [LogisticLoss(), ClippedLogisticLoss(), ClippedLogisticLoss(0.8), SmoothedHingeLoss(0.5)]
RESIDUALS = [HuberLoss(1.0), HuberLoss(0.3)]


def neighbors(losses, residual_losses):
    """The last of five records, of length 1, gets another label."""
    for loss in losses:
        one = one_dimension.target(loss)
        yield one, one_dimension.relabeled(one, one.design.targets * [1, 1, 1, 1, -1])
    for loss in residual_losses:
        one = one_dimension.regression_target(loss)
        yield one, one_dimension.relabeled(one, one.design.targets + np.array([0, 0, 0, 0, 5.0]))


def kept(p, q, mu):
    """Compare H_c(P‖Q), in both orders, with that of N(0, 1) and N(μ, 1), for many c."""
    for c in np.exp(np.linspace(-3.0, 3.0, 61)):
        bound = stats.norm.cdf(mu / 2 - math.log(c) / mu)
        bound -= c * stats.norm.cdf(-mu / 2 - math.log(c) / mu)
        for a, b in ((p, q), (q, p)):
            if np.maximum(a - c * b, 0.0).sum() * one_dimension.STEP > bound + 1e-5:
                return False
    return True


def name(pair):
    return repr(pair[0].loss)


@pytest.mark.parametrize(
    "pair", list(neighbors([*MARGINS, HingeLoss()], [*RESIDUALS, ABSOLUTE, PINBALL])), ids=name
)
@pytest.mark.parametrize(("eta", "n_steps"), [(4.0, 1), (1.0, 2), (0.5, 5), (2.0, 12)])
def test_theorem_a_covers_the_exact_distributions_of_neighbors(pair, eta, n_steps):
    p, q = (one_dimension.chain_masses(target, eta, n_steps) for target in pair)
    lipschitz = 0.8 * 2.0 * pair[0].loss.lipschitz
    mu = lipschitz / math.sqrt(0.5) * ProximalSampler().stability(0.5 * eta, n_steps)
    assert kept(p, q, mu)
    assert not kept(p, q, 0.05 * mu)


@pytest.mark.parametrize("pair", list(neighbors(MARGINS, RESIDUALS)), ids=name)
@pytest.mark.parametrize(("share", "n_steps"), [(1.0, 1), (1.0, 3), (0.5, 8), (0.2, 20)])
def test_theorem_l_covers_the_exact_distributions_of_neighbors(pair, share, n_steps):
    """Steps are a share of the longest that the theorem allows."""
    loss = pair[0].loss
    steepest = 0.5 + 0.8 * (one_dimension.RECORDS**2).sum() * loss.smoothness
    eta = share * 2.0 / (0.5 + steepest)
    p, q = (langevin_masses(target, eta, n_steps) for target in pair)
    mu = 0.8 * 2.0 * loss.lipschitz / math.sqrt(0.5)
    mu *= LangevinSampler().stability(0.5 * eta, n_steps)
    assert kept(p, q, mu)
    assert not kept(p, q, 0.05 * mu)
