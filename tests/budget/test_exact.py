"""Budgets that admit only releases with a theorem about machine numbers."""

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget, statistics
from skdp.additive import DPAdditiveClassifier
from skdp.exceptions import BudgetExceededError
from skdp.kernel_approximation import DPKernelClassifier
from skdp.solvers import NoisyGD

X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
Y = (X[:, 0] > 0.0).astype(int)


def budget(**terms):
    return PrivacyBudget(epsilon=20.0, delta=1e-4, exact=True, **terms)


def classifier(**more):
    return DPLogisticRegression(epsilon=0.5, delta=1e-6, classes=[0, 1], **more)


@pytest.mark.parametrize(
    "solver", ["auto", "noisy_gd", "dp_sgd", "objective_perturbation", "output_perturbation"]
)
@pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
def test_solvers_that_are_covered_are_admitted(solver, neighboring):
    own = budget(neighboring=neighboring)
    model = classifier(solver=solver, budget=own, neighboring=neighboring).fit(X, Y)
    assert model.solver_ == ("noisy_gd" if solver == "auto" else solver)
    assert "bounds of rounding errors" in model.privacy_.theorem
    assert "bounds of rounding errors" in own.history()[0]["theorem"]
    assert "bounds of their rounding errors" in own.report()


def test_statistics_and_moments_are_admitted():
    own = budget()
    statistics.mean(X, epsilon=0.5, bounds=(-1, 1), budget=own)
    model = DPLinearRegression(epsilon=0.5, delta=1e-6, target_bounds=(-1, 1), budget=own)
    model.set_params(solver="adassp").fit(X, X[:, 0])
    bounds = [(-1, 1)] * 2
    DPAdditiveClassifier(epsilon=0.5, delta=1e-6, bounds=bounds, budget=own).fit(X, Y)
    assert len(own.history()) == 3


@pytest.mark.parametrize(
    ("model", "more"),
    [
        (classifier(solver="regularized_exponential"), {}),
        (classifier(solver="noisy_gd"), {"groups": np.arange(200) // 2}),
        (classifier(solver=NoisyGD(momentum=0.0), C=0.01), {}),
        (DPKernelClassifier(epsilon=0.5, delta=1e-6, bounds=[(-1, 1)] * 2), {}),
    ],
    ids=["a sampler", "clipped persons", "the last iterate", "Fourier features"],
)
def test_others_are_rejected_and_spend_nothing(model, more):
    own = budget(unit="person" if more else "record")
    with pytest.raises(BudgetExceededError, match="this budget is exact"):
        model.set_params(budget=own).fit(X, Y, **more)
    assert own.history() == []


def test_the_term_is_part_of_the_ledger(tmp_path):
    path = tmp_path / "ledger.db"
    own = budget(path=path)
    assert own.exact
    assert own.share(epsilon=1.0).exact
    assert PrivacyBudget.from_json(own.to_json()).exact
    assert budget(path=path).history() == []
    with pytest.raises(ValueError, match="exact=True, not for exact=False"):
        PrivacyBudget(epsilon=20.0, delta=1e-4, path=path)
    with pytest.raises(ValueError, match="exact must be True or False"):
        PrivacyBudget(epsilon=1.0, delta=1e-5, exact=1)


def test_budgets_without_it_are_as_before():
    own = PrivacyBudget(epsilon=20.0, delta=1e-4)
    classifier(solver="regularized_exponential", budget=own).fit(X, Y)
    assert not own.exact
