"""Every sampler is a value, says what it certifies, and has the distribution that it claims."""

import pickle
from dataclasses import replace

import numpy as np
import one_dimension
import pytest
import two_dimensions
from scipy import stats

from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import CompetitorLoss, HingeLoss, HuberLoss, LogisticLoss, SmoothedHingeLoss
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS, Target

KINDS = SAMPLERS | REFERENCE_SAMPLERS

every_sampler = pytest.mark.parametrize("sampler", [kind() for kind in KINDS.values()], ids=repr)
FALSE_ALARM = 1e-6
TV, COARSE = 1e-7, 0.3
ABSOLUTE, PINBALL = one_dimension.NonSmoothLoss(1.0, 1.0), one_dimension.NonSmoothLoss(0.3, 0.7)


def nothing(step, n_steps):
    pass


def takes(sampler, setting):
    try:
        sampler.check(setting)
    except IncompatibleSolverError:
        return False
    return True


def targets():
    yield one_dimension.target(LogisticLoss(), 60)
    for loss in (LogisticLoss(), HingeLoss(), SmoothedHingeLoss()):
        yield one_dimension.target(loss)
    for loss in (HuberLoss(1.0), ABSOLUTE, PINBALL):
        yield one_dimension.regression_target(loss)


def name(value):
    if isinstance(value, Target):
        return f"{value.loss}-{value.design.n_samples}"
    return repr(value)


def asked(sampler, target):
    """The total variation that is asked of a sampler: a large one where a small takes too long."""
    try:
        sampler.plan(one_dimension.setting(target), TV)
    except IncompatibleSolverError:
        return COARSE
    return TV


def comes_near(sampler):
    target = one_dimension.suited(sampler, one_dimension.target(LogisticLoss()))
    return sampler.certifies in ("exact", "tv") and asked(sampler, target) == TV


NEAR_THE_TARGET = [
    sampler for sampler in (kind() for kind in KINDS.values()) if comes_near(sampler)
]


def is_slow(sampler):
    return hasattr(sampler, "sample_black_box")


def a_loss(sampler):
    """Return the first loss that a sampler takes."""
    losses = (LogisticLoss(), HingeLoss())
    return next(x for x in losses if takes(sampler, one_dimension.setting(one_dimension.target(x))))


def suited_targets(sampler):
    """Return the targets that a sampler takes, or what suits it in their place."""
    suited = [one_dimension.suited(sampler, target) for target in targets()]
    return [target for target in suited if takes(sampler, one_dimension.setting(target))]


every_pair = pytest.mark.parametrize(
    ("sampler", "target"),
    [(sampler, target) for sampler in NEAR_THE_TARGET for target in suited_targets(sampler)],
    ids=name,
)
many_rows_and_the_last_loss = pytest.mark.parametrize(
    ("sampler", "target"),
    [(sampler, suited_targets(sampler)[i]) for sampler in NEAR_THE_TARGET for i in (0, -1)],
    ids=name,
)


def draw(sampler, target, rng, progress=nothing):
    plan = sampler.plan(one_dimension.setting(target), asked(sampler, target))
    return sampler.sample(target, plan, rng, progress).theta


@every_sampler
def test_it_is_a_value(sampler):
    assert pickle.loads(pickle.dumps(sampler)) == sampler
    assert hash(sampler) == hash(type(sampler)())


@every_sampler
def test_it_says_before_it_draws_what_it_certifies(sampler):
    target = one_dimension.suited(sampler, one_dimension.target(LogisticLoss()))
    setting, tv = one_dimension.setting(target), asked(sampler, target)
    plans = [sampler.plan(replace(setting, flow_time=t), tv) for t in (1e-3, 1.0, 1e3)]
    for plan in plans:
        assert plan.n_steps >= 1
        assert 0.0 < plan.stability <= 1.0
        assert plan.spread > 0.0
        assert (plan.stability < 1.0) <= (sampler.certifies == "stable")
        assert plan.tv <= tv
        assert (plan.tv > 0.0) == (sampler.certifies == "tv")
    assert [plan.stability for plan in plans] == sorted(plan.stability for plan in plans)
    assert sampler.certifies in ("exact", "stable", "tv", "asymptotic")
    assert sampler.theorem


@every_sampler
def test_a_refusal_names_what_is_missing(sampler):
    setting = one_dimension.setting(one_dimension.target(HingeLoss()), n_is_public=False)
    missing = sampler.requires - setting.offers
    for requirement in missing:
        with pytest.raises(IncompatibleSolverError, match=min(m.value for m in missing)):
            sampler.check(setting)
        assert requirement in one_dimension.setting(one_dimension.target(LogisticLoss())).offers


def check_one_coefficient(sampler, target, n):
    """Next to tv, the distribution is the target's; the test alarms falsely 1e-6 of the time.

    It needs a distance of 2.7/√n.
    """
    rng = np.random.default_rng(0)
    sample = [draw(sampler, target, rng)[0] for _ in range(n)]
    masses = one_dimension.normalized(-one_dimension.potential(target))
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.slow
@many_rows_and_the_last_loss
def test_a_sample_has_the_distribution_that_is_certified(sampler, target):
    check_one_coefficient(sampler, target, 120 if is_slow(sampler) else 600)


@pytest.mark.slow
@every_pair
def test_many_samples_have_the_distribution_that_is_certified(sampler, target):
    check_one_coefficient(sampler, target, 100_000)


@pytest.mark.parametrize("sampler", NEAR_THE_TARGET, ids=repr)
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
@pytest.mark.parametrize("n", [100, pytest.param(20_000, marks=pytest.mark.slow)])
def test_two_coefficients_have_the_joint_distribution(sampler, loss, n):
    """Three projections; the grid is off by less than 1e-3, the test needs 0.02 or more."""
    target, rng = two_dimensions.target(loss), np.random.default_rng(0)
    target = one_dimension.suited(sampler, target)
    if not takes(sampler, one_dimension.setting(target)):
        pytest.skip(f"{sampler} does not take {loss}")
    n = n // 10 if is_slow(sampler) else n
    sample = np.array([draw(sampler, target, rng) for _ in range(n)])
    points, weight = two_dimensions.masses(target)
    for direction in ((1.0, 0.0), (0.0, 1.0), (1.0, -1.0)):
        image = two_dimensions.distribution(points, weight, np.array(direction))
        assert stats.kstest(sample @ direction, image).pvalue > FALSE_ALARM / 3


@every_sampler
def test_a_generator_fixes_the_sample_and_different_ones_differ(sampler):
    target = one_dimension.suited(sampler, one_dimension.target(a_loss(sampler)))
    one, same, other = (draw(sampler, target, np.random.default_rng(seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one, same)
    assert one != other


@every_sampler
def test_several_scores_a_record(sampler):
    base = one_dimension.suited(sampler, one_dimension.target(LogisticLoss()))
    loss = CompetitorLoss(LogisticLoss(), 3)
    y = np.array([0, 1, 2, 0, 1])
    target = replace(one_dimension.relabeled(base, y), loss=loss, prior_precision=0.5)
    if not takes(sampler, one_dimension.setting(target)):
        pytest.skip(f"{sampler} takes one score a record")
    theta = draw(sampler, target, np.random.default_rng(0))
    assert theta.shape == (1, 3)
    assert np.isfinite(theta).all()


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"hit_and_run"}))
def test_every_per_example_evaluation_is_counted(name, monkeypatch):
    """One is a product a_i·θ. Hit-and-run needs none for the points of a chord."""
    sampler, evaluated, scores = KINDS[name](), [], ClippedDesign.scores

    def counting(design, theta):
        evaluated.append(design.n_samples)
        return scores(design, theta)

    target = one_dimension.suited(sampler, one_dimension.target(a_loss(sampler)))
    monkeypatch.setattr(ClippedDesign, "scores", counting)
    plan = sampler.plan(one_dimension.setting(target), asked(sampler, target))
    found = sampler.sample(target, plan, np.random.default_rng(0), nothing)
    assert found.diagnostics["n_evaluations"] == sum(evaluated)


@every_sampler
def test_progress_counts_public_steps(sampler):
    seen = []
    target = one_dimension.suited(sampler, one_dimension.target(a_loss(sampler)))
    draw(sampler, target, np.random.default_rng(0), lambda *step: seen.append(step))
    n_steps = sampler.plan(one_dimension.setting(target), asked(sampler, target)).n_steps
    assert seen == [(t, n_steps) for t in range(1, n_steps + 1)]
