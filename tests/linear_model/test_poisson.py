"""Poisson regression: what it learns, and all that it gets without a line of its own."""

import ast
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from skdp import DPLinearRegression, DPPoissonRegressor
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures
from skdp.losses import PoissonLoss

RNG = np.random.default_rng(0)
N = 4000
COEF = np.array([2.0, -1.0])
X = RNG.uniform(-0.5, 0.5, size=(N, 2))
Y = RNG.poisson(3.0 * np.exp(X @ COEF)).astype(float)
WEIGHTS = RNG.uniform(0.0, 3.0, N)
MODEL = DPPoissonRegressor(target_bounds=(0, 20), random_state=0)
UNSEEDED = clone(MODEL).set_params(random_state=None)


def same(one, other):
    return np.array_equal(one.coef_, other.coef_) and one.intercept_ == other.intercept_


def code_of(kind):
    """Return the lines of a class outside of docstrings."""
    source = inspect.getsource(kind)
    texts = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    left_out = {line for node in texts for line in range(node.lineno, node.end_lineno + 1)}
    return [line for i, line in enumerate(source.splitlines(), 1) if i not in left_out]


def test_the_family_is_short_and_names_nothing_that_it_gets():
    lines = code_of(PoissonLoss) + code_of(DPPoissonRegressor)
    assert len(lines) <= 150
    code = "\n".join(lines)
    words = (
        "dask blocks collection person groups max_weight weighted subsample sampled features "
        "missing nan price dry budget search audit"
    )
    for word in words.split():
        assert word not in code.lower(), word


def test_at_a_large_epsilon_it_learns_the_model_of_the_counts():
    model = clone(MODEL).set_params(epsilon=100.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, COEF, atol=0.15)
    assert np.exp(model.intercept_) == pytest.approx(3.0, rel=0.05)
    assert model.predict(X).mean() == pytest.approx(Y.mean(), rel=0.02)
    expected = np.exp(X @ model.coef_ + model.intercept_)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_it_explains_more_than_least_squares(epsilon):
    model = clone(MODEL).set_params(epsilon=epsilon).fit(X, Y)
    line = DPLinearRegression(target_bounds=(0, 20), epsilon=epsilon, random_state=0).fit(X, Y)
    of_line = d2_tweedie_score(Y, np.maximum(line.predict(X), 0.1), power=1)
    assert model.score(X, Y) > of_line + 0.05
    assert model.score(X, Y) == pytest.approx(d2_tweedie_score(Y, model.predict(X), power=1))


@pytest.mark.parametrize(("C", "alpha"), [("auto", 1.0), (2.0, 1.0 / (2.0 * N))])
def test_without_privacy_it_is_scikit_learns(C, alpha):
    model = DPPoissonRegressor(epsilon=np.inf, C=C).fit(X, Y, WEIGHTS)
    reference = PoissonRegressor(alpha=alpha).fit(X, Y, WEIGHTS)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-9)
    assert model.score(X, Y, WEIGHTS) == pytest.approx(reference.score(X, Y, WEIGHTS))


def test_rates_weighted_by_their_exposure_have_the_model_of_the_rates():
    exposure = RNG.uniform(0.2, 2.0, N)
    counts = RNG.poisson(exposure * 3.0 * np.exp(X @ COEF))
    model = clone(MODEL).set_params(epsilon=100.0, max_weight=2.0)
    model.fit(X, counts / exposure, sample_weight=exposure)
    np.testing.assert_allclose(model.coef_, COEF, atol=0.25)


def test_predictions_and_targets_are_clipped_to_the_largest_count():
    model = clone(MODEL).set_params(epsilon=100.0, target_bounds=(0, 4)).fit(X, Y)
    assert model.predict(X).max() <= 4.0 * (1.0 + 1e-12)
    assert same(model, clone(model).fit(X, np.minimum(Y, 4.0)))


@pytest.mark.parametrize("bounds", [(-1, 20), (1, 20), None, (0, 0)])
def test_other_bounds_are_refused_before_anything_is_spent(bounds, unspent):
    with pytest.raises(ValueError, match=r"target_bounds.*Nothing was spent"):
        clone(UNSEEDED).set_params(target_bounds=bounds, budget=unspent).fit(X, Y)


def test_noisy_moments_are_of_squares_only():
    with pytest.raises(IncompatibleSolverError, match="SquaredLoss"):
        clone(MODEL).set_params(solver="adassp").fit(X, Y)


# What the family gets from its bases. scikit-learn's checks are in tests/test_common.py, an attack
# on worst-case neighbors is in test_audit.py.


def test_curves_of_tables_with_missing_values():
    table = pd.DataFrame(X, columns=["a", "b"]).assign(job=np.where(Y > 3.0, "cook", "clerk"))
    table.loc[::5, "a"] = np.nan
    table.loc[::7, "job"] = None
    curves = AdditiveFeatures(bounds=(-0.5, 0.5), categories={"job": ["cook", "clerk"]})
    model = clone(MODEL).set_params(features=curves, epsilon=3.0).fit(table, Y)
    assert model.score(table, Y) > 0.6 > clone(MODEL).fit(X, Y).score(X, Y)
