"""Langevin steps near a density: bounds against exact distributions on grids, and the chains."""

import math
from dataclasses import replace

import numpy as np
import one_dimension
import pytest
from scipy import integrate, stats

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import (
    ClippedLogisticLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SmoothedHingeLoss,
)
from skdp.research import draw_samples
from skdp.research.samplers.langevin import (
    DiffusionBounds,
    RenyiLangevinSampler,
    SmoothedLangevinSampler,
    _radius,
)
from skdp.samplers import SamplerPlan

FALSE_ALARM = 1e-6
SAMPLERS = [RenyiLangevinSampler(), SmoothedLangevinSampler()]
ABSOLUTE, PINBALL = one_dimension.NonSmoothLoss(1.0, 1.0), one_dimension.NonSmoothLoss(0.3, 0.7)
STEP = 0.03
GRID = STEP * np.arange(-300, 301)


def nothing(step, n_steps):
    pass


def weak(loss, temperature=0.02):
    """A target on which either sampler comes within 0.3 in some steps."""
    return replace(one_dimension.target(loss, temperature=temperature), row_norm=1.0)


def moves(radius):
    """Points and weights of r·ζ: quantiles, for derivatives that jump."""
    return radius * stats.norm.ppf((np.arange(61) + 0.5) / 61) if radius else np.zeros(1)


def derivative(target, theta):
    """c·Σ z_i·ℓ'(z_i·θ)."""
    derivatives = target.loss.gradient(np.ones((5, 1)), np.outer(one_dimension.RECORDS, theta))
    return target.temperature * one_dimension.RECORDS @ derivatives


def kernel(target, eta, derivatives):
    """Transition probabilities between the points, if each derivative has the same probability."""
    means = [GRID - eta * (target.prior_precision * GRID + s) for s in derivatives]
    matrix = sum(np.exp(-((GRID[None, :] - m[:, None]) ** 2) / (4.0 * eta)) for m in means)
    return matrix / matrix.sum(axis=1, keepdims=True)


def chain_masses(target, eta, n_steps, radius=0.0):
    """Probabilities of the points after n steps from 0; random derivatives if there is a radius."""
    derivatives = [derivative(target, GRID + move) for move in moves(radius)]
    return np.linalg.matrix_power(kernel(target, eta, derivatives), n_steps)[GRID.size // 2]


def distribution(masses):
    return lambda x: np.interp(x, GRID + 0.5 * STEP, np.cumsum(masses))


def tv(p, q):
    return 0.5 * np.abs(p - q).sum()


@pytest.mark.parametrize(
    "loss",
    [LogisticLoss(), ClippedLogisticLoss(), SmoothedHingeLoss(0.5), HuberLoss(0.5)],
    ids=repr,
)
@pytest.mark.parametrize("n_steps", [1, 3])
@one_dimension.short_and_long(1500)
def test_the_exact_chain_has_its_distribution(loss, n_steps, n):
    """Kolmogorov and Smirnov's test alarms falsely 1e-6 of the time."""
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    plan = SamplerPlan(
        n_steps=n_steps, step=0.6 * target.temperature, stability=1.0, spread=1.0, tv=0.3
    )
    sample = [RenyiLangevinSampler().sample(target, plan, rng, nothing).theta[0] for _ in range(n)]
    exact = distribution(chain_masses(target, 0.6, n_steps))
    assert stats.kstest(sample, exact).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "loss", [HingeLoss(), PINBALL, SmoothedHingeLoss(0.5), LogisticLoss()], ids=repr
)
@pytest.mark.parametrize("n_steps", [1, 3])
@one_dimension.short_and_long(1500)
def test_the_chain_of_random_points_has_its_distribution(loss, n_steps, n):
    """The radius is the run's. False alarms 1e-6, by Massart's inequality.

    The rule of 61 quantiles is off by less than 0.002.
    """
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    plan = SamplerPlan(
        n_steps=n_steps, step=0.2 * target.temperature, stability=1.0, spread=1.0, tv=0.9
    )
    radius = _radius(0.9, 0.8 * 5 * 2.0 * loss.lipschitz, 1)
    sample = [
        SmoothedLangevinSampler().sample(target, plan, rng, nothing).theta[0] for _ in range(n)
    ]
    exact = distribution(chain_masses(target, 0.2, n_steps, radius))
    limit = math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * n)) + 0.002
    assert stats.kstest(sample, exact).statistic < limit


def test_the_ridge_is_not_smoothed():
    """With a radius of 162 only the gradient of c·Σ ℓ, at most c·Σ |z_i|, depends on the point."""
    target = one_dimension.target(HingeLoss(), temperature=1e-3)
    found = SmoothedLangevinSampler().gradient_estimate(
        target,
        SamplerPlan(n_steps=1, step=1.0, stability=1.0, spread=1.0, tv=0.9),
        np.random.default_rng(0),
    )
    assert found(np.array([3.0]))[0] == pytest.approx(1.5, abs=3.5e-3)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
@pytest.mark.parametrize("level", [0.2, 1e-3])
def test_the_duration_brings_the_exact_diffusion_within_its_share(alpha, level):
    """V linear of derivative Γ: the diffusion from 0 and the density are Gaussian."""
    lipschitz = 1.7
    t = DiffusionBounds(alpha=alpha, beta=alpha, lipschitz=lipschitz, dimension=1).duration(level)
    reached = stats.norm(
        -lipschitz / alpha * -math.expm1(-alpha * t),
        0.0 + math.sqrt(-math.expm1(-2 * alpha * t) / alpha),
    )
    density = stats.norm(-lipschitz / alpha, math.sqrt(1.0 / alpha))
    distance, _ = integrate.quad(
        lambda x: 0.5 * abs(reached.pdf(x) - density.pdf(x)),
        -40,
        40,
        limit=2000,
        points=[-6, -3, 0, 3],
    )
    assert distance <= level


@pytest.mark.parametrize("h", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("t", [1.0, 8.0])
@pytest.mark.parametrize("d", [1, 7])
def test_the_discretization_bound_covers_steps_of_a_quadratic(h, t, d):
    """U = |θ − a|²/2 in d dimensions: steps and diffusion from 0 are Gaussian; Γ = |a|.

    Their total variation is at least the difference of the probabilities of any event: half spaces
    along a for the mean, balls around the steps' mean for the variance.
    """
    n_steps, derivative = math.ceil(t / h), 1.3
    t = n_steps * h
    q = (1.0 - h) ** n_steps
    means = np.array([derivative * (1.0 - q), derivative * -math.expm1(-t)])
    variances = np.array([2.0 * h * (1.0 - q**2) / (1.0 - (1.0 - h) ** 2), -math.expm1(-2.0 * t)])
    bound = DiffusionBounds(alpha=1.0, beta=1.0, lipschitz=derivative, dimension=d).discretization(
        h, t
    )
    cuts = np.linspace(-5.0, 5.0, 401)
    one, other = (
        stats.norm(m, math.sqrt(v)).cdf(cuts) for m, v in zip(means, variances, strict=True)
    )
    assert np.abs(one - other).max() <= bound
    squares = np.linspace(0.0, 60.0, 601)
    one = stats.chi2(d).cdf(squares / variances[0])
    other = stats.ncx2(d, np.diff(means)[0] ** 2 / variances[1] + 1e-12).cdf(squares / variances[1])
    assert np.abs(one - other).max() <= bound


@pytest.mark.parametrize(
    ("loss", "radius"), [(LogisticLoss(), 0.7), (HingeLoss(), 0.7), (ABSOLUTE, 30.0)], ids=repr
)
@pytest.mark.parametrize(
    ("temperature", "h", "n_steps"), [(0.3, 0.3, 1), (0.3, 0.1, 12), (0.05, 1.0, 5)]
)
def test_the_cost_of_random_points_covers_the_exact_distributions(
    loss, radius, temperature, h, n_steps
):
    """The chain along random derivatives against the chain along their mean; Γ = c·Σ |z_i|.

    Far away the absolute loss has derivatives of size Γ, and the bound is within a factor of 6.
    """
    target = one_dimension.target(loss, temperature=temperature)
    mean = np.mean([derivative(target, GRID + move) for move in moves(radius)], axis=0)
    masses = np.linalg.matrix_power(kernel(target, h, [mean]), n_steps)[GRID.size // 2]
    distance = tv(masses, chain_masses(target, h, n_steps, radius))
    lipschitz = temperature * np.abs(one_dimension.RECORDS).sum()
    bound = DiffusionBounds(alpha=0.5, beta=9.9, lipschitz=lipschitz, dimension=1).random_points(
        h, n_steps * h
    )
    assert distance <= bound
    assert radius == 0.7 or n_steps > 1 or bound <= 6.0 * distance


@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_the_run_is_within_what_is_asked_of_the_exact_target(sampler, loss):
    """Whole runs, by the chain's exact distribution."""
    if loss == HingeLoss() and sampler == RenyiLangevinSampler():
        pytest.skip("it needs a gradient")
    target = weak(loss)
    masses = np.exp(-one_dimension.potential(target, GRID))
    for level in (0.5, 0.3, 0.1):
        plan = sampler.plan(one_dimension.setting(target), level)
        smoothed = sampler == SmoothedLangevinSampler()
        radius = _radius(level, 0.02 * 5, 1) if smoothed else 0.0
        eta = plan.step / target.temperature
        assert 2.0 * eta > STEP**2  # the grid is fine enough
        assert tv(chain_masses(target, eta, plan.n_steps, radius), masses / masses.sum()) <= level


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_half_the_distance_takes_many_more_steps(sampler):
    setting = one_dimension.setting(weak(LogisticLoss(), 0.5))
    counts = [sampler.plan(setting, level).n_steps for level in (0.4, 0.2)]
    assert counts[1] > 4 * counts[0]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_small_distances_are_refused_before_anything_is_spent(sampler):
    setting = one_dimension.setting(weak(LogisticLoss()))
    with pytest.raises(IncompatibleSolverError, match=r"max_steps=1000000 "):
        sampler.plan(setting, 1e-7)
    patient = type(sampler)(max_steps=10**60)
    assert patient.plan(setting, 1e-7).n_steps > 10**10
    with pytest.raises(IncompatibleSolverError, match="a number of features"):
        sampler.check(replace(setting, n_features=None))
    with pytest.raises(ValueError, match="max_steps"):
        type(sampler)(max_steps=0)


def test_non_smooth_losses_need_smoothing():
    setting = one_dimension.setting(weak(HingeLoss()))
    SmoothedLangevinSampler().check(setting)
    with pytest.raises(IncompatibleSolverError, match="continuous gradient"):
        RenyiLangevinSampler().check(setting)


def test_samples_for_research_take_the_distance():
    facts = {"temperature": 0.02, "loss": "hinge", "sampler": "smoothed_langevin"}
    X, y = one_dimension.RECORDS[:, None], np.ones(5)
    assert draw_samples(X, y, tv=0.3, n_draws=2, random_state=0, **facts).shape == (2, 1)
    with pytest.raises(IncompatibleSolverError, match="to come within 1e-06"):
        draw_samples(X, y, **facts)
    with pytest.raises(ValueError, match="tv"):
        draw_samples(X, y, tv=1.0, **facts)
