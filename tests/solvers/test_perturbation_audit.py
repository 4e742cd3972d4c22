"""Attacks on the solvers that minimize: what is proved of δ(ε) never exceeds the claim.

Each solver runs many times on neighbors whose differing record is the only one that pulls. From
the shares of coefficients above a threshold follows a lower bound of δ(ε) = sup P(S) − e^ε·Q(S),
which exceeds the truth with probability 1e-6 (Clopper and Pearson, over all thresholds and both
orders). It must also reach a good part of the claim.
"""

import math

import numpy as np
import pytest
from problems import problem_with
from scipy import stats

from skdp.design import ClippedDesign
from skdp.losses import ClippedLogisticLoss, SmoothedHingeLoss
from skdp.losses.weighted import WeightedLoss, weighted_targets
from skdp.solvers import SOLVERS, Problem

FALSE_ALARM = 1e-6
EPSILON, DELTA = 0.5, 0.5
CASES = [
    ("objective_perturbation", ClippedLogisticLoss(), 1e-3),
    ("objective_perturbation", SmoothedHingeLoss(0.5), 1e-2),
    ("objective_perturbation", WeightedLoss(ClippedLogisticLoss(), 2.0), 5e-4),
    ("output_perturbation", ClippedLogisticLoss(), "auto"),
    ("output_perturbation", SmoothedHingeLoss(0.5), 0.1),
]
every_case = pytest.mark.parametrize(("name", "loss", "C"), CASES)


def proved(high, low):
    """A δ below the true one with probability 1 − FALSE_ALARM, from two samples."""
    thresholds = np.quantile(np.r_[high, low], np.linspace(0.05, 0.95, 19))
    risk = FALSE_ALARM / (4 * thresholds.size)
    bounds = [0.0]
    for t in thresholds:
        for p, q in ((high > t, low > t), (low <= t, high <= t)):
            least = stats.beta.ppf(risk, p.sum(), p.size - p.sum() + 1) if p.any() else 0.0
            most = stats.beta.isf(risk, q.sum() + 1, q.size - q.sum()) if not q.all() else 1.0
            bounds.append(least - math.exp(EPSILON) * most)
    return max(bounds)


def attack(name, loss, C, relation, runs):
    solver, rng = SOLVERS[name](), np.random.default_rng(0)
    plan = solver.plan(problem_with(loss, 3, relation, C=C), EPSILON, DELTA)
    X = np.zeros((3, 1))
    X[0] = 1.0
    others = -X if relation == "replace_one" else X[1:]
    samples = []
    for rows in (X, others):
        y = np.ones(len(rows))
        if isinstance(loss, WeightedLoss):
            y = weighted_targets(y, np.full(len(rows), loss.max_weight))
        design = ClippedDesign.clip(rows, 1.0, targets=y)
        samples.append([plan.read(design, rng, print_nothing).theta[0] for _ in range(runs)])
    return proved(*map(np.array, samples))


def print_nothing(step, n_steps):
    """Show no progress."""


@pytest.mark.slow
@every_case
def test_the_claim_survives_a_long_attack(name, loss, C, relation):
    assert 0.15 * DELTA < attack(name, loss, C, relation, 50_000) <= DELTA


def test_the_attack_catches_noise_that_is_too_small_by_two(relation, monkeypatch):
    """Samples 2·μ apart prove .6 or more."""
    monkeypatch.setattr(
        Problem, "lipschitz_difference", property(lambda self: 0.5 * self.loss.lipschitz)
    )
    assert attack("output_perturbation", ClippedLogisticLoss(), 0.1, relation, 700) > DELTA
