"""Frames whose columns pyarrow holds are read as plain ones are."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from skdp import (
    DPCategoricalNB,
    DPGaussianNB,
    DPLinearRegression,
    DPLogisticRegression,
    DPMixedNB,
    PrivacyBudget,
)
from skdp import statistics as st
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowClipper

pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
PLAIN = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": rng.random(60), "c": rng.random(60) > 0.5})
ARROW = PLAIN.astype({"a": "int64[pyarrow]", "b": "double[pyarrow]", "c": "bool[pyarrow]"})
TEXTS = pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "b": PLAIN["b"]})
ARROW_TEXTS = TEXTS.astype({"sex": "string[pyarrow]", "b": "double[pyarrow]"})
HOLES = ARROW.copy()
HOLES.loc[0, "b"] = None
LABELS = pd.Series(np.resize(["no", "yes"], 60))
NUMBERS = dict.fromkeys(PLAIN, (0, 3))


def released(model, X, y):
    fitted = model(random_state=0).fit(X, y)
    return fitted.transform(X) if hasattr(fitted, "transform") else fitted.predict(X)


@pytest.mark.parametrize("kind", ["string[pyarrow]", "large_string[pyarrow]"])
@pytest.mark.parametrize(
    "model",
    [
        partial(DPLogisticRegression, 50.0),
        partial(DPGaussianNB, 50.0, bounds=NUMBERS),
        partial(DPMixedNB, 50.0, bounds={"b": (0, 1), "c": (0, 1)}, categories={"a": [0, 1, 2]}),
        partial(DPStandardScaler, bounds=NUMBERS),
        partial(DPMinMaxScaler, bounds=NUMBERS),
    ],
    ids=lambda model: model.func.__name__,
)
def test_numbers_and_labels_give_the_same_fit(model, kind):
    plain = released(model, PLAIN, LABELS)
    arrow = released(model, ARROW, LABELS.astype(kind))
    np.testing.assert_array_equal(arrow, plain)


def test_targets_may_be_arrows_too():
    model = partial(DPLinearRegression, target_bounds=(0, 1))
    plain = released(model, PLAIN, PLAIN["b"])
    np.testing.assert_array_equal(released(model, ARROW, ARROW["b"]), plain)


@pytest.mark.parametrize(
    "model",
    [
        partial(DPMixedNB, 50.0, bounds={"b": (0, 1)}, categories={"sex": ["f", "m"]}),
        partial(DPCategoricalNB, 50.0, categories={"sex": ["f", "m"], "b": [0.5]}),
    ],
)
def test_texts_are_categories(model):
    plain = released(model, TEXTS, LABELS)
    np.testing.assert_array_equal(released(model, ARROW_TEXTS, LABELS), plain)


@pytest.mark.parametrize("scaler", [BoundsScaler(NUMBERS), RowClipper()], ids=repr)
def test_public_scalers_give_the_same_rows(scaler):
    np.testing.assert_array_equal(scaler.fit_transform(ARROW), scaler.fit_transform(PLAIN))


@pytest.mark.parametrize(
    "statistic",
    [
        lambda x: st.mean(x, 1.0, bounds=NUMBERS, random_state=0).value,
        lambda x: st.quantile(x, 1.0, q=0.5, bounds=NUMBERS, random_state=0).value,
        lambda x: st.histogram(x["b"], 1.0, edges=[0, 0.5, 1], random_state=0).value,
        lambda x: st.count(x["c"], 1.0, random_state=0).value,
        lambda x: st.marginals(x, 1.0, categories={"a": [0, 1]}, random_state=0).value["a",],
    ],
)
def test_statistics_are_the_same(statistic):
    np.testing.assert_array_equal(statistic(ARROW), statistic(PLAIN))


def test_missing_values_are_what_they_are_elsewhere():
    holes = PLAIN.copy()
    holes.loc[0, "b"] = np.nan
    for scaler in (BoundsScaler(NUMBERS, missing="indicator"), DPStandardScaler(bounds=NUMBERS)):
        if "random_state" in scaler.get_params():
            scaler.set_params(random_state=0)
        np.testing.assert_array_equal(scaler.fit_transform(HOLES), scaler.fit_transform(holes))
    budget = PrivacyBudget(3.0, 1e-5)
    with pytest.raises(ValueError, match="column 'b' has missing values"):
        DPLogisticRegression(budget=budget).fit(HOLES, LABELS)
    labels = LABELS.astype("string[pyarrow]")
    labels[0] = None
    for model in (DPLogisticRegression(), DPGaussianNB(bounds=NUMBERS)):
        with pytest.raises(ValueError, match="y has missing values"):
            model.set_params(budget=budget).fit(ARROW, labels)
    with pytest.raises(ValueError, match=r"column 'sex' holds text|columns \['sex'\]"):
        DPLogisticRegression(budget=budget).fit(ARROW_TEXTS, LABELS)
    assert budget.history() == []
    counted = st.count(HOLES["b"] > 0.0, 50.0, delta=0.0, random_state=0).value
    assert counted == 59
