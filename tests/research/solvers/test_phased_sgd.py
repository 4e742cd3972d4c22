"""One pass in phases: what a record moves, what noise covers it, and attacks on the claim."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problem_with
from scipy import stats

from skdp import DPHingeClassifier, DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, HingeLoss, SmoothedHingeLoss
from skdp.losses.weighted import ClassWeightedLoss
from skdp.privacy import Neighboring
from skdp.research.solvers.phased_sgd import PhasedSGD, _dealt

LOSSES = [
    ClippedLogisticLoss(),
    SmoothedHingeLoss(0.3),
    ClassWeightedLoss(SmoothedHingeLoss(), (0.5, 3.0)),
    CompetitorLoss(ClippedLogisticLoss(), 3),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
REPLACE, ADD_REMOVE = Neighboring.REPLACE_ONE, Neighboring.ADD_REMOVE_ONE
FALSE_ALARM = 1e-6
EPSILON = 4.0


@dataclass
class Silent:
    """A generator of given uniform numbers, one a row, and no noise."""

    uniforms: np.ndarray

    def random(self, n):
        return self.uniforms[:n]

    def normal(self, loc=0.0, scale=1.0, size=None):
        return np.zeros(size)


def run(solver, problem, X, y, rng):
    plan = solver.plan(problem, EPSILON, 1e-5)
    design = ClippedDesign.clip(X, problem.data_norm, problem.intercept_scaling, y)
    return plan.read(design, rng, lambda *step: None).theta


def phases_of(solver, problem, n):
    return solver.phases(problem, solver.plan(problem, EPSILON, 1e-5).mu, n)


def phase_of_last(phases, uniforms, neighboring):
    """The phase that reads the last row."""
    batches = _dealt(phases, uniforms.size, neighboring.count_is_public, Silent(uniforms))
    owner = np.repeat(np.arange(len(phases)), [p.n_steps for p in phases])
    return phases[
        next(i for i, rows in zip(owner, batches, strict=True) if uniforms.size - 1 in rows)
    ]


def labels(loss, rng, n):
    return rng.integers(loss.n_scores, size=n) if loss.n_scores > 1 else rng.choice([-1.0, 1.0], n)


def moved(loss, neighboring, solver, seed, n=12):
    """|θ − θ'| over what is claimed, for two runs without noise that differ in the last row."""
    rng = np.random.default_rng(seed)
    problem = problem_with(
        loss, n, neighboring, intercept=rng.choice([0.0, 0.3]), C=rng.choice([0.1, 1e3])
    )
    X, y = rng.normal(size=(n, 2)) * rng.choice([0.1, 10.0]), labels(loss, rng, n)
    if rng.random() < 0.5:  # rows that all pull one way
        X, y = np.tile(X[:1], (n, 1)), np.full(n, y[0])
    uniforms = rng.random(n) * rng.choice([0.02, 1.0])  # many in one batch, or spread
    other, flip = X.copy(), y.copy()
    other[-1], flip[-1] = -X[0], y[0]
    high = run(solver, problem, other, flip, Silent(uniforms))
    if neighboring is ADD_REMOVE:
        low = run(solver, problem, other[:-1], flip[:-1], Silent(uniforms))
    else:
        low = run(solver, problem, X, y, Silent(uniforms))
    phase = phase_of_last(phases_of(solver, problem, n), uniforms, neighboring)
    return np.linalg.norm(high - low) / (phase.step_size * problem.lipschitz_difference)


@pytest.mark.parametrize(
    ("loss", "average", "relation"),  # each pair of two of them
    [
        (loss, average, (REPLACE, ADD_REMOVE)[(i + j) % 2])
        for i, loss in enumerate(LOSSES)
        for j, average in enumerate([0.0, 0.5, 1.0])
    ],
    ids=str,
)
def test_a_record_moves_its_phase_by_no_more_than_is_claimed(loss, average, relation):
    """For steps from a thousandth of the contraction's limit to a thousand times beyond it."""
    largest = 0.0
    for seed in range(60):
        step = 10.0 ** ((seed % 7) - 3)
        solver = PhasedSGD(n_phases=1 + seed % 3, step_size=step, average=average)
        ratio = moved(loss, relation, solver, seed)
        assert ratio <= 1.0 + 1e-4  # of which 1e-5 is the grid
        largest = max(largest, ratio)
    assert largest > (0.4 if average == 1.0 else 0.95)  # an average dilutes late batches


def test_a_crowd_in_one_batch_cannot_make_one_record_loud(relation):
    """m records pull one way in a batch, one more the other: of every m, the worst is the claim."""
    loss, M = SmoothedHingeLoss(0.5), 5.3
    solver = PhasedSGD(n_phases=1, step_size=2.0 / M / loss.smoothness)
    problem = problem_with(loss, 10, relation)
    ratios = []
    for m in range(1, 60):
        X, y, uniforms = np.ones((m + 1, 1)), np.ones(m + 1), np.linspace(0, 0.12, m + 1)
        X[-1] = -1.0
        high = run(solver, problem, X, y, Silent(uniforms))
        low = run(solver, problem, np.ones((m, 1)), y[:m], Silent(uniforms))
        if relation is REPLACE:
            low = run(solver, problem, np.ones((m + 1, 1)), y, Silent(uniforms))
        ratios.append(abs(high - low).item() / solver.step_size / problem.lipschitz_difference)
    assert 0.9 < max(ratios) <= 1.0 + 1e-5


@given(
    m=st.integers(0, 10**7),
    M=st.one_of(st.floats(1e-6, 1e7), st.integers(1, 1000).map(lambda k: k / 2)),
)
@settings(max_examples=300)
def test_weights_contract_and_hide_a_record(m, M):
    problem = problem_with(SmoothedHingeLoss(1.0), 100, ADD_REMOVE)
    phase = PhasedSGD(1, step_size=2.0 / M).phases(problem, 1.0, 100)[0]
    for public in (False, True):
        assert 0.0 < phase.weight(m, public) <= 1.0
        assert m * phase.weight(m, public) <= M * (1.0 + 1e-12)
    now, then = phase.weight(m, False), phase.weight(m + 1, False)
    assert now >= then
    assert m * (now - then) + then <= 1.0 + 1e-9 * m * now


def test_every_row_is_read_once(relation):
    problem = problem_with(LOSSES[0], 1000, relation, intercept=0.3)
    phases = phases_of(PhasedSGD(), problem, 1000)
    assert len(phases) == 10
    public = relation.count_is_public
    batches = _dealt(phases, 1000, public, np.random.default_rng(0))
    assert len(batches) == sum(phase.n_steps for phase in phases)
    np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(1000))
    if public:
        first = batches[: phases[0].n_steps]
        assert sum(rows.size for rows in first) == 500
        assert np.ptp([rows.size for rows in first]) <= 1


def test_a_row_more_leaves_the_others_where_they_were():
    problem = problem_with(LOSSES[0], 50, ADD_REMOVE, intercept=0.3)
    phases, uniforms = phases_of(PhasedSGD(), problem, 50), np.random.default_rng(0).random(50)
    with_it = _dealt(phases, 50, False, Silent(uniforms))
    without = _dealt(phases, 49, False, Silent(uniforms))
    for more, fewer in zip(with_it, without, strict=True):
        np.testing.assert_array_equal(more[more != 49], fewer)


@every_loss
@pytest.mark.parametrize("n", [1, 2, 455, 10**6])
def test_noise_covers_what_a_record_moves(relation, loss, n):
    problem = problem_with(loss, n, relation, intercept=0.3)
    mu = gdp_mu(EPSILON, 1e-5)
    phases = phases_of(PhasedSGD(), problem, n)
    assert len(phases) == {1: 1, 2: 1, 455: 9, 10**6: 10}[n]
    assert sum(phase.share for phase in phases) == 1.0
    for phase in phases:
        sensitivity = phase.step_size * problem.lipschitz_difference
        assert mu * (1.0 - 2e-6) <= sensitivity / phase.noise <= mu
    for one, two in pairwise(phases):
        assert two.noise == pytest.approx(one.noise / 4.0)


def test_the_released_noise_is_that_of_all_phases():
    """3000 coordinates of a fit to rows of zeros: chi-square; fails one time in 1e6."""
    problem = problem_with(LOSSES[0], 64, REPLACE, C=1e12)
    solver = PhasedSGD(n_phases=3)
    theta = run(solver, problem, np.zeros((64, 3000)), np.ones(64), np.random.default_rng())
    variance = sum(phase.noise**2 for phase in phases_of(solver, problem, 64))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 3000)
    assert low < theta @ theta / variance < high


def test_without_noise_a_pass_learns(rng):
    X = rng.normal(size=(4000, 3))
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=4000) > 0.0, 1.0, -1.0)
    for average in (0.0, 1.0):
        problem = problem_with(SmoothedHingeLoss(), 4000, REPLACE, norm=3.0, intercept=0.3)
        solver = PhasedSGD(step_size=0.02, average=average)
        theta = run(solver, problem, X, y, Silent(rng.random(4000)))
        assert theta[0] > 5.0 * np.abs(theta[1:]).max()


def test_a_kinked_loss_is_refused_with_the_way_out():
    problem = problem_with(HingeLoss(), 100, REPLACE, intercept=0.3)
    with pytest.raises(IncompatibleSolverError, match=r"smoothing="):
        PhasedSGD().plan(problem, 1.0, 1e-5)
    several = problem_with(CompetitorLoss(HingeLoss(), 3), 100, REPLACE, intercept=0.3)
    with pytest.raises(IncompatibleSolverError, match="smooth loss"):
        PhasedSGD().plan(several, 1.0, 1e-5)
    with pytest.raises(IncompatibleSolverError, match="delta > 0"):
        PhasedSGD().plan(problem_with(LOSSES[0], 100, REPLACE, intercept=0.3), 1.0, 0.0)


@pytest.mark.parametrize(
    "wrong", [{"n_phases": 0}, {"n_phases": 11}, {"step_size": 0.0}, {"average": 1.5}], ids=repr
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}"):
        PhasedSGD(**wrong)


def test_estimators_know_it_by_name():
    X, y = np.linspace(-1, 1, 600).reshape(200, 3), np.arange(200) // 100
    for model in (DPLogisticRegression(epsilon=50.0), DPHingeClassifier(epsilon=50.0)):
        model.set_params(solver="phased_sgd", random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9
        assert "phases" in str(model.privacy_)


def outputs(solver, problem, X, y, runs):
    """Released coefficients of many independent runs."""
    plan, rng = solver.plan(problem, EPSILON, 1e-5), np.random.default_rng()
    design = ClippedDesign.clip(X, problem.data_norm, problem.intercept_scaling, y)
    return np.array([plan.read(design, rng, lambda *step: None).theta[0] for _ in range(runs)])


def lower_bound(high, low):
    """A μ below the true one with probability 1 − FALSE_ALARM, from two samples."""
    thresholds = np.quantile(np.r_[high, low], np.linspace(0.1, 0.9, 9))
    risk = FALSE_ALARM / (2 * thresholds.size)

    def at_least(hits, trials):
        return stats.beta.ppf(risk, hits, trials - hits + 1) if hits else 0.0

    return max(
        stats.norm.ppf(at_least((high > t).sum(), high.size))
        + stats.norm.ppf(at_least((low <= t).sum(), low.size))
        for t in thresholds
    )


def attack(neighboring, runs, n=6):
    """The share of μ that is proved by one row; under add/remove all others push it back.

    One phase, of which nothing is hidden by others. Under add/remove that is the worst for the
    weights of batches.
    """
    problem = problem_with(SmoothedHingeLoss(0.5), n, neighboring)
    others = np.zeros((n - 1, 1)) if neighboring is REPLACE else -np.ones((n - 1, 1))
    last = -np.ones((1, 1)) if neighboring is REPLACE else np.empty((0, 1))
    solver, y = PhasedSGD(1, step_size=0.1), np.ones(n)
    high = outputs(solver, problem, np.r_[others, [[1.0]]], y, runs)
    low = outputs(solver, problem, np.r_[others, last], y[: n - 1 + len(last)], runs)
    return lower_bound(high, low) / gdp_mu(EPSILON, 1e-5)


def test_the_claim_survives_a_short_attack(relation):
    """A right claim fails one time in 1e6."""
    assert 0.4 < attack(relation, runs=1500) <= 1.0


@pytest.mark.slow
def test_the_claim_survives_a_long_attack(relation):
    """100 000 runs on each side; a right claim fails one time in 1e6."""
    assert 0.8 < attack(relation, runs=100_000) <= 1.0
