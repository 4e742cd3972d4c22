"""The exponential mechanism on a ball: its distribution, its privacy, and which fits it refuses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from problems import problem_with
from scipy import stats

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.design import ClippedDesign
from skdp.exceptions import BudgetExceededError, IncompatibleSolverError
from skdp.losses import (
    LOSSES,
    ClippedLogisticLoss,
    CompetitorLoss,
    HingeLoss,
    LogisticLoss,
    QuantileLoss,
    SmoothedHingeLoss,
)
from skdp.losses.base import oscillation
from skdp.losses.weighted import ClassWeightedLoss, weighted_targets
from skdp.privacy import Neighboring
from skdp.privacy.noise_events import BoundedRangeEvent
from skdp.research.solvers.exponential_mechanism import ExponentialMechanismSolver, log_of_tries
from skdp.samplers.base import Ball
from skdp.solvers import SOLVERS

FALSE_ALARM = 1e-6
MARGIN_LOSSES = [LogisticLoss(), ClippedLogisticLoss(), HingeLoss(), SmoothedHingeLoss()]


def planned(loss, n, neighboring=Neighboring.REPLACE_ONE, d=1, epsilon=2.0, radius=3.0, C="auto"):
    problem = problem_with(loss, n, neighboring, C=C, n_features=d)
    return ExponentialMechanismSolver(Ball(radius), max_exponent=60.0).plan(problem, epsilon, 0.0)


def log_masses(plan, X, y, grid):
    """Log density of one coefficient, by quadrature; grid is even."""
    energy = plan.temperature * sum(
        plan.problem.loss.value(np.full(grid.size, label), x * grid)
        for x, label in zip(X, y, strict=True)
    )
    energy = energy + 0.5 * plan.prior_precision * grid**2
    weights = np.full(grid.size, grid[1] - grid[0])
    weights[[0, -1]] *= 0.5
    least = energy.min()
    return least - energy - math.log((np.exp(least - energy) * weights).sum())


@pytest.mark.parametrize("loss", MARGIN_LOSSES, ids=repr)
@pytest.mark.parametrize("C", ["auto", 0.3])
def test_no_density_ratio_of_worst_neighbors_exceeds_the_claim(loss, relation, C):
    """The other records push all mass to one side, where the normalizing constants differ most."""
    n, epsilon, grid = 200, 2.0, np.linspace(-3.0, 3.0, 20_001)
    plan = planned(loss, n, relation, epsilon=epsilon, C=C)
    others = np.full(n - 1, -1.0), np.ones(n - 1)
    with_record = np.r_[others[0], 1.0], np.ones(n)
    replaced = np.r_[others[0], -1.0], np.ones(n)
    other = replaced if relation == "replace_one" else others
    ratio = log_masses(plan, *with_record, grid) - log_masses(plan, *other, grid)
    assert (0.6 if C == "auto" else 0.4) * epsilon < np.abs(ratio).max() <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LogisticLoss(), SmoothedHingeLoss()], ids=repr)
@pytest.mark.parametrize("C", ["auto", 0.3])
@pytest.mark.parametrize("balance", [0.5, 0.9])
def test_one_coefficient_has_the_exact_distribution(loss, C, balance):
    """Kolmogorov and Smirnov's test alarms falsely with probability 1e-6."""
    plan, rng = planned(loss, 40, C=C, epsilon=8.0), np.random.default_rng(0)
    X, y = np.where(np.arange(40) < 40 * balance, 1.0, -1.0)[:, None], np.ones(40)
    design = ClippedDesign.clip(X, 1.0, targets=y)
    sample = [plan.read(design, rng, lambda *step: None).theta[0] for _ in range(500)]
    grid = np.linspace(-3.0, 3.0, 6001)
    cumulative = np.cumsum(np.exp(log_masses(plan, X[:, 0], y, grid)))
    cumulative /= cumulative[-1]
    assert stats.kstest(sample, lambda x: np.interp(x, grid, cumulative)).pvalue > FALSE_ALARM


def test_two_coefficients_have_the_joint_distribution():
    plan, rng = planned(LogisticLoss(), 30, d=2, epsilon=10.0), np.random.default_rng(0)
    X = np.array([(0.6, 0.8), (-0.2, 0.9), (0.9, -0.1)])[np.arange(30) % 3]
    y = np.ones(30)
    design = ClippedDesign.clip(X, 1.0, targets=y)
    sample = np.array([plan.read(design, rng, lambda *step: None).theta for _ in range(700)])
    axis = np.linspace(-3.0, 3.0, 301)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    points = points[(points**2).sum(axis=1) <= 9.0]
    masses = np.exp(-plan.temperature * LogisticLoss().value(1.0, X @ points.T).sum(axis=0))
    for direction in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        order = np.argsort(points @ direction, kind="stable")
        at, cumulative = (points @ direction)[order], np.cumsum(masses[order]) / masses.sum()
        test = stats.kstest(sample @ direction, lambda x, a=at, c=cumulative: np.interp(x, a, c))
        assert test.statistic < 0.12  # 1e-6 of the time more than .102, and the grid's .01


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("radius", [1e-9, 0.1, 3.0, 50.0])
def test_no_loss_varies_more_than_it_says(name, radius):
    wrapped = {
        "pairwise": lambda kind: kind(LogisticLoss(), 3),
        "competitor": lambda kind: kind(LogisticLoss(), 3),
        "adaptive_competitor": lambda kind: kind(LogisticLoss(), 3),
        "multinomial": lambda kind: kind(3),
        "class_weighted": lambda kind: kind(HingeLoss(), (0.2, 3.0)),
        "weighted": lambda kind: kind(HingeLoss(), 3.0),
        "quantile": lambda kind: kind((0.1, 0.9)),
    }
    kind = LOSSES[name]
    loss = wrapped.get(name, lambda kind: kind())(kind)
    rng, k = np.random.default_rng(0), loss.n_scores
    z = rng.standard_normal((2000, k))
    z *= radius / np.linalg.norm(z, axis=1, keepdims=True)
    z = z[:, 0] if k == 1 else z
    labels = (0, 1, 2) if k > 1 and name != "quantile" else (-1.0, 1.0)
    for label in labels:
        y = np.full(2000, label)
        if name == "weighted":
            y = weighted_targets(y, np.full(2000, 3.0))
        values = loss.value(y, z)
        rounding = 1e-14 * np.abs(values).max()
        assert np.ptp(values) <= oscillation(loss, radius) + rounding


def test_a_steep_loss_costs_what_it_can_vary_and_not_for_twice_that():
    """The hinge varies by 1 + ρ over |z| ≤ ρ once ρ ≥ 1, not by 2ρ."""
    assert oscillation(HingeLoss(), 4.0) == pytest.approx(5.0, rel=1e-12)
    weighted = ClassWeightedLoss(HingeLoss(), (1.0, 2.0))
    assert oscillation(weighted, 4.0) == pytest.approx(10.0, rel=1e-12)


def test_a_fit_without_delta_is_on_the_ledger_as_what_it_is():
    X, y = np.linspace(-1, 1, 40).reshape(20, 2), np.arange(20) % 2
    budget = PrivacyBudget(epsilon=1.5, delta=0.0, composition="basic")
    model = DPLogisticRegression(
        epsilon=1.0, delta=0.0, solver="exponential_mechanism", budget=budget
    )
    model.fit(X, y)
    assert model.privacy_.event == BoundedRangeEvent(1.0)
    assert model.privacy_.delta(1.0) == 0.0
    with pytest.raises(BudgetExceededError):
        model.fit(X, y)
    assert len(budget.history()) == 1
    with pytest.raises(IncompatibleSolverError, match=r"noisy_gd.*delta=0.*is_pure"):
        model.set_params(solver="noisy_gd").fit(X, y)
    assert [name for name, kind in SOLVERS.items() if kind.is_pure] == ["exponential_mechanism"]


def test_hopeless_fits_are_refused_by_public_facts():
    problem = problem_with(
        ClippedLogisticLoss(), 5_000, Neighboring.REPLACE_ONE, intercept=0.3, n_features=30
    )
    with pytest.raises(IncompatibleSolverError, match=r"fewer features"):
        ExponentialMechanismSolver().plan(problem, 1.0, 0.0)
    ExponentialMechanismSolver().plan(replace(problem, n_features=2), 1.0, 0.0)
    with pytest.raises(ValueError, match="Ball"):
        ExponentialMechanismSolver(domain=1.0)


@pytest.mark.parametrize("balance", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("loss", [ClippedLogisticLoss(), HingeLoss()], ids=repr)
def test_no_more_proposals_than_the_bound_says(balance, loss):
    """Equal records of the largest norm; 50 samples' mean less 5 standard errors is below it."""
    n, d = 200, 2
    plan, rng = planned(loss, n, d=d, epsilon=3.0), np.random.default_rng(0)
    X = np.zeros((n, d))
    X[:, 0] = np.where(np.arange(n) < n * balance, 1.0, -1.0)
    design = ClippedDesign.clip(X, 1.0, targets=np.ones(n))
    tries = [plan.read(design, rng, lambda *step: None).diagnostics["n_tries"] for _ in range(50)]
    limit = log_of_tries(plan.problem, plan.domain, plan.temperature, n)
    assert np.mean(tries) - 5.0 * np.std(tries) / math.sqrt(50) <= math.exp(limit)


def test_several_scores_a_record():
    """Their joint distribution is not tested here: what is drawn lies in the ball, on the grid."""
    for loss in (CompetitorLoss(ClippedLogisticLoss(), 3), QuantileLoss((0.1, 0.9))):
        plan = planned(loss, 10, d=2, epsilon=1.0, radius=0.5)
        y = np.arange(10) % 3 if loss.n_scores == 3 else np.linspace(-1, 1, 10)
        X = np.linspace(-1, 1, 20).reshape(10, 2)
        design = ClippedDesign.clip(X, 1.0, targets=y)
        rng = np.random.default_rng(0)
        theta = plan.read(design, rng, lambda *step: None).theta
        assert theta.shape == (2, loss.n_scores)
        assert 0.0 < np.linalg.norm(theta) <= 0.5
