"""The ball, its metric, and the chain there, against exact distributions of one coefficient."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import one_dimension
import pytest
from problems import target_with
from scipy import stats

from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import (
    ClippedLogisticLoss,
    CompetitorLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SmoothedHingeLoss,
)
from skdp.losses.weighted import ClassWeightedLoss
from skdp.research.samplers import proximal_chain
from skdp.research.samplers.localized import LocalizedSampler, find_ball, in_ball, tail_bound
from skdp.research.samplers.proximal_chain import Length, run_chain, tune_chain
from skdp.samplers.base import Ball

FALSE_ALARM = 1e-6
TARGETS = [
    one_dimension.target(LogisticLoss(), temperature=20.0),
    one_dimension.target(ClippedLogisticLoss(0.8), temperature=20.0),
    one_dimension.target(SmoothedHingeLoss(4.0), temperature=20.0),
    one_dimension.target(ClassWeightedLoss(LogisticLoss(), (1.0, 3.0)), temperature=4.0),
    replace(one_dimension.regression_target(HuberLoss(1.0)), temperature=4.0),
    replace(one_dimension.regression_target(HuberLoss(2.0)), temperature=0.3),
]
every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: repr(target.loss))


def nothing(step, n_steps):
    pass


def near_mode(target):
    return proximal_chain.near_mode(target, np.random.default_rng(0))


def ball_of(target, tail):
    return find_ball(target, near_mode(target).start, tail)[0]


def interval(ball):
    half = ball.radius / ball.shape[0, 0]
    return ball.center[0] - half, ball.center[0] + half


@every_target
@pytest.mark.parametrize("tail", [1e-2, 1e-5, 1e-8])
def test_no_more_of_the_distribution_is_outside_of_the_ball_than_is_claimed(target, tail):
    ball = ball_of(target, tail)
    low, high = interval(ball)
    grid = np.linspace(ball.center[0] - 12.0, ball.center[0] + 12.0, 480_001)
    energy = one_dimension.potential(target, grid)
    masses = np.exp(energy.min() - energy)
    outside = masses[(grid < low) | (grid > high)].sum() / masses.sum()
    assert 0.0 < outside <= ball.tail <= tail


@every_target
def test_the_metric_lies_below_every_curvature_in_the_ball(target):
    ball = ball_of(target, 1e-5)
    grid = np.linspace(*interval(ball), 2001)
    curvatures = np.diff(one_dimension.potential(target, grid), 2) / (grid[1] - grid[0]) ** 2
    assert curvatures.min() >= ball.metric[0, 0] ** 2 * (1.0 - 1e-4)


@every_target
@pytest.mark.parametrize("precision_step", [0.3, 2.0])
def test_the_distance_lies_below_the_bound_after_every_step(target, precision_step):
    """The chain on the ball, by quadrature, from its center."""
    ball = ball_of(target, 1e-3)
    low, high = interval(ball)
    grid, step = one_dimension.GRID, one_dimension.STEP
    whole = one_dimension.potential(target)
    energy = np.where((grid >= low) & (grid <= high), whole, whole.min() + 700.0)
    eta = precision_step / ball.metric[0, 0] ** 2
    masses = one_dimension.normalized(-((grid - ball.center[0]) ** 2) / (2.0 * step**2))
    limit = one_dimension.normalized(-whole)
    start = in_ball(target, ball, np.random.default_rng(0))
    chain_step = one_dimension.transition(energy, eta)
    for n_steps in range(1, 8):
        masses = chain_step(masses)
        distance = start.distance / math.sqrt(2.0 * math.pi * precision_step)
        bound = ball.tail + distance / (1.0 + precision_step) ** (n_steps - 1)
        # the ends of the ball lie between points of the grid: their mass is left out of account
        ends = 2.0 * step * max(np.interp([low, high], grid, limit))
        assert 0.5 * np.abs(masses - limit).sum() * step <= bound + ends


AT_ONCE, IN_STEPS, LONG = (
    Length(precision_step=step, n_steps=n_steps, passes=0.0)
    for step, n_steps in ((1e6, 1), (2.0, 8), (0.5, 25))
)


@pytest.mark.parametrize(
    ("target", "length", "n"),
    [
        *((target, AT_ONCE, 1000) for target in TARGETS[::2]),
        *((target, IN_STEPS, 300) for target in TARGETS[1::2]),
        *(
            pytest.param(target, length, n, marks=pytest.mark.slow)
            for target in TARGETS
            for length, n in ((AT_ONCE, 100_000), (LONG, 20_000))
        ),
    ],
)
def test_the_chain_in_the_ball_has_the_distribution_of_the_target(target, length, n):
    """Within 4e-5; Kolmogorov and Smirnov's test alarms falsely 1e-6 of the time."""
    ball, rng = ball_of(target, 1e-8), np.random.default_rng(0)
    place = in_ball(target, ball, rng)
    sample = [ball.theta(run_chain(place, length, rng)[0])[0] for _ in range(n)]
    masses = one_dimension.normalized(-one_dimension.potential(target))
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


def test_the_tail_of_a_radial_distribution_is_bounded_closely():
    """d = 3, derivative min(r, 2), beyond 6: 7.0654e-4."""
    inner = mpmath.quad(lambda r: r**2 * mpmath.exp(-(r**2) / 2), [0, 2])
    outer = mpmath.quad(lambda r: r**2 * mpmath.exp(-(2 * r - 2)), [2, mpmath.inf])
    beyond = mpmath.quad(lambda r: r**2 * mpmath.exp(-(2 * r - 2)), [6, mpmath.inf])
    exact = float(beyond / (inner + outer))
    assert exact == pytest.approx(7.0654e-4, abs=5e-9)
    assert exact <= tail_bound(3, 2.0, [1.0, 0.0, 0.0], 0.0) <= 1.03 * exact


@pytest.mark.parametrize("d", [1, 2, 20, 100])
@pytest.mark.parametrize("derivative", [0.0, 0.5])
def test_the_tail_of_a_gaussian_is_bounded_closely(d, derivative):
    """A Gaussian around a point at distance s has a derivative of s at the center."""
    rho = math.sqrt(d) + 6.0
    bound = tail_bound(d, rho / 10, [1.0] * 10, derivative)
    if derivative == 0.0:
        assert stats.chi2.sf(rho**2, d) <= bound <= 1.5 * stats.chi2.sf(rho**2, d)
    assert stats.ncx2.sf(rho**2, d, derivative**2 + 1e-300) <= bound


def large_target(loss=None, n=2000):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 10)) / 4.0
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-3.0 * X[:, 0])), 1.0, -1.0)
    return target_with(ClippedDesign.clip(X, 1.0, targets=y), loss or LogisticLoss(), 1.0, 5.0, 2.0)


def test_many_records_and_a_weak_ridge_take_few_steps():
    target, tv = large_target(), 1e-10
    plan = LocalizedSampler().plan(one_dimension.setting(target), tv)
    facts = LocalizedSampler().sample(target, plan, np.random.default_rng(0), nothing).diagnostics
    assert facts["tail"] <= 0.5 * tv
    assert (
        50 * facts["n_steps"]
        < tune_chain(near_mode(target), tv, np.random.default_rng(0))[0].n_steps
    )


@pytest.mark.parametrize(
    "target",
    [large_target(SmoothedHingeLoss(0.01), 60), replace(large_target(), prior_precision=1e-14)],
    ids=["supports that do not touch", "rounding could matter"],
)
def test_no_ball_is_promised_that_is_not_proved(target):
    assert find_ball(target, np.zeros(10), 1e-9)[0] is None


def test_where_no_metric_helps_the_plain_chain_is_run_without_a_word():
    for loss in (LogisticLoss(), SmoothedHingeLoss(0.01)):
        target = replace(large_target(loss, 60), temperature=0.5)
        plan = LocalizedSampler().plan(one_dimension.setting(target), 1e-6)
        draw = LocalizedSampler().sample(target, plan, np.random.default_rng(0), nothing)
        assert "radius" not in draw.diagnostics


def test_every_per_example_evaluation_is_counted(monkeypatch):
    looks, scores = [], ClippedDesign.scores

    def counting(design, theta):
        looks.append(design.n_samples)
        return scores(design, theta)

    target = large_target(n=1000)
    monkeypatch.setattr(ClippedDesign, "scores", counting)
    for tv in (1e-3, 1e-10):
        plan = LocalizedSampler().plan(one_dimension.setting(target), tv)
        found = LocalizedSampler().sample(target, plan, np.random.default_rng(0), nothing)
        assert found.diagnostics["n_evaluations"] == sum(looks)
        looks.clear()
    assert "radius" in found.diagnostics


def test_refusals_name_what_is_missing():
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    LocalizedSampler().check(setting)
    LocalizedSampler().plan(setting, 1e-8)
    for change, missing in (
        ({"loss": HingeLoss()}, "continuous gradient"),
        ({"loss": CompetitorLoss(LogisticLoss(), 3)}, "one score per record"),
        ({"n_samples": None}, "a row count.*Pass n_samples_hint"),
        ({"domain": Ball(1.0)}, "cannot restrict samples"),
    ):
        with pytest.raises(IncompatibleSolverError, match=f"{missing}"):
            LocalizedSampler().check(replace(setting, **change))
