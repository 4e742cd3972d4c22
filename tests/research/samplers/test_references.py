"""Reference samplers leave their target as it is, exactly; how fast they reach it is not proved.

Each distribution test rejects a right sampler with probability 1e-6.
"""

import math

import numpy as np
import one_dimension
import pytest
from scipy import stats

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, HuberLoss, LogisticLoss, SmoothedHingeLoss
from skdp.research import draw_samples
from skdp.research.samplers.reference import (
    Density,
    HingeGibbsSampler,
    HitAndRunSampler,
    MALASampler,
    _along_chord,
    _Chain,
    _inverse_gaussian,
)

FALSE_ALARM = 1e-6
LOSSES = [LogisticLoss(), HingeLoss(), SmoothedHingeLoss(), HuberLoss(0.5)]
PLANE = [(1, 0.2), (-0.5, 0.6), (0.3, -0.9), (0.1, 0.7), (-0.8, -0.3), (0.4, 0.4)]


def starts(masses, n, rng):
    """Return samples of the target itself, by its quantiles."""
    cumulative = np.cumsum(masses) * one_dimension.STEP
    return np.interp(rng.random(n), cumulative, one_dimension.GRID + 0.5 * one_dimension.STEP)


def has_distribution(sample, masses):
    return stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@one_dimension.covered_and_long(800, LOSSES, [0.3, 3.0], "loss, step_scale, n")
def test_mala_leaves_the_target_as_it_is(loss, step_scale, n):
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    masses, after = one_dimension.normalized(-one_dimension.potential(target)), []
    for start in starts(masses, n, rng):
        chain = _Chain(Density(target), np.array([start]), step_scale, rng)
        for _ in range(3):
            chain.move()
        after.append(chain.theta[0])
    assert has_distribution(after, masses)


@one_dimension.covered_and_long(800, LOSSES, [12.0, 0.7], "loss, radius, n")
def test_hit_and_run_leaves_the_target_on_its_ball_as_it_is(loss, radius, n):
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    energy = np.where(np.abs(one_dimension.GRID) <= radius, one_dimension.potential(target), np.inf)
    masses, after = one_dimension.normalized(-energy + energy.min()), []
    for start in np.clip(starts(masses, n, rng), -radius, radius):
        theta = np.array([start])
        for _ in range(2):
            theta, _ = _along_chord(Density(target), theta, np.array([1.0]), radius, rng)
        after.append(theta[0])
    assert has_distribution(after, masses)
    assert np.abs(after).max() <= radius * (1.0 + 1e-12)


@pytest.mark.parametrize("temperature", [0.05, 0.8, 20.0])
def test_the_gibbs_sampler_leaves_the_target_as_it_is(temperature):
    target = one_dimension.target(HingeLoss(), temperature=temperature)
    masses, rng = (
        one_dimension.normalized(-one_dimension.potential(target)),
        np.random.default_rng(0),
    )
    move = HingeGibbsSampler()._move
    after = [move(target, np.array([start]), rng)[0] for start in starts(masses, 3000, rng)]
    assert has_distribution(after, masses)


@pytest.mark.parametrize("mean", [1e-3, 0.5, 1e6])
def test_the_inverse_gaussian_has_its_distribution(mean):
    sample = _inverse_gaussian(np.full(5000, mean), 0.16, np.random.default_rng(0))
    exact = stats.invgauss(mean / 0.16, scale=0.16)
    assert stats.kstest(sample, exact.cdf).pvalue > FALSE_ALARM


def test_the_gibbs_sampler_refuses_other_losses():
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    with pytest.raises(IncompatibleSolverError, match="needs HingeLoss"):
        HingeGibbsSampler().check(setting)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [MALASampler(), HitAndRunSampler()], ids=repr)
@pytest.mark.parametrize(
    ("loss", "mean", "variances"),
    [
        ("logistic", (0.226777, 0.332496), (1.174216, 1.208936)),
        ("hinge", (0.343169, 0.631414), (1.056561, 1.105208)),
    ],
)
@pytest.mark.parametrize("n", [60, 2000])
def test_two_dimensions_have_the_printed_means(sampler, loss, mean, variances, n):
    """Six standard errors a mean: false alarms below 1e-8; 60 see a mean that is off by 1."""
    facts = {"temperature": 0.8, "prior_precision": 0.5, "n_draws": n, "random_state": 1}
    sample = draw_samples(PLANE, np.ones(6), loss=loss, sampler=sampler, **facts)
    for j in range(2):
        error = 6.0 * math.sqrt(variances[j] / n)
        assert sample[:, j].mean() == pytest.approx(mean[j], abs=error)


def test_hit_and_run_counts_every_value_as_a_query_of_each_record(monkeypatch):
    target, looks, potential = one_dimension.target(HingeLoss()), [], Density.potential

    def counting(density, theta, scores=None):
        looks.append(5)
        return potential(density, theta, scores)

    monkeypatch.setattr(Density, "potential", counting)
    plan = HitAndRunSampler().plan(one_dimension.setting(target), 0.0)
    found = HitAndRunSampler().sample(target, plan, np.random.default_rng(0), lambda *step: None)
    assert found.diagnostics["n_evaluations"] == sum(looks)


def test_the_default_ball_holds_the_distribution():
    target = one_dimension.target(HingeLoss())
    draw = HitAndRunSampler(n_steps=1).sample(
        target,
        HitAndRunSampler(n_steps=1).plan(one_dimension.setting(target), 0.0),
        np.random.default_rng(0),
        lambda *step: None,
    )
    masses = one_dimension.normalized(-one_dimension.potential(target))
    outside = np.abs(one_dimension.GRID) > draw.diagnostics["radius"]
    assert masses[outside].sum() * one_dimension.STEP < 2e-14


@pytest.mark.parametrize("kind", [MALASampler, HitAndRunSampler])
def test_refusals(kind):
    for sampler in (kind, HingeGibbsSampler):
        with pytest.raises(ValueError, match="n_steps"):
            sampler(n_steps=0)
    name = "step_scale" if kind is MALASampler else "radius"
    with pytest.raises(ValueError, match=name):
        kind(**{name: -1.0})
