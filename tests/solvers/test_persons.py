"""What a person of several rows adds: enumerated, and compared with what is claimed of it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from problems import problem_with
from scipy import sparse, stats

from skdp.accounting import gdp_mu
from skdp.data.persons import Persons
from skdp.design import ClippedDesign, SharedDesign
from skdp.losses import ClippedLogisticLoss, HuberLoss, LogisticLoss, MultinomialLoss, SquaredLoss
from skdp.losses.weighted import SharedLoss, weighted_targets
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.privacy.objective_perturbation import ObjectivePerturbationEvent
from skdp.research.solvers.phased_sgd import PhasedSGD
from skdp.solvers import DPSGD, AdaSSP, NoisyGD, ObjectivePerturbation, Problem
from skdp.solvers._releases import GramRelease

R, B0 = 1.0, 0.5
ROWS = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.6, -0.8), (0.0, 0.0), (30.0, 40.0)]
LOSSES = [
    (ClippedLogisticLoss(0.35), (-1.0, 1.0)),
    (HuberLoss(0.5), (-1.0, 0.2, 1.0)),
    (MultinomialLoss(3), (0, 1, 2)),
]


def every_person(targets, most=3):
    """Yield the rows and targets of every person of up to so many rows of a small domain."""
    records = [(row, target) for row in ROWS for target in targets]
    for count in range(1, most + 1):
        for own in itertools.combinations_with_replacement(records, count):
            rows, values = zip(*own, strict=True)
            yield np.array(rows), np.array(values)


def design_of(rows, targets, largest=1.0):
    persons = Persons.of(np.zeros(len(rows)), len(rows))
    weighted = weighted_targets(targets, largest * persons.row_weights())
    return SharedDesign(ClippedDesign.clip(rows, R, B0, weighted), persons, largest)


def problem_of(loss, neighboring, largest=1.0, **more):
    return Problem(
        loss=SharedLoss(loss, largest),
        data_norm=R,
        intercept_scaling=B0,
        n_samples=10,
        neighboring=neighboring,
        **({"rows_each": None, "n_features": 3} | more),
    )


def farthest(added, neighboring):
    """How far sums of neighbors are apart: of those who add something, or it and nothing."""
    if neighboring is Neighboring.ADD_REMOVE_ONE:
        return float(np.linalg.norm(added, axis=1).max())
    squares = (added**2).sum(axis=1)
    apart = squares[:, None] + squares - 2.0 * added @ added.T
    return float(np.sqrt(apart.max()))


@pytest.mark.parametrize(("loss", "targets"), LOSSES, ids=repr)
@pytest.mark.parametrize("largest", [1.0, 2.5])
def test_gradients_move_by_no_more_than_for_one_row(loss, targets, largest, relation, rng):
    problem = problem_of(loss, relation, largest)
    most = 2 if len(targets) > 2 else 3
    designs = [design_of(*own, largest) for own in every_person(targets, most)]
    reached = 0.0
    for scale in (0.0, 1.0, 30.0):
        theta = scale * rng.normal(size=problem.shape(3))
        added = np.array([d.slope_sum(problem.loss.gradient, theta).ravel() for d in designs])
        apart = farthest(added, relation)
        assert apart <= problem.lipschitz_difference
        reached = max(reached, apart)
    assert reached > 0.7 * problem.lipschitz_difference


@pytest.mark.parametrize(("loss", "targets"), LOSSES, ids=repr)
def test_the_gradients_of_a_person_are_clipped_together(loss, targets):
    shared = SharedLoss(loss, 2.0)
    theta = np.random.default_rng(0).normal(size=problem_of(loss, "replace_one").shape(3))
    most = 2 if len(targets) > 2 else 3
    designs = [design_of(*own, 2.0) for own in every_person(targets, most)]
    added = np.array([d.slope_sum(shared.gradient, theta, 0.1).ravel() for d in designs])
    assert 0.19 < farthest(added, Neighboring.REPLACE_ONE) <= 0.2
    assert 0.09 < farthest(added, Neighboring.ADD_REMOVE_ONE) <= 0.1
    plain = np.array([d.slope_sum(shared.gradient, theta).ravel() for d in designs])
    sizes = np.linalg.norm(plain, axis=1, keepdims=True)
    expected = plain * np.minimum(1.0, 0.1 / np.maximum(sizes, 0.1))
    np.testing.assert_allclose(added, expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("some", [False, True])
def test_clipping_in_batches_is_clipping_one_by_one(kind, n_scores, some, monkeypatch, rng):
    monkeypatch.setattr("skdp.design.base._VALUES_AT_ONCE", 60)
    monkeypatch.setattr("skdp.design.base._FEWEST_COPIED", 5)
    codes, rows = rng.permutation(np.arange(90) % 17), rng.normal(size=(90, 4))
    rows = {"dense": rows, "sparse": sparse.csr_matrix(rows), "float32": rows.astype("f4")}[kind]
    persons = Persons.of(codes, 90)
    y = rng.integers(3, size=90) if n_scores > 1 else rng.choice([-1.0, 1.0], 90)
    targets = weighted_targets(y, persons.row_weights())
    loss = SharedLoss(MultinomialLoss(3) if n_scores > 1 else LogisticLoss(), 1.0)
    inner = ClippedDesign.clip(rows, R, B0, targets)
    theta = rng.normal(size=(5, 3) if n_scores > 1 else 5)
    chosen = np.array([0, 3, 4, 16]) if some else np.arange(17)
    found = SharedDesign(inner, persons).slope_sum(
        loss.gradient, theta, 0.2, chosen if some else None
    )
    one_by_one = [inner.take(np.flatnonzero(persons.codes == k)) for k in chosen]
    alone = [one.slope_sum(loss.gradient, theta) for one in one_by_one]
    expected = sum(g * min(1.0, 0.2 / np.linalg.norm(g)) for g in alone)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    nobody = SharedDesign(inner, persons).slope_sum(loss.gradient, theta, 0.2, chosen[:0])
    assert not nobody.any()


def test_the_noise_of_clipped_steps_is_in_proportion_to_the_clip(relation):
    problem = problem_of(LogisticLoss(), relation)
    few, many = 100, 10**7
    for solver, n, share in [
        (NoisyGD(), few, 0.25),
        (NoisyGD(), many, 1.0),
        (NoisyGD(clip_share=0.5), few, 0.5),
        (NoisyGD(clip_share=0.5, momentum=0.0), few, 0.5),
    ]:
        plan = solver.plan(problem, 1.0, 1e-5)
        run = plan.descent(n)
        least = share * problem.lipschitz_difference * np.sqrt(run.n_steps) / plan.mu
        assert least <= run.noise <= least * (1.0 + 1e-3)  # with rounding errors of all rows


@pytest.mark.parametrize("solver", [DPSGD(20, clip_norm=0.1), NoisyGD(clip_share=0.5)], ids=repr)
def test_the_noise_of_clipped_persons_covers_little_more_than_of_clipped_rows(solver, relation):
    """Rounding errors of rows that cancel: below 2 % of the noise for up to 2^24 records."""
    n = 1 << 20  # those of few records are below the last of the 28 bits of a scale
    known = n if relation.count_is_public else None
    persons = replace(problem_of(LogisticLoss(), relation), n_samples=known)
    rows = replace(persons, loss=LogisticLoss(), rows_each=1)
    noise, least = (solver.plan(one, 1.0, 1e-5).descent(n).noise for one in (persons, rows))
    assert least < noise < 1.02 * least


def test_the_matrix_for_a_metric_moves_by_no_more_than_for_one_row(relation):
    problem = problem_of(LogisticLoss(), relation)
    release = GramRelease.plan(problem, 1.0)
    added = np.array([design_of(*own).cross_product().ravel() for own in every_person((1.0,))])
    apart = farthest(added, relation)
    assert 0.6 * release.mu * release.scale < apart <= release.mu * release.scale


def test_moments_move_by_no_more_than_for_one_row(relation, monkeypatch):
    solver, problem = AdaSSP(), problem_of(SquaredLoss(), relation)
    plan = solver.plan(problem, 1.0, 1e-5)
    mu, added = gdp_mu(1.0, 1e-5), []
    monkeypatch.setattr(GridGaussian, "noise", lambda self, size, rng: np.zeros(size, np.int64))
    for own in every_person((-1.0, 1.0)):
        exact = plan.release(design_of(*own), np.random.default_rng())
        entries = np.r_[exact.gram.ravel() / plan.gram_noise, exact.moment / plan.moment_noise]
        added.append(entries)
    assert 0.9 * mu < farthest(np.array(added), relation) <= mu


def test_a_poisson_sample_of_persons_reads_all_rows_of_each_or_none(monkeypatch):
    codes = np.array([0, 1, 0, 2, 2, 0, 3])
    weighted = weighted_targets(np.ones(7), Persons.of(codes, 7).row_weights())
    inner = ClippedDesign.clip(np.eye(7), R, 0.0, weighted)
    design = SharedDesign(inner, Persons.of(codes, 7))
    read = []

    def exact_sum(self, function, grid, rows=None):
        read.append(rows)
        return np.zeros(7)

    monkeypatch.setattr(ClippedDesign, "exact_sum", exact_sum)
    problem = problem_with(
        SharedLoss(LogisticLoss(), 1.0),
        4,
        Neighboring.REPLACE_ONE,
        norm=R,
        n_features=7,
        rows_each=None,
    )
    solver = DPSGD(60, sampling_rate=0.5)
    plan = solver.plan(problem, 1.0, 1e-5)
    plan.read(design, np.random.default_rng(), lambda *steps: None)
    sizes = []
    for rows in read:
        chosen = np.unique(codes[rows])
        np.testing.assert_array_equal(rows, np.flatnonzero(np.isin(codes, chosen)))
        sizes.append(len(chosen))
    low, high = stats.binom(240, 0.5).ppf([5e-8, 1 - 5e-8])  # false alarms: 1e-7
    assert low <= sum(sizes) <= high


def test_solvers_that_bound_single_rows_say_so():
    assert not PhasedSGD.takes_persons


@pytest.mark.parametrize("rows_each", [2, 5, None])
def test_the_determinant_is_that_of_curvature_spread_over_all_directions(rows_each):
    """Attained by a person with a row along each axis, which one row alone could not add."""
    problem = problem_of(LogisticLoss(), Neighboring.ADD_REMOVE_ONE, rows_each=rows_each, C=4.0)
    plan = ObjectivePerturbation().plan(problem, 3.0, 1e-5)
    minimum = next(one for one, _ in plan.event.leaves() if hasattr(one, "log_determinant"))
    directions = min(3, rows_each or 3)
    change = 0.25 * problem.row_norm**2 * 4.0
    attained = directions * np.log1p(change / directions)
    assert minimum.dimension == directions
    assert np.log1p(change) < attained <= minimum.log_determinant <= attained * (1.0 + 1e-9)


def test_two_persons_together_push_in_no_more_directions_than_the_model_has():
    problem = problem_of(LogisticLoss(), Neighboring.REPLACE_ONE, rows_each=None)
    plan = ObjectivePerturbation().plan(problem, 1.0, 1e-5)
    minimum = next(one for one, _ in plan.event.leaves() if hasattr(one, "log_determinant"))
    twice_as_far = ObjectivePerturbationEvent(
        0.5 * minimum.noise_multiplier, minimum.log_determinant, problem.n_features
    )
    epsilon = np.linspace(0.0, 2.0, 21)
    found = minimum.curve("replace_one").delta(epsilon)
    np.testing.assert_allclose(found, twice_as_far.curve("add_remove_one").delta(epsilon))


@pytest.mark.parametrize(
    ("rows_each", "n_features", "most"), [(5, 10, 1.28), (20, 10, 1.35), (None, 10, 1.71)]
)
def test_the_noise_for_persons_is_near_the_least(rows_each, n_features, most):
    """It was 1.31, 1.46 and 2.03 times the least when every pair of pulls was counted."""
    problem = problem_of(
        LogisticLoss(), Neighboring.REPLACE_ONE, rows_each=rows_each, n_features=n_features
    )
    plan = ObjectivePerturbation().plan(problem, 1.0, 1e-5)
    assert plan.noise < most * problem.lipschitz_difference / gdp_mu(1.0, 1e-5)


@pytest.mark.parametrize("rows_each", [3, None])
def test_a_perturbed_minimum_costs_no_more_than_claimed(rows_each, relation):
    """The exact curve of two neighbors in two dimensions, by 4000 minima, in both orders.

    The density of the minimizer at θ is that of the tilt −∇F(θ) there, times the determinant of the
    Hessian: so the privacy loss of each minimum is exact, and δ(ε) a mean, with a Hoeffding bound.
    """
    problem = problem_with(
        SharedLoss(LogisticLoss(), 1.0),
        3,
        relation,
        norm=R,
        n_features=2,
        C=4.0,
        rows_each=rows_each,
    )
    plan = ObjectivePerturbation().plan(problem, 2.0, 1e-3)
    own = np.array([[1.0, 0.0], [0.96, 0.28], [0.96, -0.28]]), np.full(3, 1 / 3)
    other = np.array([[-1.0, 0.0]]), np.ones(1)
    base = np.array([[0.3, -0.2], [-0.5, 0.1]]), np.ones(2)
    if relation is Neighboring.ADD_REMOVE_ONE:
        other = np.zeros((0, 2)), np.zeros(0)
    worlds = [
        tuple(np.concatenate(pair) for pair in zip(base, one, strict=True)) for one in (own, other)
    ]
    minimum = next(
        one for one, _ in plan.event.leaves() if isinstance(one, ObjectivePerturbationEvent)
    )
    guarantee = PrivacyGuarantee(minimum, relation, "")
    rng, n = np.random.default_rng(), 4000
    error = np.sqrt(np.log(1e6) / (2 * n))
    for P, Q in (worlds, worlds[::-1]):
        theta = minima(P, plan, rng.normal(scale=plan.noise, size=(n, 2)))
        loss = log_density(P, plan, theta) - log_density(Q, plan, theta)
        for epsilon in (0.0, 0.25, 0.5, 1.0):
            found = np.maximum(0.0, -np.expm1(epsilon - loss)).mean()
            assert found - error <= guarantee.delta(epsilon)


def gradient(world, plan, theta):
    rows, weights = world
    z = theta @ rows.T
    return (-weights / (1.0 + np.exp(z))) @ rows + plan.ridge * theta


def hessian(world, plan, theta):
    rows, weights = world
    p = 1.0 / (1.0 + np.exp(theta @ rows.T))
    return np.einsum("nr,ri,rj->nij", weights * p * (1.0 - p), rows, rows) + plan.ridge * np.eye(2)


def minima(world, plan, tilts):
    theta = np.zeros_like(tilts)
    for _ in range(300):  # damped Newton steps; the ridge makes them contract
        left = gradient(world, plan, theta) + tilts
        if np.abs(left).max() < 1e-8:
            return theta
        step = np.linalg.solve(hessian(world, plan, theta), left[..., None])[..., 0]
        theta -= step / np.maximum(1.0, 0.2 * np.linalg.norm(step, axis=1))[:, None]
    raise AssertionError("no minima were found")


def log_density(world, plan, theta):
    tilt = gradient(world, plan, theta)
    determinant = np.linalg.slogdet(hessian(world, plan, theta))[1]
    return determinant - 0.5 * (tilt**2).sum(axis=1) / plan.noise**2
