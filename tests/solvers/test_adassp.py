"""Sensitivities of the moments, what is released, and what is read afterwards."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problem_with
from scipy import sparse, stats

from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model import DPLinearRegression
from skdp.losses import SquaredLoss
from skdp.privacy import Neighboring
from skdp.solvers import AdaSSP
from skdp.solvers._releases import as_vector
from skdp.solvers.adassp import AdaSSPPlan

SOLVER = AdaSSP()
FALSE_ALARM = 1e-6


def plan(neighboring, epsilon=1.0, n=40, norm=2.0, C="auto", intercept=0.5):
    problem = problem_with(SquaredLoss(), n, neighboring, norm=norm, intercept=intercept, C=C)
    return SOLVER.plan(problem, epsilon, 1e-5)


def contribution(plan, row, target):
    """One record's part of what is released, in units in which the noise is N(0, I)."""
    d = row.size
    scale = np.where(np.eye(d) == 1.0, plan.gram_noise, plan.gram_noise / math.sqrt(2.0))
    upper = np.triu_indices(d)
    gram = (np.outer(row, row) / scale)[upper]
    return np.r_[gram, target * row / plan.moment_noise]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_no_record_moves_the_moments_by_more_than_mu(relation, seed):
    """Neighbors are μ standard deviations of the noise apart at most: μ-Gaussian DP."""
    rng = np.random.default_rng(seed)
    p, d = plan(relation), int(rng.integers(1, 4))
    R, mu = p.problem.row_norm, gdp_mu(1.0, 1e-5)
    rows = rng.normal(size=(2, d))
    rows[1] += 10.0 ** rng.uniform(-3, 1) * rng.choice([-1.0, 1.0]) * rows[0]
    lengths = rng.uniform(0.0, 1.0, (2, 1)) ** rng.choice([0.0, 0.1, 1.0])
    rows *= lengths * R / np.linalg.norm(rows, axis=1, keepdims=True)
    targets = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 2)
    one, other = (contribution(p, a, t) for a, t in zip(rows, targets, strict=True))
    moved = one - other if relation is Neighboring.REPLACE_ONE else one
    assert np.linalg.norm(moved) <= mu * (1.0 + 1e-12)


def test_the_worst_neighbors_are_mu_apart(relation):
    p = plan(relation)
    row = np.array([p.problem.row_norm, 0.0])
    moved = contribution(p, row, 1.0)
    if relation is Neighboring.REPLACE_ONE:
        moved = moved - contribution(p, row, -1.0)
    mu = gdp_mu(1.0, 1e-5)
    assert mu * (1.0 - 1e-3) <= np.linalg.norm(moved) <= mu  # the rest covers rounding errors


def test_the_release_has_the_distribution_that_the_plan_says(relation):
    """Kolmogorov and Smirnov's test on each kind of coordinate; false alarms 4e-6."""
    p, rng = plan(relation), np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.uniform(-1, 1, 40)
    design = ClippedDesign.clip(X, 2.0, 0.5, y)
    releases = [p.release(design, rng) for _ in range(1500)]
    A = np.hstack([design.X * design.factors[:, None], np.full((40, 1), 0.5)])
    gram = np.array([m.gram for m in releases]) - A.T @ A
    moment = np.array([m.moment for m in releases]) - A.T @ y
    np.testing.assert_allclose(gram, gram.transpose(0, 2, 1), atol=1e-3 * p.gram_noise)
    diagonal, off = np.diagonal(gram, axis1=1, axis2=2) / p.gram_noise, gram[:, 0, 1:]
    for sample in (diagonal, off / p.gram_noise * math.sqrt(2.0), moment / p.moment_noise):
        assert stats.kstest(sample.ravel(), "norm").pvalue > FALSE_ALARM
    upper = np.c_[diagonal, off[:, 0] / p.gram_noise, moment / p.moment_noise]
    pairs = np.corrcoef(upper.T)[np.triu_indices(upper.shape[1], 1)]
    # a correlation of 1500 independent pairs has standard deviation 1/√1500; 28 pairs
    assert np.abs(pairs).max() < stats.norm.isf(FALSE_ALARM / 56) / math.sqrt(1500) * 1.05


def test_the_noise_bound_covers_the_coefficients(relation):
    """2000 fits: a variance is off by 3 %, so that six standard deviations are .19. The bound is up
    to twice the variance, because the noise in the matrix along θ is larger than across."""
    p, rng = plan(relation, epsilon=30.0, n=2000), np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) * [1.0, 0.3]
    design = ClippedDesign.clip(X, 2.0, 0.5, np.clip(X @ [0.4, 1.0], -1, 1))
    fits = [p.read(design, rng, lambda *_: None) for _ in range(2000)]
    spread = np.cov(np.array([fit.theta for fit in fits]).T)
    root = fits[0].noise_bound * fits[0].noise_root
    inverse = np.linalg.inv(root)
    shares = np.linalg.eigvalsh(inverse @ spread @ inverse.T)
    assert shares[0] > 0.3
    assert shares[-1] < 1.0 + 6.0 * math.sqrt(2.0 / 2000)


def test_what_is_released_lies_on_a_public_grid():
    p, rng = plan(Neighboring.REPLACE_ONE), np.random.default_rng(0)
    moments = p.release(ClippedDesign.clip(np.eye(3), 2.0, 0.5, np.ones(3)), rng)
    units = p.noise.step / p.noise.scale
    for values, noise in (
        (as_vector(moments.gram), p.gram_noise),
        (moments.moment, p.moment_noise),
    ):
        steps = values / (noise * units)
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-4)


def test_targets_are_clipped_whatever_the_caller_does():
    p = plan(Neighboring.REPLACE_ONE, n=3)
    designs = (ClippedDesign.clip(np.eye(3), 2.0, 0.5, y) for y in (np.ones(3), np.full(3, 1e6)))
    one, other = (
        p.read(design, np.random.default_rng(0), lambda *step: None).theta for design in designs
    )
    np.testing.assert_array_equal(one, other)


def test_the_solution_reads_nothing_but_the_release(monkeypatch):
    """Data that give the same noisy moments give the same coefficients."""
    p, rng = plan(Neighboring.ADD_REMOVE_ONE), np.random.default_rng(0)
    moments = p.release(ClippedDesign.clip(np.eye(3), 2.0, 0.5, np.ones(3)), rng)
    monkeypatch.setattr(AdaSSPPlan, "release", lambda self, *args: moments)
    thetas = [
        p.read(ClippedDesign.clip(X, 2.0, 0.5, np.ones(len(X))), rng, print).theta
        for X in (np.eye(3), np.ones((70, 3)))
    ]
    np.testing.assert_array_equal(*thetas)


@pytest.mark.parametrize("C", ["auto", 0.01])
def test_without_noise_worth_mentioning_it_is_ridge_regression(relation, C, rng):
    X, y = rng.uniform(-1, 1, size=(500, 3)), rng.uniform(-1, 1, 500)
    A = np.hstack([X, np.full((500, 1), 0.5)])
    p = plan(relation, epsilon=1e8, n=500, C=C)
    theta = p.read(ClippedDesign.clip(X, 2.0, 0.5, y), rng, lambda *s: None).theta
    ridge = 0.0 if C == "auto" else 1.0 / C
    exact = np.linalg.solve(A.T @ A + ridge * np.eye(4), A.T @ y)
    np.testing.assert_allclose(theta, exact, rtol=1e-2)


def test_no_coefficient_is_blown_up_by_noise_alone():
    """Without data b̂ is noise of length √d·σ_b, and no eigenvalue is left below √(2d)·σ."""
    p = plan(Neighboring.ADD_REMOVE_ONE, epsilon=0.1)
    design = ClippedDesign.clip(np.zeros((1, 50)), 2.0, 0.5, np.zeros(1))
    moments = p.release(design, np.random.default_rng(0))
    floor = math.sqrt(2.0 * 51) * p.gram_noise
    assert np.linalg.eigvalsh(moments.gram).min() < 0.0
    theta = p.read(design, np.random.default_rng(0), lambda *step: None).theta
    assert np.linalg.norm(theta) <= np.linalg.norm(moments.moment) / floor * (1.0 + 1e-12)


def test_columns_whose_matrix_would_not_fit_into_memory_are_refused_by_their_number(unspent):
    """65 536 columns, and an intercept, want 34 GB for AᵀA alone; nothing is read or spent."""
    facts = problem_with(
        SquaredLoss(), 100, Neighboring.REPLACE_ONE, intercept=0.3, n_features=65_537
    )
    with pytest.raises(IncompatibleSolverError, match=r"adassp.*16384 columns.*got 65537"):
        AdaSSP().plan(facts, 1.0, 1e-5)
    AdaSSP().plan(replace(facts, n_features=16_384), 1.0, 1e-5)
    X = sparse.csr_matrix((10, 65_536))
    model = DPLinearRegression(solver="adassp", target_bounds=(0.0, 1.0), budget=unspent)
    with pytest.raises(IncompatibleSolverError, match="16384 columns"):
        model.fit(X, np.zeros(10))
