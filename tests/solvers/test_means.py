"""Means of labels and scores: what a record adds, what they cost, and when they are released."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats

from skdp import DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.data.persons import Persons
from skdp.design import ClippedDesign, SharedDesign
from skdp.losses import LogisticLoss, MultinomialLoss, SmoothedHingeLoss
from skdp.losses.classification import AdaptiveLogisticLoss
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss, weighted_targets
from skdp.mechanisms.grid_gaussian import to_steps
from skdp.privacy import Neighboring
from skdp.solvers import AutoSolver, Problem
from skdp.solvers._releases import MeansRelease, _sums
from skdp.solvers.auto import ChosenPlan
from skdp.solvers.base import RowCount

FALSE_ALARM = 1e-6
THETA = np.array([4.0, 1.0])
ROWS = [(row, y) for row in (-2.0, -0.5, 0.1, 0.7, 2.0) for y in (-1.0, 1.0)]


def problem(n=1000, neighboring=Neighboring.REPLACE_ONE, **more):
    facts = {
        "loss": AdaptiveLogisticLoss(),
        "data_norm": 1.0,
        "intercept_scaling": 0.3,
        "n_features": 2,
    }
    return Problem(n_samples=n, neighboring=neighboring, **{**facts, **more})


def planned(facts, mu=1.0):
    if facts.neighboring.count_is_public:
        return MeansRelease.plan(facts, RowCount(facts.n_samples, 0.0), mu)
    return MeansRelease.plan(facts, RowCount.of_share(mu), mu)


def sums_of(rows, y, weights=None):
    """The sums of one record, in units of y and of the largest score; with weights of a person."""
    rows, y = np.array(rows, float)[:, None], np.array(y, float)
    if weights is None:
        design = ClippedDesign.clip(rows, 1.0, 0.3, y)
    else:
        persons = Persons.of(np.zeros(len(y)), len(y))
        targets = weighted_targets(y, np.array(weights))
        design = SharedDesign(ClippedDesign.clip(rows, 1.0, 0.3, targets), persons)
    return design.total(partial(_sums, THETA, 1.0))


def test_the_integers_of_neighbors_are_as_far_apart_as_the_page_says(relation):
    """Brute force over all changes of one record among rows in another order, before the noise."""
    known = {"add_remove_one": math.sqrt(3.0), "replace_one": math.sqrt(8.0)}[relation]
    rng, n = np.random.default_rng(0), 2000
    sums = planned(problem(n, relation)).sums(THETA)
    assert sums.between == pytest.approx(known, rel=1e-9)
    noise, X, y = sums.noise(0.14), rng.normal(size=n), rng.choice([-1.0, 1.0], n)

    def integers(*records):
        rows, labels = np.array([*zip(X, y, strict=True), *records]).T
        order = rng.permutation(len(rows))
        design = ClippedDesign.clip(rows[order, None], 1.0, 0.3, labels[order])
        total = sums.grid.floats(design.exact_total(partial(_sums, THETA, 1.0), sums.grid))
        return to_steps(total, noise.step)

    others = [[]] if relation == "add_remove_one" else [[one] for one in ROWS]
    moved = max(
        np.linalg.norm(integers(one) - integers(*other)) for one in ROWS for other in others
    )
    assert 0.999 * known <= moved * noise.step
    assert moved <= sums.sensitivity / noise.step + math.sqrt(3.0)
    assert noise.scale >= (sums.sensitivity + math.sqrt(3.0) * noise.step) / 0.14


def test_scores_are_not_rounded_before_they_are_added():
    near = sums_of([0.1], [1.0]) - sums_of([0.1 + 1e-9], [1.0])
    assert 1e-10 < np.abs(near[1:]).min() <= np.abs(near[1:]).max() < 2e-9


def test_sums_in_any_order_and_of_any_kind_of_rows_are_within_the_bound_of_errors():
    rng = np.random.default_rng()
    X, y = rng.normal(size=(3000, 5)), rng.choice([-1.0, 1.0], size=3000)
    theta = rng.normal(size=6)
    most = 0.5 * planned(problem(3000, n_features=6)).sums(theta).errors
    A = ClippedDesign.clip(X, 1.0, 0.3, y)
    rows = A.X.astype(np.longdouble) * A.factors[:, None]
    scores = rows @ theta[:-1] + 0.3 * theta[-1].astype(np.longdouble)
    c = np.clip(scores / 3.0, -1.0, 1.0)
    exact = np.array([y.sum(), c.sum(), y @ c])
    for kind in (np.asarray, np.asfortranarray, sparse.csr_matrix):
        order = rng.permutation(3000)
        again = ClippedDesign.clip(kind(X[order]), 1.0, 0.3, y[order]).total(
            partial(_sums, theta, 1.0), 700
        )
        assert np.linalg.norm((again - exact).astype(float)) <= most


def test_the_noise_is_what_the_sensitivity_needs(relation):
    """Of 4000 releases; the test of each variance fails with probability 1e-6."""
    release = planned(problem(neighboring=relation))
    design = ClippedDesign.clip(np.array([[1.0], [0.2]]), 1.0, 0.3, np.array([1.0, -1.0]))
    exact = design.total(partial(_sums, THETA, 1.0)) / 1000
    rng, bounds = np.random.default_rng(), np.array([1.0, 3.0, 3.0])
    found = [release.release(design, THETA, rng) for _ in range(4000)]
    errors = np.array([(m.label, m.score, m.product) for m in found]) - bounds * exact
    wanted = release.sums(THETA).between / release.mu / 1000
    assert wanted <= found[0].noise <= wanted * (1.0 + 1e-4)  # more by rounding errors
    for square in ((errors / bounds / wanted) ** 2).sum(axis=0):
        assert stats.chi2(4000).cdf(square) == pytest.approx(0.5, abs=0.5 - FALSE_ALARM / 2)


@pytest.mark.parametrize("n", [500, 3000, None])
def test_fit_and_means_cost_what_was_asked_for(relation, n):
    facts = problem(n, relation)
    plan = AutoSolver().plan(facts, 1.0, 1e-5)
    assert plan.event.curve(relation).epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    assert plan.event.curve(relation).delta(1.0) <= 1e-5
    if n == 3000 and relation == "replace_one":
        mu = gdp_mu(1.0, 1e-5)
        assert plan.means.mu == pytest.approx(math.sqrt(0.02) * mu)
        assert plan.fit.event.gdp_mu(relation) == pytest.approx(math.sqrt(0.98) * mu)
        assert "three means" in plan.theorem


def test_the_fit_after_a_count_gets_the_rest(monkeypatch):
    """Of the count, the means and the choice of a link, whose squares add up to the whole."""
    seen = []

    def spied(kind, name):
        old = getattr(kind, name)

        def spy(self, *args):
            seen.append(self)
            return old(self, *args)

        monkeypatch.setattr(kind, name, spy)

    spied(ChosenPlan, "read")
    spied(MeansRelease, "release")
    rng = np.random.default_rng()
    X, y = rng.normal(size=(2000, 2)) / 3.0, np.arange(2000) % 2
    model = DPLogisticRegression(classes=[0, 1], neighboring="add_remove_one", center=False)
    model.fit(X, y)
    (plan, release), mu = seen, math.sqrt(0.93) * gdp_mu(1.0, 1e-5)  # the rest is released later
    assert release.count.mu == pytest.approx(0.1 * mu)
    assert release.mu**2 == pytest.approx(0.02 * 0.99 * mu**2)
    of_fit = plan.fit.event.gdp_mu(Neighboring.ADD_REMOVE_ONE)
    assert of_fit**2 == pytest.approx(0.98 * 0.99 * mu**2)
    assert model._probabilities_.means.n_records == release.problem.n_samples


@pytest.mark.parametrize(
    "more",
    [
        {"n_samples": 199},  # n·μ/k below 100
        {"n_samples": 6001},  # above 3000
        {"n_samples": None},
        {"neighboring": Neighboring.ADD_REMOVE_ONE},  # a guess of n
        {"C": 1.0},
        {"intercept_scaling": 0.0},
        {"loss": MultinomialLoss(3)},
        {"loss": SmoothedHingeLoss(0.5)},
        {"loss": WeightedLoss(LogisticLoss(), 1.0), "weighted_rows": 1000},  # n is not Σ w
        {"loss": ClassWeightedLoss(LogisticLoss(), (1.0, 2.0))},
    ],
    ids=str,
)
def test_means_are_released_only_where_probabilities_follow_from_them(more):
    assert planned(problem()) is not None
    assert planned(problem(loss=SharedLoss(LogisticLoss(), 1.0))) is not None
    weighted = replace(problem(loss=WeightedLoss(LogisticLoss(), 2.0)), weighted_rows=1000)
    assert MeansRelease.plan(weighted, RowCount.of_share(1.0), 1.0) is not None
    assert MeansRelease.plan(replace(problem(), **more), RowCount(1000, 0.0), 1.0) is None


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("label", [0, 1])
def test_few_rows_and_one_class_are_no_error(n, label):
    """The noisy count is at least 10, so with μ > 10 the means are released."""
    X = np.full((n, 2), 0.4)
    model = DPLogisticRegression(classes=[0, 1], neighboring="add_remove_one", epsilon=200.0)
    model.fit(X, np.full(n, label))
    assert model._probabilities_.means is not None
    assert np.isfinite(model.predict_log_proba(np.full((5, 2), 0.4))).all()


def test_persons_count_once():
    """Means over persons of means over their rows; off by 6 standard deviations: 1e-8."""
    rng = np.random.default_rng()
    sizes = rng.integers(1, 6, size=1500)
    groups = np.repeat(np.arange(1500), sizes)
    X = rng.normal(size=(groups.size, 3)) / 2.0
    y = (X[:, 0] + rng.normal(size=groups.size) > 0.3).astype(int)
    model = DPLogisticRegression(classes=[0, 1]).fit(X, y, groups=groups)
    means, shares = model._probabilities_.means, 1.0 / sizes[groups] / 1500
    scores, signed = np.clip(model._scores(X)[:, 0], -3.0, 3.0), 2.0 * y - 1.0
    for found, exact, bound in (
        (means.label, shares @ signed, 1.0),
        (means.score, shares @ scores, 3.0),
        (means.product, shares @ (signed * scores), 3.0),
    ):
        assert found == pytest.approx(exact, abs=bound * (6.0 * means.noise + 1e-3))
