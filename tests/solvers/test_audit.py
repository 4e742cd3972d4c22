"""Attacks on every solver with worst-case neighbors: what they prove never exceeds the claim.

One record pulls and the others do not; the attack runs a solver many times on two neighboring
data sets, guesses the data set from the coefficient, and turns its hit rates into a lower bound on
ε at the claim's δ. The bound exceeds the truth with probability 1e-6 (Clopper and Pearson, over all
thresholds and both orders), so that a right claim fails with that probability. An attack that
proves nothing would let any mistake pass, so the long ones must also prove something.
"""

import math

import numpy as np
import pytest
from problems import problem_with
from scipy import stats

from skdp.design import ClippedDesign
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, SmoothedHingeLoss, SquaredLoss
from skdp.losses.classification import AdaptiveLogisticLoss
from skdp.privacy import Neighboring
from skdp.solvers import (
    DPSGD,
    SOLVERS,
    AdaSSP,
    AutoSolver,
    NoisyGD,
    RegularizedExponential,
)

FALSE_ALARM = 1e-6
EPSILON, DELTA = 4.0, 1e-3
HINGE, LOGISTIC = SmoothedHingeLoss(), ClippedLogisticLoss()
CASES = [
    *((kind(), HINGE, 3) for kind in SOLVERS.values() if kind is not AdaSSP),
    (AdaSSP(), SquaredLoss(), 3),
    (AdaSSP(), SquaredLoss(), None),
    (NoisyGD(momentum=0.0), HINGE, 3),  # the cost of the last iterate
    (NoisyGD(5, average=1.0, domain_radius=100.0), HINGE, 3),
    (DPSGD(10, sampling_rate=0.5, clip_norm=0.05, average=0.5), LOGISTIC, 3),
    (DPSGD(3, sampling_rate=1.0), HINGE, None),
    (NoisyGD(3), CompetitorLoss(HINGE, 3), None),
]
METRIC_CASES = [
    (NoisyGD(), HINGE, None),
    (DPSGD(10, sampling_rate=0.5, precondition=True), HINGE, None),
    (AutoSolver(), AdaptiveLogisticLoss(), None),
    (NoisyGD(), CompetitorLoss(HINGE, 3), None),
    (RegularizedExponential(), LOGISTIC, 3000),
]
every_case = pytest.mark.parametrize(("solver", "loss", "n"), CASES, ids=repr)
add_remove = pytest.mark.parametrize(  # the other relation runs with the slow ones
    "neighboring",
    [Neighboring.ADD_REMOVE_ONE, pytest.param(Neighboring.REPLACE_ONE, marks=pytest.mark.slow)],
    ids=str,
)


def neighbors(neighboring, loss, columns=1):
    X = np.zeros((3, columns))
    X[0, -1] = 1.0
    y = np.ones(3) if loss.n_scores == 1 else np.ones(3, dtype=int)
    other = (-X, y) if neighboring == "replace_one" else (X[1:], y[1:])
    return (X, y), other


def pulls(solver, plan, X, y, runs, rng):
    """The coefficient of each run; of several, the one that the record moves most."""
    design = ClippedDesign.clip(X, 1.0, targets=y)
    thetas = [plan.read(design, rng, lambda *step: None).theta for _ in range(runs)]
    return np.array([theta[-1] if theta.ndim == 1 else theta[-1, 1] for theta in thetas])


def proved_epsilon(one, other):
    """An ε that is below the true one at DELTA with probability 1 − FALSE_ALARM.

    The first tenth of the runs chooses the thresholds, the rest is counted.
    """
    pilot = one.size // 10
    thresholds = np.quantile(np.r_[one[:pilot], other[:pilot]], np.linspace(0.05, 0.95, 19))
    risk = FALSE_ALARM / (8 * thresholds.size)
    orders = [(one, other, 1), (other, one, 1), (one, other, -1), (other, one, -1)]
    return max(
        proved_by_test(sign * a[pilot:] > sign * t, sign * b[pilot:] > sign * t, risk)
        for a, b, sign in orders
        for t in thresholds
    )


def proved_by_test(hits, false_hits, risk):
    """log of (power − δ)/level, both by their confidence limits."""
    power = stats.beta.ppf(risk, hits.sum(), (~hits).sum() + 1) if hits.any() else 0.0
    innocent = (~false_hits).sum()
    level = stats.beta.ppf(1 - risk, false_hits.sum() + 1, innocent) if innocent else 1.0
    return math.log((power - DELTA) / level) if power > DELTA else -math.inf


def attack(solver, loss, n, neighboring, runs, epsilon=EPSILON, columns=1):
    known = (n or 3) if neighboring == "replace_one" else n
    plan = solver.plan(problem_with(loss, known, neighboring, n_features=columns), epsilon, DELTA)
    rng, pair = np.random.default_rng(), neighbors(neighboring, loss, columns)
    return proved_epsilon(*(pulls(solver, plan, X, y, runs, rng) for X, y in pair))


@pytest.mark.slow
@every_case
def test_the_claim_survives_a_long_attack(solver, loss, n, relation):
    assert 0.5 < attack(solver, loss, n, relation, runs=50_000) <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "loss", "n"), METRIC_CASES, ids=repr)
def test_the_claim_survives_a_long_attack_in_a_metric(solver, loss, n, relation):
    """With two columns, so that there is a metric; a planned n of 3000 makes runs long."""
    runs = 50_000 if n is None else 6000
    assert 0.5 < attack(solver, loss, n, relation, runs, columns=2) <= EPSILON


@pytest.mark.parametrize(("solver", "loss", "n"), METRIC_CASES[:2], ids=repr)
@add_remove
def test_the_claim_survives_a_short_attack_in_a_metric(solver, loss, n, neighboring):
    """At ε = 1, as 200 runs prove 2.2 at most."""
    assert attack(solver, loss, n, neighboring, 200, epsilon=1.0, columns=2) <= 1.0


@pytest.mark.parametrize("solver", [NoisyGD(5), DPSGD(5, sampling_rate=1.0)], ids=repr)
def test_the_attack_catches_noise_that_is_far_too_small(solver):
    """The run of a plan for ten times the ε does not pass for one of EPSILON."""
    plan = solver.plan(problem_with(HINGE, 3, Neighboring.REPLACE_ONE), 10 * EPSILON, DELTA)
    rng = np.random.default_rng()
    samples = [
        pulls(solver, plan, X, y, 1600, rng) for X, y in neighbors(Neighboring.REPLACE_ONE, HINGE)
    ]
    assert proved_epsilon(*samples) > EPSILON
