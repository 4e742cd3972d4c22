"""Noisy descent: the distribution of a run, the cost of a run, the samples of a run."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems import problem_with
from scipy import stats

from skdp import DPLogisticRegression
from skdp.accounting import PLDAccountant, gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, LogisticLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring
from skdp.solvers import DPSGD, NoisyGD
from skdp.solvers._descent import Descent, noise_multiplier, sampled_steps
from skdp.solvers.base import rounded
from skdp.solvers.noisy_gd import _last_iterate
from skdp.support.random import poisson_sample

LOSS = ClippedLogisticLoss()
PUBLIC = problem_with(LOSS, 200, Neighboring.REPLACE_ONE, intercept=0.3)
PRIVATE = problem_with(LOSS, None, Neighboring.ADD_REMOVE_ONE, intercept=0.3)

MARGIN = 1e-3  # relative: noise for rounding errors


def silent(step, n_steps):
    """No progress is shown."""


def data(n=200, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    return ClippedDesign.clip(X, 1.0, 0.3, y), y


# -- the run -------------------------------------------------------------------------------------


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("average", [0.0, 0.5, 1.0])
def test_the_iterate_has_the_variance_of_its_recursion(momentum, average):
    """In a flat direction the iterate is a sum of the noises with weights that can be written down.

    10 000 coordinates run at once. Their sum of squares is χ² and their mean normal: both within
    quantiles of total mass 1e-7.
    """
    T, h, s, size = 7, 0.3, 2.0, 10_000
    descent = Descent(
        n_steps=T,
        step_size=h,
        release=GridGaussian.of_scale(s),
        ridge=0.0,
        momentum=momentum,
        average=average,
    )
    theta = descent.run(np.zeros(size), np.zeros_like, np.random.default_rng(), silent)
    weights = np.zeros((T, T))  # of noise t in iterate k
    for k in range(T):
        for t in range(k + 1):
            weights[k, t] = h * sum(momentum**j for j in range(k - t + 1))
    tail = weights[-max(1, round(average * T)) :].mean(axis=0)
    sd = s * np.linalg.norm(tail)
    assert descent.flat_noise == pytest.approx(sd)
    assert descent.drift == pytest.approx(tail.sum())
    low, high = stats.chi2.ppf([5e-8, 1 - 5e-8], size)
    assert low < (theta**2).sum() / sd**2 < high
    assert abs(theta.mean()) < 5.5 * sd / math.sqrt(size)


def test_iterates_stay_in_the_ball():
    noise = GridGaussian.of_scale(100.0)
    descent = Descent(n_steps=5, step_size=1.0, release=noise, ridge=0.0, radius=0.5)
    theta = descent.run(np.zeros((4, 3)), np.zeros_like, np.random.default_rng(), silent)
    assert np.linalg.norm(theta) == pytest.approx(0.5, abs=1e-4)


def test_it_starts_where_it_is_told():
    design, _ = data()
    for solver in (NoisyGD(1), DPSGD(1)):
        start = np.full(4, 1000.0)
        plan = solver.resume(solver.plan(PUBLIC, 1e6, 1e-5), start)
        solution = plan.read(design, np.random.default_rng(0), silent)
        assert np.abs(solution.theta - start).max() < 100.0


def test_coefficients_lie_on_the_public_grid():
    design, _ = data()
    for solver in (NoisyGD(), DPSGD()):
        plan = solver.plan(PUBLIC, 1.0, 1e-5)
        theta = plan.read(design, np.random.default_rng(0), silent).theta
        np.testing.assert_array_equal(theta, rounded(theta, plan.descent(200).last_noise))


@pytest.mark.slow
def test_with_plenty_of_budget_it_finds_the_minimum():
    """At ε = 10⁸ both solvers come near the minimizer that Newton's method finds."""
    design, y = data()
    problem = problem_with(LogisticLoss(), 200, Neighboring.REPLACE_ONE, intercept=0.3, C=1.0)
    A = design.scores(np.eye(4))
    theta = np.zeros(4)
    for _ in range(30):
        p = 1 / (1 + np.exp(y * (A @ theta)))
        hessian = (A.T * (p * (1 - p))) @ A + np.eye(4)
        theta += np.linalg.solve(hessian, A.T @ (y * p) - theta)
    for solver, error in ((NoisyGD(1000), 0.01), (DPSGD(1000, sampling_rate=0.5), 0.2)):
        plan = solver.plan(problem, 1e8, 1e-5)
        found = plan.read(design, np.random.default_rng(0), silent).theta
        assert np.abs(found - theta).max() < error


# -- the cost of full-batch steps ---------------------------------------------------------------


@pytest.mark.parametrize(("n_steps", "printed"), [(100, 0.19794718), (10**6, 0.39949969)])
def test_the_last_iterate_costs_the_printed_number(n_steps, printed):
    """S = 2, n = 1000, s = .1, h = .5, m = .01, M = .26, in the units of a mean loss."""
    all_steps = 2.0 / (1000 * 0.1) * math.sqrt(n_steps)
    share = _last_iterate(0.5 * 0.01, 0.5 * (0.26 - 0.01), n_steps)
    assert all_steps * share == pytest.approx(printed, rel=1e-7)


@given(pull=st.floats(0.0, 2.0), curvature=st.floats(0.0, 3.0), n_steps=st.integers(1, 10**5))
@example(pull=1.0, curvature=0.0, n_steps=1)
@example(pull=5e-324, curvature=0.0, n_steps=1)
def test_the_last_iterate_never_costs_more_than_all(pull, curvature, n_steps):
    assert 0.0 < _last_iterate(pull, curvature, n_steps) <= 1.0


def test_the_last_iterate_of_a_quadratic_costs_what_its_distribution_says():
    """For a linear difference and curvature h·m only, two runs are two normals: their distance."""
    h, m, s, G, T = 0.1, 2.0, 3.0, 1.0, 17
    weights = h * (1.0 - h * m) ** np.arange(T)
    distance = G * weights.sum() / (s * np.linalg.norm(weights))
    assert G / s * math.sqrt(T) * _last_iterate(h * m, 0.0, T) == pytest.approx(distance)


def test_a_run_without_momentum_needs_less_noise_where_that_is_proved():
    solver, C = NoisyGD(1000, momentum=0.0), 0.05
    contractive = problem_with(LOSS, 200, Neighboring.REPLACE_ONE, intercept=0.3, C=C)
    plan = solver.plan(contractive, 1.0, 1e-5)
    G, mu = contractive.lipschitz_difference, gdp_mu(1.0, 1e-5)
    assert plan.descent(200).noise < 0.9 * G * math.sqrt(1000) / mu
    assert "last iterate" in plan.theorem
    for other in (NoisyGD(1000), NoisyGD(1000, momentum=0.0, average=0.5)):
        noise = other.plan(contractive, 1.0, 1e-5).descent(200).noise
        assert noise == pytest.approx(G * math.sqrt(1000) / mu, rel=MARGIN)
    hinted = problem_with(LOSS, 200, Neighboring.ADD_REMOVE_ONE, intercept=0.3, C=C)
    plan = solver.plan(hinted, 1.0, 1e-5)  # the hint is no bound on the curvature
    noise = plan.descent(200).noise
    assert noise == pytest.approx(hinted.lipschitz_difference * math.sqrt(1000) / mu, rel=MARGIN)


def test_theorem_2_has_its_printed_constants_and_holds():
    """Its noise exceeds ours, so its bound holds for ours: checked on 30 runs.

    The excess of a run lies between 0 and the loss's range on the ball, 2·L·R; the mean of 30 is
    within 2·L·R·√(log(1e6)/60) of its expectation, but for 1e-6 (Hoeffding).
    """
    n, d, R, L, epsilon, delta = 200, 4, 1.0, 0.35 * math.hypot(1.0, 0.3), 2.0, 1e-3
    log = math.log(1 / delta)
    solver = NoisyGD.theorem_2(n=n, d=d, domain_radius=R, lipschitz=L, epsilon=epsilon, delta=delta)
    T = math.ceil(n**2 * epsilon**2 / (32 * d * log))
    assert solver.n_steps == T
    step = R / L * (2 * T + 32 * d * T**2 * log / (epsilon * n) ** 2) ** -0.5
    assert solver.step_size == pytest.approx(step / n)
    problem = problem_with(LOSS, n, Neighboring.REPLACE_ONE, intercept=0.3, C=1e12)
    plan = solver.plan(problem, epsilon, delta)
    assert plan.descent(n).noise / n < 4 * L * math.sqrt(T * log) / (epsilon * n)
    design, y = data(n)

    def mean_loss(theta):
        return LOSS.value(y, design.scores(theta)).mean()

    best = min(mean_loss(R * np.array([c, s, 0.0, 0.0])) for c, s in ((1.0, 0.0), (0.99, 0.1)))
    runs = [
        mean_loss(plan.read(design, np.random.default_rng(), silent).theta) - best
        for _ in range(30)
    ]
    bound = 8 * L * R * math.sqrt(d * log) / (epsilon * n)
    assert np.mean(runs) < bound + 2 * L * R * math.sqrt(math.log(1e6) / 60)


def test_beyond_what_theorem_2_says_nothing_is_returned():
    """Its σ falls as 1/ε, noise that suffices as 1/√ε: at large ε the theorem has too little."""
    facts = {"n": 200, "d": 4, "domain_radius": 1.0, "lipschitz": 0.35, "delta": 1e-3}
    most = 2.0 * math.log(1e3)
    assert gdp_mu(most, 1e-3) > most / (2.0 * math.sqrt(math.log(1e3)))
    assert gdp_mu(3.0 * most, 1e-3) < 3.0 * most / (2.0 * math.sqrt(math.log(1e3)))
    NoisyGD.theorem_2(**facts, epsilon=most)
    for wrong in ({"epsilon": 1.01 * most}, {"epsilon": 1.0, "delta": 0.0}, {"n": 0}, {"d": 0.5}):
        with pytest.raises(ValueError, match="must be"):
            NoisyGD.theorem_2(**{"epsilon": 1.0, **facts, **wrong})


# -- the cost of sampled steps ------------------------------------------------------------------


@given(
    rate=st.floats(1e-4, 1.0),
    n_steps=st.integers(1, 3000),
    epsilon=st.floats(0.05, 10.0),
    neighboring=st.sampled_from(list(Neighboring)),
)
@settings(max_examples=30, deadline=None)
def test_the_noise_is_enough_and_hardly_more(rate, n_steps, epsilon, neighboring):
    accountant = PLDAccountant(neighboring)
    sigma = noise_multiplier((), rate, n_steps, neighboring, epsilon, 1e-5)
    assert accountant.epsilon(sampled_steps(rate, sigma, n_steps), 1e-5) <= epsilon
    less = sampled_steps(rate, sigma * (1 - 2e-3), n_steps)
    assert accountant.epsilon(less, 1e-5) > epsilon


def test_sampling_every_row_costs_what_full_batches_cost():
    sigma = noise_multiplier((), 1.0, 50, Neighboring.REPLACE_ONE, 1.0, 1e-5)
    assert 2 * math.sqrt(50) / sigma == pytest.approx(gdp_mu(1.0, 1e-5), rel=2e-3)


def test_the_relation_decides_the_noise():
    """A replaced record moves a sampled sum by up to two gradients, an added one by one."""
    both = [noise_multiplier((), 0.1, 100, relation, 1.0, 1e-5) for relation in Neighboring]
    assert 1.7 < max(both) / min(both) < 2.1


def test_a_bought_count_leaves_less_for_the_steps():
    estimated, public = (
        DPSGD(sampling_rate=0.1).plan(PRIVATE, 1.0, 1e-5),
        DPSGD().plan(problem_with(LOSS, 200, Neighboring.ADD_REMOVE_ONE, intercept=0.3), 1.0, 1e-5),
    )
    assert estimated.steps.sigma > public.steps.sigma
    assert PLDAccountant("add_remove_one").delta(estimated.event, 1.0) <= 1e-5


# -- samples and clipping ------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e-3, 0.05, 0.5, 0.97, 1.0])
def test_samples_are_poisson(rate):
    """Rows are in the sample independently: sizes, rows, and pairs of rows.

    5000 samples of 60 rows; every count is binomial and within its quantiles of mass 1e-9 each.
    """
    n, trials, rng = 60, 5_000, np.random.default_rng()
    drawn = np.zeros((trials, n), dtype=bool)
    for sample in drawn:
        rows = poisson_sample(n, rate, rng)
        assert (np.diff(rows) > 0).all()
        sample[rows] = True
    for seen, count, p in (
        (drawn.sum(), trials * n, rate),
        (drawn[:, 0].sum(), trials, rate),
        (drawn[:, -1].sum(), trials, rate),
        ((drawn[:, 3] & drawn[:, 4]).sum(), trials, rate**2),
        ((drawn[:, 10] & drawn[:, 50]).sum(), trials, rate**2),
    ):
        low, high = stats.binom.ppf([5e-10, 1 - 5e-10], count, p)
        assert low <= seen <= high


@pytest.mark.parametrize("loss", [LOSS, CompetitorLoss(LOSS, 3)], ids=repr)
def test_gradients_are_clipped_one_by_one(loss, monkeypatch):
    """The step equals that of an explicit loop over records, whose gradients are formed."""
    design, y = data(50)
    codes = y if loss.n_scores == 1 else np.arange(50) % 3
    design = replace(design, targets=codes)
    problem = problem_with(loss, 50, Neighboring.REPLACE_ONE, intercept=0.3)
    solver = DPSGD(1, sampling_rate=1.0, clip_norm=0.07, step_size=1.0)
    seen = []
    monkeypatch.setattr(Descent, "run", lambda self, start, gradient, *_: gradient(start))
    plan = solver.plan(problem, 1.0, 1e-5)
    total = plan.read(design, np.random.default_rng(0), silent).theta
    A = design.scores(np.eye(4))
    derivatives = loss.gradient(codes, np.zeros(50 if loss.n_scores == 1 else (50, 3)))
    for a, derivative in zip(A, derivatives, strict=True):
        g = np.outer(a, derivative).squeeze()
        seen.append(g * min(1.0, 0.07 / np.linalg.norm(g)))
    np.testing.assert_allclose(total, sum(seen), atol=1e-12)
    assert max(map(np.linalg.norm, seen)) == pytest.approx(0.07)


@pytest.mark.parametrize("sampling", ["random_reshuffle", "fixed_size"])
def test_batches_that_are_not_poisson_are_refused(sampling):
    with pytest.raises(IncompatibleSolverError, match="independently"):
        DPSGD(sampling=sampling)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_steps": 0},
        {"sampling_rate": 1.5},
        {"sampling_rate": 0.0},
        {"momentum": 1.0},
        {"momentum": -0.1},
        {"average": 1.1},
        {"clip_norm": -1.0},
        {"step_size": math.nan},
    ],
    ids=repr,
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        DPSGD(**wrong)


# -- a strong ridge ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [NoisyGD(), NoisyGD(momentum=0.0), DPSGD()], ids=repr)
@pytest.mark.parametrize("problem", [PUBLIC, PRIVATE], ids=["public", "private"])
@pytest.mark.parametrize("C", [1e-45, 1e-10, 1e-3])
def test_a_strong_ridge_does_not_diverge(solver, problem, C):
    """Once h/C grows beyond 2(1 + β) each step is longer than the last, up to inf and nan."""
    design, _ = data()
    plan = solver.plan(replace(problem, C=C), 1.0, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = plan.read(design, np.random.default_rng(), silent).theta
    noise = plan.descent(200).noise
    assert np.linalg.norm(theta) < 100.0 * C * (200 + noise)


@pytest.mark.parametrize("Solver", [NoisyGD, DPSGD])
def test_a_step_that_diverges_along_the_ridge_is_refused(Solver):
    for momentum, most in ((0.0, 0.2), (0.9, 0.38)):
        Solver(step_size=0.99 * most, momentum=momentum).plan(replace(PUBLIC, C=0.1), 1.0, 1e-5)
        with pytest.raises(IncompatibleSolverError, match=r"diverges"):
            Solver(step_size=most, momentum=momentum).plan(replace(PUBLIC, C=0.1), 1.0, 1e-5)


@pytest.mark.parametrize("solver", ["noisy_gd", "objective_perturbation", "output_perturbation"])
def test_a_fit_at_a_tiny_epsilon_ends(solver):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = DPLogisticRegression(epsilon=1e-17, delta=1e-20, solver=solver)
    assert np.isfinite(model.fit(X, X[:, 0] > 0).coef_).all()
