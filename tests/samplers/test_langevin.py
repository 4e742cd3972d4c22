"""Langevin steps: the distribution of the chain, and what it costs."""

import math

import numpy as np
import one_dimension
import pytest
from scipy import stats

from skdp import DPLogisticRegression
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import CompetitorLoss, HuberLoss, LogisticLoss, SmoothedHingeLoss
from skdp.research.samplers.langevin import LangevinSampler
from skdp.samplers import SamplerPlan

FALSE_ALARM = 1e-6


def nothing(step, n_steps):
    pass


def chain_masses(target, eta, n_steps):
    """Density of the state after n steps from 0, by quadrature."""
    grid = one_dimension.GRID
    mean = grid - eta * np.gradient(one_dimension.potential(target), grid)
    at_zero = np.interp(0.0, grid, mean)
    masses = one_dimension.normalized(-((grid - at_zero) ** 2) / (4.0 * eta))
    coarse = slice(None, None, 8)
    kernel = np.exp(-((grid[None, :] - mean[coarse, None]) ** 2) / (4.0 * eta))
    for _ in range(n_steps - 1):
        masses = masses[coarse] @ kernel
        masses /= masses.sum() * one_dimension.STEP
    return masses


@one_dimension.short_and_long(1000)
@pytest.mark.parametrize("n_steps", [1, 2, 8])
@pytest.mark.parametrize(
    "target",
    [
        one_dimension.target(LogisticLoss()),
        one_dimension.target(SmoothedHingeLoss(0.5)),
        one_dimension.regression_target(HuberLoss(1.0)),
    ],
    ids=lambda target: repr(target.loss),
)
def test_the_chain_has_its_exact_distribution(target, n_steps, n):
    """Kolmogorov and Smirnov's test alarms falsely 1e-6 of the time."""
    plan, rng = (
        SamplerPlan(n_steps=n_steps, step=0.6 * target.temperature, stability=1.0, spread=1.0),
        np.random.default_rng(0),
    )
    sample = [LangevinSampler().sample(target, plan, rng, nothing).theta[0] for _ in range(n)]
    masses = chain_masses(target, 0.6, n_steps)
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("n_steps", "mu"), [(100, 0.19794718), (10**6, 0.39949969)])
def test_stability_has_the_printed_values_of_noisy_descent(n_steps, mu):
    """S = 2, n = 1000, s = .1, h = .5, m = .01: L/√α = S/(n·s)·√(2/(h·m)) and αη = h·m."""
    f = LangevinSampler().stability(0.005, n_steps)
    assert 2.0 / (1000 * 0.1) * math.sqrt(2.0 / 0.005) * f == pytest.approx(mu, abs=5e-9)


@pytest.mark.parametrize("precision_step", [1e-9, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("n_steps", [1, 2, 7, 100])
def test_stability_is_attained_by_linear_differences_of_quadratics(precision_step, n_steps):
    """Means differ by η·Σ q^j, the variance is 2η·Σ q^2j; α = L = 1."""
    powers = (1.0 - precision_step) ** np.arange(n_steps)
    shift = precision_step * powers.sum()
    exact = shift / math.sqrt(2.0 * precision_step * (powers**2).sum())
    assert LangevinSampler().stability(precision_step, n_steps) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("n_steps", [1, 3, 20])
def test_the_certificate_covers_the_exact_distributions_of_neighbors(n_steps):
    """One label of five is flipped; both by quadrature, every event of both orders."""
    one = one_dimension.target(LogisticLoss())
    two = one_dimension.relabeled(one, one.design.targets * [1, 1, 1, 1, -1])
    eta = 2.0 / (2 * 0.5 + 0.8 * (one_dimension.RECORDS**2).sum() * 0.25)
    p, q = (chain_masses(target, eta, n_steps) for target in (one, two))
    claimed = LangevinSampler().stability(0.5 * eta, n_steps) * 0.8 / math.sqrt(0.5)
    for c in np.exp(np.linspace(-2.0, 2.0, 41)):
        bound = stats.norm.cdf(claimed / 2 - math.log(c) / claimed)
        bound -= c * stats.norm.cdf(-claimed / 2 - math.log(c) / claimed)
        for a, b in ((p, q), (q, p)):
            assert np.maximum(a - c * b, 0.0).sum() * one_dimension.STEP <= bound + 1e-6


@pytest.mark.parametrize("loss", [LogisticLoss(), CompetitorLoss(LogisticLoss(), 4)], ids=repr)
@pytest.mark.parametrize("max_curvature", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("flow_time", [1e-3, 10.0, 1e4])
def test_no_step_is_too_long_for_the_worst_data(loss, max_curvature, flow_time):
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    setting = one_dimension.replace(setting, loss=loss, flow_time=flow_time)
    plan = LangevinSampler(max_curvature).plan(setting, 0.0)
    worst = 5 * loss.smoothness * setting.row_norm**2
    assert plan.step * (2.0 / setting.C + worst) <= max_curvature
    assert plan.step * plan.n_steps == pytest.approx(flow_time)


def test_steps_longer_than_the_theorem_allows_are_refused():
    with pytest.raises(ValueError, match="max_curvature"):
        LangevinSampler(2.1)


def test_too_many_steps_are_refused_before_anything_is_spent(monkeypatch, budget, rng):
    """A strong ridge asks for short steps; how many is public, so none spends and then runs on."""
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    model = DPLogisticRegression(sampler="langevin", C=1e-9, budget=budget)
    monkeypatch.setattr(LangevinSampler, "sample", lambda *args: pytest.fail("it ran"))
    with pytest.raises(IncompatibleSolverError, match=r"max_steps=200000"):
        model.fit(X, y)
    assert budget.history() == []
    monkeypatch.undo()
    assert model.set_params(C=1.0).fit(X, y).n_iter_ <= 200_000
