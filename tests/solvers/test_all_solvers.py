"""Every solver of the registry: its plan is public and within the target; then it reads."""

from dataclasses import replace

import numpy as np
import pytest
from problems import problem_with

from skdp.accounting import PLDAccountant
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import (
    ClippedLogisticLoss,
    CompetitorLoss,
    HuberLoss,
    QuantileLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from skdp.privacy import Neighboring
from skdp.privacy.events import NoClosedCurveError
from skdp.research.solvers.exponential_mechanism import ExponentialMechanismSolver
from skdp.solvers import SOLVERS

every_solver = pytest.mark.parametrize("solver", [kind() for kind in SOLVERS.values()], ids=repr)
LOSSES = [
    ClippedLogisticLoss(),
    SmoothedHingeLoss(),
    CompetitorLoss(ClippedLogisticLoss(), 3),
    HuberLoss(),
    SquaredLoss(),
    QuantileLoss((0.1, 0.9)),
]


def problem(loss, neighboring, n_samples=40):
    return problem_with(loss, n_samples, neighboring, intercept=0.3, n_features=3)


def takes(solver, loss):
    try:
        solver.plan(problem(loss, Neighboring.REPLACE_ONE), 8.0, 1e-5)
    except IncompatibleSolverError:
        return False
    return True


PAIRS = [(kind(), loss) for kind in SOLVERS.values() for loss in LOSSES if takes(kind(), loss)]
every_pair = pytest.mark.parametrize(("solver", "loss"), PAIRS, ids=repr)


def solve(solver, plan, seed, start=None):
    k = plan.problem.loss.n_scores
    y = np.arange(40) % k if k > 1 else np.where(np.arange(40) % 2, 1.0, -1.0)
    design = ClippedDesign.clip(np.linspace(-1, 1, 80).reshape(40, 2), 1.0, 0.3, y)
    if start is not None:
        plan = solver.resume(plan, np.full(plan.problem.shape(3), start))
    return plan.read(design, np.random.default_rng(seed), lambda *step: None)


def cost(plan, epsilon):
    """δ at ε: by the event's own curve, or by the accountant where it has none."""
    try:
        return plan.event.curve(plan.problem.neighboring).delta(epsilon)
    except NoClosedCurveError:
        return PLDAccountant(plan.problem.neighboring).delta(plan.event, epsilon)


@every_pair
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0.01, 1e-6),
        (1.0, 1e-5),
        pytest.param(0.1, 1e-9, marks=pytest.mark.slow),
        pytest.param(8.0, 1e-3, marks=pytest.mark.slow),
    ],
)
def test_a_plan_is_within_its_target(solver, relation, loss, epsilon, delta):
    plan = solver.plan(problem(loss, relation), epsilon, delta)
    assert cost(plan, epsilon) <= delta
    assert plan.theorem
    assert plan == solver.plan(problem(loss, relation), epsilon, delta)


@every_pair
def test_a_solution_has_a_row_a_column_and_a_generator_fixes_it(solver, relation, loss):
    plan = solver.plan(problem(loss, relation), 1.0, 1e-5)
    one, same, other = (solve(solver, plan, seed) for seed in (1, 1, 2))
    assert one.theta.shape == ((3,) if loss.n_scores == 1 else (3, loss.n_scores))
    np.testing.assert_array_equal(one.theta, same.theta)
    assert (one.theta != other.theta).any()
    assert one.n_iter == same.n_iter >= 1


@every_pair
def test_a_private_count_is_spent_for(solver, loss):
    unknown = problem(loss, Neighboring.ADD_REMOVE_ONE, n_samples=None)
    if isinstance(solver, ExponentialMechanismSolver):
        with pytest.raises(IncompatibleSolverError, match="n_samples_hint"):
            solver.plan(unknown, 1.0, 1e-5)
        return
    plan = solver.plan(unknown, 1.0, 1e-5)
    assert cost(plan, 1.0) <= 1e-5
    assert solve(solver, plan, 0).theta.shape[0] == 3


@every_solver
def test_it_takes_some_loss_and_names_what_is_wrong_with_others(solver):
    assert any(takes(solver, loss) for loss in LOSSES)
    for loss in LOSSES:
        if not takes(solver, loss):
            with pytest.raises(IncompatibleSolverError, match=type(loss).__name__):
                solver.plan(problem(loss, Neighboring.REPLACE_ONE), 8.0, 1e-5)


@pytest.mark.parametrize("name", ["objective_perturbation", "output_perturbation"])
def test_a_ridge_beside_which_no_minimum_can_be_certified_is_refused(name):
    """Data would decide whether a matrix is singular there, and whether τ is ever reached."""
    far = replace(problem(LOSSES[0], Neighboring.REPLACE_ONE), C=1e8)
    with pytest.raises(IncompatibleSolverError, match=r"too large"):
        SOLVERS[name]().plan(far, 1000.0, 1e-5)


@every_solver
def test_it_is_a_value(solver):
    assert solver == type(solver)()
    assert hash(solver) == hash(type(solver)())


RESUMING = [pair for pair in PAIRS if hasattr(pair[0], "resume")]


@pytest.mark.parametrize(("solver", "loss"), RESUMING, ids=repr)
def test_a_start_changes_what_is_released_and_0_is_the_default(solver, loss):
    plan = solver.plan(problem(loss, Neighboring.REPLACE_ONE), 8.0, 1e-5)
    fresh, same, far = (solve(solver, plan, 1, start=start) for start in (None, 0.0, 5.0))
    np.testing.assert_array_equal(fresh.theta, same.theta)
    assert (fresh.theta != far.theta).any()
