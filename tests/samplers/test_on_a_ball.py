"""Distributions restricted to a ball that cuts through their mass, against quadrature.

Tests of distributions alarm falsely with probability 1e-6 each.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import one_dimension
import pytest
import two_dimensions
from scipy import special, stats

from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import CompetitorLoss, HingeLoss, LogisticLoss
from skdp.research import draw_samples
from skdp.research.samplers.diagnostics import compare_with_quadrature
from skdp.research.samplers.langevin import LangevinSampler
from skdp.research.samplers.proximal_chain import ProximalTVSampler, _distance
from skdp.research.samplers.reference import HitAndRunSampler
from skdp.research.samplers.zeroth_order import AlternatingSchedule, ZerothOrderSampler
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS, SamplerPlan
from skdp.samplers.base import Ball, TruncatedGaussian
from skdp.samplers.proximal import ProximalSampler

REGISTERED = SAMPLERS | REFERENCE_SAMPLERS
FALSE_ALARM = 1e-6
KINDS = [
    kind for kind in REGISTERED.values() if kind.certifies in ("exact", "tv") and kind.takes_domain
]
GRID, STEP = one_dimension.GRID, one_dimension.STEP


def nothing(step, n_steps):
    pass


def cut(energy, radius):
    return np.where(np.abs(GRID) <= radius, energy, np.inf)


def normalized(energy):
    return one_dimension.normalized(np.where(np.isfinite(energy), -energy, -1e300))


def skewed(loss, radius, temperature=4.0):
    """All records pull to one side, so that the mode is on the surface of a small ball."""
    base = one_dimension.target(loss, temperature=temperature)
    design = ClippedDesign.clip(np.abs(base.design.X), 2.0, targets=base.design.targets)
    return replace(base, design=design, domain=Ball(radius))


def draws(sampler, target, n, tv=1e-7):
    setting = one_dimension.setting(target, domain=target.domain)
    sampler.check(setting)
    plan, rng = sampler.plan(setting, tv), np.random.default_rng(0)
    return np.array([sampler.sample(target, plan, rng, nothing).theta for _ in range(n)])


BOTH = [HingeLoss(), LogisticLoss()]


@pytest.mark.parametrize(
    ("kind", "loss", "radius"),
    [
        *((kind, BOTH[k % 2], 0.4) for k, kind in enumerate(KINDS)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in itertools.product(KINDS, BOTH, (0.4, 1.5))
        ),
    ],
)
def test_one_coefficient_has_the_distribution_on_the_ball(kind, loss, radius):
    """The test needs 0.1 of an exact sampler, 0.16 of others, 0.35 of one that reads values."""
    values_only = kind is ZerothOrderSampler
    n = 700 if kind.certifies == "exact" else 60 if values_only else 300
    target = skewed(loss, radius, 0.01 if values_only else 4.0)
    sample = draws(kind(), target, n)
    assert np.abs(sample).max() <= radius
    masses = normalized(cut(one_dimension.potential(target), radius))
    assert stats.kstest(sample[:, 0], one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not ZerothOrderSampler])
def test_two_coefficients_have_the_joint_distribution(kind):
    """Three projections; the grid is off by less than .02, the test needs .16 at most."""
    base, rng = two_dimensions.target(LogisticLoss()), np.random.default_rng(0)
    base = replace(base, temperature=3.0)
    n = 700 if kind.certifies == "exact" else 350
    sample = draws(kind(), replace(base, domain=Ball(1.2)), n)
    points, weight = two_dimensions.masses(base)
    inside = (points**2).sum(axis=1) <= 1.2**2
    points, weight = points[inside], weight[inside] / weight[inside].sum()
    points = points + 0.05 * (rng.random(points.shape) - 0.5)  # no steps of the grid's width
    for direction in ((1.0, 0.0), (0.0, 1.0), (1.0, -1.0)):
        image = two_dimensions.distribution(points, weight, np.array(direction))
        assert stats.kstest(sample @ direction, image).statistic < 0.02 + massart(n)


def massart(n):
    """What the empirical distribution is off with probability 1e-6."""
    return math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * n))


@pytest.mark.parametrize("d", [1, 2, 40])
@pytest.mark.parametrize("radius", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("mean", [0.0, 0.9, 1.5, 50.0])
def test_a_gaussian_on_a_ball_has_its_exact_distribution(d, radius, mean):
    """Along its axis: density ∝ φ(a − m)·P(χ²(d − 1) ≤ ρ² − a²), by quadrature."""
    center, rng = np.zeros(d), np.random.default_rng(0)
    center[-1] = mean * radius
    gaussian = TruncatedGaussian(radius, center)
    sample = np.array([gaussian.draw(rng) for _ in range(1000)])
    assert np.linalg.norm(sample, axis=1).max() <= radius * (1.0 + 1e-12)
    edge = np.linspace(0.0, 1.0, 20_001)[1:-1] ** 3  # finer near the surface
    a = radius * np.r_[edge - 1.0, 1.0 - edge[::-1]]
    width = special.gammainc(0.5 * (d - 1), 0.5 * (radius**2 - a**2)) if d > 1 else 1.0
    with np.errstate(divide="ignore"):  # at the very surface
        width = np.log(width)
    log_density = width - 0.5 * (a - mean * radius) ** 2
    density = np.exp(log_density - log_density.max())
    mass = np.r_[0.0, np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(a))]
    test = stats.kstest(sample[:, -1], lambda x: np.interp(x, a, mass / mass[-1]))
    assert test.pvalue > FALSE_ALARM
    if d > 1:
        assert stats.kstest(sample[:, 0], -sample[:, 0]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("mean", [0.0, 0.5, 1.0, 1.2, 2.0, 10.0, 1e4, 1e8])
@pytest.mark.parametrize("radius", [1e-6, 0.1, 5.0, 1e3, 1e6])
def test_few_proposals_are_lost_wherever_the_mean_lies(mean, radius, monkeypatch):
    """For 30 coefficients one in 5 at worst; 200 samples with 20000 proposals fail never."""
    center, rng = np.zeros(30), np.random.default_rng(0)
    center[0] = mean * radius
    gaussian, asked = TruncatedGaussian(radius, center), []
    counted = type("", (), {"standard_exponential": rng.standard_exponential, "random": rng.random})
    counted.standard_normal = lambda self, *size: asked.append(size) or rng.standard_normal(*size)
    for _ in range(200):
        assert np.linalg.norm(gaussian.draw(counted())) <= radius * (1.0 + 1e-12)
    assert len(asked) < 20_000


def chain_masses(target, eta, n_steps):
    """The proximal chain on the ball from 0, the first half step left out, by quadrature."""
    energy = cut(one_dimension.potential(target), target.domain.radius)
    masses = normalized(energy + GRID**2 / (2.0 * eta))
    inside = np.isfinite(energy)
    kernel = np.exp(-((GRID[::4, None] - GRID[inside]) ** 2) / (2.0 * eta))
    backward = kernel * np.exp(-energy[inside])
    backward /= backward.sum(axis=1, keepdims=True) * STEP
    for _ in range(n_steps - 1):
        moved = kernel @ masses[inside]
        masses[inside] = (moved / moved.sum()) @ backward
        masses /= masses.sum() * STEP
    return masses


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("eta", [0.3, 2.0])
@pytest.mark.parametrize("n_steps", [1, 5])
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
def test_theorem_a_covers_the_exact_distributions_of_neighbors_on_a_ball(
    loss, radius, eta, n_steps
):
    """One label of five is flipped: every event of both orders; c·G = 0.8·1·2 where
    the loss is not smooth, z = 1.
    """
    one = replace(one_dimension.target(loss), domain=Ball(radius))
    two = one_dimension.relabeled(one, one.design.targets * [-1, 1, 1, 1, 1])
    p, q = (chain_masses(target, eta, n_steps) for target in (one, two))
    claimed = ProximalSampler().stability(0.5 * eta, n_steps) * 0.8 * 2.0 / math.sqrt(0.5)
    for c in np.exp(np.linspace(-2.0, 2.0, 41)):
        bound = stats.norm.cdf(claimed / 2 - math.log(c) / claimed)
        bound -= c * stats.norm.cdf(-claimed / 2 - math.log(c) / claimed)
        for a, b in ((p, q), (q, p)):
            assert np.maximum(a - c * b, 0.0).sum() * STEP <= bound + 1e-6


@pytest.mark.parametrize(("loss", "n_steps"), [(LogisticLoss(), 3), (HingeLoss(), 1)], ids=repr)
def test_a_few_steps_on_the_ball_have_the_exact_distribution(loss, n_steps):
    target, rng = skewed(loss, 0.8), np.random.default_rng(0)
    plan = SamplerPlan(n_steps=n_steps, step=1.5 * target.temperature, stability=1.0, spread=1.0)
    sampler = ProximalSampler()
    sample = [sampler.sample(target, plan, rng, nothing).theta[0] for _ in range(800)]
    masses = chain_masses(target, 1.5, n_steps)
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
@pytest.mark.parametrize("radius", [0.3, 1.5, 5.0])
@pytest.mark.parametrize("start", [0.0, 0.9, 1.0])
def test_no_mode_is_farther_from_the_start_than_it_says(loss, radius, start):
    """W less the spread √(1/α) bounds |θ₀ − θ*|, and 2r bounds W."""
    target = skewed(loss, radius)
    mode = GRID[cut(one_dimension.potential(target), radius).argmin()]
    point = np.array([start * radius])
    bound = _distance(target, point)
    assert bound <= 2.0 * radius
    assert abs(point[0] - mode) <= bound + STEP
    if start == 1.0 and mode > 0.99 * radius:  # it is the mode
        assert bound == pytest.approx(min(2.0 * radius, math.sqrt(1.0 / 0.5)), rel=1e-6)
    assert ProximalTVSampler().plan(one_dimension.setting(target), 1e-7).tv == 1e-7


def test_langevin_steps_are_projected():
    target = skewed(LogisticLoss(), 0.5)
    sampler, rng = LangevinSampler(), np.random.default_rng(0)
    plan = sampler.plan(one_dimension.setting(target, domain=target.domain), 0.0)
    sample = np.array([sampler.sample(target, plan, rng, nothing).theta[0] for _ in range(12)])
    assert np.abs(sample).max() <= 0.5
    assert (np.abs(sample) == 0.5).any()


def test_hit_and_run_keeps_to_the_smaller_ball():
    sample = draws(HitAndRunSampler(n_steps=20), skewed(LogisticLoss(), 0.5), 50)
    assert np.abs(sample).max() <= 0.5


def test_a_ball_shortens_the_run_of_the_alternating_sampler():
    facts = {"lipschitz": 0.5, "prior_precision": 0.01, "dimension": 5}
    free = AlternatingSchedule.within(1e-6, **facts)
    held = AlternatingSchedule.within(1e-6, **facts, radius=0.1)
    assert held.n_steps < free.n_steps
    assert held.expected_evaluations == pytest.approx(held.n_steps * 4 * math.e, rel=1e-3)


@pytest.mark.parametrize("name", REGISTERED)
def test_who_cannot_keep_to_a_ball_refuses(name):
    target = one_dimension.target(HingeLoss() if name == "hinge_gibbs" else LogisticLoss())
    setting = one_dimension.setting(target, domain=Ball(1.0))
    if REGISTERED[name].takes_domain:
        REGISTERED[name]().check(setting)
    else:
        with pytest.raises(IncompatibleSolverError, match=r"cannot restrict samples.*proximal"):
            REGISTERED[name]().check(setting)


@pytest.mark.parametrize("kind", [ProximalSampler, LangevinSampler, *KINDS])
def test_several_scores_a_record_stay_in_the_ball(kind):
    base = one_dimension.target(LogisticLoss(), temperature=0.02)
    loss, y = CompetitorLoss(LogisticLoss(), 3), np.array([0, 1, 2, 0, 1])
    target = replace(one_dimension.relabeled(base, y), loss=loss, domain=Ball(0.2))
    sample = draws(kind(), target, 5, tv=1e-3)
    assert sample.shape == (5, 1, 3)
    assert np.linalg.norm(sample, axis=(1, 2)).max() <= 0.2 * (1.0 + 1e-12)


def test_the_point_of_tangency_is_found_on_a_far_surface(rng):
    """A mode a thousand balls away costs no more than a few tries a sample."""
    X = np.abs(rng.standard_normal((3000, 12)))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    base = one_dimension.target(LogisticLoss())
    design = ClippedDesign.clip(X, 1.0, targets=np.ones(3000))
    target = replace(base, design=design, row_norm=1.0, domain=Ball(0.05))
    plan = ProximalSampler().plan(one_dimension.setting(target, 3.0), 0.0)
    draw = ProximalSampler().sample(target, plan, rng, nothing)
    assert draw.diagnostics["n_tries"] < 20 * plan.n_steps
    assert draw.diagnostics["n_evaluations"] < 60 * plan.n_steps * 3000
    assert np.linalg.norm(draw.theta) > 0.04


def test_research_samples_take_a_ball_and_quadrature_knows_it():
    X, y = np.abs(two_dimensions.RECORDS), np.ones(6)
    facts = {"temperature": 4.0, "domain": Ball(0.9)}
    sample = draw_samples(X, y, **facts, sampler="exact", n_draws=700, random_state=0)
    target = replace(two_dimensions.target(LogisticLoss()), **facts, prior_precision=1.0)
    target = replace(target, design=ClippedDesign.clip(X, 2.0, targets=y))
    assert compare_with_quadrature(sample, target).passes()
    assert not compare_with_quadrature(sample, replace(target, domain=Ball(1.5))).passes()
