"""Missing values, lazy frames, text: one policy, said in words of our own that quote nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from linear_models import every_model
from scipy import sparse
from sklearn.base import clone

from skdp import (
    DPGaussianNB,
    DPHuberRegressor,
    DPLogisticRegression,
    DPQuantileRegressor,
)
from skdp.preprocessing import BoundsScaler, RowClipper

SECRET = 3.14159
ROWS = {
    "NaN": np.array([[0.0, SECRET], [np.nan, 1.0]]),
    "None": np.array([[0.0, SECRET], [None, 1.0]], dtype=object),
    "object NA": np.array([[0.0, SECRET], [pd.NA, 1.0]], dtype=object),
    "list": [[0.0, SECRET], [None, 1.0]],
    "float frame": pd.DataFrame({"a": [0.0, np.nan], "b": [SECRET, 1.0]}),
    "Int64": pd.DataFrame({"a": pd.array([0, None], dtype="Int64"), "b": [SECRET, 1.0]}),
    "Float64": pd.DataFrame({"a": pd.array([0, None], dtype="Float64"), "b": [SECRET, 1.0]}),
    "boolean": pd.DataFrame({"a": pd.array([True, None], dtype="boolean"), "b": [SECRET, 1.0]}),
    "string": pd.DataFrame({"a": pd.array(["0", None], dtype="string"), "b": [SECRET, 1.0]}),
    "polars": pl.DataFrame({"a": [0, None], "b": [SECRET, 1.0]}),
}
TARGETS = {
    "float": np.array([0.0, np.nan]),
    "None": np.array([0, None], dtype=object),
    "object NA": np.array([0, pd.NA], dtype=object),
    "Int64": pd.Series([0, None], dtype="Int64"),
    "boolean": pd.Series([True, None], dtype="boolean"),
    "string": pd.Series(["0", None], dtype="string"),
    "polars": pl.Series([0, None]),
}
BAD = {
    "lazy": (pl.DataFrame({"a": [1.0]}).lazy(), r"call \.collect\(\) first"),
    "text": ([["31415", 1.0], ["x31415", 2.0]], "strings"),
    "frame of text": (pd.DataFrame({"a": ["x31415", "y"], "b": [1, 2]}), r"columns \['a'\]"),
    "polars text": (pl.DataFrame({"a": ["x31415", "y"]}), r"columns \['a'\]"),
    "one row": ([SECRET, 1.0], "Reshape your data"),
    "number": (SECRET, "Reshape your data"),
    "complex": (np.array([[SECRET + 1j], [0.0]]), "Complex data not supported"),
    "infinity": (np.array([[SECRET, 1.0], [np.inf, 1.0]]), "column 0 must be finite"),
    "two of one name": (
        pd.DataFrame([[SECRET, 1.0], [0.0, 1.0]], columns=["a", "a"]),
        r"X has several columns of one name, \['a'\]",
    ),
}


def assert_it_is_our_own(error):
    text = str(error.value)
    assert "missing values" in text
    assert "public rule" in text
    for advice in ("imputer", "drop", "HistGradient", "3.14"):
        assert advice not in text


@every_model
@pytest.mark.parametrize("rows", ROWS)
def test_missing_values_are_refused_before_the_spend(Model, rows, unspent):
    with pytest.raises(ValueError, match=r"Nothing was spent\.$") as refusal:
        Model(budget=unspent).fit(ROWS[rows], [0, 1])
    assert_it_is_our_own(refusal)
    column = "'a'" if hasattr(ROWS[rows], "columns") else "0"
    assert str(refusal.value).startswith(f"column {column} has missing values")
    assert "BoundsScaler(missing=...)" in str(refusal.value)
    assert "features=AdditiveFeatures(bounds=..., categories=...)" in str(refusal.value)


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"age": [1.0, np.nan], "job": ["clerk", "smith"]}),
        np.array([[1.0, "clerk"], [np.nan, "smith"]], dtype=object),
    ],
    ids=["frame", "array"],
)
def test_the_scaler_names_the_features_that_take_strings(rows):
    with pytest.raises(ValueError, match=r"strings.*features=AdditiveFeatures\(bounds=") as refusal:
        BoundsScaler(bounds=(0, 1), missing="middle").fit(rows)
    assert "clerk" not in str(refusal.value)


def test_missing_values_of_a_sparse_matrix_are_said_to_be_in_their_column():
    rows = sparse.csr_array([[0.0, 0.0, SECRET], [0.0, np.nan, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match="column 1 has missing values"):
        DPLogisticRegression().fit(rows, [0, 1, 0])
    rows.data[rows.data == SECRET] = np.inf
    rows.data[np.isnan(rows.data)] = 0.0
    with pytest.raises(ValueError, match="column 2 must be finite"):
        DPLogisticRegression().fit(rows, [0, 1, 0])


@every_model
@pytest.mark.parametrize("targets", TARGETS)
def test_missing_targets_are_refused_before_the_spend(Model, targets, unspent):
    with pytest.raises(ValueError, match=r"y has missing values") as refusal:
        Model(budget=unspent).fit(np.eye(2), TARGETS[targets])
    assert_it_is_our_own(refusal)
    assert "column" not in str(refusal.value)
    assert "label or number" in str(refusal.value)


@every_model
@pytest.mark.parametrize("rows", ROWS)
def test_missing_values_are_refused_in_prediction_as_well(Model, rows):
    frame = hasattr(ROWS[rows], "columns")
    columns = pd.DataFrame({"a": [0, 1], "b": [1, 0]}) if frame else np.eye(2)
    model = Model().fit(columns, [0, 1])
    with pytest.raises(ValueError, match="missing") as refusal:
        model.predict(ROWS[rows])
    assert_it_is_our_own(refusal)


@pytest.mark.parametrize(
    "model", [DPLogisticRegression(max_weight=1), DPGaussianNB(bounds=(0, 1), max_weight=1)]
)
@pytest.mark.parametrize("weights", [[1.0, np.nan], [None, 1.0], pd.array([1, None], "Int64")])
def test_missing_weights_are_refused_with_a_word_on_weights(model, weights, unspent):
    with pytest.raises(ValueError, match="sample_weight has missing values") as refusal:
        clone(model).set_params(budget=unspent).fit(np.eye(2), [0, 1], sample_weight=weights)
    assert_it_is_our_own(refusal)
    assert "column" not in str(refusal.value)
    assert "same weight" in str(refusal.value)


MISTAKES = {
    "solver": (DPLogisticRegression(solver="x"), "solver must be one of"),
    "sampler": (DPLogisticRegression(sampler="x"), "sampler must be one of"),
    "no sample": (DPLogisticRegression(solver="noisy_gd", sampler="exact"), "uses no sampler"),
    "loss": (DPLogisticRegression(loss_clip=2.0), "clip"),
    "weights": (DPLogisticRegression(class_weight={0: -1.0}), "class_weight must be"),
    "threshold": (DPHuberRegressor(threshold=0.0, target_bounds=(0, 1)), "threshold"),
    "targets": (DPHuberRegressor(target_bounds=(1, 0)), "low < high"),
    "quantile": (DPQuantileRegressor(quantile=2.0, target_bounds=(0, 1)), "quantile"),
    "missing": (BoundsScaler(bounds=(0, 1), missing="x"), "missing must be"),
    "reversed": (BoundsScaler(bounds=(1, 0)), "bounds of column .* are reversed"),
    "one reversed": (
        BoundsScaler(bounds={"a": (0, 1), "b": (1, 0)}),
        "bounds of column .* are reversed",
    ),
    "no such column": (
        BoundsScaler(bounds={"a": (0, 1), "c": (0, 1)}),
        r"\['c'\]. The columns are \['a', 'b'\]",
    ),
    "no bounds": (BoundsScaler(), "bounds must be given"),
    "reversed in Bayes": (DPGaussianNB(bounds=(1, 0)), "bounds of column .* are reversed"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_public_parameters_are_checked_before_missing_values_are_looked_for(mistake):
    model, said = MISTAKES[mistake]
    for X, y in [(ROWS["float frame"], [0, 1]), (np.eye(2), TARGETS["float"])]:
        X = pd.DataFrame(X, columns=["a", "b"])
        with pytest.raises(ValueError, match=said):
            clone(model).fit(X, y)


@pytest.mark.parametrize("bad", BAD)
def test_what_is_wrong_with_rows_is_said_without_a_value(bad, unspent):
    rows, said = BAD[bad]
    with pytest.raises(ValueError, match=said) as refusal:
        DPLogisticRegression(classes=(0, 1), budget=unspent).fit(rows, [0, 1])
    assert "3.14" not in str(refusal.value)
    assert "31415" not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


@pytest.mark.parametrize("method", ["fit", "transform"])
@pytest.mark.parametrize("rows", ROWS)
def test_the_row_clipper_says_it_in_the_same_words(rows, method):
    with pytest.raises(ValueError, match="missing") as refusal:
        getattr(RowClipper(), method)(ROWS[rows])
    assert_it_is_our_own(refusal)
