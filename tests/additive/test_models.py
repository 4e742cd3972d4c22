"""Additive models: the linear models of the same features, on tables as they come."""

import numpy as np
import pytest
from additive_models import FACTS, composed, labels, people
from sklearn.base import clone

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPLinearRegression,
    DPLogisticRegression,
)
from skdp.design import expanded
from skdp.solvers import SOLVERS

INF = float("inf")
TARGET = {"target_bounds": (0.0, 1.0)}
PAIRS = [
    (DPAdditiveClassifier(**FACTS), DPLogisticRegression()),
    # A regressor learns no center for curves that it knows to be curves.
    (DPAdditiveRegressor(**FACTS, **TARGET), DPLinearRegression(**TARGET, center=False)),
]
every_model = pytest.mark.parametrize(("model", "linear"), PAIRS, ids=["classes", "number"])
RARE = ("adassp", "exponential_mechanism")


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in RARE])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_solver_learns_from_blocks_what_it_learns_from_a_matrix(
    solver, n_classes, monkeypatch
):
    X = people(200)
    y = np.arange(200) % n_classes
    front = DPAdditiveClassifier(**FACTS, solver=solver, n_terms=2, random_state=0)
    model = composed(front, C=1.0)
    once = clone(model).fit(X, y).coef_
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    np.testing.assert_allclose(model.fit(X, y).coef_, once, atol=1e-3)


def test_least_squares_from_moments_reads_blocks(monkeypatch):
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    X, y = people(3000), labels(people(3000))
    model = DPAdditiveRegressor(epsilon=10.0, **FACTS, **TARGET, solver="adassp", random_state=0)
    assert model.fit(X, y).score(X, y) > 0.6


def test_curves_are_learned_that_no_line_has():
    X, y = people(8000)[["age"]], labels(people(8000))
    model = DPAdditiveClassifier(epsilon=1.0, bounds=(0, 100), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    line = clone(model).set_params(linear_share=1.0).fit(X, y)
    assert line.score(X, y) < 0.8


@every_model
def test_a_line_alone_is_the_linear_model_by_bounds(model, linear):
    X, y = np.random.default_rng(0).random((300, 3)), np.arange(300) % 2
    given = {"bounds": (0, 1), "categories": None, "linear_share": 1.0, "missing": "error"}
    model = clone(model).set_params(**given, random_state=0).fit(X, y)
    linear = clone(linear).set_params(random_state=0, center="auto").fit(2.0 * X - 1.0, y)
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-6)


@pytest.mark.parametrize("kind", ["log", "sqrt", 30.0])
def test_targets_on_another_scale_come_back(kind, rng):
    X = rng.random((5000, 1))
    y = np.exp(4.0 * X[:, 0])
    model = DPAdditiveRegressor(
        epsilon=5.0, bounds=(0, 1), target_bounds=(0, 60), target_transform=kind, random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.95
    assert model.predict(X).min() >= 0.0
    assert model.predict(X).max() <= 60.0 * (1 + 1e-12)
    open_model = clone(model).set_params(epsilon=INF).fit(X, y)
    assert open_model.score(X, y) > 0.99


def test_blocks_of_one_norm_are_never_clipped_and_add_up():
    """The score is then a sum of functions of one column each, exactly."""
    X, y = people(300), labels(people(300))
    model = DPAdditiveClassifier(**FACTS, norm="blocks", random_state=0).fit(X, y)
    one, other = X.iloc[:1], X.iloc[1:2]
    mixed = one.copy()
    mixed["age"] = other["age"].to_numpy()
    swapped = other.copy()
    swapped["age"] = one["age"].to_numpy()
    scores = [model._scores(part)[0, 0] for part in (one, other, mixed, swapped)]
    assert scores[0] + scores[1] == pytest.approx(scores[2] + scores[3], abs=1e-9)
