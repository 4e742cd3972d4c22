"""Pipelines of private steps: all of them are paid for, or none is."""

import numpy as np
import pytest

from skdp import (
    DPGaussianNB,
    DPLinearRegression,
    DPLogisticRegression,
    DPSGDClassifier,
    DPSGDRegressor,
    PrivacyBudget,
)
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import DPMinMaxScaler, DPQuantileClipper, DPStandardScaler
from skdp.solvers import SOLVERS, NoisyGD, PhasedSGD

X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)
BOUNDS = (-10, 10)
SCALERS = [DPStandardScaler(bounds=BOUNDS), DPMinMaxScaler(bounds=BOUNDS)]
SCALERS += [DPQuantileClipper(bounds=BOUNDS), DPStandardScaler(bounds=BOUNDS, noise="laplace")]
MODELS = {name: DPLinearRegression(solver=name, target_bounds=(0, 1)) for name in SOLVERS}
MODELS |= {
    sampler: DPLogisticRegression(sampler=sampler)
    for sampler in ("exact", "langevin", "proximal_tv", "localized")
}
MODELS |= {
    "classifier": DPSGDClassifier(n_steps=5),
    "regressor": DPSGDRegressor(n_steps=5, target_bounds=(0, 1)),
    "naive Bayes": DPGaussianNB(bounds=BOUNDS),
    "naive Bayes, Laplace": DPGaussianNB(bounds=BOUNDS, noise="laplace"),
}
GAUSSIAN = {"regularized_exponential", "noisy_gd", "output_perturbation", "adassp", "phased_sgd"}
GAUSSIAN |= {"coordinate_descent", "exact", "langevin", "naive Bayes"}


def assert_all_is_paid(steps, least=0.99, **more):
    model = make_private_pipeline(*steps, epsilon=1.0, **more)
    budget = model[-1].budget
    assert not budget.history()
    model.fit(X, Y)
    assert len(budget.history()) == len(steps)
    assert least < budget.spent.epsilon <= 1.0
    assert budget.spent.delta <= 1e-5
    return budget


@pytest.mark.parametrize("name", MODELS)
def test_a_made_budget_admits_every_model(name):
    budget = assert_all_is_paid([SCALERS[0], MODELS[name]])
    assert budget.composition == ("gdp" if name in GAUSSIAN else "basic")


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
@pytest.mark.parametrize("name", MODELS)
def test_a_given_budget_admits_all_steps_or_is_refused_before_any(name, composition):
    steps, budget = [SCALERS[0], MODELS[name]], PrivacyBudget(1.0, 1e-5, composition=composition)
    if composition == "basic" or name in GAUSSIAN:
        assert_all_is_paid(steps, budget=budget)
        return
    with pytest.raises(ValueError, match="composition='basic'"):
        make_private_pipeline(*steps, budget=budget)
    assert not budget.history()


@pytest.mark.parametrize("composition", [None, "gdp", "zcdp", "rdp", "basic"])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_every_scaler_leaves_enough_for_the_model(scaler, composition):
    if composition is None or (composition != "basic" and scaler.get_params().get("noise") is None):
        budget = composition and PrivacyBudget(1.0, 1e-5, composition=composition)
        assert_all_is_paid([scaler, DPLogisticRegression()], least=0.95, budget=budget)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
def test_a_part_of_a_larger_budget_costs_that_part(composition, epsilon):
    budget = PrivacyBudget(10.0, 1e-5, composition=composition).share(9.0)
    steps = SCALERS[0], SCALERS[2], DPLogisticRegression(solver=PhasedSGD())
    make_private_pipeline(*steps, epsilon=epsilon, budget=budget, model_share=0.5).fit(X, Y)
    assert len(budget.history()) == 3
    if composition != "rdp":  # which looks at one order, chosen for the whole budget
        assert 0.9 * epsilon < budget.spent.epsilon <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
def test_a_budget_with_too_little_left_is_refused_before_any_step_is_paid(composition):
    budget = PrivacyBudget(2.0, 1e-5, composition=composition)
    DPLogisticRegression(epsilon=1.5, delta=5e-6, budget=budget).fit(X, Y)
    steps = SCALERS[0], DPLogisticRegression(solver=NoisyGD())
    with pytest.raises(ValueError, match="less left"):
        make_private_pipeline(*steps, epsilon=1.9, budget=budget)
    with pytest.raises(ValueError, match="less left"):
        make_private_pipeline(*steps, epsilon=2.1, budget=PrivacyBudget(2.0, 1e-5))


@pytest.mark.parametrize("epsilon", [1e-5, 1e-6])
def test_an_epsilon_that_leaves_nothing_for_a_step_is_refused(epsilon):
    with pytest.raises(ValueError, match="too little to be shared"):
        make_private_pipeline(SCALERS[0], DPLogisticRegression(), epsilon=epsilon)
