"""A fitted model as a pipeline of scikit-learn: equal predictions, and no trace of skdp."""

import pickle
import pickletools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import FunctionTransformer

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    TableSchema,
)
from skdp.features import AdditiveFeatures, RandomFourierFeatures
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import DPSGD

INF = float("inf")
N = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
SCORE = X @ [1.0, -0.5, 0.2, 0.0] + RNG.normal(size=N)
TWO, THREE = np.where(SCORE > 0, "yes", "no"), np.digitize(SCORE, [-1, 1])
ROWS = np.concatenate([X * factor for factor in (0.01, 0.3, 1.0, 50.0)] + [0 * X[:1]])
ADDITIVE = DPAdditiveClassifier
LOGISTIC, TARGET = DPLogisticRegression, {"target_bounds": (-2.0, 2.0)}
MODELS = {
    "two classes": (LOGISTIC(), TWO),
    "a weak signal": (LOGISTIC(), (RNG.random(N) < 0.5 + 0.05 * np.sign(X[:, 0])).astype(int)),
    "little noise": (LOGISTIC(epsilon=2.2), TWO),
    "much noise": (LOGISTIC(epsilon=0.1), TWO),
    "weighted classes": (LOGISTIC(class_weight={"yes": 2.0}), TWO),
    "the plain loss": (LOGISTIC(loss_clip=None, C=1.0), TWO),
    "a norm": (LOGISTIC(data_norm=3.0), TWO),
    "without an intercept": (LOGISTIC(fit_intercept=False), TWO),
    "three classes": (LOGISTIC(C=1.0), THREE),
    "hinge": (DPHingeClassifier(), TWO),
    "hinge, three classes": (DPHingeClassifier(), THREE),
    "steps": (DPHingeClassifier(solver=DPSGD(n_steps=50)), TWO),
    "a number": (DPLinearRegression(**TARGET), SCORE),
    "Huber": (DPHuberRegressor(**TARGET), SCORE),
    "a quantile": (DPQuantileRegressor(**TARGET), SCORE),
    "steps to a number": (DPLinearRegression(solver=DPSGD(n_steps=50), **TARGET), SCORE),
    "no privacy": (LOGISTIC(epsilon=INF), TWO),
    "no privacy, three classes": (LOGISTIC(epsilon=INF), THREE),
    "a number without privacy": (DPLinearRegression(epsilon=INF, **TARGET), SCORE),
}
TO_ONNX = ["a weak signal", "the plain loss", "three classes", "a number"]


def fitted(name):
    model, y = MODELS[name]
    if "center" in model.get_params():
        model.set_params(center=False)
    return model.fit(X, y)


def outputs(model, rows):
    """Return everything that a model says about rows."""
    asked = ("predict_proba", "decision_function", "predict")
    name = next(name for name in asked if hasattr(model, name))
    return np.asarray(getattr(model, name)(rows), dtype=float)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_equal_and_a_pickle_names_nothing_of_skdp(name):
    model = fitted(name)
    stored = pickle.dumps(model.to_sklearn())
    strings = {arg for _, arg, _ in pickletools.genops(stored) if isinstance(arg, str)}
    assert any("sklearn" in one for one in strings)
    assert not any("skdp" in one for one in strings)
    plain = pickle.loads(stored)
    np.testing.assert_allclose(outputs(plain, ROWS), outputs(model, ROWS), atol=1e-12, rtol=0)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(plain.predict(ROWS), model.predict(ROWS))
        np.testing.assert_array_equal(plain.classes_, model.classes_)


@pytest.mark.parametrize("name", ["two classes", "a weak signal", "much noise", "little noise"])
def test_a_link_that_a_release_has_moved_is_plain_too(name):
    model = fitted(name)
    model._probabilities_ = replace(model._probabilities_, is_nearer=True)
    assert model._probabilities_.follows_evidence
    np.testing.assert_allclose(
        model.to_sklearn().predict_proba(ROWS), model.predict_proba(ROWS), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LOGISTIC(), TWO),
        (LOGISTIC(data_norm=3.0, center=True, epsilon=8.0), TWO),
        (LOGISTIC(features=AdditiveFeatures(bounds=(-2, 4)), center=True), TWO),
        (ADDITIVE(bounds=(-2, 4)), TWO),
        (DPHingeClassifier(center=True), THREE),
        (DPLinearRegression(center=True, **TARGET), SCORE),
    ],
)
def test_a_center_is_plain_too(model, y):
    """Rows are clipped to the norm, and again around the center."""
    away = pd.DataFrame(X + 1.0, columns=list("abcd"))
    model.fit(away[:600], y[:600])
    assert model.center_ is not None
    rows = pd.DataFrame(np.concatenate([away, ROWS]), columns=list("abcd"))
    stored = pickle.dumps(model.to_sklearn())
    assert b"skdp" not in stored
    plain = pickle.loads(stored)
    np.testing.assert_allclose(outputs(plain, rows), outputs(model, rows), atol=1e-12, rtol=1e-12)


def test_sparse_rows_and_frames_work_and_other_columns_are_rejected():
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = LOGISTIC(center=False).fit(frame, TWO).to_sklearn()
    dense = LOGISTIC(center=False).fit(X, TWO).to_sklearn()
    np.testing.assert_allclose(
        dense.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), atol=1e-12
    )
    assert plain.predict(frame).shape == (N,)
    with pytest.raises(ValueError, match="same order"):
        plain.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("missing", ["error", "middle"])
def test_a_pipeline_with_public_bounds_is_plain_as_well(missing):
    frame = pd.DataFrame(100 * X, columns=list("abcd"))
    scaler = BoundsScaler(bounds=(-250, 200), missing=missing)
    steps = (scaler, FunctionTransformer(np.abs), LOGISTIC(center=False))
    model = make_private_pipeline(*steps).fit(frame, TWO)
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    rows = frame.where(frame < 300) if missing == "middle" else frame
    np.testing.assert_allclose(plain.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
    assert "skdp" not in repr(plain)


@pytest.mark.parametrize(
    ("scaler", "words"),
    [
        (BoundsScaler(bounds=(-4, 4), missing="indicator"), "missing='error' or 'middle'"),
        (DPStandardScaler(bounds=(-4, 4)), "DPStandardScaler has no counterpart"),
    ],
)
def test_a_pipeline_with_another_scaler_raises_an_error(scaler, words):
    model = make_private_pipeline(scaler, LOGISTIC(center=False)).fit(X, TWO)
    with pytest.raises(ValueError, match=words):
        model.to_sklearn()


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (LOGISTIC(center=False, epsilon=80.0), THREE, "probabilities are not recalibrated"),
        (
            LOGISTIC(features=RandomFourierFeatures(bounds=(-5, 5))),
            TWO,
            "has features that scikit-learn does not",
        ),
        (
            ADDITIVE(bounds=(-5, 5), monotonic_cst=[1, 0, 0, 0]),
            TWO,
            "without monotonic_cst",
        ),
        (ADDITIVE(bounds=(-5, 5), interactions=[(0, 1)]), TWO, "and interactions"),
        (ADDITIVE(bounds=(-5, 5), transformation="log"), TWO, "needs a TableSchema"),
        (DPPoissonRegressor(center=False, target_bounds=(0, 9)), SCORE, "transforms"),
        (DPQuantileRegressor(center=False, quantile=[0.1, 0.9], **TARGET), SCORE, "transforms"),
    ],
)
def test_what_scikit_learn_does_not_have_raises_an_error(model, y, words):
    away = X + 1.0  # a center that noise cannot hide
    with pytest.raises(ValueError, match=words):
        model.fit(away, y).to_sklearn()


TABLE = pd.DataFrame(
    {
        "age": RNG.uniform(-1.0, 11.0, N),
        "b": RNG.normal(size=N),
        "job": RNG.choice(["u", "v", "z"], N),
        "size": RNG.choice([3, 1, 2], N),
    }
)
BOUNDS, VALUES = {"age": (0, 10), "b": (-3, 3)}, {"job": ["u", "v"], "size": [3, 1, 2]}
OF_TABLE = {"bounds": BOUNDS, "categories": VALUES}
AGED = np.where(TABLE["age"] + RNG.normal(size=N) > 5, "yes", "no")
PLAIN = AdditiveFeatures(bounds=(-3, 3), missing="error")
ADDITIVE_MODELS = {
    "default": ADDITIVE(**OF_TABLE),
    "no missing values": ADDITIVE(**OF_TABLE, missing="error", reference=["age"], norm="blocks"),
    "waves": ADDITIVE(**OF_TABLE, linear_share=0.0, n_terms=3),
    "lines": ADDITIVE(**OF_TABLE, linear_share=1.0),
    "no privacy": ADDITIVE(**OF_TABLE, epsilon=INF),
    "a number": DPAdditiveRegressor(**OF_TABLE, target_bounds=(-5, 15)),
    "features": LOGISTIC(features=AdditiveFeatures(**OF_TABLE), center=False),
}


@pytest.mark.parametrize("name", ADDITIVE_MODELS)
def test_additive_models_are_plain_as_well(name):
    model = ADDITIVE_MODELS[name]
    model.fit(TABLE, TABLE["age"] if name == "a number" else AGED)
    rows = TABLE.astype({"size": float})
    if name != "no missing values":
        rows = rows.where(RNG.random(rows.shape) < 0.9)
        rows.loc[::11, "job"] = None
    stored = pickle.dumps(model.to_sklearn())
    assert b"skdp" not in stored
    np.testing.assert_allclose(
        outputs(pickle.loads(stored), rows), outputs(model, rows), atol=1e-12, rtol=0
    )


def with_gaps(cells):
    """Return the cells; a tenth of them, chosen at random, are missing."""
    return np.where(RNG.random(len(cells)) < 0.1, None, np.array(cells, dtype=object))


DAYS = pd.Timestamp("2019-12-01") + pd.to_timedelta(RNG.integers(0, 900 * 86_400, N), unit="s")
DATES, FIRST = ("2020-01-01", "2022-01-01"), pd.Timestamp("2020-05-06")
CELLS = {
    "integer": ({"bounds": (18, 90)}, RNG.integers(15, 95, N)),
    "integer, coded": (
        {"kind": "integer", "bounds": (1, 9), "missing_values": (-9, 99)},
        [-9, 4, 99] * (N // 3),
    ),
    "number": ({"bounds": (-2.0, 2.0), "missing": False}, np.where(TWO == "no", np.nan, SCORE)),
    "number, filled": ({"bounds": (-2.0, 2.0), "fill": 1.5}, np.where(TWO == "no", np.nan, SCORE)),
    "amount": ({"bounds": (0, 1e6), "scale": 1000.0}, RNG.lognormal(10, 2, N) - 100.0),
    "single": ({"bounds": (-2.0, 2.0)}, SCORE.astype("float32")),
    "text of numbers": ({"bounds": (0, 10)}, with_gaps(["1.5", " 7", "x", "2e1", "-1"] * (N // 5))),
    "infinite": ({"bounds": (0, 10)}, [np.inf, -np.inf, 3.0, np.nan, 1e300] * (N // 5)),
    "distant dates": (
        {"bounds": DATES, "parts": ("month",)},
        with_gaps(["9999-12-31", "0001-01-01", "2020-05-05", "2021-01-01T10:00:00"] * (N // 4)),
    ),
    "words as dates": (
        {"bounds": DATES},
        with_gaps(["2020", "2020-05", "today", " 2020-05-06 ", "20200506"] * (N // 5)),
    ),
    "codes as text": (["1", "2", "3"], [1, 2, 3, 9, 3] * (N // 5)),
    "codes as text, in floats": (["1", "2", "3"], [1.0, 2.0, 3.0, np.nan, 9.0] * (N // 5)),
    "days as categories": (["2020-05-06", "2020-05-07"], [FIRST, DAYS[0].floor("D")] * (N // 2)),
    "days as objects": (["2020-05-06", "2020-05-07"], [DAYS[0].date(), FIRST.date()] * (N // 2)),
    "filled booleans": (
        {"kind": "boolean", "fill": True},
        with_gaps(["yes", " no ", "q", "N", "True"] * (N // 5)),
    ),
    "decimal commas": (
        {"bounds": (0, 10), "decimal": ",", "kind": "number"},
        with_gaps(["1,5", "7", "x", "2.5", "-1,25"] * (N // 5)),
    ),
    "nullable": ({"bounds": (0, 4)}, pd.array(with_gaps(np.arange(N) % 7), dtype="Int64")),
    "date": ({"bounds": DATES, "parts": ("weekday", "month")}, DAYS),
    "text of dates": (
        {"bounds": DATES, "missing_values": ("2020-02-02",)},
        with_gaps(DAYS.strftime("%Y-%m-%d")),
    ),
    "form of dates": (
        {"bounds": DATES, "date_format": "%d.%m.%Y"},
        with_gaps(DAYS.strftime("%d.%m.%Y")),
    ),
    "boolean": ("boolean", RNG.random(N) < 0.5),
    "text of booleans": ("boolean", with_gaps(["Yes", "no", "y", "N", "TRUE", "?"] * (N // 6))),
    "codes of booleans": (
        {"kind": "boolean", "true_values": (2,), "false_values": (1,)},
        with_gaps([1, 2, 1, 3, 0] * (N // 5)),
    ),
    "category": (["a", "b", "A"], with_gaps(["a", "b", "A", "c", ""] * (N // 5))),
    "codes": (
        {"categories": [1, 2, 3], "missing_values": (9,)},
        np.array([1.0, 2.0, 9.0, np.nan, 3.0] * (N // 5)),
    ),
    "text of codes": ([1, 2, 3], ["1", "2.0", "3", "x", "9"] * (N // 5)),
    "filled": ({"categories": ["a", "b"], "fill": "b"}, with_gaps(["a", "b", "c"] * (N // 3))),
    "never missing": (
        {"categories": ["a", "b"], "missing": False},
        with_gaps(["a", "b", "c"] * (N // 3)),
    ),
    "pandas": (["a", "b"], pd.Categorical(with_gaps(["a", "b", "c"] * (N // 3)))),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_table_is_read_as_its_schema_reads_it(name):
    """Each kind of cell by itself, beside a column that the model needs."""
    schema = TableSchema({"age": (18, 90), name: CELLS[name][0]})
    frame = pd.DataFrame({"age": TABLE["age"], name: CELLS[name][1]})
    model = LOGISTIC(features=AdditiveFeatures(bounds=schema), center=False).fit(frame, AGED)
    stored = pickle.dumps(model.to_sklearn())
    assert b"skdp" not in stored
    plain, rows = pickle.loads(stored), frame[[name, "age"]]  # in another order
    np.testing.assert_allclose(plain.predict_proba(rows), model.predict_proba(frame), atol=1e-12)
    for missing in ("middle", "indicator"):
        scaler = BoundsScaler(bounds=schema, missing=missing).fit(frame)
        plain = scaler.to_sklearn()
        np.testing.assert_allclose(plain.transform(rows), scaler.transform(frame), atol=1e-12)


def test_a_table_without_numbers_is_read_too():
    schema = TableSchema({"sex": ["f", "m"], "ill": "boolean"})
    frame = pd.DataFrame({"sex": np.where(AGED, "f", "m"), "ill": RNG.random(N) < 0.5})
    model = LOGISTIC(features=AdditiveFeatures(bounds=schema), center=False).fit(frame, AGED)
    scaler = BoundsScaler(bounds=schema, missing="indicator").fit(frame)
    for one, method in ((model, "predict_proba"), (scaler, "transform")):
        plain = getattr(one.to_sklearn(), method)(frame)
        np.testing.assert_allclose(plain, getattr(one, method)(frame), atol=1e-12)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"kind": "code"}, "cannot read the column 'b'"),
        ({"bounds": (0, 9), "thousands": ","}, "cannot read the column 'b'"),
        ({"bounds": (-9, 9), "scale": "log"}, "no logarithmic scale for bounds below 0"),
    ],
)
def test_columns_that_need_functions_of_this_library_raise_an_error(column, words):
    frame = pd.DataFrame({"a": TABLE["age"], "b": 1.0})
    features = AdditiveFeatures(bounds=TableSchema({"a": (18, 90), "b": column}))
    with pytest.raises(ValueError, match=words):
        LOGISTIC(features=features, center=False).fit(frame, AGED).to_sklearn()


def test_additive_models_of_arrays_are_plain_as_well():
    model = ADDITIVE(bounds=(-2, 2)).fit(X, TWO)
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict_proba(ROWS), model.predict_proba(ROWS), atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        DPAdditiveRegressor(bounds=(-3, 3), missing="error", **TARGET),
        LOGISTIC(features=PLAIN, loss_clip=None, C=1.0, center=False),
    ],
)
def test_onnx_computes_additive_models_with_a_converter_of_waves(model):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxCos, OnnxMatMul, OnnxMul

    def columns(operator):
        n_rows, n_waves = (
            operator.inputs[0].get_first_dimension(),
            operator.raw_operator.n_components,
        )
        operator.outputs[0].type = type(operator.inputs[0].type)([n_rows, n_waves])

    def convert(scope, operator, container):
        sampler, given = operator.raw_operator, {"op_version": container.target_opset}
        weights, offset = sampler.random_weights_, sampler.random_offset_
        angle = OnnxMatMul(operator.inputs[0], weights.astype(np.float32), **given)
        angle = OnnxAdd(angle, offset.astype(np.float32), **given)
        factor = np.array([np.sqrt(2.0 / sampler.n_components)], dtype=np.float32)
        waves = OnnxMul(OnnxCos(angle, **given), factor, output_names=operator.outputs, **given)
        waves.add_to(scope, container)

    skl2onnx.update_registered_converter(RBFSampler, "Waves", columns, convert)
    rows = X.astype(np.float32)
    model.fit(X, TWO if hasattr(model, "classes") else SCORE)
    options = {"options": {"zipmap": False}} if hasattr(model, "classes") else {}
    stored = skl2onnx.to_onnx(model.to_sklearn(), rows[:1], **options).SerializeToString()
    session = runtime.InferenceSession(stored, providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: rows})[-1]
    np.testing.assert_allclose(np.squeeze(found), outputs(model, rows), atol=1e-5)


@pytest.mark.parametrize("name", TO_ONNX)
def test_onnx_predicts_the_same_in_single_precision(name):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, rows = fitted(name), X.astype(np.float32)
    is_classifier = hasattr(model, "classes_")
    options = {"options": {"zipmap": False}} if is_classifier else {}
    stored = skl2onnx.to_onnx(model.to_sklearn(), rows[:1], **options).SerializeToString()
    session = runtime.InferenceSession(stored, providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: rows})[-1]
    np.testing.assert_allclose(np.squeeze(found), outputs(model, X), atol=1e-5)


@pytest.mark.parametrize("name", ["little noise", "hinge", "a number"])
def test_skops_needs_to_trust_one_function_of_numpy_at_most(name):
    skops = pytest.importorskip("skops.io")
    plain = fitted(name).to_sklearn()
    stored = skops.dumps(plain)
    assert set(skops.get_untrusted_types(data=stored)) <= {"numpy.clip"}
    loaded = skops.loads(stored, trusted=["numpy.clip"])
    np.testing.assert_array_equal(outputs(loaded, X), outputs(plain, X))
