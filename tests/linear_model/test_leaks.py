"""Nothing that a fit shows depends on the data, but for what the solver releases."""

import sys
import warnings
from dataclasses import dataclass, replace
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from linear_models import CLASSIFIERS, FITS, REGRESSORS, reading
from scipy import sparse
from sklearn.base import is_classifier

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.solvers import SOLVERS, RegularizedExponential, Solution

PUBLIC = {
    "coef_",
    "intercept_",
    "coef_noise_",
    "center_",
    "center_radius_",
    "privacy_",
    "classes_",
    "target_bounds_",
    "n_iter_",
    "data_norm_",
    "loss_",
    "solver_",
    "_probabilities_",
    "n_features_in_",
    "feature_names_in_",
}
TASKS = [(Model, n) for Model in CLASSIFIERS for n in (2, 3, 30)]
TASKS += [(Model, 2) for Model in REGRESSORS]
every_task = pytest.mark.parametrize(("Model", "n_classes"), TASKS)
RARE = ("adassp", "exponential_mechanism")  # least squares; few coefficients only
OFTEN = [fit for fit in FITS if fit[1] != "exponential_mechanism"]


@pytest.fixture(autouse=True)
def no_bar(monkeypatch):
    """Without tqdm, whose bars show times."""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@dataclass(frozen=True)
class ConstantSolver(RegularizedExponential):
    """Plans and spends like the real solver, but releases a constant."""

    def plan(self, problem, epsilon, delta):
        return reading(super().plan(problem, epsilon, delta), self.read)

    def read(self, plan, design, rng, progress):
        shape = (design.n_features, plan.problem.loss.n_scores)
        progress(1, 1)
        secret = design.slope_sum(lambda y, z: y * 1.0, np.zeros(design.n_features))
        return Solution(np.ones(shape).squeeze(), 7, {"secret": secret})


def two_worlds(n_classes, neighboring):
    """Two data sets as different as they can be, with the same public facts."""
    rng = np.random.default_rng(0)
    n = 40
    tame = rng.normal(size=(n, 4)), np.arange(n) % n_classes
    wild_n = n if neighboring == "replace_one" else 3 * n
    # of repeated rows and one label only
    wild = 1e6 * np.ones((wild_n, 4)), np.full(wild_n, n_classes - 1)
    return tame, wild


def everything_shown(model, X, y, capsys, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **more)
        views = repr(model), model._repr_html_(), repr(model.privacy_), str(model.privacy_)
    shown = {name: value for name, value in vars(model).items() if name != "budget"}
    history = [
        {key: value for key, value in row.items() if key != "time"}
        for row in model.budget.history()
    ]
    return shown, views, [str(w.message) for w in caught], capsys.readouterr(), history


def unstretch(values):
    """Undo what a center does to the coefficients, remove it and the noisy shares of classes."""
    radius = values.pop("center_radius_")
    center = values.pop("center_")
    if kept := values.get("_probabilities_"):
        values["_probabilities_"] = replace(kept, is_centered=False, moved=None)
    if center is not None:
        values["intercept_"] = np.round(values["intercept_"] + values["coef_"] @ center, 9)
        for name in ("coef_", "coef_noise_bound_"):
            if values.get(name) is not None:
                values[name] = np.round(values[name] * radius, 9)


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@every_task
def test_two_data_sets_show_the_same(Model, neighboring, n_classes, capsys):
    shown = []
    for X, y in two_worlds(n_classes, neighboring):
        budget = PrivacyBudget(epsilon=10.0, delta=1e-4, neighboring=neighboring)
        model = Model(
            solver=ConstantSolver(),
            neighboring=neighboring,
            budget=budget,
            verbose=1,
        )
        if is_classifier(model):
            model.set_params(classes=range(n_classes))
        shown.append(everything_shown(model, X, y, capsys))
    (first, *first_rest), (second, *second_rest) = shown
    unstretch(first)
    unstretch(second)
    assert_same(first, second)
    # the notebook view names the budget's temporary file nowhere and numbers its elements
    assert [str(part) for part in first_rest[1:]] == [str(part) for part in second_rest[1:]]
    assert first_rest[0][0] == second_rest[0][0]
    assert first_rest[0][2:] == second_rest[0][2:]


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in RARE])
def test_output_views_and_history_of_solvers_are_the_same(solver, neighboring, capsys):
    """Only a warning that the released coefficients decide may differ: in one fit of 50."""
    shown = []
    for X, y in two_worlds(2, neighboring):
        budget = PrivacyBudget(epsilon=10.0, delta=1e-4, neighboring=neighboring)
        terms = {"neighboring": neighboring, "n_samples_hint": 40, "verbose": 1}
        model = DPLogisticRegression(solver=solver, classes=(0, 1), budget=budget, **terms)
        _, views, warned, *rest = everything_shown(model, X, y, capsys)
        warned = [one for one in warned if not one.startswith("Predictions fill less")]
        shown.append(str((views[0], views[2:], warned, rest)))
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("Model", "solver", "convert"),
    [
        (*fit, convert)
        for fit, convert in zip(OFTEN, cycle([np.asarray, pd.DataFrame, sparse.csr_matrix]))
    ],
)
def test_a_fitted_model_has_the_declared_attributes_only(Model, solver, neighboring, convert):
    (X, y), _ = two_worlds(2, neighboring)
    model = Model(solver=solver, neighboring=neighboring).fit(convert(X), y)
    assert {name for name in vars(model) if name not in model.get_params()} <= PUBLIC


@pytest.mark.parametrize(("Model", "solver"), OFTEN)
def test_progress_tells_public_step_counts_only(Model, solver, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as where it is not installed
    (X, y), _ = two_worlds(2, "replace_one")
    model = Model(solver=solver, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert 0 < len(lines) <= 10
    assert all(line.endswith(f"of {model.n_iter_}") for line in lines)


def test_progress_is_a_bar_where_tqdm_is_installed(capsys, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, desc, unit):
            self.n, self.total, self.is_open = 0, total, True
            bars.append(self)

        def update(self, steps):
            self.n += steps

        def close(self):
            self.is_open = False

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    (X, y), _ = two_worlds(2, "replace_one")
    model = DPLogisticRegression(solver="noisy_gd", verbose=1, random_state=0).fit(X, y)
    (bar,) = bars
    assert bar.n == bar.total == model.n_iter_
    assert not bar.is_open
    assert not capsys.readouterr().out
