"""Samples of a score for auditors of any library."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.auditing import MultiRunAudit, samples
from skdp.preprocessing import DPStandardScaler
from skdp.solvers import NoisyGD

X = np.eye(8)
y = np.arange(8) % 2
TURNED = np.r_[1, y[1:]]


class NoisyCount(BaseEstimator):
    """A release of the number of rows with label 1, with standard normal noise."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.count_ = y.sum() + np.random.default_rng(self.random_state).normal()
        return self


def count_of(fitted):
    return fitted.count_


def test_scores_have_the_distributions_of_both_data_sets():
    """Each Kolmogorov-Smirnov test rejects with probability 1e-6."""
    one, other = samples(NoisyCount(), (X, TURNED), (X, y), n=400, readout=count_of)
    assert one.shape == other.shape == (400,)
    for scores, mean in ((one, 5.0), (other, 4.0)):
        assert stats.kstest(scores, stats.norm(mean).cdf).pvalue > 1e-6
    assert np.unique(np.r_[one, other]).size == 800  # noise of its own in each


def test_a_coin_for_each_pair_gives_a_valid_audit():
    """Of μ = 1: above it with probability 1e-6, below .2 with less than 1e-9."""
    one, other = samples(NoisyCount(), (X, TURNED), (X, y), n=1000, readout=count_of)
    coins = np.random.default_rng().integers(2, size=1000)
    assert 0.2 < MultiRunAudit(np.where(coins, one, other), coins).lower_mu(1 - 1e-6) <= 1.0


def test_default_readouts_are_scores_predictions_and_all_that_a_transformer_released():
    targets = (X, np.linspace(-1.0, 1.0, 8))
    for model, data, shape in [
        (DPLogisticRegression(solver=NoisyGD(3)), (X, y), (5,)),
        (DPLinearRegression(target_bounds=(-1.0, 1.0)), targets, (5,)),
        (DPStandardScaler(bounds=(0, 1)), (X,), (5, 24)),
    ]:
        one, other = samples(model, data, data, n=5)
        assert one.shape == other.shape == shape
        assert np.isfinite(one).all()


def test_no_budget_is_touched_and_a_seed_repeats_the_scores(unspent):
    model = DPLogisticRegression(epsilon=1.0, solver=NoisyGD(3), budget=unspent)
    samples(model, (X, TURNED), (X, y), n=3)
    first, again = (
        samples(NoisyCount(), (X, y), (X, y), n=5, readout=count_of, random_state=1)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)


def test_wrong_arguments_are_named():
    for wrong, message in [
        ((NoisyCount, (X, y), (X, y), 3), "object with fit"),
        ((NoisyCount(), X, (X, y), 3), "one must be a tuple"),
        ((NoisyCount(), (X, y), [X, y], 3), "other must be a tuple"),
        ((NoisyCount(), (X, y), (X, y), 3), "Pass readout="),
        ((DPLogisticRegression(), (X, y), (X, y), 0), "n must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            samples(*wrong[:3], n=wrong[3])
    lengths = iter(range(1, 9))
    with pytest.raises(ValueError, match="same number of values"):
        samples(NoisyCount(), (X, y), (X, y), n=2, readout=lambda fitted: np.zeros(next(lengths)))
