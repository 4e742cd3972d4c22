"""The presets of the theorems on excess risk: their numbers, and risks below what is proved."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from problems import problem_with
from scipy import optimize

from skdp import DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, LogisticLoss, MultinomialLoss
from skdp.privacy import Neighboring
from skdp.samplers.base import Ball
from skdp.solvers import RegularizedExponential

FACTS = problem_with(LogisticLoss(), 10_000, Neighboring.REPLACE_ONE, n_features=10)
EPSILON, DELTA, BALL = 1.0, 1e-5, Ball(5.0)


def planned(objective, sampler="proximal_tv", problem=FACTS, domain=BALL, **changes):
    solver = RegularizedExponential(objective=objective, domain=domain).with_sampler(sampler)
    return solver.plan(replace(problem, **changes), EPSILON, DELTA)


def theorem(objective, c, alpha, n=10_000, d=10, B=5.0, L=1.0):
    """The bound for an exact sample in the notation of the paper: k = n·c and μ = α/k."""
    k, mu = n * c, alpha / (n * c)
    bound = d / k + mu * B**2 / 2
    return bound + (2 * L**2 / (mu * n) if objective == "sco" else 0)


@pytest.mark.parametrize("objective", ["erm", "sco"])
@pytest.mark.parametrize("sampler", ["proximal", "proximal_tv"])
def test_the_bound_is_the_theorems_and_no_other_ridge_has_a_better_one(objective, sampler):
    plan = planned(objective, sampler)
    schedule = plan.schedule
    c, alpha = schedule.temperature, schedule.prior_precision
    exact = theorem(objective, c, alpha)
    assert exact < schedule.excess_risk_bound < 1.02 * exact
    m = 2.0 * c / math.sqrt(alpha)  # c·G/√α of an exact draw
    assert m == pytest.approx(plan.density_mu, rel=1e-3)
    ridges = optimize.minimize_scalar(
        lambda log_C: theorem(
            objective, (m / 2) ** 2 / math.exp(log_C), (m / 2 / math.exp(log_C)) ** 2
        ),
        bounds=(-20.0, 5.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert exact == pytest.approx(ridges.fun, rel=1e-9)


def test_the_bounds_have_their_closed_forms():
    """√(2d)·G·B/(n·m), and B·√(2·(d·G²/(n·m)² + 2·L²/n)); m = 0.268051 at (1, 1e-5)."""
    m = planned("erm").density_mu
    erm = math.sqrt(20.0) * 2.0 * 5.0 / (10_000 * m)
    sco = 5.0 * math.sqrt(2.0 * (10.0 * (2.0 / (10_000 * m)) ** 2 + 2.0 / 10_000))
    for objective, value in (("erm", erm), ("sco", sco)):
        schedule = planned(objective).schedule
        assert theorem(objective, schedule.temperature, schedule.prior_precision) == pytest.approx(
            value, rel=1e-9
        )
    assert gdp_mu(EPSILON, DELTA) == pytest.approx(0.268051, abs=5e-7)


def test_they_are_below_the_bounds_that_the_paper_prints():
    """Theorems 6.4 and 6.9 with D = 5 and their looser privacy, √(2·ln(3/(4δ)) + 2ε) − ..."""
    log = math.log(1.0 / DELTA)
    erm = 2.0 * 5.0 * math.sqrt(10.0) / (10_000 * (math.sqrt(log + 1.0) - math.sqrt(log)))
    assert planned("erm").schedule.excess_risk_bound < erm
    sco = 2.0 * 5.0 * (2.0 * math.sqrt(10.0 * log) / 10_000 + 2.0 / 100.0)
    assert planned("sco").schedule.excess_risk_bound < sco


def test_a_ridge_of_ones_own_belongs_to_the_objective():
    """Then k = μ·(n·m/G)² and the bound is d/k: nothing is lost to the ridge."""
    schedule = planned("erm", C=0.2).schedule
    c, alpha = schedule.temperature, schedule.prior_precision
    assert c / alpha == pytest.approx(0.2)
    assert 10.0 / (10_000 * c) < schedule.excess_risk_bound < 1.001 * 10.0 / (10_000 * c)
    population = planned("sco", C=0.2).schedule.excess_risk_bound
    assert population == pytest.approx(schedule.excess_risk_bound + 2.0 * 0.2, rel=1e-6)


def test_without_a_domain_the_reach_of_the_loss_takes_its_place():
    loss = ClippedLogisticLoss()
    schedule = planned("erm", "proximal", domain=None, loss=loss).schedule
    c, alpha, B = schedule.temperature, schedule.prior_precision, 2.5 * loss.noise_scale
    exact = theorem("erm", c, alpha, B=B)
    assert exact < schedule.excess_risk_bound < 1.02 * exact


def test_several_scores_count_each():
    loss = CompetitorLoss(ClippedLogisticLoss(), 4)
    c, alpha = (lambda s: (s.temperature, s.prior_precision))(planned("erm", loss=loss).schedule)
    m = planned("erm", loss=loss).density_mu
    G = 2.0 * loss.lipschitz
    assert c / alpha == pytest.approx(5.0 * m / (G * math.sqrt(2.0 * 40)), rel=1e-9)


def test_nothing_is_stated_where_nothing_is_proved():
    assert planned(None, "proximal").schedule.excess_risk_bound == math.inf
    langevin = RegularizedExponential(objective="erm", domain=Ball(5.0)).with_sampler("langevin")
    assert langevin.plan(FACTS, EPSILON, DELTA).schedule.excess_risk_bound == math.inf
    assert planned("erm", domain=None).schedule.excess_risk_bound == math.inf  # only near in tv
    unknown = replace(FACTS, n_samples=None, neighboring=Neighboring.ADD_REMOVE_ONE)
    with pytest.raises(IncompatibleSolverError, match="a row count"):
        planned("erm", problem=unknown)
    assert planned("erm", "proximal", problem=unknown).schedule is None


def test_the_population_needs_a_row_count():
    unknown = replace(FACTS, n_samples=None, neighboring=Neighboring.ADD_REMOVE_ONE)
    with pytest.raises(IncompatibleSolverError, match="n_samples_hint"):
        planned("sco", problem=unknown)
    plan = planned("sco", "proximal", problem=unknown)
    solver = RegularizedExponential(objective="sco", domain=Ball(5.0))
    known = solver.schedule(unknown, plan.density_mu, 10_000)
    assert known.excess_risk_bound < planned("sco", "proximal").schedule.excess_risk_bound


@pytest.mark.parametrize("objective", ["erm", "sco"])
@pytest.mark.parametrize("n", [3, 455, 10**4])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_a_run_that_keeps_the_bound_costs_what_its_plan_says(objective, relation, n, epsilon):
    problem = replace(FACTS, neighboring=relation, n_samples=n)
    solver = RegularizedExponential(objective=objective, domain=Ball(5.0))
    plan = solver.plan(problem, epsilon, DELTA)
    schedule = plan.schedule
    c, alpha, T = schedule.temperature, schedule.prior_precision, schedule.sampler_plan.n_steps
    with mpmath.workdps(50):
        q = 1 / (1 + mpmath.mpf(alpha) * mpmath.mpf(schedule.sampler_plan.step) / c)
        f = float(mpmath.sqrt(1 - 2 * q**T / (1 + q ** (T - 1))))
        left = float(q**T)
    G = 2.0 if relation == "replace_one" else 1.0
    assert c * G / math.sqrt(alpha) * f <= gdp_mu(epsilon, DELTA)
    assert schedule.sampler_plan.contraction == pytest.approx(left, rel=1e-9)
    exact = theorem(objective, c, alpha, n=n)
    rounding = math.sqrt(10.0) * schedule.noise * 2.0**-20
    assert exact < schedule.excess_risk_bound < 1.02 * exact + rounding


@pytest.mark.parametrize("sampler", ["proximal", "proximal_tv"])
def test_the_measured_risk_lies_below_the_bound(sampler, rng):
    """The mean over 60 fits of what is at most 2·L·B = 4; Hoeffding allows .35 more with 1e-6."""
    X = rng.standard_normal((500, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(rng.random(500) < 1 / (1 + np.exp(-X @ [3.0, 0.0, -3.0])), 1.0, -1.0)
    problem = replace(FACTS, n_samples=500, n_features=3)
    solver = RegularizedExponential(objective="erm", domain=Ball(2.0)).with_sampler(sampler)
    plan = solver.plan(problem, EPSILON, DELTA)
    design = ClippedDesign.clip(X, 1.0, targets=y)
    fits = [plan.read(design, rng, lambda *step: None).theta for _ in range(60)]
    assert max(np.linalg.norm(theta) for theta in fits) <= 2.0
    best = optimize.minimize(
        lambda theta: LogisticLoss().value(y, X @ theta).mean(),
        np.zeros(3),
        constraints={"type": "ineq", "fun": lambda theta: 4.0 - theta @ theta},
    )
    excess = np.mean([LogisticLoss().value(y, X @ theta).mean() - best.fun for theta in fits])
    assert 0.0 < excess <= plan.schedule.excess_risk_bound


def test_an_estimator_takes_the_preset():
    X = np.linspace(-1, 1, 80).reshape(40, 2)
    solver = RegularizedExponential(objective="erm", domain=Ball(0.1))
    model = DPLogisticRegression(solver=solver, random_state=0, n_samples_hint=40)
    for neighboring in Neighboring:
        model.set_params(neighboring=str(neighboring.value)).fit(X, np.arange(40) % 2)
        coef = np.r_[model.coef_.ravel(), model.intercept_ / model.intercept_scaling]
        assert np.linalg.norm(coef) <= 0.1


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="'erm', 'sco'"):
        RegularizedExponential(objective="best")
    with pytest.raises(ValueError, match="Ball"):
        RegularizedExponential(domain=5.0)
    with pytest.raises(ValueError, match="radius"):
        Ball(0.0)
    with pytest.raises(IncompatibleSolverError, match=r"Ball.*proximal"):
        RegularizedExponential(domain=Ball(1.0)).with_sampler("localized").plan(FACTS, 1.0, 1e-5)


def test_a_run_that_would_not_end_is_refused_before_it_is_spent():
    solver = RegularizedExponential(objective="erm")
    with pytest.raises(IncompatibleSolverError, match=r"steps, more than 50000"):
        solver.plan(replace(FACTS, C=1e4), 1.0, 1e-5)


def test_directions_that_only_the_ridge_knows_count_half():
    """In each of them the sample is N(0, C/c), with mean energy 1/(2c) above the least."""
    several = replace(FACTS, loss=MultinomialLoss(3), C=0.1)
    schedule = RegularizedExponential(objective="erm").plan(several, 1.0, 1e-5).schedule
    balance, c = schedule.balance, schedule.temperature
    idle = balance.size - balance.dimension
    assert idle == several.n_features
    assert balance.excess(c, 0.1) == pytest.approx((balance.dimension + 0.5 * idle) / c)
