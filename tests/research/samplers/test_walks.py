"""Walks by values leave their distribution as it is; tests of it alarm falsely 1e-6 of the time.

Steps start in exact samples.
"""

import math
from dataclasses import replace

import numpy as np
import one_dimension
import pytest
import two_dimensions
from scipy import stats

from skdp.losses import HingeLoss, HuberLoss, LogisticLoss, SmoothedHingeLoss
from skdp.research.samplers.reference import (
    BallWalkSampler,
    Density,
    GridWalkSampler,
    _BallWalk,
    _GridWalk,
    log_ratio_bound,
)

FALSE_ALARM = 1e-6
LOSSES = [LogisticLoss(), HingeLoss(), SmoothedHingeLoss(), HuberLoss(0.5)]


def nothing(step, n_steps):
    pass


@one_dimension.covered_and_long(
    800, LOSSES, [(0.5, 12.0), (3.0, 12.0), (1.0, 0.7)], "loss, ball, n"
)
def test_the_ball_walk_leaves_the_target_on_its_ball_as_it_is(loss, ball, n):
    reach, radius = ball
    target, rng = one_dimension.target(loss, temperature=4.0), np.random.default_rng(0)
    energy = np.where(np.abs(one_dimension.GRID) <= radius, one_dimension.potential(target), np.inf)
    masses, after = one_dimension.normalized(-energy + energy.min()), []
    starts = np.interp(
        rng.random(n), np.cumsum(masses) * one_dimension.STEP, one_dimension.GRID
    ).clip(-radius, radius)
    for start in starts:
        walk = _BallWalk(Density(target), np.array([start]), reach, radius, rng)
        for _ in range(6):
            walk.move()
        after.append(walk.theta[0])
    assert stats.kstest(after, one_dimension.distribution(masses)).pvalue > FALSE_ALARM
    assert np.abs(after).max() <= radius


def test_proposals_fill_the_ball_evenly():
    """In d = 3 the share of the volume within |u| is |u|³, and each coordinate is symmetric."""
    target = two_dimensions.target(HingeLoss())
    walk = _BallWalk(Density(target), np.zeros(2), 1.0, 9.0, np.random.default_rng(0))
    walk.theta = np.zeros(3)
    points = np.array([walk._in_unit_ball() for _ in range(4000)])
    assert stats.kstest((points**2).sum(axis=1) ** 1.5, "uniform").pvalue > FALSE_ALARM / 3
    for column in points.T[:2]:  # Archimedes: density 3/4·(1 − u²)
        cdf = stats.beta(2, 2, loc=-1, scale=2).cdf
        assert stats.kstest(column, cdf).pvalue > FALSE_ALARM / 3


def grid_masses(target, spacing, half_width):
    points = spacing * np.arange(-half_width, half_width + 1)
    weight = np.exp(-one_dimension.potential(target, points))
    return points, weight / weight.sum()


@one_dimension.covered_and_long(2000, LOSSES, [(0.5, 12), (1.5, 2)], "loss, grid, n")
def test_the_grid_walk_leaves_its_distribution_as_it_is(loss, grid, n):
    spacing, half_width = grid
    target, rng = one_dimension.target(loss), np.random.default_rng(0)
    _, masses = grid_masses(target, spacing, half_width)
    places = np.arange(-half_width, half_width + 1)
    counts = np.zeros(masses.size)
    for start in rng.choice(places, size=n, p=masses):
        walk = _GridWalk(Density(target), spacing, half_width, rng)
        walk.place[0] = start
        walk._energy = Density(target).potential(walk.theta)
        for _ in range(4):
            walk.move()
        counts[walk.place[0] + half_width] += 1
    often = n * masses > 5.0  # rarer points make one cell
    seen = np.append(counts[often], counts[~often].sum())
    expected = n * np.append(masses[often], masses[~often].sum())
    kept = expected > 0.0
    assert stats.chisquare(seen[kept], expected[kept]).pvalue > FALSE_ALARM


def kernel(masses):
    """The walk's transition matrix in one dimension."""
    rows = np.arange(masses.size - 1)
    matrix = np.zeros((masses.size, masses.size))
    matrix[rows, rows + 1] = 0.25 * np.minimum(masses[1:] / masses[:-1], 1.0)
    matrix[rows + 1, rows] = 0.25 * np.minimum(masses[:-1] / masses[1:], 1.0)
    return matrix + np.diag(1.0 - matrix.sum(axis=1))


def test_the_grid_walk_has_its_exact_distribution_after_a_few_steps():
    """From 0, in four steps: binomial cells, compared by a χ² test."""
    target, rng = one_dimension.target(LogisticLoss()), np.random.default_rng(0)
    _, masses = grid_masses(target, 0.7, 6)
    exact = np.linalg.matrix_power(kernel(masses), 4)[6, 2:11]
    counts = np.zeros(13)
    for _ in range(4000):
        walk = _GridWalk(Density(target), 0.7, 6, rng)
        for _ in range(4):
            walk.move()
        counts[walk.place[0] + 6] += 1
    assert counts[:2].sum() + counts[11:].sum() == 0
    assert stats.chisquare(counts[2:11], 4000 * exact).pvalue > FALSE_ALARM


@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
@pytest.mark.parametrize(("spacing", "half_width"), [(0.1, 3), (0.02, 20)])
def test_the_ratio_bound_covers_the_exact_weights(loss, spacing, half_width):
    """The bound, where it is finite, against a power of the transition matrix."""
    target = one_dimension.target(loss, temperature=0.05)
    _, masses = grid_masses(target, spacing, half_width)
    finite = 0
    for exponent in range(4, 22):
        bound = log_ratio_bound(target, spacing, half_width, 2**exponent)
        after = np.linalg.matrix_power(kernel(masses), 2**exponent)[half_width]
        if math.isfinite(bound):
            finite += 1
            assert np.abs(np.log(after / masses)).max() <= bound + 1e-9
    assert finite >= 3


def test_the_ratio_bound_is_no_use_for_runs_that_anybody_makes():
    """One coefficient, five records: 2000 steps prove nothing, 10^8 still nothing."""
    target = one_dimension.target(LogisticLoss())
    plan = GridWalkSampler().plan(one_dimension.setting(target), 0.0)
    found = GridWalkSampler().sample(target, plan, np.random.default_rng(0), nothing).diagnostics
    assert found["log_ratio_bound"] == math.inf
    assert log_ratio_bound(target, found["spacing"], found["half_width"], 10**8) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
@pytest.mark.parametrize(
    "sampler", [BallWalkSampler(), GridWalkSampler(800, spacing_scale=0.6)], ids=repr
)
def test_two_coefficients_have_the_right_means(sampler, loss):
    """Six standard errors a mean, false alarms below 1e-8; the grid's own mean is the exact one."""
    target, rng = two_dimensions.target(loss), np.random.default_rng(0)
    plan = sampler.plan(one_dimension.setting(target), 0.0)
    sample = np.array([sampler.sample(target, plan, rng, nothing).theta for _ in range(150)])
    points, weight = two_dimensions.masses(target)
    for j in range(2):
        mean = weight @ points[:, j]
        error = 6.0 * math.sqrt(weight @ (points[:, j] - mean) ** 2 / 150)
        assert sample[:, j].mean() == pytest.approx(mean, abs=error)


@pytest.mark.parametrize("kind", [BallWalkSampler, GridWalkSampler])
def test_refusals(kind):
    with pytest.raises(ValueError, match="n_steps"):
        kind(n_steps=0)
    with pytest.raises(ValueError, match="radius"):
        kind(radius=0.0)
    scale = "reach_scale" if kind is BallWalkSampler else "spacing_scale"
    with pytest.raises(ValueError, match=scale):
        kind(**{scale: -1.0})


@pytest.mark.parametrize("kind", [BallWalkSampler, GridWalkSampler])
def test_a_given_radius_is_kept(kind):
    target = replace(one_dimension.target(HingeLoss()), prior_precision=0.01)
    plan, rng = kind().plan(one_dimension.setting(target), 0.0), np.random.default_rng(0)
    found = [kind(radius=0.9).sample(target, plan, rng, nothing) for _ in range(20)]
    spacing = found[0].diagnostics.get("spacing", 0.0)
    assert max(abs(draw.theta[0]) for draw in found) <= 0.9 + spacing
