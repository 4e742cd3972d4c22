"""Spend first, touch later: what a fit does to its budget, and in which order."""

from dataclasses import dataclass

import numpy as np
import pytest
from linear_models import CLASSIFIERS, REGRESSORS, every_fit, every_model

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.design import ClippedDesign
from skdp.exceptions import (
    BudgetExceededError,
    IncompatibleSolverError,
    UncertifiedSamplerWarning,
)
from skdp.privacy import GDPEvent
from skdp.samplers.proximal import ProximalSampler
from skdp.solvers import Plan, Solution, Solver, base

X = np.linspace(-1, 1, 40).reshape(20, 2)
y = np.arange(20) % 2


@pytest.mark.parametrize(
    "solver", ["noisy_gd", "dp_sgd", "objective_perturbation", "output_perturbation"]
)
def test_more_rows_than_a_plan_covers_are_refused_before_the_spend(solver, monkeypatch, budget):
    """Where n is private it is a matter of the domain, as values are; the message hides n."""
    monkeypatch.setattr(base, "_MOST_UNKNOWN_ROWS", 17)
    model = DPLogisticRegression(solver=solver, neighboring="add_remove_one", budget=budget)
    with pytest.raises(ValueError, match=r"17 rows.*n_samples_hint.*Nothing was spent") as no:
        model.fit(X, y)
    assert "20" not in str(no.value)
    assert budget.history() == []
    model.set_params(budget=None).fit(X[:17], y[:17])
    model.set_params(n_samples_hint=10).fit(X, y)
    model.set_params(n_samples_hint=None, neighboring="replace_one").fit(X, y)


@every_fit
def test_a_refused_fit_never_reaches_the_data(Model, solver, monkeypatch, unspent):
    monkeypatch.setattr(ClippedDesign, "clip", lambda *args: pytest.fail("the data were read"))
    model = Model(epsilon=4.0, solver=solver, budget=unspent)
    with pytest.raises(BudgetExceededError, match=r"."):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "privacy_")


@every_model
def test_the_whole_budget_in_one_fit(Model):
    for composition in ("gdp", "basic"):
        budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition=composition)
        Model(epsilon=1.0, delta=1e-5, budget=budget).fit(X, y)
        with pytest.raises(BudgetExceededError):
            Model(epsilon=0.01, delta=1e-6, budget=budget).fit(X, y)
        assert len(budget.history()) == 1


@every_model
def test_what_is_charged_is_what_is_claimed_and_asked(Model, neighboring):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-4, neighboring=neighboring)
    model = Model(epsilon=0.7, delta=1e-6, neighboring=neighboring, budget=budget).fit(X, y)
    (row,) = budget.history()
    assert row["gdp_mu"] == model.privacy_.gdp_mu
    assert row["epsilon"] == pytest.approx(0.7, rel=1e-9)
    assert row["epsilon"] <= 0.7
    assert (row["delta"], row["neighboring"]) == (1e-6, neighboring)
    assert row["label"] == Model.__name__
    assert model.privacy_.delta(0.7) <= 1e-6


@every_fit
def test_every_solver_spends_what_was_asked_before_it_reads(
    Model, solver, neighboring, monkeypatch
):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-4, composition="basic", neighboring=neighboring)
    clip, spent = ClippedDesign.clip, []
    monkeypatch.setattr(
        ClippedDesign, "clip", lambda *args: spent.append(len(budget.history())) or clip(*args)
    )
    model = Model(epsilon=0.7, delta=1e-6, solver=solver, neighboring=neighboring, budget=budget)
    if solver == "exponential_mechanism":
        model.set_params(n_samples_hint=20)
    model.fit(X, y)
    (row,) = budget.history()
    theorem = model.privacy_.theorem
    # once for the fit, whose rows the later releases read again, and once for a center before it
    assert spent == [1] * (1 + ("a mean of the rows" in theorem))
    assert 0.6 < row["epsilon"] <= 0.7
    assert model.privacy_.delta(0.7) <= 1e-6


@dataclass(frozen=True)
class Constant(Solver):
    """A solver that draws no sample."""

    def plan(self, problem, epsilon, delta):
        return Nothing(problem=problem, event=GDPEvent(0.1), theorem="it reads nothing")


class Nothing(Plan):
    def read(self, design, rng, progress):
        return Solution(np.zeros(design.n_features), 1)


def test_a_sampler_for_a_solver_that_draws_none_is_refused(budget):
    model = DPLogisticRegression(solver=Constant(), budget=budget)
    assert model.fit(X, y).privacy_.gdp_mu == 0.1
    with pytest.raises(IncompatibleSolverError, match="uses no sampler"):
        model.set_params(sampler="proximal").fit(X, y)
    assert len(budget.history()) == 1


def test_a_distance_to_the_target_is_spent_from_the_reserve_for_it():
    asked = {"epsilon": 1.0, "delta": 1e-6, "sampler": "proximal_tv"}
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, tv=1e-8)
    model = DPLogisticRegression(**asked, budget=budget).fit(X, y)
    assert len(budget.history()) == 1
    assert model.privacy_.delta(1.0) <= 1e-6
    assert str(model.privacy_).startswith("(1, 1e-06)-DP under replace_one")
    without = PrivacyBudget(epsilon=3.0, delta=1e-5)
    DPLogisticRegression(epsilon=0.1, delta=1e-6, budget=without).fit(
        X, y
    )  # a first release may be anything
    with pytest.raises(BudgetExceededError, match="with tv=, a reserve"):
        DPLogisticRegression(**asked, budget=without).fit(X, y)


@pytest.mark.parametrize("refused", [{"sampler": "exact", "C": 1e9}, {"sampler": "langevin"}])
def test_what_a_sampler_cannot_do_is_refused_before_it_is_spent(refused, budget):
    model = DPLogisticRegression(neighboring="add_remove_one", n_samples_hint=300, budget=budget)
    with pytest.raises(IncompatibleSolverError, match=r"Nothing was spent\.$"):
        model.set_params(**refused).fit(X, y)
    assert budget.history() == []
    assert not hasattr(model, "coef_")


@dataclass(frozen=True)
class Hopeful(ProximalSampler):
    """Proved only in the limit, or so it says."""

    certifies = "asymptotic"


def test_a_sampler_that_proves_nothing_gets_no_money():
    hopeful = {"sampler": Hopeful()}
    with pytest.warns(UncertifiedSamplerWarning):
        model = DPLogisticRegression(**hopeful).fit(X, y)
    assert model.privacy_.epsilon(1e-5) == np.inf
    refused = pytest.raises(BudgetExceededError, match="no finite budget admits")
    with pytest.warns(UncertifiedSamplerWarning), refused:
        DPLogisticRegression(**hopeful, budget=PrivacyBudget(epsilon=3.0, delta=1e-5)).fit(X, y)


BAD = [
    {"C": 0.0},
    {"C": 1e-300},
    {"C": "none"},
    {"data_norm": 1e300},
    {"intercept_scaling": -1.0},
    {"n_samples_hint": 0},
    {"n_samples_hint": 2.5},
    {"neighboring": "remove"},
    {"class_weight": {7: 1.0}},
    {"class_weight": {0: -1.0}},
    {"class_weight": "balanced"},
    {"random_state": -1},
    {"epsilon": 10**400},
    {"epsilon": "1"},
]
CASES = [
    (Model, bad)
    for Model in CLASSIFIERS + REGRESSORS
    for bad in BAD
    if bad.keys() <= Model().get_params().keys()
]


@pytest.mark.parametrize(("Model", "bad"), CASES)
def test_a_bad_parameter_is_named_and_costs_nothing(Model, bad, unspent):
    (name,) = bad
    named = ".*" if name == "random_state" else name  # NumPy's own message
    with pytest.raises(ValueError, match=rf"(?i){named}"):
        Model(budget=unspent, **bad).fit(X, y)
