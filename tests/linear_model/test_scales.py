"""Warnings that released numbers allow: columns that rows consist of, and rows that are clipped."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import minmax_scale

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
)
from skdp._private_fit import PaidWarning

RNG = np.random.default_rng(0)
N = 20_000
UNIT = RNG.uniform(-1.0, 1.0, size=(N, 6))
TARGETS = 0.5 * UNIT[:, 0] - 0.3 * UNIT[:, 1] + 0.1 * RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(UNIT[:, 0]))
MODELS = {
    "logistic": (DPLogisticRegression(), TARGETS > 0.0),
    "three classes": (DPLogisticRegression(), np.digitize(TARGETS, [-0.2, 0.2])),
    "hinge": (DPHingeClassifier(), TARGETS > 0.0),
    "linear": (DPLinearRegression(target_bounds=(-1.0, 1.0)), TARGETS),
    "moments": (DPLinearRegression(target_bounds=(-1.0, 1.0), solver="adassp"), TARGETS),
    "huber": (DPHuberRegressor(target_bounds=(-1.0, 1.0)), TARGETS),
    "quantile": (DPQuantileRegressor(target_bounds=(-1.0, 1.0)), TARGETS),
    "counts": (DPPoissonRegressor(target_bounds=(0.0, 10.0)), COUNTS),
}
FEW_LARGE = {
    "one": np.array([1.0, 1.0, 1e3, 1.0, 1.0, 1.0]),
    "two": np.array([1.0, 100.0, 1.0, 1.0, 100.0, 1.0]),
    "units of six kinds": np.array([1e-3, 1.0, 10.0, 1e5, 30.0, 0.1]),
}
SCALED = {
    "six": UNIT,
    "shares": 0.5 + 0.5 * UNIT,
    "short rows": 1e-2 * UNIT,
    "a constant beside": np.column_stack([np.ones(N), UNIT]),
    "flags": (RNG.random((N, 30)) < 0.05).astype(float),
    "levels": np.eye(12)[RNG.geometric(0.4, N).clip(1, 12) - 1],
    "words": sparse.csr_matrix(RNG.random((N, 30)) < 0.1, dtype=float),
}


def said(model, X, y, **more):
    """Return the warnings of a fit after it has paid."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, y, **more)
    return [str(one.message) for one in found if issubclass(one.category, PaidWarning)]


def cycled(values, start=0):
    """Return each model with one of the values, so that each value occurs."""
    return list(zip(MODELS, itertools.islice(itertools.cycle(values), start, None), strict=False))


@pytest.mark.parametrize(("name", "scales"), cycled(FEW_LARGE))
def test_columns_that_rows_consist_of_are_named(name, scales):
    """The noise in the matrix of 20 000 rows is a thousandth of its trace, so no fit is silent."""
    model, y = MODELS[name]
    (message,) = said(model, UNIT * FEW_LARGE[scales], y)
    largest = np.flatnonzero(FEW_LARGE[scales] >= 0.5 * FEW_LARGE[scales].max()).tolist()
    assert f"Columns {largest} make up" in message


@pytest.mark.parametrize(("name", "rows"), cycled(SCALED) + cycled(SCALED, 3))
def test_scaled_columns_are_not_blamed(name, rows):
    model, y = MODELS[name]
    assert not said(model, SCALED[rows], y)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits, load_diabetes])
def test_real_tables_are_blamed_for_their_units_only(load, relation):
    """The center of 178 to 1797 rows at ε = 10 is off by less than a hundredth of their norm."""
    X, y = load(return_X_y=True)
    if load is load_diabetes:
        X, y = load(return_X_y=True, scaled=False)[0], y > 140.0
    terms = {"epsilon": 10.0, "neighboring": relation}
    assert not said(DPLogisticRegression(**terms), minmax_scale(X), y)
    blamed = said(DPLogisticRegression(**terms), X, y)
    assert bool(blamed) == (load in (load_breast_cancer, load_wine))


WITH_ERRORS = ["logistic", "linear", "moments", "huber", "counts"]
WAYS = ["rows", "persons", "weights", "sparse", "private n"]
COUNTED = [case for case in itertools.product(WITH_ERRORS, WAYS) if case != ("moments", "weights")]


@pytest.mark.parametrize(
    ("name", "way", "kind"),
    [(*case, kind) for case, kind in zip(COUNTED, itertools.cycle([True, "robust"]))],
)
def test_intervals_of_clipped_rows_are_not_silent(name, way, kind):
    """A third of the rows of two columns in [−1, 1] are clipped; the count is off by 1 %."""
    model, y = MODELS[name]
    X, data, terms = UNIT[:, :2], {}, {"standard_errors": kind}
    if way == "persons":
        data, terms = {"groups": np.arange(N) // 2}, terms | {"max_rows": 2}
    elif way == "weights":
        data, terms = {"sample_weight": np.ones(N)}, terms | {"max_weight": 1.0}
    elif way == "sparse":
        X = sparse.csr_matrix(X)
    elif way == "private n":
        terms = terms | {"neighboring": "add_remove_one"}
    for data_norm in (1.0, 2.0**0.5):
        fitted = clone(model).set_params(**terms, data_norm=data_norm)
        found = said(fitted, X, y, **data)
        words = "of the rows are longer than data_norm=1"
        assert any(words in one for one in found) == (data_norm == 1.0)
        assert (words in str(fitted.summary())) == (data_norm == 1.0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("linear", True),
        ("moments", "robust"),
        ("moments", True),
        ("huber", "robust"),
        ("counts", True),
    ],
)
def test_intervals_of_targets_outside_are_not_silent(name, kind):
    """Targets at the bounds themselves are not outside; a twentieth of the targets are."""
    model, y = MODELS[name]
    terms = {"standard_errors": kind, "data_norm": 6.0**0.5}
    top = float(np.quantile(y, 0.95)) if name != "counts" else 3.0
    low = 0.0 if name == "counts" else -1.0
    for targets, is_said in ((np.clip(y, low, top), False), (y, True)):
        found = said(clone(model).set_params(**terms, target_bounds=(low, top)), UNIT, targets)
        assert any("outside of target_bounds" in one for one in found) == is_said
