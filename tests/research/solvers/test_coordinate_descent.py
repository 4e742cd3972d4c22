"""Coordinate descent ends, without noise, at the minimum; a cycle costs as much as a gradient."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problem_with
from scipy import sparse

from skdp.design import ClippedDesign
from skdp.losses import ClippedLogisticLoss, LogisticLoss, MultinomialLoss
from skdp.privacy import GDPEvent, Neighboring
from skdp.research.solvers.coordinate_descent import CoordinateDescent, Cycles

LOSS = LogisticLoss()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)) / 3.0
Y = np.where(X @ [3.0, -2.0, 0.0, 0.0, 0.5] + RNG.normal(size=200) > 0.0, 1.0, -1.0)
PROBLEM = problem_with(LOSS, 200, Neighboring.REPLACE_ONE, intercept=0.5)


def run(cycles, problem=PROBLEM, X=X, y=Y):
    design = ClippedDesign.clip(X, 1.0, problem.intercept_scaling, y)
    theta = cycles.run(problem, design, np.random.default_rng(0), lambda *step: None)
    return design, theta


@pytest.mark.parametrize("l1", [0.0, 2.0, 10.0])
@pytest.mark.parametrize("ridge", [1e-3, 3.0])
def test_without_noise_it_ends_at_the_minimum(l1, ridge):
    design, theta = run(
        Cycles(n_cycles=3000, step_size=0.02, noise=1e-9, l1=l1, ridge=ridge, average=0.0)
    )
    derivative = design.weighted_sum(LOSS.gradient(Y, design.scores(theta))) + ridge * theta
    moved = theta != 0.0
    np.testing.assert_allclose(derivative[moved], -l1 * np.sign(theta[moved]), atol=1e-5)
    assert np.all(np.abs(derivative[~moved]) <= l1)
    assert (~moved).any() == (l1 > 0.0)


def test_several_classes_end_at_the_minimum():
    loss, y = MultinomialLoss(3), (Y > 0.0).astype(int) + (X[:, 2] > 0.0)
    problem = problem_with(loss, 200, Neighboring.REPLACE_ONE)
    design, theta = run(
        Cycles(n_cycles=3000, step_size=0.02, noise=1e-9, l1=0.0, ridge=0.5, average=0.0),
        problem,
        X,
        y,
    )
    derivative = design.weighted_sum(loss.gradient(y, design.scores(theta))) + 0.5 * theta
    np.testing.assert_allclose(derivative, 0.0, atol=1e-5)


def test_a_sparse_matrix_gives_the_same_coefficients():
    thin = X * (np.abs(X) > 0.2)
    cycles = Cycles(n_cycles=20, step_size=0.02, noise=1.0, l1=0.5, ridge=0.1, average=0.5)
    for one, other in zip(run(cycles, X=thin), run(cycles, X=sparse.csr_matrix(thin)), strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, atol=1e-5)  # two points of the public grid


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(Neighboring)))
@settings(deadline=None)
def test_the_steps_of_a_cycle_change_no_more_than_one_gradient_may(seed, neighboring):
    """Whatever the scores have become when a column's turn comes."""
    rng, loss = np.random.default_rng(seed), ClippedLogisticLoss(0.35)
    problem = problem_with(loss, None, neighboring, intercept=0.3)
    rows = ClippedDesign.clip(rng.normal(size=(2, 4)) * rng.choice([0.3, 30.0]), 1.0, 0.3)
    rows = rows.scores(np.eye(5))
    derivatives = loss.gradient(
        rng.choice([-1.0, 1.0], size=(2, 1)), rng.normal(size=(2, 5)) * 10.0
    )
    changes = (derivatives * rows)[: neighboring.n_changed].T @ [1.0, -1.0][: neighboring.n_changed]
    assert np.linalg.norm(changes) <= problem.lipschitz_difference


def test_all_cycles_together_cost_the_event():
    plan = CoordinateDescent(n_cycles=50).plan(PROBLEM, 1.0, 1e-5)
    cycles = plan.cycles(200)
    assert plan.event == GDPEvent(plan.mu)
    mu = PROBLEM.lipschitz_difference * np.sqrt(cycles.n_cycles) / cycles.noise
    assert mu == pytest.approx(plan.mu, rel=1e-12)


@pytest.mark.parametrize(
    "arguments", [{"l1_ratio": 1.5}, {"n_cycles": 0}, {"step_size": 0.0}, {"average": -0.1}]
)
def test_arguments_are_checked(arguments):
    with pytest.raises(ValueError, match=rf"{next(iter(arguments))} must be"):
        CoordinateDescent(**arguments)
