"""Every sampler of the registry is a value, says what it certifies, and has the law it claims."""

import pickle
from dataclasses import replace

import numpy as np
import one_dimension
import pytest
from scipy import stats

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import CompetitorLoss, HingeLoss, LogisticLoss, SmoothedHingeLoss
from skdp.samplers import SAMPLERS

every_sampler = pytest.mark.parametrize("sampler", [kind() for kind in SAMPLERS.values()], ids=repr)
FALSE_ALARM = 1e-6
TV = 1e-7
LOSSES = [LogisticLoss(), HingeLoss(), SmoothedHingeLoss()]


def nothing(step, n_steps):
    pass


def takes(sampler, setting):
    try:
        sampler.check(setting)
    except IncompatibleSolverError:
        return False
    return True


every_pair = pytest.mark.parametrize(
    ("sampler", "loss"),
    [
        (kind(), loss)
        for kind in SAMPLERS.values()
        for loss in LOSSES
        if takes(kind(), one_dimension.setting(one_dimension.target(loss)))
    ],
    ids=repr,
)


def draw(sampler, target, rng, progress=nothing):
    run = sampler.run(one_dimension.setting(target), TV)
    return sampler.sample(target, run, rng, progress).theta


@every_sampler
def test_it_is_a_value(sampler):
    assert pickle.loads(pickle.dumps(sampler)) == sampler
    assert hash(sampler) == hash(type(sampler)())


@every_sampler
def test_it_says_before_it_draws_what_it_certifies(sampler):
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    runs = [sampler.run(replace(setting, flow_time=t), TV) for t in (1e-3, 1.0, 1e3)]
    for run in runs:
        assert run.n_steps >= 1
        assert 0.0 < run.stability <= 1.0
        assert run.spread > 0.0
        assert (run.stability < 1.0) <= (sampler.certifies == "stable")
        assert run.tv <= TV
        assert (run.tv > 0.0) == (sampler.certifies == "tv")
    assert [run.stability for run in runs] == sorted(run.stability for run in runs)
    assert sampler.certifies in ("exact", "stable", "tv", "asymptotic")
    assert sampler.theorem


@every_sampler
def test_a_refusal_names_what_is_missing(sampler):
    setting = one_dimension.setting(one_dimension.target(HingeLoss()), n_is_public=False)
    missing = sampler.requires - setting.offers
    for name in missing:
        with pytest.raises(IncompatibleSolverError, match=sorted(missing)[0]):
            sampler.check(setting)
        assert name in one_dimension.setting(one_dimension.target(LogisticLoss())).offers


@every_pair
def test_a_long_run_reaches_the_target(sampler, loss):
    """What is left of the start, and tv, is below 1e-6; so is the rate of false alarms."""
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    sample = [draw(sampler, target, rng)[0] for _ in range(1000)]
    law = one_dimension.normalised(-one_dimension.potential(target))
    assert stats.kstest(sample, one_dimension.distribution(law)).pvalue > FALSE_ALARM


@every_sampler
def test_a_generator_fixes_the_draw_and_different_ones_differ(sampler):
    target = one_dimension.target(LogisticLoss(), 60)
    one, same, other = (draw(sampler, target, np.random.default_rng(seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one, same)
    assert one != other


@every_sampler
def test_several_scores_a_record(sampler):
    base = one_dimension.target(LogisticLoss())
    loss = CompetitorLoss(LogisticLoss(), 3)
    y = np.array([0, 1, 2, 0, 1])
    target = type(base)(base.design, y, loss, base.row_norm, 0.8, 0.5)
    theta = draw(sampler, target, np.random.default_rng(0))
    assert theta.shape == (1, 3)
    assert np.isfinite(theta).all()


@every_sampler
def test_progress_counts_public_steps(sampler):
    seen = []
    target = one_dimension.target(LogisticLoss())
    draw(sampler, target, np.random.default_rng(0), lambda *step: seen.append(step))
    n_steps = sampler.run(one_dimension.setting(target), TV).n_steps
    assert seen == [(t, n_steps) for t in range(1, n_steps + 1)]
