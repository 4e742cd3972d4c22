"""The Gibbs sampler of the logistic loss leaves its target as it is.

Each distribution test rejects a right sampler with probability 1e-6.
"""

import numpy as np
import one_dimension
import pytest
from scipy import stats

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, LogisticLoss
from skdp.research.samplers.reference import LogisticGibbsSampler, _polya_gamma

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("temperature", [0.05, 0.8, 20.0])
def test_it_leaves_the_target_as_it_is(temperature):
    target = one_dimension.target(LogisticLoss(), temperature=temperature)
    masses, rng = (
        one_dimension.normalized(-one_dimension.potential(target)),
        np.random.default_rng(0),
    )
    inverse = np.cumsum(masses) * one_dimension.STEP, one_dimension.GRID + 0.5 * one_dimension.STEP
    starts = np.interp(rng.random(3000), *inverse)
    after = [LogisticGibbsSampler()._move(target, np.array([start]), rng)[0] for start in starts]
    assert stats.kstest(after, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [0.02, 1.0, 7.5])
@pytest.mark.parametrize("tilt", [0.0, 0.7, 12.0])
def test_the_polya_gamma_distribution_has_its_laplace_transform(shape, tilt):
    """E e^(−tω) = (cosh(m/2)/cosh(√(m²/4 + t/2)))^b, within five and a half deviations."""
    sample = _polya_gamma(shape, np.full(20_000, tilt), np.random.default_rng(0))
    for t in (0.5, 5.0, 50.0):
        value = np.exp(-t * sample)
        exact = (np.cosh(tilt / 2.0) / np.cosh(np.sqrt(tilt**2 / 4.0 + t / 2.0))) ** shape
        assert value.mean() == pytest.approx(exact, abs=5.5 * value.std() / 20_000**0.5 + 1e-9)


def test_other_losses_are_refused():
    setting = one_dimension.setting(one_dimension.target(HingeLoss()))
    with pytest.raises(IncompatibleSolverError, match="needs LogisticLoss"):
        LogisticGibbsSampler().check(setting)
    with pytest.raises(ValueError, match="n_steps"):
        LogisticGibbsSampler(n_steps=0)
