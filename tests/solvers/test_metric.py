"""The metric of steps and samples: what its matrix costs, and what it may do to rows."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from problems import target_with
from scipy import sparse, stats

from skdp.accounting import PLDAccountant, gdp_mu
from skdp.design import ClippedDesign, TransformedDesign
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, HuberLoss, Minorant
from skdp.privacy import Neighboring
from skdp.samplers import SamplerPlan
from skdp.samplers.proximal import ProximalSampler
from skdp.solvers import DPSGD, NoisyGD, Problem, RegularizedExponential
from skdp.solvers._releases import GramRelease, Metric, gradient_sum
from skdp.solvers.base import NoisyGram

FALSE_ALARM = 1e-6
RNG = np.random.default_rng()
LOSS = ClippedLogisticLoss()


def diagonal(values, noise):
    """Return a metric with these eigenvalues and this ρ."""
    values = np.array(values)
    return Metric(np.eye(values.size), values, noise, NoisyGram(np.diag(values), noise))


def problem(neighboring=Neighboring.REPLACE_ONE, *, n=None, d=3, **more):
    return Problem(
        loss=LOSS,
        data_norm=1.0,
        intercept_scaling=0.3,
        n_samples=n,
        neighboring=neighboring,
        n_features=d,
        **more,
    )


def rows(rng, n, d):
    X = rng.normal(size=(n, d))
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]


def test_no_neighbor_moves_the_matrix_farther_than_its_noise_covers(relation):
    """In the norm of the noise: the diagonal counts once, each entry above it √2 times."""
    mu, facts, rng = 1.0, problem(relation), np.random.default_rng()
    release = GramRelease.plan(facts, mu)
    allowed = release.mu * release.scale
    corners = np.vstack([np.eye(2), -np.eye(2), rows(rng, 200, 2)])
    single = [ClippedDesign.clip(a[None], 1.0, 0.3).cross_product() for a in corners]
    entries = np.array([np.r_[np.diag(H), math.sqrt(2) * H[[0, 0, 1], [1, 2, 2]]] for H in single])
    others = entries if relation == "replace_one" else np.zeros((1, 6))
    moved = [np.linalg.norm(entries - other, axis=1).max() for other in others]
    assert max(moved) <= allowed
    assert max(moved) > 0.9 * allowed  # a bound that is far off would hide a mistake


def test_the_noise_has_the_two_variances_that_the_guarantee_needs(monkeypatch):
    """Of 4000 matrices of rows of 0; the test of each variance fails with probability 1e-6."""
    release, seen = GramRelease.plan(problem(), 1.0), []
    monkeypatch.setattr(Metric, "of", lambda gram: seen.append(gram.matrix))
    rng = np.random.default_rng()
    design = ClippedDesign.clip(np.zeros((1, 3)), 1.0)
    for _ in range(4000):
        release.release(design, rng)
    noise = np.array(seen) / release.scale
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    for entry, variance in [((0, 0), 1.0), ((2, 2), 1.0), ((0, 1), 0.5), ((1, 2), 0.5)]:
        square = (noise[(slice(None), *entry)] ** 2).sum() / variance
        assert stats.chi2(4000).cdf(square) == pytest.approx(0.5, abs=0.5 - FALSE_ALARM / 2)
    correlation = np.corrcoef(noise[:, 0, 1], noise[:, 1, 2])[0, 1]
    assert abs(correlation) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(4000)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_metric_is_at_most_one_and_bounds_the_matrix_by_its_noise(kind):
    rng = np.random.default_rng()
    design = ClippedDesign.clip(kind(rows(rng, 500, 4)), 1.0, 0.3)
    A = np.column_stack([design.scores(e) for e in np.eye(5)])
    assert np.allclose(design.cross_product(), A.T @ A)
    metric = Metric.of(NoisyGram(design.cross_product(), 10.0 / math.sqrt(10.0)))
    P = np.column_stack([metric.apply(e) for e in np.eye(5)])
    assert np.linalg.eigvalsh(P)[-1] <= 1.0 + 1e-12
    assert np.allclose(metric.root() @ metric.root(), P)
    eigenvalues = np.linalg.eigvalsh(metric.root() @ A.T @ A @ metric.root())
    assert eigenvalues[-1] <= 10.0 + 1e-9
    assert eigenvalues.sum() == pytest.approx(metric.trace)


def test_rows_in_other_coordinates_are_never_longer():
    """Also where the matrix would lengthen them, and whatever the row is."""
    rng = np.random.default_rng()
    S = rng.normal(size=(4, 4))
    S = 3.0 * (S + S.T)
    inner = ClippedDesign.clip(rows(rng, 200, 4), 1.0)
    design = TransformedDesign.shortening(inner, S)
    lengths = np.linalg.norm(design.take(slice(None)).scores(np.eye(4)), axis=1)
    assert np.all(lengths <= np.linalg.norm(inner.X, axis=1))
    assert np.linalg.norm(design.matrix, 2) <= 1.0


def test_the_operator_is_that_of_the_multiplied_rows():
    rng = np.random.default_rng()
    S = np.diag([1.0, 0.5, 0.1]) + 0.05
    S /= np.linalg.norm(S, 2)
    inner = ClippedDesign.clip(rows(rng, 50, 3), 1.0)
    design, A = TransformedDesign(inner, S), (inner.X * inner.factors[:, None]) @ S
    theta, residual, weights = rng.normal(size=(3, 2)), rng.normal(size=(50, 2)), rng.random(50)
    assert np.allclose(design.take(slice(None)).scores(theta), A @ theta)
    assert np.allclose(design.slope_sum(lambda y, z: z - 1.0, theta), A.T @ (A @ theta - 1.0))
    block = design.take(slice(None))
    assert np.allclose(block.weighted_sum(residual), A.T @ residual)
    assert np.allclose(block.gram(weights), (A.T * weights) @ A)
    assert np.allclose(block.gram_diagonal(weights), np.diag((A.T * weights) @ A))
    assert np.allclose(design.take(np.array([4, 7])).scores(theta), A[[4, 7]] @ theta)
    change = rng.normal(size=3)
    assert np.all(np.abs(A @ change) <= design.reach(change) + 1e-12)


def test_a_sample_in_other_coordinates_is_a_sample_of_those_rows():
    """300 samples of each; the test fails with probability 1e-6 and sees shifts of half a width."""
    rng = np.random.default_rng()
    S = np.diag([1.0, 0.4])
    X = rows(rng, 30, 2)
    inner = ClippedDesign.clip(X, 1.0, targets=np.where(X[:, 0] > 0.0, 1.0, -1.0))
    A = (X * inner.factors[:, None]) @ S
    explicit = ClippedDesign(A, np.ones(30), targets=inner.targets)
    plan = SamplerPlan(n_steps=5, step=0.2, stability=1.0, spread=1.0)

    def samples(design):
        target = target_with(design, LOSS, 1.0, 1.0, 1.0)
        run = [ProximalSampler().sample(target, plan, rng, lambda *step: None) for _ in range(300)]
        return np.array([sample.theta for sample in run])

    pair = samples(TransformedDesign(inner, S)), samples(explicit)
    for direction in np.vstack([np.eye(2), rng.normal(size=(2, 2))]):
        p_value = stats.ks_2samp(*(sample @ direction for sample in pair)).pvalue
        assert p_value > FALSE_ALARM / 4


def test_matrix_steps_and_count_add_up_to_what_was_asked_for(relation):
    facts = problem(relation, n=None if relation == "add_remove_one" else 1000)
    plan = NoisyGD().plan(facts, 1.0, 1e-5)
    delta = plan.event.curve(relation).delta(1.0)
    assert delta <= 1e-5
    assert delta == pytest.approx(1e-5, rel=1e-6)
    assert plan.gram is not None
    assert NoisyGD(precondition=False).plan(facts, 1.0, 1e-5).gram is None


@pytest.mark.parametrize(
    ("solver", "facts"),
    [
        (NoisyGD(step_size=0.1), problem(n=1000)),
        (NoisyGD(momentum=0.0), problem(n=1000)),
        (NoisyGD(), problem(n=1000, d=None)),
        (NoisyGD(), problem(n=1000, d=1025)),
        (NoisyGD(), problem(n=1000, d=1)),
        (NoisyGD(), problem(n=2000, d=200)),
    ],
    ids=["step", "no momentum", "columns not counted", "too many", "one", "noise alone"],
)
def test_without_what_a_metric_needs_nothing_is_spent_on_it(solver, facts):
    assert solver.plan(facts, 1.0, 1e-5).gram is None


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 100.0])
def test_the_number_of_steps_hardly_grows_with_the_rows_and_goes_as_far(n, epsilon):
    """How far is counted in relaxations of a direction that the data say all about."""
    solver, facts = NoisyGD(), problem(n=n, d=100)
    plan = solver.plan(facts, epsilon, 1e-5)
    run = plan.descent(n)
    assert 50 <= run.n_steps <= 60 * max(1.0, (n * plan.mu / 2 / 24_000) ** 0.25)
    flow = run.n_steps * run.step_size / (1.0 - run.momentum)
    assert flow * Minorant.of(LOSS).smoothness * plan.gram.spectral_noise(100) > 50.0


def metric_of(plan, least, most=1e12):
    """A metric of a matrix whose smallest eigenvalue is `least` times its noise."""
    noise = plan.gram.release_for_steps(ClippedDesign.clip(np.zeros((1, 3)), 1.0), RNG).noise
    return diagonal([least * noise, most, most], noise)


@pytest.mark.parametrize("n", [1000, 10**6])
@pytest.mark.parametrize("least", [0.0, 0.5, 0.8, 1.0, 1e6])
def test_steps_cost_the_same_for_every_metric_that_may_be_released(relation, n, least):
    """The number of steps follows from the metric; √T·Δ/σ stays what is left for them."""
    plan = NoisyGD().plan(problem(relation, n=n), 1.0, 1e-5)
    run, sums = plan.descent(n, metric_of(plan, least)), gradient_sum(plan.problem)
    rounding = math.sqrt(sums.dimension) * run.release.step
    cost = math.sqrt(run.n_steps) * (sums.sensitivity + rounding) / run.noise
    assert cost <= plan.mu
    assert cost == pytest.approx(plan.mu, rel=1e-6)
    assert plan.exact


@pytest.mark.parametrize("n", [1000, 10_000])
def test_two_classes_take_few_steps_where_a_metric_shortens_all(n):
    """A share of .45, half way, takes the geometric mean of the steps."""
    plan = NoisyGD().plan(problem(n=n), 1.0, 1e-5)
    metrics = [metric_of(plan, share / (1.0 - share)) for share in (0.1, 0.4, 0.45, 0.5, 0.9)]
    runs = [plan.descent(n, metric) for metric in metrics]
    assert [run.n_steps for run in runs] == [50, 50, 24, 12, 12]
    assert [round(run.momentum, 3) for run in runs] == [0.8, 0.8, 0.566, 0.4, 0.4]


@pytest.mark.parametrize(
    ("solver", "more"),
    [
        (NoisyGD(n_steps=30), {}),
        (NoisyGD(momentum=0.5), {}),
        (NoisyGD(), {"loss": HuberLoss()}),
        (NoisyGD(), {"loss": CompetitorLoss(LOSS, 3)}),
        (NoisyGD(), {"rows_each": 3}),
    ],
    ids=["steps", "momentum", "targets", "classes", "persons"],
)
def test_other_runs_are_as_long_for_every_metric(solver, more):
    plan = solver.plan(replace(problem(n=100_000), **more), 1.0, 1e-5)
    runs = [plan.descent(100_000, metric_of(plan, least)) for least in (0.0, 1e6)]
    assert runs[0] == runs[1] == plan.descent(100_000)


def test_a_few_columns_more_never_take_much_longer():
    """Rows that vary evenly: the eigenvalues of AᵀA are n·R²/d."""

    def work(n, d):
        plan = NoisyGD().plan(problem(n=n, d=d), 1.0, 1e-5)
        if plan.gram is None:
            return plan.descent(n).n_steps * d
        square, noise = n * plan.problem.row_norm**2, 2.0 * plan.gram.spectral_noise(d)
        run = plan.descent(n, diagonal([square / d], noise))
        return (run.n_steps + 1) * d

    sizes = sorted({round(1.04**k) for k in range(77, 150)})
    for n in (2000, 10_000, 20_000, 100_000):
        every = [work(n, d) for d in sizes]
        assert max(after / before for before, after in pairwise(every)) <= 1.5


def test_batches_go_farther_in_a_metric_for_no_more_privacy():
    facts = problem(n=10**6, d=100)
    plain, metric = DPSGD(), DPSGD(precondition=True)
    runs = [s.plan(facts, 10.0, 1e-5).descent(10**6) for s in (plain, metric)]
    assert runs[1].step_size > 10.0 * runs[0].step_size
    assert runs[1].noise < 1.02 * runs[0].noise  # what 1 % of μ² costs
    plan = metric.plan(facts, 10.0, 1e-5)
    assert PLDAccountant(facts.neighboring).epsilon(plan.event, 1e-5) <= 10.0


@pytest.mark.parametrize("n", [10**6, 10**9, 10**15])
@pytest.mark.parametrize("loss", [LOSS, CompetitorLoss(LOSS, 10)], ids=repr)
def test_without_a_metric_runs_have_the_bounds_that_are_stated(loss, n):
    facts = replace(problem(n=n, d=2000), loss=loss)
    assert NoisyGD().plan(facts, 10.0, 1e-5).descent(n).n_steps <= 1521
    for solver in (NoisyGD(momentum=0.5), NoisyGD(momentum=0.0), NoisyGD(step_size=1e-9)):
        assert solver.plan(facts, 10.0, 1e-5).descent(n).n_steps <= 1025
    plan = RegularizedExponential().plan(facts, 10.0, 1e-5)
    assert plan.schedule.sampler_plan.n_steps <= 50_001


def test_a_long_sample_is_drawn_in_a_metric_and_a_short_one_is_not():
    solver = RegularizedExponential()
    short = solver.plan(problem(n=5000), 1.0, 1e-5)
    long = solver.plan(problem(n=10**6), 1.0, 1e-5)
    assert short.schedule.sampler_plan.n_steps <= 171
    assert long.schedule is None  # it waits for the matrix
    given = solver.plan(problem(n=10**6, C=1.0), 1.0, 1e-5)
    assert given.schedule is not None  # whose ridge is about θ


def test_a_long_sample_takes_few_steps_and_finds_the_signal():
    """Two rows in three of label +1 lie at +e₁; the clipped loss reads that as σ(−z) = 0.35/2."""
    n, rng = 40_000, np.random.default_rng()
    X = np.zeros((n, 2))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X[:, 0] = np.where(rng.random(n) < 2 / 3, y, -y)
    facts = problem(n=n)
    plan = RegularizedExponential().plan(facts, 3.0, 1e-5)
    design = ClippedDesign.clip(X, 1.0, 0.3, y)
    solution = plan.read(design, rng, lambda *step: None)
    plain = 0.5 * n * facts.signal(1, plan.density_mu)
    assert solution.n_iter < 171 < plain
    assert solution.theta[0] == pytest.approx(math.log(2.0 / 0.35 - 1.0), abs=0.3)


@pytest.mark.parametrize("loss", [LOSS, HuberLoss(), CompetitorLoss(LOSS, 10)], ids=repr)
@pytest.mark.parametrize("n", [100, 10_000, 10**6])
def test_steps_without_a_metric_are_stable_for_the_worst_rows(loss, n):
    facts = replace(problem(n=n, d=2000), loss=loss)
    run = NoisyGD().plan(facts, 1.0, 1e-5).descent(n)
    curvature = facts.worst_curvature(n)
    assert run.step_size * curvature < 3.0 + 1e-9 < 2.0 * (1.0 + run.momentum)
    assert run.n_steps <= max(32.0, 2.0 * math.sqrt(curvature * run.drift))


@pytest.mark.parametrize("n", [100, 10_000, 100_000])
def test_two_classes_of_wide_rows_take_few_steps(n):
    facts = problem(n=n, d=2000)
    assert 32 <= NoisyGD().plan(facts, 1.0, 1e-5).descent(n).n_steps <= 59


@pytest.mark.parametrize("loss", [HuberLoss(), CompetitorLoss(LOSS, 10)], ids=repr)
def test_noise_without_a_metric_reaches_the_scale_of_the_loss(loss):
    facts, mu = replace(problem(n=1000, d=2000), loss=loss), gdp_mu(1.0, 1e-5)
    run = NoisyGD().plan(facts, 1.0, 1e-5).descent(1000)
    assert facts.row_norm * run.flat_noise == pytest.approx(loss.noise_scale, rel=0.05)
    assert run.noise == pytest.approx(
        facts.lipschitz_difference * math.sqrt(run.n_steps) / mu, rel=2e-4
    )
