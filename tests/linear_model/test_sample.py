"""Fits to a Poisson sample: who is in it, what it costs, and that nothing of it shows."""

import itertools
import math
import tracemalloc
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import is_classifier

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.accounting.calibration import sampled_gdp_mu
from skdp.exceptions import BudgetExceededError, IncompatibleSolverError
from skdp.features import (
    AdditiveFeatures,
    FeatureMixture,
    RandomFourierFeatures,
    RandomTreeFeatures,
)
from skdp.privacy import Neighboring, event_from_dict
from skdp.solvers import SOLVERS, NoisyGD, OutputPerturbation, RegularizedExponential
from skdp.solvers.noisy_gd import NoisyGDPlan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 3))
Y = (X[:, 0] + RNG.normal(size=4000) > 0).astype(int)
NOT_ON_SAMPLES = ("dp_sgd", "objective_perturbation")
GAUSSIAN = [n for n in SOLVERS if n not in (*NOT_ON_SAMPLES, "exponential_mechanism")]
every_solver = pytest.mark.parametrize("solver", GAUSSIAN)
TARGET = {"target_bounds": (0.0, 1.0)}
BOX = {"bounds": (-3.0, 3.0)}
WAVES = FeatureMixture(
    additive=AdditiveFeatures(**BOX), random=RandomFourierFeatures(n_components=20, **BOX)
)
MODELS = [
    skdp.DPLogisticRegression(),
    skdp.DPHingeClassifier(),
    skdp.DPLinearRegression(**TARGET),
    skdp.DPHuberRegressor(**TARGET),
    skdp.DPQuantileRegressor(quantile=(0.2, 0.8), **TARGET),
    skdp.DPHingeClassifier(features=AdditiveFeatures(**BOX)),
    skdp.DPLinearRegression(features=RandomTreeFeatures(n_trees=5, depth=3, **BOX), **TARGET),
    skdp.DPLogisticRegression(features=WAVES),
]


def model_of(solver, **more):
    if solver == "adassp":
        return DPLinearRegression(solver=solver, **TARGET, **more)
    return DPLogisticRegression(solver=solver, **more)


class Watcher(NoisyGD):
    """Notes what it is told of the problem, and how long the rows are that it is given."""

    seen: list = []  # noqa: RUF012

    def plan(self, problem, epsilon, delta):
        plan = super().plan(problem, epsilon, delta)
        return Watched(**{f.name: getattr(plan, f.name) for f in fields(plan)})


class Watched(NoisyGDPlan):
    def read(self, design, rng, progress):
        self.solver.seen.append((self.problem, design.row_norms()))
        return super().read(design, rng, progress)


def samples_of(n_fits, n=400, rate=0.3, **more):
    """Return for each fit which of n rows, told apart by their lengths, were in the sample."""
    lengths = np.arange(1, n + 1) / n
    solver, y = Watcher(5), np.arange(n) % 2
    found = np.zeros((n_fits, n), dtype=bool)
    for k in range(n_fits):
        solver.seen.clear()
        asked = {"subsample": rate, "fit_intercept": False, "data_norm": 2.0, "classes": [0, 1]}
        DPLogisticRegression(solver=solver, **asked | more).fit(lengths[:, None], y)
        ((problem, norms),) = solver.seen
        found[k, np.rint(norms * n).astype(int) - 1] = True
        assert len(norms) == found[k].sum()
    return found, problem


def test_each_row_is_in_the_sample_by_its_own_coin():
    """χ² of rows, of sizes and of neighbors, each with a false-alarm rate of 1e-7."""
    found, _ = samples_of(100, n=3200)
    n_fits, n = found.shape
    per_row = ((found.sum(axis=0) - 0.3 * n_fits) ** 2).sum() / (n_fits * 0.21)
    assert stats.chi2(n).ppf(0.5e-7) < per_row < stats.chi2(n).isf(0.5e-7)
    sizes = ((found.sum(axis=1) - 0.3 * n) ** 2).sum() / (n * 0.21)
    assert stats.chi2(n_fits).ppf(0.5e-7) < sizes < stats.chi2(n_fits).isf(0.5e-7)
    both = (found[:, ::2] & found[:, 1::2]).sum()
    law = stats.binom(n_fits * n // 2, 0.09)
    assert law.ppf(0.5e-7) <= both <= law.isf(0.5e-7)


def test_the_sample_has_a_stream_of_its_own():
    same = [samples_of(1, random_state=7, n_samples_hint=hint)[0] for hint in (None, 400)]
    longer = samples_of(1, random_state=7, epsilon=3.0, neighboring="add_remove_one")[0]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], longer)
    assert (same[0] != samples_of(1, random_state=8)[0]).any()


@pytest.mark.parametrize(
    ("neighboring", "hint", "n_known"),
    [("replace_one", None, 120), ("add_remove_one", None, None), ("add_remove_one", 1000, 300)],
)
def test_a_solver_knows_the_expected_size_only(neighboring, hint, n_known):
    """Even where n is public the sample's size is not: no rule may rest on it as an exact count."""
    _, problem = samples_of(1, neighboring=neighboring, n_samples_hint=hint)
    assert problem.neighboring is Neighboring.ADD_REMOVE_ONE
    assert problem.n_samples == n_known


def test_the_last_iterate_has_no_bound_of_its_own_on_a_sample():
    """What rests on an exact count is not used: noise is as for the release of all steps."""
    x, y = X[:, :1], Y
    plans = []

    class Noted(NoisyGD):
        def plan(self, problem, epsilon, delta):
            plan = super().plan(problem, epsilon, delta)
            plans.append((plan, plan.descent(1000)))
            return plan

    for subsample in (None, 0.25):
        asked = {"C": 1e-3, "subsample": subsample, "solver": Noted(200, momentum=0.0)}
        DPLogisticRegression(**asked).fit(x, y)
    (whole, short), (plan, descent) = plans
    steps = plan.problem.lipschitz_difference * math.sqrt(200) / plan.mu
    assert descent.noise == pytest.approx(steps, rel=1e-3)  # more for rounding errors
    assert short.noise < 0.7 * whole.problem.lipschitz_difference * math.sqrt(200) / whole.mu


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_model_costs_just_what_is_asked(model, neighboring):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring=neighboring)
    asked = {"neighboring": neighboring, "subsample": 0.1, "budget": budget, "delta": 1e-5}
    model.set_params(**asked).fit(X, Y)
    assert model.privacy_.epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    assert model.privacy_.epsilon(1e-5) <= 1.0
    assert "Poisson sample at rate 0.1" in str(model.privacy_)
    (row,) = budget.history()
    event = event_from_dict(row["event"])
    assert event.sampling_rate == 0.1
    assert 1.0 / event.event.noise_multiplier == pytest.approx(
        sampled_gdp_mu(1.0, 1e-5, 0.1, neighboring), rel=1e-8
    )
    assert budget.spent.epsilon <= 1.0
    assert model.score(X, Y) > -1.0


def test_a_pure_fit_to_a_sample_is_pure(neighboring):
    model = model_of("exponential_mechanism", subsample=0.2, neighboring=neighboring, delta=0.0)
    model.set_params(n_samples_hint=60, epsilon=0.5).fit(X[:60, :1], Y[:60])
    assert model.privacy_.epsilon(0.0) == 0.5


@pytest.mark.parametrize("solver", NOT_ON_SAMPLES)
def test_releases_without_a_price_on_samples_are_refused_by_name(solver, unspent):
    kind = {"dp_sgd": "DPSGD", "objective_perturbation": "ObjectivePerturbation"}[solver]
    with pytest.raises(IncompatibleSolverError, match=kind):
        model_of(solver, subsample=0.5, budget=unspent).fit(X, Y)
    with pytest.raises(IncompatibleSolverError, match="RegularizedExponential"):
        DPLogisticRegression(sampler="proximal_tv", subsample=0.5).fit(X, Y)
    model_of(solver, subsample=1.0).fit(X, Y)  # all rows


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.5, math.nan, "half", [0.1], True])
def test_a_rate_is_a_rate(wrong):
    with pytest.raises(ValueError, match="subsample must"):
        DPLogisticRegression(subsample=wrong).fit(X, Y)


def test_delta_0_and_rates_below_delta_are_refused():
    with pytest.raises(IncompatibleSolverError, match="delta > 0"):
        DPLogisticRegression(subsample=0.5, delta=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="above delta=1e-05"):
        DPLogisticRegression(subsample=1e-6).fit(X, Y)


def test_without_privacy_all_rows_are_read():
    whole = DPLogisticRegression(epsilon=math.inf).fit(X, Y)
    np.testing.assert_array_equal(
        DPLogisticRegression(epsilon=math.inf, subsample=0.1).fit(X, Y).coef_, whole.coef_
    )


@every_solver
@pytest.mark.parametrize("hint", [None, 4000])
def test_an_empty_sample_is_fitted_as_any_other(solver, neighboring, hint):
    """At a rate of 0.0001 a sample of 30 rows is empty but for three times in a thousand."""
    for _ in range(3):
        model = model_of(solver, subsample=1e-4, neighboring=neighboring, n_samples_hint=hint)
        assert np.isfinite(model.fit(X[:30], Y[:30]).coef_).all()


@pytest.mark.parametrize("form", [np.float32, np.int64, bool, sparse.csr_array, "kernel"])
@pytest.mark.parametrize("groups", [None, np.arange(30) // 2])
def test_an_empty_sample_of_any_type_is_fitted(form, groups):
    model = skdp.DPLogisticRegression(subsample=1e-4)
    x = (X[:30] > 0.0).astype(np.float32)
    if form == "kernel":
        model.set_params(features=RandomFourierFeatures(bounds=(0, 1), n_components=10))
    else:
        x = form(x) if form is sparse.csr_array else x.astype(form)
    assert np.isfinite(model.fit(x, Y[:30], groups=groups).predict_proba(x)).all()


# What shows


def everything_shown(model, x, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y)
    hidden = ("coef_", "intercept_", "budget", "random_state")
    shown = {name: repr(value) for name, value in vars(model).items() if name not in hidden}
    rows = [{k: v for k, v in row.items() if k != "time"} for row in model.budget.history()]
    return shown, [str(one.message) for one in caught], rows, str(model.privacy_)


@pytest.mark.slow
@every_solver
def test_no_size_of_a_sample_shows(solver, neighboring):
    """Two data sets with the same public facts, many samples: all but the coefficients is equal."""
    shown = set()
    for k in range(8):
        budget = PrivacyBudget(epsilon=3.0, delta=1e-4, neighboring=neighboring)
        asked = {"neighboring": neighboring, "n_samples_hint": 300, "budget": budget}
        model = model_of(solver, subsample=0.2, **asked)
        if is_classifier(model):
            model.set_params(classes=[0, 1])
        n = 300 if neighboring == "replace_one" or k < 4 else 500
        x, y = (X[:n], Y[:n]) if k % 2 else (np.ones((n, 3)), np.ones(n, dtype=int))
        shown.add(str(everything_shown(model, x, y)))
    assert len(shown) == 1


# Budgets


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp", "rdp"])
def test_samples_compose_as_other_releases_do(composition):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, composition=composition)
    model = DPLogisticRegression(epsilon=0.3, delta=1e-6, subsample=0.1, budget=budget)
    if composition == "zcdp":  # not zCDP: only a first release counts by its (ε, δ)
        model.fit(X, Y)
        model.fit(X, Y)
        assert budget.spent == (0.6, 2e-6)
        return
    for _ in range(3):
        model.fit(X, Y)
    assert 0.3 < budget.spent.epsilon <= 3.0
    assert budget.remaining.epsilon > 0.0
    cost = budget.plan([model.privacy_] * 3)
    assert cost.admitted
    assert 0.3 < cost.epsilon < 0.9  # composed numerically, fresh samples each time


def test_a_plan_of_one_sample_is_what_it_costs():
    model = DPLogisticRegression(epsilon=1.0, delta=1e-5, subsample=0.1).fit(X, Y)
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    cost = budget.plan([model.privacy_])
    assert cost.admitted
    assert cost.epsilon == pytest.approx(1.0, rel=1e-3)
    model.set_params(budget=budget).fit(X, Y)
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)


# "auto"


def test_automatic_samples_rest_on_public_counts():
    x, y = np.zeros((60, 1)), np.arange(60) % 2
    few = DPLogisticRegression(subsample="auto").fit(x, y)
    unknown = DPLogisticRegression(subsample="auto", neighboring="add_remove_one").fit(x, y)
    for model in (few, unknown):
        assert "Poisson sample" not in str(model.privacy_)
    hinted = DPLogisticRegression(
        subsample="auto", neighboring="add_remove_one", n_samples_hint=4_000_000
    ).fit(x, y)
    assert "Poisson sample at rate 0.25" in str(hinted.privacy_)


def test_automatic_samples_hold_a_million_rows():
    x, y = np.zeros((2_500_000, 1), dtype=np.float32), np.zeros(2_500_000, dtype=np.int8)
    asked = {"subsample": "auto", "classes": [0, 1], "solver": OutputPerturbation(), "C": 1.0}
    asked |= {"delta": 1e-8}
    model = DPLogisticRegression(**asked).fit(x, y)
    assert "Poisson sample at rate 0.4" in str(model.privacy_)


def test_dask_collections_beyond_a_million_rows_are_sampled_by_default(monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("skdp.linear_model._base._ENOUGH_ROWS", 100)
    lazy = da.from_array(X, chunks=(len(X) // 3, X.shape[1])), da.from_array(Y, chunks=len(Y) // 3)
    whole = "Poisson sample" not in str(DPLogisticRegression().fit(X, Y).privacy_)
    assert whole, "rows in memory are all read"
    budgets = {
        name: PrivacyBudget(epsilon=5.0, delta=1e-5, composition=name) for name in ("gdp", "basic")
    }
    sampled = {
        "default": DPLogisticRegression(),
        "all rows": DPLogisticRegression(subsample=1.0),
        "by itself": DPLogisticRegression(solver="dp_sgd"),
        "no public count": DPLogisticRegression(neighboring="add_remove_one"),
        "gdp": DPLogisticRegression(budget=budgets["gdp"]),
        "basic": DPLogisticRegression(budget=budgets["basic"]),
    }
    found = {
        k for k, model in sampled.items() if "Poisson sample at" in str(model.fit(*lazy).privacy_)
    }
    assert found == {"default", "basic"}


def test_a_sample_may_be_drawn_from_more_rows_than_a_solver_covers(monkeypatch):
    monkeypatch.setattr(OutputPerturbation, "most_rows", lambda self, problem: 0.9 * len(X))
    few = DPLogisticRegression(solver="output_perturbation", C=1.0, subsample=1e-3)
    with pytest.raises(ValueError, match="more than"):
        DPLogisticRegression(solver="output_perturbation", C=1.0).fit(X, Y)
    monkeypatch.setattr("skdp.support.random._TAIL", 20.0)
    assert few.fit(X, Y).coef_.shape == (1, X.shape[1])


# Memory


@pytest.mark.parametrize(
    "stored",
    [np.asarray, np.asfortranarray, pd.DataFrame, sparse.csr_matrix],
    ids=lambda form: form.__name__,
)
def test_no_more_than_the_sample_is_copied(stored):
    """Of 16 MB a hundredth is read: 0.2 MB, its numbers, and what a small fit takes."""
    n, d = 100_000, 20
    data = stored(np.random.default_rng(0).normal(size=(n, d)))
    y = np.zeros(n, dtype=np.int8)
    y[::2] = 1
    model = DPLogisticRegression(epsilon=1.0, delta=1e-6, subsample=0.01, solver="noisy_gd")
    model.fit(data, y)  # imports and caches
    tracemalloc.start()
    model.fit(data, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6  # the labels' checks and codes take 25 bytes a row


# An attack


@pytest.mark.slow
def test_an_attack_on_samples_stays_below_the_claim(neighboring):
    """One record pulls; tests by thresholds, Clopper and Pearson: false alarms with 1e-6.

    What the attack proves at ε = 0 has to be a third of what is claimed.
    """
    n, n_fits, rate, level = 3, 3_000, 0.5, 1e-6
    x, y = np.zeros((n, 1)), np.ones(n, dtype=int)
    x[0] = 1e6
    pairs = {"replace_one": ((x, y), (-x, y)), "add_remove_one": ((x, y), (x[1:], y[1:]))}
    model = DPLogisticRegression(
        epsilon=5.0,
        delta=1e-4,
        subsample=rate,
        neighboring=neighboring,
        n_samples_hint=n,
        classes=[0, 1],
    ).set_params(solver=NoisyGD(1, step_size=1.0), C=1.0)
    first, second = (
        np.array([model.fit(*data).coef_[0, 0] for _ in range(n_fits)])
        for data in pairs[neighboring]
    )
    epsilons = np.array([0.0, 0.5, 1.0, 2.0])
    allowed, best = model.privacy_.delta(epsilons), 0.0
    for sign, (one, other) in itertools.product((1, -1), ((first, second), (second, first))):
        thresholds = np.quantile(
            sign * np.concatenate([first, second]), np.linspace(0.02, 0.98, 13)
        )
        hits, misses = ((sign * x > thresholds[:, None]).sum(axis=1) for x in (one, other))
        risk = level / (2 * 4 * thresholds.size)
        low = np.nan_to_num(stats.beta(hits, n_fits - hits + 1).ppf(risk))
        high = np.nan_to_num(stats.beta(misses + 1, n_fits - misses).isf(risk), nan=1.0)
        assert (low[:, None] - np.exp(epsilons) * high[:, None] <= allowed).all()
        best = max(best, float((low - high).max()))
    assert best > allowed[0] / 3.0


def test_what_is_sampled_by_public_rules_is_still_a_default_fit():
    model = DPLogisticRegression(subsample=0.5, solver=RegularizedExponential()).fit(X, Y)
    assert model.solver_ == "regularized_exponential"
