"""Probabilities of classes are right on average: the release after a fit, and its cost."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_expit, softmax
from sklearn.metrics import log_loss

from skdp import DPAdditiveClassifier, DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.linear_model import _last_releases
from skdp.linear_model._last_releases import ClassShift, Errors, recalibrated
from skdp.linear_model._probabilities import Probabilities, Recalibration, against_others
from skdp.losses import LogisticLoss, MultinomialLoss, WeightedLoss
from skdp.privacy import Neighboring
from skdp.solvers import Problem

N = 20_000
KNOTS = _last_releases._KNOTS.size
every_loss = pytest.mark.parametrize("loss", [LogisticLoss(), MultinomialLoss(4)], ids=str)


def data(share, n=N, n_classes=2):
    """Return rows, and labels whose log-odds are linear in the first column; the last is rare."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, 2))
    odds = share / (1.0 - share) * np.exp(3.0 * X[:, 0])
    y = (rng.random(n) < odds / (1.0 + odds)).astype(int)
    return X, np.where(y, n_classes - 1, rng.integers(0, n_classes - 1, n))


MODELS = {
    "linear": lambda **more: DPLogisticRegression(**more),
    "plain loss": lambda **more: DPLogisticRegression(loss_clip=None, solver="noisy_gd", **more),
    "additive": lambda **more: DPAdditiveClassifier(bounds=(-0.5, 0.5), **more),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("name", MODELS)
def test_the_mean_probability_is_the_share_of_the_class(name, share, n_classes, neighboring):
    """The noise is at most 13 records of 400 or more, so that a third of these is ten of it."""
    X, y = data(share, n_classes=n_classes)
    model = MODELS[name](epsilon=8.0, neighboring=neighboring, classes=list(range(n_classes)))
    p = model.fit(X, y).predict_proba(X)
    shares = np.bincount(y) / N
    np.testing.assert_allclose(p.mean(axis=0), shares, rtol=1.0 / 3.0)
    assert log_loss(y, p) < -np.sum(shares * np.log(shares))
    assert "mean errors of probabilities" in model.privacy_.theorem
    assert model.privacy_.gdp_mu == pytest.approx(gdp_mu(8.0, 1e-5), rel=1e-6)
    assert model.privacy_.epsilon(1e-5) <= 8.0 * (1.0 + 1e-9)


@pytest.mark.parametrize("unit", ["persons", "blocks"])
def test_persons_and_blocks_are_recalibrated(unit):
    X, y = data(0.05)
    model, more = DPLogisticRegression(epsilon=8.0, solver="noisy_gd", classes=[0, 1]), {}
    if unit == "persons":
        more["groups"] = np.arange(N) // 2
        model.set_params(max_rows=2).fit(X, y, **more)
    else:
        da = pytest.importorskip("dask.array")
        model.fit(da.from_array(X, chunks=(9000, 2)), da.from_array(y, chunks=9000))
    assert model._probabilities_.moved is not None
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=1.0 / 3.0)


@pytest.mark.parametrize("epsilon", [1.2, 8.0])
def test_nearly_separable_classes_are_not_shifted_far(epsilon, rng):
    """Hardly any row has a probability near a half, so that the equation says little of a shift."""
    X = rng.uniform(-1.0, 1.0, (N, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] + 0.05 * rng.normal(size=N) > 0.0).astype(int)
    model = DPLogisticRegression(epsilon=epsilon).fit(X[:15_000], y[:15_000])
    moved = model._probabilities_.moved
    ((shifts, slopes),) = moved.passes
    assert np.abs(shifts).max() < 2.0
    assert slopes.min() > 1.0
    p, own = model.predict_proba(X[15_000:]), expit(X[15_000:] @ model.coef_[0] + model.intercept_)
    assert log_loss(y[15_000:], p) < log_loss(y[15_000:], own)


@pytest.mark.parametrize("shift", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("slope", [0.2, 1.0, 5.0])
def test_scores_labels_and_exports_follow_the_probabilities(slope, shift):
    X, y = data(0.3)
    model = DPLogisticRegression(epsilon=8.0, center=False).fit(X, y)
    moved = Recalibration((np.array([[shift], [slope]]),))
    model._probabilities_ = model._probabilities_.__class__(
        **{**vars(model._probabilities_), "moved": moved}
    )
    rows = np.concatenate([X, 30.0 * X])
    p, scores = model.predict_proba(rows)[:, 1], model.decision_function(rows)
    np.testing.assert_allclose(expit(scores), p, atol=1e-12)
    np.testing.assert_array_equal(model.predict(rows) == model.classes_[1], scores > 0.0)
    np.testing.assert_allclose(model.to_sklearn().predict_proba(rows)[:, 1], p, atol=1e-12)


def test_probabilities_increase_with_the_score():
    """Also beyond the largest log-odds that count fully: ranks of rows and AUC stay."""
    moved = Recalibration((np.array([[-5.0], [0.2]]),))
    link = Probabilities(LogisticLoss(), moved=moved)
    p = link.log_probabilities(np.linspace(-300.0, 300.0, 3001))
    assert np.all(np.diff(p[:, 1] - p[:, 0]) > 0.0)
    np.testing.assert_allclose(np.exp(p).sum(axis=1), 1.0, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_probabilities_of_several_classes_add_up_to_one(seed):
    rng = np.random.default_rng(seed)
    passes = tuple(np.stack([8 * rng.normal(size=4), np.exp(rng.normal(size=4))]) for _ in "ab")
    link = Probabilities(MultinomialLoss(4), moved=Recalibration(passes))
    found = link.log_probabilities(rng.normal(size=(50, 4)) * 10.0 ** rng.uniform(-1, 3, (50, 1)))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (DPLogisticRegression(), 14_000),
        (DPLogisticRegression(fit_intercept=False), N),
        (DPLogisticRegression(class_weight={1: 2.0}), N),
        (DPLogisticRegression(solver="dp_sgd"), N),
        (DPLogisticRegression(standard_errors=True), N),
    ],
    ids=["few rows", "no intercept", "weights", "not Gaussian", "standard errors"],
)
def test_nothing_is_released_where_public_facts_speak_against_it(model, n):
    """At ε = 1, x = 2000 needs 14 922 rows."""
    X, y = data(0.3, n)
    assert "mean errors" not in model.fit(X, y).privacy_.theorem
    assert model._probabilities_.moved is None


def test_weighted_rows_are_not_recalibrated():
    X, y = data(0.3)
    model = DPLogisticRegression(max_weight=2.0).fit(X, y, sample_weight=np.ones(N))
    assert model._probabilities_.moved is None


@pytest.mark.parametrize("n", [0, 500])
def test_a_small_number_of_records_that_is_private_changes_nothing(n):
    """7500 are needed at ε = 1. The noise of their count is below 300."""
    X, y = data(0.3)
    model = DPLogisticRegression(neighboring="add_remove_one", classes=[0, 1]).fit(X[:n], y[:n])
    assert "mean errors of probabilities" in model.privacy_.theorem
    assert model._probabilities_.moved is None


# -- sensitivity and rounding errors -------------------------------------------------------------


def problem_of(loss, neighboring, rng):
    facts = {"data_norm": float(rng.uniform(0.5, 2.0)), "intercept_scaling": 0.3}
    return Problem(loss=loss, n_samples=100, neighboring=neighboring, **facts)


def random_rows(loss, rng, n=150):
    """Return labels and scores: likely, far apart, and at the knots."""
    scale = 10.0 ** rng.uniform(-1.0, 3.0, n)
    if loss.n_scores == 1:
        z = np.where(
            rng.random(n) < 0.3, rng.choice(_last_releases._KNOTS, n), scale * rng.normal(size=n)
        )
        return rng.choice([-1.0, 1.0], n), z
    scores = scale[:, None] * rng.normal(size=(n, loss.n_scores))
    few = rng.integers(0, 2, scores.shape) * scale[:, None]
    return rng.integers(0, loss.n_scores, n), np.where(rng.random((n, 1)) < 0.5, scores, few)


def errors_of(loss, rng):
    """Return the sums of a first pass for two classes, and of a second one for several."""
    if loss.n_scores == 1:
        at = np.linspace(-9.0, 9.0, 50)
        link = partial(np.interp, xp=at, fp=np.clip(np.cumsum(rng.exponential(size=50)) - 9, -8, 8))
        return Errors(np.ones(3), link, 50.0, Recalibration(), loss)
    passed = np.stack([rng.normal(size=4), np.exp(0.5 * rng.normal(size=4))])
    moved = Recalibration((passed,) * int(rng.integers(0, 2)))
    return Errors(np.ones((3, 4)), against_others, np.sqrt(2.0), moved, loss)


def block_of(y, z, shares=None):
    if shares is not None:
        y = np.array(
            list(zip(y, shares, strict=True)), dtype=[("target", float), ("weight", float)]
        )
    return SimpleNamespace(targets=y, n_samples=len(y), scores=lambda theta: z)


def each_of(errors, y, z):
    return np.array([errors(block_of(y[i : i + 1], z[i : i + 1])) for i in range(len(y))])


@every_loss
def test_no_less_noise_would_do(loss, relation):
    """Two rows that are surely of the class of the other: within 2 %."""
    rng, far = np.random.default_rng(0), 50.0 * np.eye(4)
    z = np.array([-50.0, 50.0]) if loss.n_scores == 1 else far[:2]
    y = np.array([1.0, -1.0] if loss.n_scores == 1 else [1, 0])
    link = np.asarray if loss.n_scores == 1 else against_others
    errors = Errors(np.ones(3), link, 1.0, Recalibration(), loss)
    one, two = each_of(errors, y, z)
    moved = one - two if relation is Neighboring.REPLACE_ONE else one
    between = errors.facts(problem_of(loss, relation, rng)).between
    assert np.linalg.norm(moved) == pytest.approx(between, rel=0.02)


@every_loss
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_errors_of_scores_move_the_sums_by_no_more_than_their_slope(loss, seed):
    rng = np.random.default_rng(seed)
    errors, (y, z) = errors_of(loss, rng), random_rows(loss, rng)
    slope = errors.slope
    for _, slopes in errors.moved.passes:
        slope *= 2.0 * slopes.max()
    step = rng.normal(size=z.shape) * 1e-5
    length = np.abs(step) if z.ndim == 1 else np.linalg.norm(step, axis=1)
    moved = np.linalg.norm(each_of(errors, y, z + step) - each_of(errors, y, z), axis=1)
    assert np.all(moved <= _last_releases._STEEPEST * slope * length * (1.0 + 1e-6) + 1e-10)


def test_computed_log_odds_are_off_by_no_more_than_planned():
    """By units, and by twice the rounding of scores; also where 1 − p would round to 0."""
    z = np.random.default_rng().normal(size=(2000, 5)) * np.geomspace(0.1, 200.0, 2000)[:, None]
    others = [
        np.logaddexp.reduce(np.delete(z, k, axis=1).astype(np.longdouble), axis=1) for k in range(5)
    ]
    error = np.abs(against_others(z) - (z - np.transpose(others)))
    allowed = (_last_releases._UNITS + 10.0) + 4.0 * np.abs(z).max(axis=1, keepdims=True)
    assert np.all(error <= allowed * 2.0**-53)


@every_loss
def test_a_block_adds_its_rows_by_their_shares(loss, rng):
    errors, (y, z) = errors_of(loss, rng), random_rows(loss, rng)
    shares = rng.uniform(0.0, 2.0, len(y))
    halved = replace(errors, loss=WeightedLoss(loss, 2.0))
    wanted = 0.5 * shares @ each_of(errors, y, z)
    np.testing.assert_allclose(halved(block_of(y, z, shares)), wanted, atol=1e-12)


# -- slopes and shifts ---------------------------------------------------------------------------


def moved_by(y, z):
    """Return the recalibration by sums that have hardly any noise."""
    moved, link = Recalibration(), against_others if z.ndim > 1 else np.asarray
    for _ in range(z.ndim):
        sums = Errors(None, link, 1.0, moved, LogisticLoss())(block_of(y, z))
        sums = sums.reshape(-1, 1 + 2 * KNOTS)
        passed = [recalibrated(one, 0.5 / np.sqrt(len(sums)), 1e-3) for one in sums]
        moved = Recalibration((*moved.passes, np.transpose(passed)))
    return moved


@pytest.mark.parametrize("slope", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("shift", [-4.0, 0.0, 2.0])
def test_without_noise_probabilities_of_two_classes_are_right(shift, slope, rng):
    z = -1.0 + 1.5 * rng.normal(size=100_000)
    true = expit(shift + slope * z)
    y = np.where(rng.random(z.size) < true, 1.0, -1.0)
    p = expit(moved_by(y, z)(z[:, None])[:, 0])
    assert log_loss(y, p) < log_loss(y, true) + 0.004
    assert p.mean() == pytest.approx((y > 0).mean(), rel=0.05)


@pytest.mark.parametrize("slope", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("rare", [0.0, -3.0])
def test_without_noise_the_mean_of_each_class_is_right(rare, slope, rng):
    z = 1.5 * rng.normal(size=(50_000, 4))
    true = softmax(slope * z + [rare, 0.0, 0.5, 1.0], axis=1)
    y = (rng.random((len(z), 1)) > true.cumsum(axis=1)).sum(axis=1)
    p = np.exp(log_expit(moved_by(y, z)(against_others(z))))
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(y) / len(y), rtol=0.25)
    assert log_loss(y, p) < log_loss(y, true) + 0.03


def test_no_records_and_only_noise_are_no_error():
    nothing = np.zeros(1 + 2 * KNOTS)
    assert recalibrated(nothing, 0.5, 1.0) == pytest.approx((0.0, 1.0))
    rng = np.random.default_rng()
    for scale in (1.0, 1e6, 1e12, 1e100):
        shift, slope = recalibrated(scale * rng.normal(size=nothing.size), 0.5, scale)
        assert abs(shift) <= 8.0
        assert 0.1 < slope < 10.0


def test_the_plan_costs_five_percent():
    parameters = SimpleNamespace(epsilon=1.0, delta=1e-5, neighboring=Neighboring.REPLACE_ONE)
    records = SimpleNamespace(facts=SimpleNamespace(n_known=20_000))
    (release,) = ClassShift.plan(parameters, records)
    assert release.mu**2 == pytest.approx(0.05 * gdp_mu(1.0, 1e-5) ** 2)
