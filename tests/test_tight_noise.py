"""Noise of four releases: no neighbors move farther than it covers, and the worst move as far.

The cost of two neighbors is computed from what they ask and from the scale of the noise alone. The
searches are adaptive, so both neighbors get the same replies, and squares of costs add up.
"""

import itertools
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from problems import problem_with

from skdp.accounting import gdp_mu
from skdp.additive.stages import _choice, score_of
from skdp.calibration._conformal import _N, _Search, counts_of_scores
from skdp.data.persons import Persons
from skdp.data.records import Records
from skdp.design import ClippedDesign, SharedDesign
from skdp.linear_model._first_releases import TargetSearch
from skdp.linear_model._records import TargetRange
from skdp.linear_model._standard_errors import MomentInference, residual_spread
from skdp.losses import SquaredLoss
from skdp.losses.weighted import SharedLoss, weighted_targets
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring
from skdp.workloads.plan import GaussianPlan

TIGHT = 0.98
ROUNDING = 1e-9  # of the costs that are added up here
REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_REMOVE_ONE
every_relation = pytest.mark.parametrize("relation", [REPLACE, ADD])
every_unit = pytest.mark.parametrize("n_own", [1, 3])  # rows of each record
FEW, MANY = 100, 1500  # neighbors of a setting


def costs(changes):
    """Return the cost of (change, scale) pairs of Gaussian releases."""
    return math.sqrt(sum(float(np.sum(np.square(moved))) / scale**2 for moved, scale in changes))


def neighbors(one, other, relation):
    """Return what the two data sets have of the record in which they differ."""
    return (one, other) if relation is REPLACE else (one[:0], other)


# -- the range of the targets --------------------------------------------------------------------


def asked(monkeypatch, run, replies=None, reply=None):
    """Return the values and scales of all Gaussian releases of a run, and their replies."""
    found, given = [], iter(replies or ())

    def add(noise, values, _):
        answer = next(given)[2] if replies else np.array(reply(len(found), values), dtype=float)
        found.append((np.array(values, dtype=float), noise.scale, answer))
        return answer

    monkeypatch.setattr(GridGaussian, "add", add)
    run()
    return found


def moved(first, second):
    assert [scale for _, scale, _ in first] == [scale for _, scale, _ in second]
    return [(a - b, scale) for (a, scale, _), (b, _, _) in zip(first, second, strict=True)]


def cost_of_search(monkeypatch, search, others, one, other, reply):
    """Return the cost of two neighbors; `others` and each record are arrays (n_records, n_own)."""
    found = None
    for own in (one, other):
        y = np.concatenate([others, own])
        groups = np.repeat(np.arange(len(y)), y.shape[1]) if y.shape[1] > 1 else None
        records = Records.of_rows(np.zeros((y.size, 1)), y.ravel(), groups)
        run = partial(search.release, TargetRange(0.0, 1.0), records, np.random.default_rng())
        first, found = found, asked(monkeypatch, run, found, reply)
    assert len(found) >= 16  # of them 14 for the median
    return costs(moved(first, found))


@every_relation
@every_unit
@pytest.mark.parametrize("n_known", [60, 10_000, None])
def test_a_search_for_the_range_of_targets(relation, n_own, n_known, monkeypatch):
    """A `n_known` is public, a hint, or None for an estimate, here replied by 1000."""
    if n_known is None and relation is REPLACE:
        return
    search, rng = TargetSearch(0.7, n_known, relation), np.random.default_rng()
    values = np.array([0.0, 1e-5, 0.3, 0.5, 1.0])

    def reply(scale, k, exact):
        is_count = n_known is None and k == 0
        return 1000.0 if is_count else exact + scale * rng.normal()

    for _ in range(FEW):
        others = rng.choice(values, p=rng.dirichlet(np.ones(5)), size=(rng.integers(1, 9), n_own))
        own = neighbors(*rng.choice(values, size=(2, 1, n_own)), relation)
        cost = cost_of_search(
            monkeypatch, search, others, *own, partial(reply, rng.choice([0.0, 0.5, 5.0]))
        )
        assert cost <= search.mu * (1.0 + ROUNDING)
    low, high = np.zeros((1, n_own)), np.ones((1, n_own))
    own = neighbors(low, high, relation)
    cost = cost_of_search(monkeypatch, search, np.zeros((50, n_own)), *own, partial(reply, 0.0))
    # a record that is added outside of the median's cell does not move the count of the cell
    attained = 1.0 if relation is REPLACE else math.sqrt(8.0 / 9.0)
    assert TIGHT * attained * search.mu <= cost <= search.mu * (1.0 + ROUNDING)


# -- conformal thresholds ------------------------------------------------------------------------


def cost_of_thresholds(monkeypatch, search, n_groups, others, one, other, reply):
    """Return the cost of two neighbors; records are arrays (n_records, n_own, 2): score, group."""
    found, plan = [], []

    def release(self, name, values, rng):
        replies = found[0] if len(plan) > 1 else None
        answer = replies[len(plan[1])][2] if replies else reply(values)
        plan[-1].append((np.array(values), self.mechanism(name).scale, answer))
        return answer

    monkeypatch.setattr(GaussianPlan, "release", release)
    for own in (one, other):
        rows = np.concatenate([others, own])
        groups = np.repeat(np.arange(len(rows)), rows.shape[1]) if rows.shape[1] > 1 else None
        scores, of_class = rows.reshape(-1, 2).T
        records = Records.of_rows(np.zeros((scores.size, 1)), None, groups)
        classes = of_class.astype(int) if n_groups > 1 else None
        plan.append([])
        counts = counts_of_scores(scores, classes, n_groups, records)
        search.choose(counts, np.random.default_rng(), records.is_weighted)
        found.append(plan[-1])
    return costs(moved(*found))


def worst_scores(relation, n_groups, level):
    """Return (score, class) of two records, of which the second is added."""
    if relation is ADD:
        return (0.0, 0), (1.0 if level >= 0.5 else 0.0, 0)
    if n_groups > 1 and max(level, 1.0 - level) >= math.sqrt(0.5):
        score = 1.0 if level >= 0.5 else 0.0
        return (score, 0), (score, 1)
    return (0.0, 0), (1.0, 0)


@every_relation
@every_unit
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("levels", [(0.9,), (0.5,), (0.2, 0.05), (0.95, 0.75)])
def test_a_search_for_conformal_thresholds(relation, n_own, n_groups, levels, monkeypatch):
    terms = SimpleNamespace(neighboring=relation, epsilon=1.0, delta=1e-5)
    search, rng = _Search.of(levels, n_groups, terms), np.random.default_rng()
    planned = search.event.gdp_mu(relation)

    def drawn(n):
        scores = rng.choice([0.0, 1.0 / _N, 0.5, 1.0, rng.uniform()], size=(n, n_own))
        return np.stack([scores, rng.integers(0, n_groups, size=(n, n_own))], axis=2)

    for _ in range(FEW // 4):
        own = neighbors(drawn(1), drawn(1), relation)
        others = drawn(rng.integers(0, 9))
        cost = cost_of_thresholds(
            monkeypatch, search, n_groups, others, *own, lambda exact: exact + rng.normal(scale=9.0)
        )
        assert cost <= planned * (1.0 + ROUNDING)
    worst = worst_scores(relation, n_groups, levels[0])
    own = neighbors(*(np.array([[record] * n_own]) for record in worst), relation)
    cost = cost_of_thresholds(monkeypatch, search, n_groups, drawn(5), *own, np.array)
    assert TIGHT * planned <= cost <= planned * (1.0 + ROUNDING)


# -- the spread of residuals ---------------------------------------------------------------------


def contributions(plan, records):
    """Return what each record adds to the release; a record is a list of (x, y, weight)."""
    found, loss = [], plan.problem.loss
    for record in records:
        x, y, weights = np.array(record).T
        if isinstance(loss, SharedLoss):
            persons = Persons(np.zeros(len(x), dtype=int), 1)
            targets = weighted_targets(y, persons.row_weights() * weights)
            inner = ClippedDesign.clip(x[:, None], 1.0, 1.0, targets)
            design = SharedDesign(inner, persons, loss.largest)
        else:
            design = ClippedDesign.clip(x[:, None], 1.0, 1.0, y)
        found.append(design.total(partial(residual_spread, loss, np.array([1.0, 0.0]))))
    return np.array(found) / [plan.spread.longest**2, plan.spread.steepest]


def plan_of_moments(relation, loss):
    problem = problem_with(loss, 500, relation, intercept=1.0, n_features=2)
    return MomentInference().plan(problem, 1.0, 1e-5)


@every_relation
@every_unit
@pytest.mark.parametrize("largest", [1.0, 2.0])
def test_the_spread_of_residuals(relation, n_own, largest):
    rng, loss = np.random.default_rng(), SquaredLoss()
    plan = plan_of_moments(relation, loss if n_own == 1 else SharedLoss(loss, largest))
    weights = [0.0, 0.5 * largest, largest] if n_own > 1 else [1.0]
    kinds = list(itertools.product([-1.0, 0.0, 0.4, 1.0], [-1.0, 0.0, 0.7, 1.0], weights))
    worst = [[(1.0, -1.0, largest)] * n_own, [(1.0, 1.0, largest)] * n_own]
    some = [[kinds[k] for k in rng.integers(len(kinds), size=n_own)] for _ in range(MANY // 25)]
    one = contributions(plan, [*some, *worst])
    other = one if relation is REPLACE else np.zeros_like(one[:1])
    apart = np.linalg.norm(one[:, None] - other[None], axis=2)
    planned = plan.spread.scale * plan.spread.mu
    assert apart.max() <= planned * (1.0 + ROUNDING)
    assert apart.max() >= TIGHT * planned


@every_relation
def test_noise_of_the_spread(relation):
    """2000 squares of standard normal numbers have a mean outside of 1 ± .2 once in 1e9 runs."""
    plan, rng = plan_of_moments(relation, SquaredLoss()), np.random.default_rng()
    sums = np.array([60.0, 500.0 * 4.0 - 60.0])
    squares, counts = np.array([plan.residuals(sums, rng) for _ in range(2000)]).T
    noise = (squares - 60.0) / 4.0 * plan.spread.mu  # of the share of squares, up to 1 each
    assert np.mean(noise**2) == pytest.approx(1.0, abs=0.2)
    assert (counts == 500.0).all() == (relation is REPLACE)


# -- pairs of columns ----------------------------------------------------------------------------


def score(cells):
    """Return the score of cells [(shares, residuals)]."""
    return score_of(np.array(cells, dtype=float).T)


def added(cells, places, r, sign=1):
    """Return cells with a record of residual r, whose rows are in `places`; or without it."""
    cells = np.array(cells, dtype=float)
    for place in places:
        cells[place] += sign / len(places) * np.array([1.0, r])
    return cells


def gap(changes):
    return max(*changes, 0.0) - min(*changes, 0.0)  # the public end of a search changes by 0


@every_relation
@pytest.mark.parametrize("n_own", [1, 2, 16])
def test_a_choice_of_pairs(relation, n_own):
    """Cells of two pairs, with other records of extreme residuals and some with shares."""
    terms = SimpleNamespace(neighboring=relation, typical_mu=gdp_mu(1.0, 1e-5), is_private=True)
    most, rng = 2.0 * _choice(terms, 6).sensitivity, np.random.default_rng()
    for _ in range(MANY):
        changes, r = [], rng.choice([-1.0, 0.0, 0.5, 1.0], size=2)
        for _ in range(2):
            shares = rng.choice([0.0, 0.25, 0.7, 1.0, 2.0, 3.0, 400.0], size=4)
            cells = np.stack([shares, shares * rng.choice([-1.0, 0.3, 1.0], size=4)], axis=1)
            one, other = (
                score(added(cells, rng.integers(0, 4, size=n_own), residual)) for residual in r
            )
            changes.append(other - (one if relation is REPLACE else score(cells)))
        assert gap(changes) <= most
    # The residual is 1. A crowd of the same sign has it in one pair, and the fewest of the other
    # sign that still score have it in the other.
    crowd, fewest = (1e6, 1e6), (0.6655, -0.6655)
    cells = [crowd, *([fewest] * 64)]
    up, down = (added(cells, places, 1.0) for places in ([0], range(1, 65)))
    changes = [score(up) - score(cells), score(down) - score(cells)]
    if relation is REPLACE:
        changes = [changes[0] - changes[1], changes[1] - changes[0]]
    assert TIGHT * most <= gap(changes) <= most
