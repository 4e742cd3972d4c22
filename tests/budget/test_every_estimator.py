"""Default budgets admit every solver, estimator, scaler and statistic, once and then some more."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import skdp
from skdp import (
    PrivacyBudget,
    statistics,
)
from skdp._private_fit import PrivateFit
from skdp.exceptions import BudgetExceededError
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB, DPMixedNB
from skdp.preprocessing import DPMinMaxScaler, DPQuantileClipper, DPStandardScaler
from skdp.solvers import SOLVERS

X, Y = make_classification(
    n_samples=60, n_features=2, n_informative=2, n_redundant=0, random_state=0
)
X = np.clip(X, -3.0, 3.0)
CODES = (X > 0).astype(int)
BOX = {"bounds": (-3.0, 3.0)}
TARGET = {"target_bounds": (0.0, 1.0)}
ESTIMATORS = {
    **{
        name: (skdp.DPLinearRegression(solver=name, **TARGET), X)
        if name == "adassp"
        else (skdp.DPLogisticRegression(solver=name, C=1.0, data_norm=1.0), X)
        for name in SOLVERS
    },
    "hinge": (skdp.DPHingeClassifier(), X),
    "huber": (skdp.DPHuberRegressor(**TARGET), X),
    "poisson": (skdp.DPPoissonRegressor(**TARGET), X),
    "quantile": (skdp.DPQuantileRegressor(**TARGET), X),
    "sgd classifier": (skdp.DPHingeClassifier(solver="dp_sgd"), X),
    "sgd regressor": (skdp.DPLinearRegression(solver="dp_sgd", **TARGET), X),
    "additive classifier": (skdp.DPAdditiveClassifier(**BOX), X),
    "additive regressor": (skdp.DPAdditiveRegressor(**BOX, **TARGET), X),
    "forest classifier": (skdp.DPRandomForestClassifier(n_trees=5, depth=3, **BOX), X),
    "forest regressor": (skdp.DPRandomForestRegressor(n_trees=5, depth=3, **BOX, **TARGET), X),
    "tabular classifier": (skdp.DPTabularClassifier(**BOX), X),
    "tabular regressor": (skdp.DPTabularRegressor(**BOX, **TARGET), X),
    "gaussian nb": (DPGaussianNB(**BOX), X),
    "categorical nb": (DPCategoricalNB(categories=[0, 1]), CODES),
    "mixed nb": (
        DPMixedNB(categories={0: [0, 1]}, bounds={1: (-3.0, 3.0)}),
        np.c_[CODES[:, 0], X[:, 1]],
    ),
    "standard scaler": (DPStandardScaler(**BOX), X),
    "min max scaler": (DPMinMaxScaler(**BOX), X),
    "quantile clipper": (DPQuantileClipper(**BOX), X),
    "pca": (skdp.DPPCA(**BOX), X),
    "k-means": (skdp.DPKMeans(**BOX), X),
    "tree density": (skdp.DPTreeDensity(**BOX), X),
    "tree naive bayes": (skdp.DPTreeNB(**BOX), X),
}
CALLS = {
    "count": (X[:, 0] > 0, {}),
    "histogram": (X[:, 0], {"edges": [-3.0, 0.0, 3.0]}),
    "marginals": (CODES, {"categories": [0, 1]}),
    "difference": (X, {"by": CODES[:, 0], "keys": [0, 1], **BOX}),
    "sum": (X, BOX),
    "survival_curve": (X[:, 0], {"event": CODES[:, 0], "edges": [-3.0, 0.0, 3.0]}),
    "treatment_effect": (
        X[:, 0],
        {"treated": CODES[:, 0], "covariates": X, "covariate_bounds": (-3.0, 3.0), **BOX},
    ),
    "mean": (X, BOX),
    "variance": (X, BOX),
    "covariance": (X, BOX),
    "quantile": (X[:, 0], {"q": 0.5, **BOX}),
    "describe": (X, BOX),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_default_budget_admits_every_estimator_on_each_part(name, neighboring):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, neighboring=neighboring)
    model, x = ESTIMATORS[name]
    model = clone(model).set_params(neighboring=neighboring)
    if name == "exponential_mechanism":
        model.set_params(n_samples_hint=60)
    spent = set()
    for part in ("north", 7):
        model.set_params(budget=budget.at(name=f"my {name}", partition=part)).fit(x, Y)
        spent.add(round(budget.spent.epsilon, 2))
        assert 0.0 < budget.spent.epsilon <= 3.0
        assert budget.at(partition=part).remaining.epsilon > 0.0
    rows = budget.history()
    assert [(row["label"], row["part"]) for row in rows] == [
        (f"my {name}", p) for p in ("north", "7")
    ]
    assert [row["epsilon"] for row in rows] == pytest.approx([model.epsilon] * 2, rel=0.02)
    assert len(spent) == 1


def test_no_estimator_that_spends_is_missing():
    public = [getattr(skdp, name) for name in skdp.__all__]
    public += [getattr(skdp.preprocessing, name) for name in skdp.preprocessing.__all__]
    spending = {kind for kind in public if isinstance(kind, type) and issubclass(kind, PrivateFit)}
    assert {type(model) for model, _ in ESTIMATORS.values()} == spending


@pytest.mark.parametrize("name", ["dp_sgd", "objective_perturbation", "noisy_gd"])
def test_a_default_budget_admits_releases_without_a_gaussian_again(name, budget):
    model, x = ESTIMATORS[name]
    model.set_params(budget=budget.at(name=None), neighboring="replace_one", epsilon=0.3)
    for _ in range(2):
        model.fit(x, Y)
    assert [row["label"] for row in budget.history()] == ["DPLogisticRegression"] * 2
    assert budget.spent.epsilon < 3.0


def test_a_default_budget_admits_every_statistic_on_each_part():
    assert set(CALLS) == {name for name in statistics.__all__ if name.islower()}
    for name, (x, more) in CALLS.items():
        budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
        for part in ("north", 7):
            getattr(statistics, name)(x, epsilon=1.0, budget=budget.at(partition=part), **more)
            assert budget.at(partition=part).remaining.epsilon > 0.0
        rows = [(row["label"], row["part"]) for row in budget.history()]
        assert rows == [(f"statistics.{name}", part) for part in ("north", "7")]
        assert budget.remaining.epsilon < budget.at(partition="south").remaining.epsilon


def test_a_refusal_names_what_a_gaussian_budget_counts_at_more(budget):
    X, y = make_classification(random_state=0)
    kinds = {"data_norm": 1.0, "target_bounds": (-1.0, 1.0), "budget": budget}
    skdp.DPHuberRegressor(epsilon=1.0, solver="objective_perturbation", **kinds).fit(X, y)
    skdp.DPLogisticRegression(epsilon=0.1, budget=budget.at(name="a Gaussian")).fit(X, y)
    with pytest.raises(BudgetExceededError) as refusal:
        skdp.DPLogisticRegression(epsilon=2.9, budget=budget).fit(X, y)
    said = "not Gaussian count at more: DPHuberRegressor at epsilon=2.14 instead of 1."
    assert said in str(refusal.value)
    assert "a Gaussian" not in str(refusal.value)


def test_a_share_is_named_in_plain_words():
    share = PrivacyBudget(epsilon=3.0, delta=1e-5).share(epsilon=0.5, name="explore")
    with pytest.raises(
        BudgetExceededError, match=r"the share 'explore' of epsilon=0.5, delta=1e-05 has only"
    ):
        skdp.DPLogisticRegression(epsilon=1.0, budget=share).fit(
            *make_classification(random_state=0)
        )
    assert "in 0 releases;" in str(share)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_dry_run_reads_and_publishes_nothing(name, monkeypatch):
    model, x = ESTIMATORS[name]
    model = clone(model).set_params(budget=None)
    if name == "exponential_mechanism":
        model.set_params(n_samples_hint=60)
    for step in ("_read", "_publish"):
        monkeypatch.setattr(type(model), step, lambda *_: pytest.fail("the dry run goes on"))
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    assert budget.price(model, x, Y).epsilon > 0.0
    assert budget.history() == []
