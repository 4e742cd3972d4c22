"""What standard errors cost: sensitivities by brute force, and the event of the whole."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    PrivacyBudget,
)
from skdp.accounting import gdp_mu
from skdp.data.persons import Persons
from skdp.design import ClippedDesign, SharedDesign, row_products, slope_products
from skdp.exceptions import BudgetExceededError, IncompatibleSolverError
from skdp.linear_model._records import ExposureLoss
from skdp.linear_model._standard_errors import (
    MomentInference,
    TiltedInference,
    _residual,
    loss_spread,
    residual_spread,
)
from skdp.losses import HuberLoss, LogisticLoss, PoissonLoss, SquaredLoss
from skdp.losses.weighted import (
    ClassWeightedLoss,
    SharedLoss,
    WeightedLoss,
    weighted_targets,
)
from skdp.privacy import Neighboring
from skdp.solvers import Problem

ANGLES = np.linspace(0.0, 2.0 * np.pi, 9)[:-1]
ROWS = [r * np.array([math.cos(a), math.sin(a)]) for a in ANGLES for r in (0.5, 1.0)]
THETAS = [np.zeros(3), np.array([0.8, -0.6, 0.3]), np.array([0.0, 3.0, -1.0])]
THETAS += [np.array([0.0, 0.0, 3.2])]  # the largest curvature of a Poisson loss
NORM, SCALING = 1.0, 0.5
LARGEST = 2.0  # weight
rng = np.random.default_rng(0)


def problem_of(loss, relation, n_samples=100, **more):
    """The public facts of these tests."""
    given = {"data_norm": NORM, "intercept_scaling": SCALING, "n_features": 3} | more
    return Problem(loss=loss, neighboring=Neighboring(relation), n_samples=n_samples, **given)


def design_of(loss, rows, targets, weights):
    """The design of one record: a row, or a person with several."""
    X, y = np.array(rows).reshape(-1, 2), np.array(targets, dtype=float)
    if isinstance(loss, SharedLoss):
        persons = Persons(np.zeros(len(X), dtype=int), 1)
        shares = persons.row_weights() * np.array(weights)
        inner = ClippedDesign.clip(X, NORM, SCALING, weighted_targets(y, shares))
        return SharedDesign(inner, persons, loss.largest)
    if isinstance(loss, WeightedLoss):
        y = weighted_targets(y, np.array(weights, dtype=float))
    return ClippedDesign.clip(X, NORM, SCALING, y)


def records_of(loss, labels):
    """All records of a small domain: one row each, or persons with one row or two."""
    weights = [0.0, LARGEST] if isinstance(loss, WeightedLoss) else [1.0]
    single = [*itertools.product(ROWS, labels, weights)]
    if not isinstance(loss, SharedLoss):
        return [([x], [y], [w]) for x, y, w in single]
    pairs = [single[i] + single[j] for i, j in rng.integers(0, len(single), size=(60, 2))]
    both = [([a, d], [b, e], [c, f]) for a, b, c, d, e, f in pairs]
    return [([x], [y], [w]) for x, y, w in single] + both


def largest_changes(loss, labels, relation, sums):
    """The largest change of each sum, in the Frobenius norm, between neighbors."""
    designs = [design_of(loss, *record) for record in records_of(loss, labels)]
    found = np.zeros(3)
    for theta in THETAS:
        parts = zip(*(sums(design, theta) for design in designs), strict=True)
        for k, each in enumerate(parts):
            rows = np.reshape(each, (len(designs), -1))
            others = rows if relation == "replace_one" else np.zeros((1, rows.shape[1]))
            sizes = np.linalg.norm(rows[:, None] - others, axis=2)
            found[k] = max(found[k], sizes.max())
    return found


def check(largest, releases):
    """Noise covers each change, and by less than twice for the worst neighbors."""
    for change, release in zip(largest, releases, strict=True):
        if release is not None:
            sensitivity = release.scale * release.mu
            assert 0.5 * sensitivity < change <= sensitivity


TILTED = [
    (LogisticLoss(), (-1, 1)),
    (WeightedLoss(LogisticLoss(), LARGEST), (-1, 1)),
    (ClassWeightedLoss(LogisticLoss(), (0.5, 2.0)), (-1, 1)),
    (SharedLoss(LogisticLoss(), LARGEST), (-1, 1)),
    (HuberLoss(0.3), (-1, 0, 1)),
    (WeightedLoss(HuberLoss(0.3), LARGEST), (-1, 0, 1)),
    (SharedLoss(HuberLoss(0.3), LARGEST), (-1, 0, 1)),
    (PoissonLoss(3.0), (-1, 0, 1)),
    (ExposureLoss(PoissonLoss(3.0), LARGEST), (-1, 0, 1)),
    (SharedLoss(PoissonLoss(3.0), LARGEST), (-1, 0, 1)),
]


@pytest.mark.parametrize(("loss", "labels"), TILTED, ids=lambda x: type(x).__name__)
def test_noise_covers_the_matrices_of_objective_perturbation(loss, labels, neighboring):
    rows_each = 2 if isinstance(loss, SharedLoss) else 1
    problem = problem_of(loss, neighboring, rows_each=rows_each)
    plan = TiltedInference(is_robust=True).plan(problem, 1.0, 1e-5)

    def sums(design, theta):
        spread = (
            np.zeros(2) if plan.spread is None else design.total(partial(loss_spread, loss, theta))
        )
        if plan.spread is not None:
            spread = spread / np.array([plan.spread.longest**2, plan.spread.steepest])
        curvature = row_products(design, loss.hessian, theta)
        return curvature, spread, slope_products(design, loss.gradient, theta)

    largest = largest_changes(loss, labels, neighboring, sums)
    check(largest, (plan.curvature, plan.spread, plan.middle))


@pytest.mark.parametrize("loss", [SquaredLoss(), SharedLoss(SquaredLoss(), LARGEST)])
def test_noise_covers_the_residuals_of_least_squares(loss, neighboring):
    plan = MomentInference(is_robust=True).plan(problem_of(loss, neighboring), 1.0, 1e-5)
    longest = 0.7

    def sums(design, theta):
        units = np.array([plan.spread.longest**2, plan.spread.steepest])
        spread = design.total(partial(residual_spread, loss, theta)) / units
        middle = slope_products(design, partial(_residual, loss, longest), theta)
        return np.zeros(1), spread, middle

    _, spread, middle = largest_changes(loss, (-1, 0, 1), neighboring, sums)
    changed = Neighboring(neighboring).n_changed
    square = (longest * math.hypot(NORM, SCALING)) ** 2
    assert spread <= plan.spread.scale * plan.spread.mu
    assert 0.5 * math.sqrt(changed) * square < middle <= math.sqrt(changed) * square * (1 + 1e-12)


X = rng.uniform(-0.5, 0.5, size=(400, 2))
LABELS = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
NUMBERS = X @ [0.5, -0.3] + 0.1 * rng.normal(size=400)
BOUNDS = {"target_bounds": (-1.0, 1.0)}
MODELS = [
    (DPLogisticRegression(), LABELS),
    (DPHuberRegressor(**BOUNDS), NUMBERS),
    (DPLinearRegression(**BOUNDS), NUMBERS),
    (DPLinearRegression(**BOUNDS, solver="adassp"), NUMBERS),
    (DPPoissonRegressor(target_bounds=(0, 5)), LABELS),
]
every_model = pytest.mark.parametrize(
    ("model", "y"), MODELS, ids=["logistic", "huber", "linear", "adassp", "poisson"]
)


@every_model
@pytest.mark.parametrize(
    ("relation", "epsilon", "kind", "groups"),
    [
        ("replace_one", 0.3, True, None),
        ("replace_one", 1.0, True, np.arange(400) // 2),
        ("add_remove_one", 3.0, "robust", None),
    ],
)
def test_the_whole_costs_what_was_asked_and_hardly_less(model, y, relation, epsilon, kind, groups):
    terms = {"epsilon": epsilon, "neighboring": relation, "standard_errors": kind}
    model = clone(model).set_params(**terms, max_rows=None if groups is None else 2)
    privacy = model.fit(X, y, groups=groups).privacy_
    spent = privacy.epsilon(1e-5)
    # A Gaussian-DP parameter covers two classes, at 5 % more than the release costs.
    assert (0.94 if relation == "add_remove_one" else 0.999) * epsilon < spent <= epsilon
    is_gaussian = isinstance(model, DPLogisticRegression) or model.solver == "adassp"
    if is_gaussian and groups is None:
        assert 0.999 * gdp_mu(epsilon, 1e-5) < privacy.gdp_mu <= gdp_mu(epsilon, 1e-5)


def test_a_budget_admits_exactly_one_release_of_its_size():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    model = DPLogisticRegression(budget=budget, standard_errors=True)
    model.fit(X, LABELS)
    with pytest.raises(BudgetExceededError):
        model.fit(X, LABELS)


@pytest.mark.parametrize(
    ("model", "y"), [MODELS[0], *MODELS[2:4]], ids=["tilted", "slopes", "sums"]
)
def test_a_price_is_what_a_fit_costs(model, y):
    model = clone(model).set_params(epsilon=0.3, standard_errors=True)
    priced = PrivacyBudget(epsilon=3.0, delta=1e-5).price(model, X, y)
    assert math.isclose(priced.epsilon, model.fit(X, y).privacy_.epsilon(1e-5), rel_tol=1e-6)


REFUSED = [
    ({"standard_errors": "HC3"}, "True or 'robust'"),
    ({"center": True}, "center"),
    ({"loss_clip": 0.5}, "loss_clip"),
    ({"solver": "noisy_gd"}, "solver='auto'"),
    ({"C": 1e9}, "C="),
    ({"classes": [0, 1, 2]}, "two classes"),
    ({"delta": 0.0}, "delta"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED, ids=lambda x: str(x)[:20])
def test_what_has_no_standard_errors_is_refused_before_the_spend(wrong, message, unspent):
    model = DPLogisticRegression(budget=unspent, standard_errors=True).set_params(**wrong)
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS)


def test_too_many_columns_are_refused():
    with pytest.raises(IncompatibleSolverError, match="2048"):
        DPLogisticRegression(standard_errors=True).fit(np.zeros((20, 2048)), LABELS[:20])


@pytest.mark.parametrize(
    ("model", "y", "kind"),
    [
        (*one, kind)
        for one, kind in zip(MODELS, [True, "robust", True, "robust", "robust"], strict=True)
    ],
)
def test_one_row_or_none_raises_nothing(model, y, kind):
    terms = {"epsilon": 1.0, "neighboring": "add_remove_one", "standard_errors": kind}
    if isinstance(model, DPLogisticRegression):
        terms["classes"] = [0, 1]
    if model.solver == "adassp":
        terms["subsample"] = 1e-4
    model = clone(model).set_params(**terms)
    found = model.fit(X[:1], y[:1])
    assert np.isfinite(found.coef_).all()
    assert repr(found.summary())
    assert found.wald_test().df == 2
