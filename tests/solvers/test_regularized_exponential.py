"""The plan is public, counted by Theorem A', and exactly what is asked for."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problem_with

from skdp import DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError, UncertifiedSamplerWarning
from skdp.losses import ClippedLogisticLoss, HingeLoss, SmoothedHingeLoss
from skdp.losses.weighted import ClassWeightedLoss
from skdp.privacy import GDPEvent, Neighboring, NonPrivateEvent
from skdp.privacy.composed_events import ApproximatedEvent
from skdp.research.pairwise_loss import PairwiseLoss
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS, Requirement, SamplerPlan
from skdp.samplers.proximal import ProximalSampler
from skdp.solvers import RegularizedExponential

PROBLEM = problem_with(ClippedLogisticLoss(), 455, Neighboring.ADD_REMOVE_ONE, intercept=0.3)
SOLVER = RegularizedExponential()


def mu_of(problem, schedule):
    """Theorem A' from the numbers of the run, without the shortcuts of the code."""
    c, alpha, T = schedule.temperature, schedule.prior_precision, schedule.sampler_plan.n_steps
    eta = schedule.sampler_plan.step / c
    per_record = problem.loss.lipschitz * math.hypot(problem.data_norm, problem.intercept_scaling)
    changed = 2 if problem.neighboring == "replace_one" else 1
    with mpmath.workdps(50):
        q = 1 / (1 + mpmath.mpf(alpha) * mpmath.mpf(eta))
        f = float(mpmath.sqrt(1 - 2 * q**T / (1 + q ** (T - 1))))
    return c * changed * per_record / math.sqrt(alpha) * f


@given(
    epsilon=st.floats(0.01, 20.0),
    n=st.integers(2, 10**7),
    loss=st.sampled_from(
        [ClippedLogisticLoss(0.3), SmoothedHingeLoss(), PairwiseLoss(ClippedLogisticLoss(), 7)]
    ),
    neighboring=st.sampled_from(list(Neighboring)),
    C=st.sampled_from(["auto", 1e-3, 1.0, 1e4]),
    data_norm=st.floats(0.1, 100.0),
)
@settings(max_examples=200, deadline=None)
def test_the_run_costs_what_the_plan_says(epsilon, n, loss, neighboring, C, data_norm):
    problem = problem_with(loss, n, neighboring, norm=data_norm, intercept=0.3, C=C)
    plan = SOLVER.plan(problem, epsilon, 1e-6)
    schedule = SOLVER.schedule(problem, plan.density_mu, n)
    assert plan.event.gdp_mu(problem.neighboring) <= gdp_mu(epsilon, 1e-6)
    assert mu_of(problem, schedule) == pytest.approx(
        plan.event.gdp_mu(problem.neighboring), rel=1e-9
    )
    assert mu_of(problem, schedule) <= plan.event.gdp_mu(problem.neighboring) * (1.0 + 1e-13)
    assert plan.event.curve(plan.problem.neighboring).delta(epsilon) <= 1e-6
    if C != "auto":
        assert schedule.temperature / schedule.prior_precision == pytest.approx(C)


def test_the_printed_reference_run():
    """C = 1e6, T = 32, h = .01, m = .27, G = 1: c = .4418182."""
    f = ProximalSampler().stability(0.01 / 1e6, 32)
    assert (0.27 / (1.0 * 1e6 * f)) ** 2 * 1e6 == pytest.approx(0.4418182, abs=5e-8)


def test_replacing_a_record_moves_twice_what_removing_it_does():
    twice = replace(PROBLEM, neighboring=Neighboring.REPLACE_ONE)
    assert twice.lipschitz_difference == 2.0 * PROBLEM.lipschitz_difference


def test_the_intercept_is_part_of_the_norm():
    assert PROBLEM.row_norm == math.hypot(1.0, 0.3)
    assert replace(PROBLEM, intercept_scaling=0.0).row_norm == 1.0


def test_class_weights_scale_the_sensitivity_by_the_largest():
    weighted = replace(PROBLEM, loss=ClassWeightedLoss(PROBLEM.loss, (0.1, 7.0)))
    assert weighted.lipschitz_difference == pytest.approx(7.0 * PROBLEM.lipschitz_difference)


def test_a_private_count_is_bought_out_of_the_same_budget():
    known = SOLVER.plan(PROBLEM, 1.0, 1e-5)
    estimated = SOLVER.plan(replace(PROBLEM, n_samples=None), 1.0, 1e-5)
    assert known.count.mu == 0.0
    assert estimated.count.mu > 0.0
    assert math.hypot(estimated.count.mu, estimated.density_mu) == pytest.approx(known.density_mu)
    assert estimated.event.gdp_mu(PROBLEM.neighboring) == pytest.approx(
        known.event.gdp_mu(PROBLEM.neighboring)
    )
    assert len(estimated.event.events) == 2


def test_delta_zero_is_refused_with_the_reason():
    with pytest.raises(IncompatibleSolverError, match="delta > 0"):
        SOLVER.plan(PROBLEM, 1.0, 0.0)


def test_a_sampler_is_chosen_by_name_or_by_value():
    assert SOLVER.with_sampler("proximal").sampler == ProximalSampler()
    assert SOLVER.with_sampler(ProximalSampler(2.0)).sampler.max_exponent == 2.0
    with pytest.raises(ValueError, match="'proximal'"):
        SOLVER.with_sampler("gibbs")
    with pytest.raises(IncompatibleSolverError, match="Sampler"):
        SOLVER.with_sampler(7)


def test_the_schedule_is_set_by_the_number_that_was_released(monkeypatch):
    """Under add/remove, steps and step size follow the noisy count, never the true one."""
    seen = []
    monkeypatch.setattr(
        RegularizedExponential,
        "schedule",
        lambda self, problem, mu, n, *more, real=RegularizedExponential.schedule: (
            seen.append(n) or real(self, problem, mu, n, *more)
        ),
    )
    design = ClippedDesign.clip(np.zeros((400, 2)), 1.0, 0.3, np.ones(400))
    plan = SOLVER.plan(replace(PROBLEM, n_samples=None), 1.0, 1e-5)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        plan.read(design, rng, lambda t, n: None)
    assert len(set(seen)) > 10
    # sd 1/count.mu = 15; 20 means of it lie within 5 standard errors of 400, but for 1e-6
    assert abs(np.mean(seen) - 400) < 5 / plan.count.mu / math.sqrt(20)


class DrawsTheTarget(ProximalSampler):
    """Only its certificate matters here."""

    counts_rows = False

    def plan(self, setting, tv):
        return SamplerPlan(n_steps=1, step=setting.C, stability=1.0, spread=setting.C, tv=tv)


class Exact(DrawsTheTarget):
    certifies = "exact"


class Close(DrawsTheTarget):
    certifies = "tv"


class Hopeful(DrawsTheTarget):
    certifies = "asymptotic"


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 500.0])
@pytest.mark.parametrize("C", ["auto", 3.0])
def test_both_neighbors_pay_for_the_distance_to_the_target(epsilon, C):
    """δ of the density and (1 + e^ε) times the distance fit into δ, and next to nothing is left."""
    problem = replace(PROBLEM, C=C, n_features=5)
    plan = RegularizedExponential(Close()).plan(problem, epsilon, 1e-5)
    spent = gdp_delta(epsilon, plan.density_mu) + (1.0 + mpmath.exp(epsilon)) * plan.tv
    assert 0.999e-5 < spent <= 1e-5
    assert plan.tv * (1.0 + mpmath.exp(epsilon)) > 0.99e-7
    assert plan.event == ApproximatedEvent(GDPEvent(plan.density_mu), plan.tv)
    assert plan.event.curve(problem.neighboring).delta(epsilon) <= 1e-5


def gdp_delta(epsilon, mu):
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


@pytest.mark.parametrize("sampler", [Exact(), Close()], ids=repr)
def test_samples_of_the_density_cost_what_an_ideal_sample_costs(sampler):
    problem = replace(PROBLEM, n_features=5)
    solver = RegularizedExponential(sampler)
    plan = solver.plan(problem, 1.0, 1e-5)
    schedule = solver.schedule(problem, plan.density_mu, 455, plan.tv)
    c, alpha = schedule.temperature, schedule.prior_precision
    ideal = c * problem.lipschitz_difference / math.sqrt(alpha)
    assert ideal == pytest.approx(plan.density_mu, rel=1e-11)
    assert ideal <= plan.density_mu


def test_no_count_is_bought_for_a_sampler_that_does_not_ask():
    problem = replace(PROBLEM, n_features=5, n_samples=None)
    plan = RegularizedExponential(Exact()).plan(problem, 1.0, 1e-5)
    assert plan.count is None
    assert plan.event == GDPEvent(gdp_mu(1.0, 1e-5))


class Overdrawn(Close):
    """It is asked for a distance, and plans a run with a larger one."""

    def plan(self, setting, tv):
        return SamplerPlan(n_steps=1, step=setting.C, stability=1.0, spread=setting.C, tv=2.0 * tv)


class Discounted(Exact):
    """It has the target's distribution, it says, and wants a stable sampler's certificate."""

    def plan(self, setting, tv):
        return SamplerPlan(n_steps=1, step=setting.C, stability=0.5, spread=setting.C)


@pytest.mark.parametrize("sampler", [Overdrawn(), Discounted()], ids=repr)
def test_a_run_that_claims_more_than_its_certificate_is_refused_unspent(sampler):
    problem = replace(PROBLEM, n_features=5)
    with pytest.raises(IncompatibleSolverError, match=f"certifies '{sampler.certifies}'"):
        RegularizedExponential(sampler).plan(problem, 1.0, 1e-5)


def test_a_sampler_that_certifies_nothing_warns_and_promises_nothing():
    problem = replace(PROBLEM, n_features=5)
    with pytest.warns(UncertifiedSamplerWarning, match="no privacy guarantee"):
        plan = RegularizedExponential(Hopeful()).plan(problem, 1.0, 1e-5)
    assert plan.event == NonPrivateEvent()


def test_a_distance_too_small_to_ask_for_is_refused():
    with pytest.raises(IncompatibleSolverError, match="epsilon=1000"):
        RegularizedExponential(Close()).plan(PROBLEM, 1000.0, 1e-5)


def test_the_density_is_not_balanced_without_its_dimension():
    with pytest.raises(IncompatibleSolverError, match="n_features"):
        RegularizedExponential(Exact()).plan(PROBLEM, 1.0, 1e-5)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("C", ["auto", 0.5])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_a_plan_by_every_sampler_is_within_its_target_and_draws(name, relation, C, epsilon):
    loss = ClippedLogisticLoss()
    problem = problem_with(loss, 60, relation, intercept=0.3, C=C, n_features=3)
    solver = SOLVER.with_sampler(name)
    needs_n = Requirement.SHARED_ROW_COUNT in solver.sampler.requires
    if needs_n and relation == "add_remove_one":
        with pytest.raises(IncompatibleSolverError, match="row count that all neighbors share"):
            solver.plan(problem, epsilon, 1e-5)
        return
    plan = solver.plan(problem, epsilon, 1e-5)
    assert plan.event.curve(relation).delta(epsilon) <= 1e-5
    y = np.where(np.arange(60) % 3, 1.0, -1.0)
    iterations = set()
    for size in (1e-3, 1.0):
        X = np.linspace(-size, size, 120).reshape(60, 2)
        design = ClippedDesign.clip(X, 1.0, 0.3, y)
        found = plan.read(design, np.random.default_rng(0), lambda *step: None)
        assert np.isfinite(found.theta).all()
        iterations.add(found.n_iter)
    assert len(iterations) == 1


def test_every_sampler_on_offer_certifies_a_finite_run():
    assert not [name for name, kind in SAMPLERS.items() if kind.certifies == "asymptotic"]
    assert not set(SAMPLERS) & set(REFERENCE_SAMPLERS)


@pytest.mark.parametrize("name", REFERENCE_SAMPLERS)
def test_a_reference_sampler_is_refused_with_what_it_is_for_and_what_there_is(name):
    """By its name, as an instance, and inside of a solver."""
    names = ".*".join(f"'{other}'" for other in SAMPLERS)
    for ask in (
        lambda: SOLVER.with_sampler(name),
        lambda: SOLVER.with_sampler(REFERENCE_SAMPLERS[name]()),
        lambda: RegularizedExponential(REFERENCE_SAMPLERS[name]()),
    ):
        with pytest.raises(IncompatibleSolverError, match=f"draw_samples.*{names}"):
            ask()


def test_an_estimator_refuses_a_reference_sampler_unspent(unspent):
    model = DPLogisticRegression(epsilon=0.5, sampler="mala", budget=unspent)
    with pytest.raises(IncompatibleSolverError, match="'mala' is a reference"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_langevin_steps_need_a_gradient_without_jumps():
    problem = problem_with(HingeLoss(), 60, Neighboring.REPLACE_ONE, intercept=0.3)
    with pytest.raises(IncompatibleSolverError, match=r"continuous gradient.*HingeLoss"):
        SOLVER.with_sampler("langevin").plan(problem, 1.0, 1e-5)


def test_the_printed_calibration_of_a_sample_from_the_density():
    """n = 1e4, G = 2, ε = 1, δ = 1e-5, μ of the ridge 1e-3: C = c/α = 1/(n·μ) = 0.1."""
    problem = problem_with(HingeLoss(), 10_000, Neighboring.REPLACE_ONE, C=0.1)
    solver = RegularizedExponential(Close())
    plan = solver.plan(problem, 1.0, 1e-5)
    schedule = solver.schedule(problem, plan.density_mu, 10_000, plan.tv)
    assert plan.tv == pytest.approx(2.6894142e-8, rel=2e-8)
    assert plan.density_mu == pytest.approx(0.267889, abs=5e-7)
    assert schedule.prior_precision == pytest.approx(1.7941129, rel=5e-8)
    assert schedule.temperature == pytest.approx(0.17941129, rel=5e-8)
