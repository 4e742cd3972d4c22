"""Codes and categories have the types of `fit` in every later call, or an error says so."""

from decimal import Decimal
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from public_modules import MODULES
from sklearn.base import BaseEstimator, is_classifier

from skdp import (
    DPAdditiveClassifier,
    DPCategoricalNB,
    DPLogisticRegression,
    DPMixedNB,
    DPTabularClassifier,
    TableSchema,
    statistics,
)
from skdp.calibration import (
    DPCalibratedClassifier,
    DPConformalClassifier,
    DPConformalRegressor,
)
from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures
from skdp.metrics import (
    dp_accuracy_score,
    dp_log_loss,
    dp_mean_squared_error,
    make_private_scorer,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]

N = 200
CODES = [f"{k:02}" for k in range(8)]
SCHEMA = TableSchema({"c": {"kind": "code", "buckets": 8}, "d": CODES}, source="made up")
CATEGORIES = {"c": CODES, "d": CODES}
METHODS = ("predict_proba", "predict", "transform", "score_samples")


def estimators():
    """Yield the public estimators that take categories or codes, with both ways to state them."""
    for module in MODULES:
        for name in import_module(f"skdp.{module}").__all__:
            kind = getattr(import_module(f"skdp.{module}"), name)
            if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
                continue
            parameters = kind._get_param_names()
            if "categories" in parameters and any(hasattr(kind, method) for method in METHODS):
                schema = {"bounds" if "bounds" in parameters else "categories": SCHEMA}
                yield pytest.param(kind, schema, id=f"{module}.{name}-schema")
                yield pytest.param(kind, {"categories": CATEGORIES}, id=f"{module}.{name}")


ESTIMATORS = [*estimators()]


def made(kind, given):
    more = {"target_bounds": (-1.0, 2.0), "epsilon": 3.0, "random_state": 0}
    return kind(**given, **{k: v for k, v in more.items() if k in kind._get_param_names()})


def frame(n=N):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"c": rng.choice(CODES, n), "d": rng.choice(CODES, n)})


def answer(model, X):
    method = next(m for m in METHODS if callable(getattr(model, m, None)))
    found = getattr(model, method)(X)
    return np.asarray(getattr(found, "toarray", lambda: found)(), dtype=float)


def fitted(kind, given, X):
    y = (np.arange(len(X)) % 3 == 0).astype(int)
    return made(kind, given).fit(X, y)


SAME = {
    "objects": lambda X: X.astype(object),
    "category": lambda X: X.astype("category"),
    "arrow": lambda X: X.astype(pd.ArrowDtype(pa.string())),
    "polars": pl.from_pandas,
    "table of Arrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
}
OTHER = {
    "integers": lambda X: X.astype(int),
    "floats": lambda X: X.astype(float),
    "nullable": lambda X: X.astype(int).astype("Int64"),
    "categories of integers": lambda X: X.astype(int).astype("category"),
    "integers of polars": lambda X: pl.from_pandas(X.astype(int)),
}


@pytest.mark.parametrize(("kind", "given"), ESTIMATORS)
def test_another_type_is_an_error_and_the_same_type_in_another_container_is_none(kind, given):
    X = frame()
    model = fitted(kind, given, X)
    expected = answer(model, X.iloc[:20])
    for name, convert in SAME.items():
        assert np.array_equal(answer(model, convert(X.iloc[:20])), expected), name
    for convert in OTHER.values():
        with pytest.raises(ValueError, match=r"'c' (contains numbers|.*cannot equal)"):
            answer(model, convert(X.iloc[:20]))


@pytest.mark.parametrize(("kind", "given"), ESTIMATORS)
def test_rows_without_names_have_the_columns_of_fit_in_order(kind, given):
    X = frame()[["d", "c"]]  # the schema has another order
    model = fitted(kind, given, X)
    expected = answer(model, X.iloc[:20])
    for rows in (X.iloc[:20].to_numpy(), X.iloc[:20].to_numpy().tolist()):
        assert np.array_equal(answer(model, rows), expected)


@pytest.mark.parametrize("column", [
    np.array([0.1, 0.5] * N, np.float32),
    pd.Series([0.1, 0.5] * N, dtype=pd.ArrowDtype(pa.float32())),
    pd.Series([0.1, 0.5] * N, dtype="Float32"),
    np.array([True, False] * N),
    np.array(["0.1", "0.5"] * N),
])  # fmt: skip
def test_categories_that_a_type_rules_out_are_refused_before_the_spend(column, budget):
    known = ["True", "False"] if column.dtype == bool else [0.1, 0.5]
    X = pd.DataFrame({"c": pd.Series(column)})
    y, asked = np.arange(2 * N) % 2, {"epsilon": 1.0, "budget": budget}
    for release in (
        lambda: statistics.marginals(X, categories={"c": known}, **asked),
        lambda: statistics.count(y > 0, by=column, keys=known, **asked),
        lambda: DPCategoricalNB(categories={"c": known}, classes=[0, 1], **asked).fit(X, y),
    ):
        with pytest.raises(ValueError, match="cannot equal"):
            release()
    assert not budget.history()


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
@pytest.mark.parametrize("dtype", [object, "category", "str"])
@pytest.mark.parametrize(("kind", "given"), ESTIMATORS[:2])
def test_a_column_without_values_has_the_type_of_fit_or_none(kind, given, dtype, gap):
    model = fitted(kind, given, frame())
    empty = pd.DataFrame({"c": [None, None], "d": [None, None]}, dtype=object)
    gaps = pd.DataFrame({name: pd.Series([gap, gap], dtype=object) for name in "cd"}).astype(dtype)
    assert np.array_equal(answer(model, gaps), answer(model, empty), equal_nan=True)
    with pytest.raises(ValueError, match="numbers"):  # whether all are missing is private
        answer(model, pd.DataFrame({"c": [np.nan, np.nan], "d": [np.nan, np.nan]}))


def test_integers_and_equal_floats_are_the_same():
    X, types = frame().astype(int), [int, float, object, "Int64", "category"]
    for given in (
        {"categories": {"c": range(8), "d": range(8)}},
        {"bounds": TableSchema({"c": [*range(8)], "d": [*range(8)]}, source="made up")},
    ):
        features = AdditiveFeatures(**given)
        model = DPLogisticRegression(features=features, epsilon=3.0, random_state=0)
        expected = model.fit(X, X["c"] > 3).decision_function(X)
        for fit_as in types:
            model.fit(X.astype(fit_as), X["c"] > 3)
            for predict_as in types:
                found = model.decision_function(X.astype(predict_as))
                assert np.array_equal(found, expected), (fit_as, predict_as)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: one,
        lambda one: FeatureMixture(
            additive=one,
            random=RandomTreeFeatures(bounds=one.bounds, n_trees=10),
        ),
    ],
)
def test_features_of_a_linear_model_are_compared(wrap):
    X = frame()
    model = DPLogisticRegression(features=wrap(AdditiveFeatures(bounds=SCHEMA)), random_state=0)
    model.fit(X, X["c"] > "03")
    with pytest.raises(ValueError, match="column 'c' contains numbers, but it had strings in fit"):
        model.predict(X.astype(int))
    assert model.fit(X.astype(int), X["c"] > "03").predict(X.astype(int)).shape == (N,)


def test_numbers_dates_and_booleans_are_read_from_strings_as_before():
    schema = TableSchema(
        {"n": (0, 9), "b": "boolean", "d": ("2020-01-01", "2020-12-31"), "k": [1, 2]},
        source="made up",
    )
    X = pd.DataFrame({"n": [1, 2] * 50, "b": [True, False] * 50, "k": [1, 2] * 50})
    X["d"] = pd.to_datetime(["2020-02-01", "2020-03-01"] * 50)
    model = DPLogisticRegression(features=AdditiveFeatures(bounds=schema), random_state=0)
    model.fit(X, X["n"] > 1)
    assert np.array_equal(model.decision_function(X.astype(str)), model.decision_function(X))


def test_values_of_odd_types_raise_no_error_beside_the_type_of_fit():
    model = DPLogisticRegression(features=AdditiveFeatures(bounds=SCHEMA), random_state=0)
    X = frame()
    model.fit(X, X["c"] > "03")
    odd = pd.DataFrame({"c": ["01", 3, (1,), None, Decimal(2)], "d": ["02"] * 5}, dtype=object)
    assert model.predict(odd).shape == (5,)


def _score(metric, model, X, y, **more):
    make_private_scorer(metric, epsilon=5.0, **more)(model, X, y)


OF_CLASSIFIERS = {
    "calibrated": lambda m, X, y: DPCalibratedClassifier(m, epsilon=5.0).fit(X, y),
    "conformal": lambda m, X, y: DPConformalClassifier(m, epsilon=5.0, prefit=True).conformalize(
        X, y
    ),
    "accuracy": lambda m, X, y: _score(dp_accuracy_score, m, X, y),
    "log loss": lambda m, X, y: _score(dp_log_loss, m, X, y),
}
OF_REGRESSORS = {
    "conformal": lambda m, X, y: DPConformalRegressor(m, epsilon=5.0, prefit=True).conformalize(
        X, y
    ),
    "error": lambda m, X, y: _score(dp_mean_squared_error, m, X, y, target_bounds=(-1.0, 2.0)),
}
PREDICTING = [one for one in ESTIMATORS if hasattr(one.values[0], "predict")]
PRIVATE_VALUES = {
    "strings": lambda X: X.astype(object),
    "integers": lambda X: X.astype(int).astype(object),
    "one string": lambda X: pd.concat([X[:1].astype(object), X[1:].astype(int).astype(object)]),
    "nothing": lambda X: pd.DataFrame(None, X.index, X.columns, dtype=object),
}


@pytest.mark.parametrize(("kind", "given"), PREDICTING)
def test_private_rows_raise_no_error_by_the_types_of_their_values(kind, given):
    """An error would tell whether all values of a column have another type than in `fit`."""
    X = frame()
    model, y = fitted(kind, given, X), (np.arange(N) % 3 == 0).astype(int)
    for reads in (OF_CLASSIFIERS if is_classifier(model) else OF_REGRESSORS).values():
        for convert in PRIVATE_VALUES.values():
            reads(model, convert(X), y)
        for gaps in (False, True):  # types of columns are public, whatever their values are
            numbers = X.astype(float) * (np.nan if gaps else 1.0)
            with pytest.raises(ValueError, match="estimator raises ValueError on these rows"):
                reads(model, numbers, y)


@pytest.mark.parametrize(
    "kind", [DPAdditiveClassifier, DPCategoricalNB, DPMixedNB, DPTabularClassifier]
)
@pytest.mark.parametrize("in_fit", ["strings", "integers"])
def test_a_list_of_private_rows_says_no_types(kind, in_fit):
    """One row decides which array NumPy makes of a list."""
    strings, y = frame().to_numpy(object).tolist(), (np.arange(N) % 3 == 0).astype(int)
    integers = [[int(value) for value in row] for row in strings]
    values = CODES if in_fit == "strings" else [int(code) for code in CODES]
    model = made(kind, {"categories": {0: values, 1: values}})
    model.fit(strings if in_fit == "strings" else integers, y)
    for X in (strings, integers, [strings[0], *integers[1:]], [integers[0], *strings[1:]]):
        assert len(model.predict(X)) == N
        for reads in OF_CLASSIFIERS.values():
            reads(model, X, y)
