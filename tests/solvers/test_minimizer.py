"""The certificate: whatever the data, the gradient is as short as was promised in public."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from problems import problem_with
from scipy import sparse

from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import (
    ClippedLogisticLoss,
    CompetitorLoss,
    LogisticLoss,
    MultinomialLoss,
    SmoothedHingeLoss,
)
from skdp.losses.weighted import ClassWeightedLoss
from skdp.privacy import Neighboring
from skdp.solvers import ObjectivePerturbation, OutputPerturbation, _minimizer
from skdp.solvers._minimizer import Objective, longest, minimize

RNG = np.random.default_rng(0)
LOSSES = [
    LogisticLoss(),
    ClippedLogisticLoss(),
    SmoothedHingeLoss(0.05),
    ClassWeightedLoss(LogisticLoss(), (0.1, 30.0)),
    MultinomialLoss(4),
    CompetitorLoss(ClippedLogisticLoss(), 4),
]
DATA = {
    "dense": RNG.normal(size=(300, 6)),
    "many rows": RNG.normal(size=(40_000, 4)),
    "sparse": sparse.random(400, 30, 0.1, format="csr", random_state=0),
    "wide sparse": sparse.random(300, 1500, 0.02, format="csr", random_state=0),
    "duplicate rows": np.ones((5000, 3)),
    "zero rows": np.zeros((50, 3)),
    "one row": np.ones((1, 2)),
    "huge values": 1e80 * RNG.normal(size=(40, 5)),
    "unequal columns": RNG.normal(size=(500, 5)) * 10.0 ** -np.arange(0.0, 10.0, 2.0),
}
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_data = pytest.mark.parametrize("name", DATA)


def labels(loss, n, one_class=False):
    codes = np.zeros(n, int) if one_class else np.random.default_rng(1).integers(0, 4, n)
    return codes if loss.n_scores > 1 else np.where(codes < 2, 1.0, -1.0)


def objective(loss, X, y, ridge, noise=3.0):
    design = ClippedDesign.clip(X, 1.0, 0.3, y)
    shape = (design.n_features,) if loss.n_scores == 1 else (design.n_features, loss.n_scores)
    tilt = noise * np.random.default_rng(2).normal(size=shape)
    return Objective(design, loss, np.hypot(1.0, 0.3), ridge, tilt)


def length_of_gradient(J, theta):
    """The gradient at θ, from the rows as they are and without blocks."""
    X = J.design.X.toarray() if sparse.issparse(J.design.X) else J.design.X
    A = np.column_stack([X * J.design.factors[:, None], np.full(len(X), 0.3)])
    slopes = A.T @ J.loss.gradient(J.design.targets, A @ theta)
    return np.linalg.norm(slopes + J.ridge * theta + J.tilt)


@pytest.mark.slow
@every_loss
@every_data
@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_the_gradient_is_within_the_tolerance(loss, name, ridge):
    X = DATA[name]
    J = objective(loss, X, labels(loss, X.shape[0]), ridge)
    tolerance = 1e-6 * min(ridge, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minimize(J, tolerance)
    rounding = J.rounding(found.theta)
    assert 2.0 * rounding < tolerance or name == "many rows" or ridge < 1.0
    limit = max(tolerance, 2.0 * rounding)
    assert found.length + rounding <= limit
    assert length_of_gradient(J, found.theta) <= limit


@every_loss
def test_one_class_alone_and_no_noise(loss):
    X = DATA["dense"]
    J = objective(loss, X, labels(loss, 300, one_class=True), 1e-6, noise=0.0)
    theta = minimize(J, 1e-9).theta
    assert length_of_gradient(J, theta) <= 1e-9 + 4.0 * J.rounding(theta)


@every_loss
@pytest.mark.parametrize("name", ["dense", "wide sparse", "unequal columns"])
def test_the_majorizer_alone_would_arrive(loss, name, monkeypatch):
    """A run that gives up at once leaves all the work to the steps that are proved to help."""
    monkeypatch.setattr(_minimizer, "_PATIENCE", 1)
    X = DATA[name]
    J = objective(loss, X, labels(loss, X.shape[0]), 20.0)
    assert length_of_gradient(J, minimize(J, 1e-3).theta) <= 1.001e-3


@every_loss
@pytest.mark.parametrize("name", ["dense", "wide sparse"])
def test_a_step_of_the_majorizer_shortens_the_gradient_in_its_metric(loss, name):
    X = DATA[name]
    J = objective(loss, X, labels(loss, X.shape[0]), 0.1)
    majorizer, theta = J.majorizer(), np.zeros_like(J.tilt)
    for _ in range(20):
        here = _minimizer.Minimum(theta, J.gradient(theta))
        theta = theta - majorizer(here.gradient)
        there = _minimizer.Minimum(theta, J.gradient(theta))
        assert there.squared(majorizer) < here.squared(majorizer)


def test_many_rows_are_read_a_few_times():
    X = DATA["many rows"]
    J = objective(ClippedLogisticLoss(), X, labels(LogisticLoss(), len(X)), 1.0)
    minimize(J, 1e-6)
    assert J.passes[0] <= 25
    assert J.sample.design.n_samples < len(X) / 2


@pytest.mark.parametrize(
    "loss",
    [*LOSSES[:3], *(pytest.param(loss, marks=pytest.mark.slow) for loss in LOSSES[3:])],
    ids=repr,
)
@every_data
def test_beside_the_weakest_ridge_that_is_allowed_it_ends(loss, name):
    X = DATA[name]
    curvature = loss.smoothness * 1.09
    J = objective(loss, X, labels(loss, X.shape[0], one_class=True), 1e-6 * curvature)
    tolerance = 3e-7 * loss.lipschitz
    found = minimize(J, tolerance)
    assert found.length <= max(tolerance, J.rounding(found.theta))
    assert J.passes[0] < 3000


# -- how exactly floating point can tell ----------------------------------------------------------

EXACT = {"many columns": (2_000, 60), "many rows": (50_000, 3), "one column": (20_000, 1)}


def true_gradient(J, theta):
    """∇J of a logistic loss: long doubles, which have 11 bits more, and their exact sum."""
    X, wide = J.design.X, np.longdouble
    A = np.column_stack([X * J.design.factors[:, None], np.full(len(X), 0.3)]).astype(wide)
    z = A @ theta.astype(wide)
    terms = A * (-J.design.targets / (1.0 + np.exp(J.design.targets * z)))[:, None]
    high = terms.astype(float)
    total = np.array([math.fsum([*h, *t]) for h, t in zip(high.T, (terms - high).T, strict=True)])
    return J.weight * total + J.ridge * theta + J.tilt


@pytest.mark.parametrize("size", [0.1, 10.0])
@pytest.mark.parametrize("shape", EXACT.values(), ids=EXACT)
def test_a_certified_gradient_is_as_near_the_true_one_as_is_said(shape, size, rng):
    X = rng.normal(size=shape)
    J = replace(objective(LogisticLoss(), X, labels(LogisticLoss(), len(X)), 1.0), certifies=True)
    theta = size * rng.normal(size=J.tilt.shape)
    error = np.linalg.norm(J.gradient(theta) - true_gradient(J, theta))
    assert error <= J.rounding(theta)


@pytest.mark.parametrize("tilt", [1e-5, 1.0])
def test_a_minimum_for_a_thousand_million_rows_meets_its_tolerance(tilt):
    """Rows that stand for many, balanced, so that at 0 the tilt alone is the gradient.

    Sums of 1e9 gradients round to 1e-5 and more, on which less must not be spent.
    """
    rows, n, problem = 1 << 15, 10**9, facts(10**9, 2)
    y = np.where(np.arange(rows) % 2, 1.0, -1.0)
    plan = ObjectivePerturbation().plan(problem, 1.0, 1e-6)
    J = objective(LogisticLoss(), np.ones((rows, 1)), y, plan.ridge)
    J = replace(J, tilt=np.array([0.0, tilt]), weight=n / rows)
    theta = minimize(J, plan.tolerance, longest(problem)).theta
    assert np.linalg.norm(true_gradient(J, theta)) <= plan.tolerance


def facts(n, columns=21, neighboring=Neighboring.REPLACE_ONE, C="auto"):
    return problem_with(LogisticLoss(), n, neighboring, intercept=0.3, C=C, n_features=columns)


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_a_plan_spends_on_what_rounding_leaves_open(kind):
    """Up to 900 000 rows it is nothing; then the tolerance and the noise over it grow with n."""
    few, many, most = (kind().plan(facts(n), 1.0, 1e-6) for n in (10**3, 900_000, 10**10))
    assert few.tolerance == many.tolerance < most.tolerance
    for plan in (few, many, most):
        assert plan.tolerance > 2.0 * 1024 * 2.0**-53 * plan.problem.n_samples
    unknown = kind().plan(facts(None, neighboring=Neighboring.ADD_REMOVE_ONE), 1.0, 1e-6)
    assert unknown.tolerance > 2.0 * 1024 * 2.0**-53 * 10**7


def test_where_rounding_alone_leaves_the_minimum_open_nothing_is_planned():
    with pytest.raises(IncompatibleSolverError, match=r"cannot certify"):
        OutputPerturbation().plan(facts(10**9, C=1e5), 1.0, 1e-6)


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("hint", [None, 3, 10**8])
def test_a_plan_says_how_many_rows_it_covers(kind, hint):
    add_remove = facts(hint, neighboring=Neighboring.ADD_REMOVE_ONE)
    assert kind().most_rows(add_remove) == max(2**24, 2 * (hint or 0))
    assert kind().most_rows(facts(hint or 7)) == (hint or 7)


def test_a_minimum_far_away_is_projected_and_is_certified_in_proportion():
    """One class alone beside a weak ridge: the minimum lies at a distance of 9 or so."""
    X = DATA["dense"]
    J = objective(LogisticLoss(), X, np.ones(300), 1e-3, noise=0.0)
    exact, near = minimize(J, 1e-9).theta, minimize(J, 1e-6, radius=2.0).theta
    assert np.linalg.norm(exact) > 4.0
    assert np.linalg.norm(near) == pytest.approx(2.0, rel=1e-12)
    np.testing.assert_allclose(near, exact * (2.0 / np.linalg.norm(exact)), atol=1e-6 / 1e-3)


def test_no_data_make_the_metric_singular():
    """Equal columns and a ridge that is lost in rounding: Cholesky would fail, the data decide."""
    X = np.full((1000, 3), 0.3)
    J = objective(LogisticLoss(), X, np.ones(1000), 1e-40)
    for inverse in (J.metric(np.zeros(4)), J.majorizer()):
        assert np.isfinite(inverse(np.ones(4))).all()
