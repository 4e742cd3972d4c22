"""What only regressors promise: public bounds, units, clipped targets and predictions."""

import math

import numpy as np
import pytest
from linear_models import HUBER, LEAST_SQUARES, QUANTILE, REGRESSORS
from scipy import sparse
from sklearn.metrics import mean_pinball_loss

from skdp import DPLogisticRegression, DPQuantileRegressor
from skdp.exceptions import IncompatibleSolverError
from skdp.solvers import AdaSSP

every_regressor = pytest.mark.parametrize("Model", REGRESSORS)
FITS = [(Model, "regularized_exponential") for Model in REGRESSORS] + [(LEAST_SQUARES, "adassp")]
every_fit = pytest.mark.parametrize(("Model", "solver"), FITS)


def data(n=400, noise=0.02):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, 2))
    return X, X @ [1.0, -0.5] + 0.1 + noise * rng.normal(size=n)


@every_fit
def test_easy_data_are_learned(Model, neighboring, solver):
    X, y = data()
    model = Model(epsilon=20.0, solver=solver, neighboring=neighboring, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.privacy_.neighboring == neighboring
    assert (model.coef_.shape, type(model.intercept_)) == ((2,), float)


@every_regressor
def test_targets_may_be_in_any_units(Model):
    X, y = data()
    plain = Model(random_state=0).fit(X, y)
    model = Model(target_bounds=(900.0, 1100.0), random_state=0).fit(X, 1000.0 + 100.0 * y)
    np.testing.assert_allclose(model.coef_, 100.0 * plain.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, 1000.0 + 100.0 * plain.intercept_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), 1000.0 + 100.0 * plain.predict(X), rtol=1e-6)


@every_regressor
def test_targets_outside_count_as_the_nearest_bound(Model):
    X, y = data()
    far, near = np.where(y > 0.2, 1e300, -1e300), np.where(y > 0.2, 0.7, -0.3)
    one, other = (Model(target_bounds=(-0.3, 0.7), random_state=0).fit(X, t) for t in (far, near))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.intercept_ == other.intercept_


@every_regressor
def test_predictions_stay_within_the_bounds(Model):
    X, y = data()
    model = Model(epsilon=0.05, target_bounds=(-0.1, 0.1), random_state=0).fit(X, y)
    assert np.abs(model.predict(X)).max() <= 0.1
    assert model.target_bounds_ == (-0.1, 0.1)
    linear = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), np.clip(linear, -0.1, 0.1), atol=1e-9)


@every_regressor
@pytest.mark.parametrize(
    "bounds",
    [
        (1.0, 1.0),
        (1.0, 0.0),
        (0.0, math.inf),
        (math.nan, 1.0),
        (-1.0, math.nan),
        (0.0, 5e-324),
        (1.0,),
        3.0,
        "ab",
        None,
    ],
)
def test_bad_bounds_are_refused_before_anything_is_spent(Model, bounds, unspent):
    with pytest.raises(ValueError, match="target_bounds must be a pair"):
        Model(target_bounds=bounds, budget=unspent).fit(*data())


@every_regressor
@pytest.mark.parametrize("value", ["nan", "inf", "-1e999"])
def test_targets_written_as_text_have_to_be_finite_too(Model, value, unspent):
    """scikit-learn does not look into text; a nan among targets broke the fit once spent."""
    X, y = data()
    y = y.astype(str).astype(object)
    y[7] = value
    with pytest.raises(ValueError, match=r"finite numbers\. Nothing was spent"):
        Model(budget=unspent).fit(X, y)


@every_regressor
def test_targets_that_are_no_numbers_are_refused(Model):
    X, y = data()
    with pytest.raises(ValueError, match=r"y must hold numbers\."):
        Model().fit(X, np.full(len(y), "tall"))
    with pytest.raises(ValueError, match="infinity"):
        Model().fit(X, np.where(y == y.max(), np.inf, y))


@every_fit
def test_sparse_input_gives_the_dense_fit(Model, solver):
    X, y = data()
    dense = Model(solver=solver, random_state=0, center=False).fit(X, y)
    model = Model(solver=solver, random_state=0, center=False).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), model.predict(X), atol=1e-9)


@every_regressor
def test_without_an_intercept_it_is_the_middle_of_the_bounds(Model):
    X, y = data()
    model = Model(target_bounds=(0.0, 3.0), fit_intercept=False, random_state=0).fit(X, y)
    assert model.intercept_ == 1.5


def test_several_quantiles_are_one_release_at_their_joint_cost():
    X, y = data(noise=0.2)
    levels = (0.9, 0.1, 0.5)
    model = QUANTILE(quantile=levels, epsilon=20.0, random_state=0).fit(X, y)
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
    high, low, middle = model.predict(X).T
    assert (low <= middle).all()
    assert (middle <= high).all()
    for level, predicted in zip(levels, (high, low, middle), strict=True):
        assert np.mean(y <= predicted) == pytest.approx(level, abs=0.1)
    assert model.score(X, y) > 0.2
    assert model.privacy_.epsilon(1e-5) <= 20.0


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5, math.nan, "half", [], [0.5, 2.0]])
def test_a_level_outside_its_range_is_refused(quantile):
    with pytest.raises(ValueError, match=r"quantile must"):
        QUANTILE(quantile=quantile).fit(*data())


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.75, 0.95])
@pytest.mark.parametrize("solver", ["auto", "noisy_gd"])
def test_quantiles_of_skewed_targets_cover_what_they_say(quantile, solver, rng):
    """By experiment .008 off at most, with a deviation of .002 over fits; the limit is .03."""
    X = rng.uniform(-1.0, 1.0, (25_000, 5)) / np.sqrt(5.0)
    y = np.exp(0.6 * X @ [1.0, -1.0, 0.5, 0.0, 0.8] + 0.5 * rng.normal(size=25_000))
    terms = {"target_bounds": (0.0, 12.0), "solver": solver}
    model = DPQuantileRegressor(epsilon=10.0, quantile=quantile, **terms).fit(X[:5000], y[:5000])
    fresh, same = model.predict(X[5000:]), np.full(20_000, np.quantile(y, quantile))
    assert abs(np.mean(y[5000:] <= fresh) - quantile) < 0.03
    losses = [mean_pinball_loss(y[5000:], guess, alpha=quantile) for guess in (fresh, same)]
    assert losses[0] < 0.95 * losses[1]


@pytest.mark.parametrize(
    ("Model", "bad"),
    [
        (HUBER, {"threshold": 0.0}),
        (LEAST_SQUARES, {"slope_bound": -1.0}),
        (QUANTILE, {"smoothing": 0.001}),
        (QUANTILE, {"smoothing": "wide"}),
    ],
    ids=repr,
)
def test_a_bad_shape_of_the_loss_is_named(Model, bad):
    (name,) = bad
    with pytest.raises(ValueError, match=rf"{name} must"):
        Model(**bad).fit(*data())


def test_moments_serve_least_squares_only(unspent):
    for Model in (HUBER, DPLogisticRegression):
        X, y = data()
        with pytest.raises(IncompatibleSolverError, match="SquaredLoss"):
            Model(solver="adassp", budget=unspent).fit(X, (y > 0).astype(int))
    with pytest.raises(IncompatibleSolverError, match="uses no sampler"):
        LEAST_SQUARES(solver="adassp", sampler="proximal", budget=unspent).fit(*data())
    with pytest.raises(IncompatibleSolverError, match="delta > 0"):
        LEAST_SQUARES(solver=AdaSSP(), delta=0.0, budget=unspent).fit(*data())
