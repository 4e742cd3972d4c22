"""The bundle's inner step is exact, and stays so when the bundle is bad; false alarms 1e-6."""

from dataclasses import replace

import numpy as np
import one_dimension
import pytest
from scipy import stats

from skdp.losses import HingeLoss, HuberLoss, LogisticLoss
from skdp.research.samplers import proximal_bundle
from skdp.research.samplers.proximal_bundle import Bundle, ProximalBundleSampler, _best_mixture
from skdp.samplers import SamplerPlan
from skdp.samplers.proximal import ProximalSampler

FALSE_ALARM = 1e-6
TARGETS = [
    one_dimension.target(LogisticLoss(), 60, temperature=8.0),
    one_dimension.target(HingeLoss(), temperature=4.0),
    replace(one_dimension.regression_target(HuberLoss(1.0)), temperature=4.0),
    replace(
        one_dimension.regression_target(one_dimension.NonSmoothLoss(0.3, 0.7)), temperature=4.0
    ),
]
every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: repr(t.loss))


def has_distribution(sample, masses):
    return stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@one_dimension.covered_and_long(1000, TARGETS, [1.5, 0.1], "target, variance, n")
def test_one_inner_step_has_its_distribution(target, variance, n):
    step = proximal_bundle._BundleStep(target, variance, np.random.default_rng(0))
    sample = [step.draw(np.array([center]))[0] for center in [1.3] * n]
    energy = one_dimension.potential(target) - 0.25 * one_dimension.GRID**2
    gaussian = (one_dimension.GRID - 1.3) ** 2 / (2.0 * variance)
    assert has_distribution(sample, one_dimension.normalized(-energy - gaussian))


@every_target
@one_dimension.short_and_long(1000)
def test_a_bundle_that_does_not_touch_changes_nothing_but_the_time(target, n, monkeypatch):
    """Weights stay on the first plane, in 0."""
    target = replace(target, temperature=0.2 * target.temperature)
    monkeypatch.setattr("skdp.research.samplers.proximal_bundle._EXCHANGES", 0)
    step = proximal_bundle._BundleStep(target, 0.8, np.random.default_rng(0))
    sample = [step.draw(np.array([0.4]))[0] for _ in range(n)]
    energy = one_dimension.potential(target) - 0.25 * one_dimension.GRID**2
    gaussian = (one_dimension.GRID - 0.4) ** 2 / 1.6
    assert has_distribution(sample, one_dimension.normalized(-energy - gaussian))


@every_target
@one_dimension.short_and_long(800)
def test_the_chain_has_its_exact_distribution(target, n):
    target = replace(target, temperature=0.2 * target.temperature)
    plan, rng = (
        SamplerPlan(n_steps=3, step=0.6 * target.temperature, stability=1.0, spread=1.0),
        np.random.default_rng(0),
    )
    sampler = ProximalBundleSampler()
    sample = [sampler.sample(target, plan, rng, lambda *t: None).theta[0] for _ in range(n)]
    assert has_distribution(sample, one_dimension.chain_masses(target, 0.6, 3))


@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
def test_mixtures_of_cutting_planes_stay_below_also_when_old_ones_went(loss, rng):
    target = one_dimension.target(loss)
    bundle = Bundle(target, 0.5)
    for center in rng.normal(scale=3.0, size=(200, 1)):
        bundle.cut(center)
        level, derivative = bundle.minorant(rng.normal(size=1))
        below = level + derivative[0] * one_dimension.GRID
        energy = one_dimension.potential(target) - 0.25 * one_dimension.GRID**2
        assert (energy - below).min() > -1e-12
    assert bundle._levels.size <= 52


def test_the_mixture_is_the_best():
    """Against a grid of the simplex of three planes."""
    rng = np.random.default_rng(1)
    ticks = np.linspace(0.0, 1.0, 101)
    simplex = np.array([(a, b, 1 - a - b) for a in ticks for b in ticks if a + b <= 1.0 + 1e-12])
    for _ in range(20):
        derivatives, lift = rng.normal(size=(3, 2)), rng.normal(size=3)
        gram = derivatives @ derivatives.T

        def value(w, lift=lift, gram=gram):
            return w @ lift - 0.5 * ((w @ gram) * w).sum(axis=-1)

        found = _best_mixture(np.array([1.0, 0.0, 0.0]), lift, gram)
        assert found.min() >= 0.0
        assert found.sum() == pytest.approx(1.0)
        assert value(found) >= value(simplex).max() - 0.02


def test_it_claims_what_the_proximal_sampler_claims():
    setting = one_dimension.setting(TARGETS[0])
    for exponent in (0.5, 6.0):
        plans = [
            kind(exponent).plan(setting, 0.0) for kind in (ProximalBundleSampler, ProximalSampler)
        ]
        assert plans[0] == plans[1]
    with pytest.raises(ValueError, match="max_exponent"):
        ProximalBundleSampler(max_exponent=0.0)
