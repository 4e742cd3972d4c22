"""Fits to wide rows whose noisy steps read Poisson samples: their cost, and where they are off."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skdp import (
    DPAdditiveClassifier,
    DPHingeClassifier,
    DPLinearRegression,
    DPLogisticRegression,
    DPRandomForestClassifier,
    DPTabularClassifier,
    PrivacyBudget,
)
from skdp.accounting import PLDAccountant, gdp_mu
from skdp.additive import stages
from skdp.calibration import DPConformalClassifier
from skdp.features.combined import MixtureMap
from skdp.linear_model import _base
from skdp.losses.classification import AdaptiveLogisticLoss
from skdp.model_selection import DPGridSearchCV
from skdp.privacy import GaussianEvent, GDPEvent, Neighboring, PoissonSampledEvent
from skdp.solvers import AutoSolver, Problem, noisy_gd
from skdp.solvers.base import RowCount, composed

N, D = 1200, 210
X = np.random.default_rng(0).normal(size=(N, D)) / math.sqrt(D)
Y = (X[:, 0] > 0.0).astype(int)


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Let samples be read of few rows too."""
    monkeypatch.setattr(noisy_gd, "_FEWEST_NUMBERS", 0.0)


def is_sampled(model):
    return any(isinstance(leaf, PoissonSampledEvent) for leaf, _ in model.privacy_.event.leaves())


def planned(n, d, epsilon, delta, others, **more):
    """Return the plan beside other Gaussian releases, whose squares were subtracted before."""
    facts = {"loss": AdaptiveLogisticLoss(), "neighboring": Neighboring.REPLACE_ONE, **more}
    problem = Problem(data_norm=1.0, intercept_scaling=0.3, n_samples=n, n_features=d, **facts)
    mu = gdp_mu(epsilon, delta)
    mu = math.sqrt(mu * mu - sum(event.mu**2 for event in others))
    plan = AutoSolver()._chosen(problem.adapted(n, mu), RowCount(n, 0.0), mu)
    return plan.on_samples(others, epsilon, delta)


@pytest.mark.parametrize("shares", [(), (0.3, 0.2)], ids=["alone", "beside"])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(("n", "d"), [(3000, 3001), (30_000, 301), (100_000, 501)])
def test_all_events_together_cost_what_was_asked(n, d, epsilon, delta, shares):
    """By the exact accountant; the noise is at most 1 % above that of Gaussian DP steps."""
    others = tuple(GDPEvent(share * gdp_mu(epsilon, delta)) for share in shares)
    plan = planned(n, d, epsilon, delta, others)
    if plan.fit.steps is None:
        assert epsilon == 3.0  # a sample would be large, or its noise small
        return
    spent = PLDAccountant("replace_one").epsilon(composed((*others, plan.event)), delta)
    assert 0.98 * epsilon <= spent <= epsilon
    steps = plan.fit.steps
    assert steps.sigma >= 2.99
    assert 0.1 <= steps.rate <= 0.25
    free = replace(plan.fit, steps=None)
    ratio = plan.fit.descent(n).noise / free.descent(n).noise
    assert 0.97 <= ratio <= 1.01
    assert math.isinf(plan.event.gdp_mu("replace_one"))


def test_the_cost_of_a_fit_holds_for_simulated_losses():
    """Brute force: E(1 − e^(ε − L))⁺ of the planned events for both orders of the worst neighbors.

    Both means of 400 000 losses are below δ(ε) + 5 standard errors: false alarm below 1e-6.
    """
    model = DPLogisticRegression(solver="auto").fit(X, Y)
    assert is_sampled(model)
    rng, losses = np.random.default_rng(), np.zeros((2, 400_000))
    for leaf, count in model.privacy_.event.leaves():
        for _ in range(count):
            losses += [_loss(leaf, side, rng, losses.shape[1]) for side in (1.0, -1.0)]
    for epsilon in (0.2, 0.5, 0.8):
        excess = np.maximum(0.0, -np.expm1(epsilon - losses))
        error = excess.std(axis=1) / math.sqrt(losses.shape[1])
        most = PLDAccountant("replace_one").delta(model.privacy_.event, epsilon)
        assert np.all(excess.mean(axis=1) <= most + 5.0 * error)
        assert np.all(excess.mean(axis=1) >= most - 5.0 * error - 0.05 * most)  # it is tight


def _loss(leaf, side, rng, size):
    """Return privacy losses where the true record moves a sum by `side`, and the other by −1."""
    if isinstance(leaf, GDPEvent):
        return leaf.mu * rng.normal(size=size) + 0.5 * leaf.mu**2
    assert isinstance(leaf.event, GaussianEvent)
    q, noise = leaf.sampling_rate, leaf.event.noise_multiplier
    x = side * (rng.random(size) < q) + noise * rng.normal(size=size)
    log_p, log_q = (
        np.logaddexp(
            math.log1p(-q) - x**2 / (2.0 * noise**2),
            math.log(q) - (x - at) ** 2 / (2.0 * noise**2),
        )
        for at in (side, -side)
    )
    return log_p - log_q


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPHingeClassifier])
def test_wide_rows_are_read_in_samples(kind):
    assert is_sampled(kind().fit(X, Y))
    assert is_sampled(kind().fit(pd.DataFrame(X), Y))
    assert not is_sampled(kind().fit(X[:, :199], Y))


MANY = {"bounds": (-1.0, 1.0), "random_state": 0}


def test_features_are_made_of_sampled_rows_only(monkeypatch):
    """One read of all rows remains, for the errors of probabilities; the steps read a tenth."""
    made, old = [], MixtureMap.made

    def observed(self, rows):
        made.append(len(rows))
        return old(self, rows)

    monkeypatch.setattr(MixtureMap, "made", observed)
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, size=(6000, 2))
    y = (rows.sum(axis=1) > 0.0).astype(int)
    model = DPTabularClassifier(**MANY).fit(rows, y)
    assert is_sampled(model)
    assert model.privacy_.exact
    reads = sum(made) / len(rows) - 1.0
    leaves = [leaf for leaf, _ in model.privacy_.event.leaves()]
    (rate,) = {leaf.sampling_rate for leaf in leaves if isinstance(leaf, PoissonSampledEvent)}
    assert reads == pytest.approx(rate * (model.n_iter_ + 1), rel=0.1)
    assert model.score(rows, y) > 0.95


@pytest.mark.parametrize(
    "model",
    [
        DPTabularClassifier(neighboring="add_remove_one", n_samples_hint=N, **MANY),
        DPTabularClassifier(
            budget=PrivacyBudget(epsilon=10.0, delta=1e-5), **MANY | {"random_state": None}
        ),
        DPRandomForestClassifier(**MANY),
    ],
    ids=["private count", "budget", "sparse"],
)
def test_features_are_kept_elsewhere(model):
    assert not is_sampled(model.fit(X[:, :3], Y))


def test_a_search_for_pairs_counts_fits_that_read_all_rows(monkeypatch):
    """Its event is a bound of μ of all fits, so that none of them may read samples."""
    monkeypatch.setattr(stages, "_MOST_STOP", 1.0)  # search few rows too
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, size=(12_000, 30))
    y = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0.0).astype(int)
    without = DPAdditiveClassifier(epsilon=2.0, **MANY)
    assert is_sampled(without.fit(rows, y))
    model = clone(without).set_params(interactions="auto").fit(rows, y)
    assert "pairs of columns" in model.privacy_.theorem
    assert not is_sampled(model)
    assert "Poisson" not in model.privacy_.theorem


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n", [40_000, 100_000])
def test_a_sampled_matrix_costs_little(n, epsilon):
    """Replacing a record counts as twice its square instead of √2 times: 1 % of μ² more."""
    plan = planned(n, 701, epsilon, 1e-5, (), has_features=True)
    if plan.fit.steps is None:
        assert epsilon == 3.0
        return
    spent = PLDAccountant("replace_one").epsilon(plan.event, 1e-5)
    assert 0.98 * epsilon <= spent <= epsilon
    free = replace(plan.fit, steps=None, gram=replace(plan.fit.gram, sample=None))
    assert plan.fit.gram.scale == pytest.approx(free.gram.scale, rel=0.002)
    assert 0.97 <= plan.fit.descent(n).noise / free.descent(n).noise <= 1.02


@pytest.mark.parametrize(
    "given",
    [
        {"neighboring": "add_remove_one"},
        {"neighboring": "add_remove_one", "n_samples_hint": N},
        {"solver": "noisy_gd"},
        {"subsample": 0.9},
        {"budget": PrivacyBudget(epsilon=10.0, delta=1e-5, composition="gdp")},
        {"budget": PrivacyBudget(epsilon=10.0, delta=1e-5, composition="basic")},
        {"epsilon": 300.0},
    ],
    ids=str,
)
def test_where_samples_are_off(given):
    model = DPLogisticRegression(**given).fit(X, Y)
    assert "sampled Gaussian steps" not in model.privacy_.theorem


def test_other_rows_are_read_as_a_whole():
    y = Y + 1.0 * (X[:, 1] > 0.05)
    rows = np.arange(N) // 2
    fits = [
        DPLogisticRegression().fit(sparse.csr_matrix(X), Y),
        DPLogisticRegression().fit(X, Y, groups=rows),
        DPLogisticRegression(max_rows=1).fit(X, Y, groups=rows),
        DPLogisticRegression(max_weight=1.0).fit(X, Y, sample_weight=np.ones(N)),
        DPLogisticRegression(classes=[0.0, 1.0, 2.0]).fit(X, y),
        DPLinearRegression(target_bounds=(0.0, 2.0)).fit(X, y),
    ]
    assert all(model.privacy_.gdp_mu < math.inf for model in fits)


@pytest.mark.parametrize(
    "outer",
    [
        DPGridSearchCV(DPLogisticRegression(classes=[0, 1]), {"C": [1.0, "auto"]}),
        DPConformalClassifier(DPLogisticRegression(classes=[0, 1])),
    ],
    ids=lambda outer: type(outer).__name__,
)
def test_parts_of_larger_releases_stay_gaussian(outer, monkeypatch):
    """A search or a held-out calibration adds squares of μ: its fits must not read samples."""
    asked, old = [], _base._may_sample

    def observed(model, parameters, records):
        asked.append(old(model, parameters, records))
        return asked[-1]

    monkeypatch.setattr(_base, "_may_sample", observed)
    outer.set_params(epsilon=2.0, delta=1e-5).fit(X, Y)
    assert asked
    assert not any(asked)


def _nothing(model, value):
    """Set nothing."""


def test_a_lost_mark_of_a_part_is_found_before_the_spend(monkeypatch):
    """The rehearsal of a part plans as the fit does, so a sampled part is never accepted."""
    monkeypatch.setattr(DPLogisticRegression, "_is_part", property(lambda self: False, _nothing))
    search = DPGridSearchCV(DPLogisticRegression(classes=[0, 1]), {"C": [1.0, "auto"]})
    with pytest.raises(ValueError, match="Gaussian DP"):
        search.set_params(epsilon=2.0, delta=1e-5).fit(X, Y)


def test_seeded_fits_repeat():
    first, second = (DPLogisticRegression(random_state=3).fit(X, Y) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert is_sampled(first)
    assert first.privacy_.exact
