"""Weights of records: as they are without privacy, up to a public bound with it."""

import numpy as np
import pytest
from linear_models import LEAST_SQUARES, every_model
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
)
from skdp.exceptions import IncompatibleSolverError
from skdp.solvers import DPSGD, SOLVERS

X, y = make_blobs(300, centers=[[-0.5, 0], [0.5, 0]], cluster_std=0.3, random_state=0)
WEIGHTS = np.random.default_rng(0).uniform(0.0, 2.0, 300)
INF = float("inf")
TAKING = [name for name in SOLVERS if name not in ("adassp", "exponential_mechanism")]


@pytest.mark.parametrize(
    ("model", "reference"),
    [
        (DPLogisticRegression(epsilon=INF), LogisticRegression(max_iter=10_000)),
        (DPLinearRegression(epsilon=INF, C=2.0), Ridge(alpha=0.5)),
        (
            DPQuantileRegressor(epsilon=INF, quantile=0.3),
            QuantileRegressor(quantile=0.3, alpha=0.0),
        ),
    ],
    ids=repr,
)
def test_without_privacy_weights_are_taken_as_they_are(model, reference):
    model.fit(X, y, sample_weight=100.0 * WEIGHTS)
    reference.fit(X, y, sample_weight=100.0 * WEIGHTS)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9)


@every_model
def test_privately_they_need_a_public_bound(Model, budget):
    with pytest.raises(ValueError, match=r"sample_weight needs max_weight.*Nothing was spent\."):
        Model(budget=budget).fit(X, y, sample_weight=WEIGHTS)
    assert budget.history() == []
    assert Model(max_weight=2.0).fit(X, y).privacy_.epsilon(1e-5) <= 1.0


@pytest.mark.parametrize("solver", TAKING)
def test_every_solver_that_reads_through_the_loss_takes_them(solver):
    """Of records of weight 0 nothing is learned, at a large ε."""
    wrong = np.where(np.arange(300) % 3 == 0, 1 - y, y)
    weights = (wrong == y).astype(float)
    model = DPLogisticRegression(epsilon=50.0, solver=solver, max_weight=1.0)
    assert model.fit(X, wrong, sample_weight=weights).score(X, y) > 0.9
    # so large that "auto" releases no means, which it does without weights only
    model.set_params(random_state=0, epsilon=500.0, n_samples_hint=300)
    # nor, with weights of classes, errors of probabilities
    one = model.set_params(class_weight={0: 1.0, 1: 1.0}).fit(X, y).coef_
    np.testing.assert_allclose(model.fit(X, y, sample_weight=np.ones(300)).coef_, one, atol=1e-9)


def test_a_solver_that_reads_the_targets_themselves_refuses(unspent):
    with pytest.raises(IncompatibleSolverError, match="takes no sample_weight"):
        LEAST_SQUARES(solver="adassp", max_weight=1.0, budget=unspent).fit(X, y, WEIGHTS)


@every_model
def test_weights_outside_the_bound_count_as_the_nearest_end(Model):
    far = np.where(WEIGHTS > 1.0, 1e300, -1e300)
    near = np.where(WEIGHTS > 1.0, 1.5, 0.0)
    one, other = (
        Model(max_weight=1.5, random_state=0).fit(X, y, sample_weight=w) for w in (far, near)
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("solver", [*TAKING, "exponential_mechanism"])
def test_a_larger_bound_brings_more_noise_in_proportion(solver):
    """Weights, their bound and 1/C in other units: the same problem, so the same noise for a seed.

    Without the bound in the sensitivity, noise would be for weight 1 and the pull of weight 8.
    """
    model = DPLogisticRegression(epsilon=1.0, delta=1e-5, solver=solver, random_state=0)
    model.set_params(n_samples_hint=300)  # so that no count is released
    small = model.set_params(max_weight=1.0, C=1.0).fit(X, y, sample_weight=0.5 * WEIGHTS).coef_
    large = model.set_params(max_weight=8.0, C=0.125).fit(X, y, sample_weight=4.0 * WEIGHTS).coef_
    np.testing.assert_allclose(large, small, rtol=1e-3)


@pytest.mark.parametrize("bound", [0.0, -1.0, INF, float("nan"), "2"])
def test_a_bound_that_is_none_is_refused(bound):
    with pytest.raises(ValueError, match="max_weight"):
        DPLogisticRegression(max_weight=bound).fit(X, y, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones(299), "one weight for each row"),
        (np.ones((300, 2)), "one weight for each row"),
        (np.where(WEIGHTS.max() == WEIGHTS, np.nan, WEIGHTS), "missing values"),
        (np.where(WEIGHTS.max() == WEIGHTS, np.inf, WEIGHTS), "finite"),
        (["heavy"] * 300, "numbers"),
    ],
)
def test_weights_that_are_none_are_refused_before_the_spend(weights, said, unspent):
    with pytest.raises(ValueError, match=said) as refusal:
        DPLogisticRegression(max_weight=1.0, budget=unspent).fit(X, y, sample_weight=weights)
    assert "heavy" not in str(refusal.value)


def test_class_weights_and_weights_multiply():
    weights = np.where(y == 1, 2.0, 0.5) * WEIGHTS
    model = DPLogisticRegression(epsilon=30.0, class_weight={0: 0.5, 1: 2.0}, max_weight=2.0, C=1.0)
    model.set_params(solver="output_perturbation", random_state=0)
    both = model.fit(X, y, sample_weight=WEIGHTS).coef_
    model.set_params(class_weight=None, max_weight=4.0)
    np.testing.assert_allclose(model.fit(X, y, sample_weight=weights).coef_, both, rtol=1e-6)


@pytest.mark.parametrize("Model", [DPHingeClassifier, DPLinearRegression])
def test_partial_fits_take_them_too(Model):
    model = Model(solver=DPSGD(n_steps=20), epsilon=20.0, max_weight=1.0)
    if Model is DPLinearRegression:
        model.set_params(target_bounds=(-1, 1)).partial_fit(X, y, sample_weight=WEIGHTS)
    else:
        model.partial_fit(X, y, classes=[0, 1], sample_weight=WEIGHTS)
    model.partial_fit(X, y, sample_weight=WEIGHTS)
    assert model.n_iter_ == 40


def test_at_infinity_c_may_be_infinite_and_coefficients_sparse():
    model = DPLogisticRegression(epsilon=INF, C=INF).fit(X + WEIGHTS[:, None], y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.sparsify().decision_function(X), scores)
    assert model.coef_.format == "csr"
    assert model.densify().coef_.shape == (1, 2)
    with pytest.raises(ValueError, match="C must"):
        DPHuberRegressor(C=INF, target_bounds=(-1, 1)).fit(X, y)
