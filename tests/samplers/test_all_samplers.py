"""Every sampler of the registry: a value, honest about its stability, with the law it claims."""

import pickle

import numpy as np
import one_dimension
import pytest
from scipy import stats

from skdp.losses import CompetitorLoss, HingeLoss, LogisticLoss, SmoothedHingeLoss
from skdp.samplers import SAMPLERS

every_sampler = pytest.mark.parametrize("sampler", [kind() for kind in SAMPLERS.values()], ids=repr)
FALSE_ALARM = 1e-6


def nothing(step, n_steps):
    pass


def draw(sampler, target, step_size, n_steps, rng):
    return sampler.sample(target, step_size, n_steps, rng, nothing).theta


@every_sampler
def test_it_is_a_value(sampler):
    assert pickle.loads(pickle.dumps(sampler)) == sampler
    assert hash(sampler) == hash(type(sampler)())


@every_sampler
def test_stability_lies_below_an_exact_draw_and_grows_with_the_run(sampler):
    for precision_step in (1e-9, 1e-3, 1.0, 1e3):
        values = [sampler.stability(precision_step, n) for n in (1, 2, 10, 1000)]
        assert 0.0 < values[0] <= values[-1] <= 1.0
        assert values == sorted(values)


@every_sampler
def test_longer_runs_are_cut_into_more_steps(sampler):
    for n_scores in (1, 10):
        counts = [sampler.n_steps(exponent, n_scores) for exponent in (0.0, 1.0, 100.0, 1e4)]
        assert counts[0] >= 1
        assert counts == sorted(counts)


@every_sampler
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss(), SmoothedHingeLoss()], ids=repr)
def test_a_long_run_reaches_the_target(sampler, loss):
    """1 − q^T is below 1e-7, and Kolmogorov and Smirnov's test alarms falsely 1e-6 of the time."""
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    sample = [draw(sampler, target, 4.0, 15, rng)[0] for _ in range(1000)]
    law = one_dimension.normalised(-one_dimension.potential(target))
    assert stats.kstest(sample, one_dimension.distribution(law)).pvalue > FALSE_ALARM


@every_sampler
def test_a_generator_fixes_the_draw_and_different_ones_differ(sampler):
    target = one_dimension.target(LogisticLoss(), 60)
    one, same, other = (
        draw(sampler, target, 0.5, 4, np.random.default_rng(seed)) for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(one, same)
    assert one != other


@every_sampler
def test_several_scores_a_record(sampler):
    base = one_dimension.target(LogisticLoss())
    loss = CompetitorLoss(LogisticLoss(), 3)
    y = np.array([0, 1, 2, 0, 1])
    target = type(base)(base.design, y, loss, base.row_norm, 0.8, 0.5)
    theta = draw(sampler, target, 1.0, 3, np.random.default_rng(0))
    assert theta.shape == (1, 3)
    assert np.isfinite(theta).all()


@every_sampler
def test_progress_counts_public_steps(sampler):
    seen = []
    target = one_dimension.target(LogisticLoss())
    sampler.sample(target, 0.5, 3, np.random.default_rng(0), lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]
