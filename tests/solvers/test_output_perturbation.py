"""Output perturbation: the sensitivity is attained, the noise is as planned."""

from dataclasses import replace

import numpy as np
import pytest
from problems import problem_with
from scipy import stats

from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import ClippedLogisticLoss, HingeLoss, SmoothedHingeLoss
from skdp.privacy import Neighboring
from skdp.solvers import OutputPerturbation
from skdp.solvers._minimizer import Objective, minimize

SOLVER = OutputPerturbation()
PROBLEM = problem_with(ClippedLogisticLoss(), 455, Neighboring.ADD_REMOVE_ONE, intercept=0.3)


@pytest.mark.parametrize("C", ["auto", 1e-3, 10.0])
def test_the_noise_is_sensitivity_over_mu(relation, C):
    problem = replace(PROBLEM, neighboring=relation, C=C)
    plan, G = SOLVER.plan(problem, 1.0, 1e-5), problem.lipschitz_difference
    mu = plan.event.gdp_mu(relation)
    assert mu == gdp_mu(1.0, 1e-5)
    moved = (G + 2.0 * plan.tolerance) / plan.ridge
    assert moved / mu <= plan.noise <= moved / mu * (1.0 + 1e-8)
    assert plan.tolerance <= 2e-3 * G


def test_one_record_moves_the_minimizer_by_all_of_the_sensitivity():
    """A steep smoothed hinge, a ridge so strong that the derivative stays at its steepest."""
    problem = replace(PROBLEM, loss=SmoothedHingeLoss(0.1), intercept_scaling=0.0)
    places = []
    for sign in (1.0, -1.0):
        design = ClippedDesign.clip(np.array([[sign, 0.0]]), 1.0, targets=np.ones(1))
        J = Objective(design, problem.loss, 1.0, 2.0, np.zeros(2))
        places.append(minimize(J, 1e-12).theta)
    G = replace(problem, neighboring=Neighboring.REPLACE_ONE).lipschitz_difference
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(G / 2.0)


def test_the_release_is_the_minimizer_plus_normal_noise():
    """KS at 1e-9: so rarely does a right sampler fail."""
    design = ClippedDesign.clip(np.eye(2), 1.0, 0.3, np.array([1.0, -1.0]))
    plan = SOLVER.plan(PROBLEM, 1.0, 1e-5)
    J = Objective(design, PROBLEM.loss, PROBLEM.row_norm, plan.ridge, np.zeros(3))
    center, rng = minimize(J, plan.tolerance).theta, np.random.default_rng()
    runs = [plan.read(design, rng, lambda *step: None).theta for _ in range(500)]
    noise = (np.array(runs) - center) / plan.noise
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-9


def test_non_smooth_losses_and_delta_zero_are_refused_with_the_reason():
    with pytest.raises(IncompatibleSolverError, match=r"smoothing > 0"):
        SOLVER.plan(replace(PROBLEM, loss=HingeLoss()), 1.0, 1e-5)
    with pytest.raises(IncompatibleSolverError, match="delta > 0"):
        SOLVER.plan(PROBLEM, 1.0, 0.0)
