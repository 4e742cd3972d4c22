"""Every tool with bounds or categories takes a schema in their place, with the same result."""

import inspect
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest
from public_modules import MODULES
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline

from skdp import (
    DPPCA,
    DPAdditiveClassifier,
    DPKMeans,
    DPLogisticRegression,
    DPMixedNB,
    DPTabularClassifier,
    PrivacyBudget,
    TableSchema,
)
from skdp.data.column import Column, Values
from skdp.data.encoding import Encoding
from skdp.features import (
    AdditiveFeatures,
    AutoFeatures,
    FeatureMixture,
    RandomFourierFeatures,
    RandomTreeFeatures,
)
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.statistics import describe, marginals, mean, treatment_effect

N = 600
NUMBERS = TableSchema({"a": (0.0, 10.0), "b": {"bounds": (-1.0, 1.0), "missing": False}})
CATEGORIES = TableSchema({"c": ["x", "y"], "d": [1, 2, 3]})
MIXED = TableSchema({**NUMBERS.columns, **CATEGORIES.columns})


def tools():
    """Return the public classes and functions with a parameter bounds, or only categories."""
    for module in MODULES:
        for name in import_module(f"skdp.{module}").__all__:
            tool = getattr(import_module(f"skdp.{module}"), name)
            if not callable(tool) or module == "tables":
                continue
            try:
                parameters = inspect.signature(tool).parameters
            except ValueError:
                continue
            if "covariate_bounds" in parameters:
                tool, parameters = adjusted, inspect.signature(adjusted).parameters
            if {"bounds", "categories"} & parameters.keys():
                yield f"{module}.{name}", tool, parameters


def adjusted(X, *, bounds, epsilon, delta=None, budget=None, random_state=None):
    """Adjust an effect on made-up outcomes by covariates, for which the schema is."""
    y, treated = np.arange(len(X)) % 2, np.arange(len(X)) % 3 == 0
    asked = {"epsilon": epsilon, "delta": delta, "budget": budget, "random_state": random_state}
    return treatment_effect(y, treated, X, bounds=(0, 1), covariate_bounds=bounds, **asked)


TOOLS = {name: (tool, parameters) for name, tool, parameters in tools()}


def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.uniform(0, 10, N), "b": rng.uniform(-1, 1, N)})
    frame["c"], frame["d"] = rng.choice(["x", "y", "z"], N), rng.integers(1, 5, N)
    return frame


def settings_of(parameters):
    """Return the schema's columns, and equal settings with and without a schema."""
    bounds = {"a": (0.0, 10.0), "b": (-1.0, 1.0)}
    categories = {"c": ["x", "y"], "d": [1, 2, 3]}
    if "bounds" not in parameters:
        return ["c", "d"], {"categories": CATEGORIES}, {"categories": categories}
    if "n_bins" in parameters and "max_weight" in parameters and "categories" in parameters:
        # Densities leave no probability for gaps that cannot occur.
        gaps = MIXED.confirm({"b": {"missing": True}})
        return [*"abcd"], {"bounds": gaps}, {"bounds": bounds, "categories": categories}
    if "categories" in parameters:
        return [*"abcd"], {"bounds": MIXED}, {"bounds": bounds, "categories": categories}
    return ["a", "b"], {"bounds": NUMBERS}, {"bounds": bounds}


def result(tool, parameters, X, given, y=None):
    more = {"random_state": 0, "target_bounds": (-1.0, 2.0), "n_clusters": 2, "q": 0.5}
    more |= {"epsilon": 3.0, "missing": "indicator" if inspect.isclass(tool) else "middle"}
    more = {name: value for name, value in more.items() if name in parameters}
    if not (inspect.isclass(tool) and issubclass(tool, BaseEstimator)):
        return repr(
            tool(X, **given, **more, **groups_for(parameters, labels(X) if y is None else y))
        )
    model = tool(**given, **more)
    if isinstance(model, AutoFeatures):
        model = DPLogisticRegression(features=model, random_state=0)
    model.fit(X, labels(X) if y is None else y)
    methods = ("predict_proba", "predict", "transform", "score_samples")
    method = next(m for m in methods if callable(getattr(model, m, None)))
    found = getattr(model, method)(X.iloc[:50])
    return getattr(found, "toarray", lambda: found)().tolist()


def groups_for(parameters, y):
    """Return two groups for a tool that compares groups."""
    is_needed = "by" in parameters and parameters["by"].default is inspect.Parameter.empty
    return {"by": np.asarray(y) == 1, "keys": [False, True]} if is_needed else {}


def labels(X):
    return (X["a"] > 5).astype(int) if "a" in X else (X.iloc[:, 0] == X.iloc[0, 0]).astype(int)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_gives_the_same_result(name):
    tool, parameters = TOOLS[name]
    columns, schema, others = settings_of(parameters)
    X = table()[columns]
    assert result(tool, parameters, X, schema) == result(tool, parameters, X, others)


def exchanged(values):
    """Return other values of the same kind, each a function of one value."""
    if values.dtype.kind == "f":
        return 0.5 * values
    if values.dtype.kind == "b":
        return values
    first, second = (1, 2) if values.dtype.kind == "i" else ("x", "y")
    return np.where(values == first, second, np.where(values == second, first, values))


@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_reads_columns_in_one_place(name, monkeypatch):
    """So what holds for the readers of `Column` and `Encoding` holds for every tool."""
    tool, parameters = TOOLS[name]
    columns, schema, others = settings_of(parameters)
    X = table()[columns]
    y, read, encode = labels(X).to_numpy(), Column.read, Encoding.table
    other = X.apply(lambda column: exchanged(column.to_numpy()))
    expected = result(tool, parameters, other, others, y)
    assert result(tool, parameters, X, others, y) != expected
    with monkeypatch.context() as patch:
        patch.setattr(Column, "read", lambda column: Values(exchanged(read(column).array)))
        assert result(tool, parameters, X, others, y) == expected
    with monkeypatch.context() as patch:
        patch.setattr(Encoding, "table", lambda self, X: encode(self, other.iloc[: len(X)]))
        assert result(tool, parameters, X, schema, y) == expected


def test_all_tools_are_found():
    assert {name.split(".")[0] for name in TOOLS} == {
        "additive", "cluster", "decomposition", "density", "ensemble", "features",
        "naive_bayes", "preprocessing", "statistics", "tabular",
    }  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_wrong_schemas_raise_before_the_spend(name):
    tool, parameters = TOOLS[name]
    columns, schema, _ = settings_of(parameters)
    (keyword, schema) = schema.popitem()
    X, y, budget = table()[columns], np.resize([0, 1], N), PrivacyBudget(epsilon=3.0, delta=1e-5)
    more = {"target_bounds": (-1.0, 2.0), "n_clusters": 2, "q": 0.5, "epsilon": 1.0}
    more |= {"budget": budget, "classes": [0, 1]}
    more |= {"missing": "indicator" if inspect.isclass(tool) else "middle"}
    more = {name: value for name, value in more.items() if name in parameters}

    def call(schema, X):
        if not (inspect.isclass(tool) and issubclass(tool, BaseEstimator)):
            return tool(X, **{keyword: schema}, **more, **groups_for(parameters, y))
        model = tool(**{keyword: schema}, **more)
        if isinstance(model, AutoFeatures):
            model = DPLogisticRegression(features=model, budget=budget)
        return model.fit(X, y)

    with pytest.raises(ValueError, match="schema is not complete"):
        call(TableSchema.draft(X), X)
    with pytest.raises(ValueError, match="does not have the columns"):
        call(schema, X.assign(z=1.0))
    if "statistics" not in name:
        with pytest.raises(ValueError, match="do not have the columns"):
            call(schema, X.iloc[:, :1])
    if {"bounds", "categories"} <= parameters.keys():
        more["categories"] = {"c": ["x"]}
        with pytest.raises(ValueError, match="bounds is a schema"):
            call(schema, X)
        more["categories"] = None
    assert budget.history() == []


def frame_of_kinds(n=N, seed=0):
    """Return a table with all kinds of columns."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), "D")
    frame = pd.DataFrame({"person": [f"p{i // 2}" for i in range(n)], "day": days})
    frame["age"], frame["on"] = rng.uniform(18, 90, n), rng.random(n) < 0.5
    frame["place"] = rng.integers(0, 4000, n).astype(str)
    frame["note"] = [" ".join(rng.choice(["pain", "ok", "fine"], 2)) for _ in range(n)]
    frame["sex"] = rng.choice(["f", "m"], n)
    frame.loc[::7, ["age", "note", "day", "sex", "place"]] = None
    return frame


KINDS = TableSchema(
    {
        "person": "id",
        "day": {"bounds": ("2020-01-01", "2025-12-31"), "parts": ["month"]},
        "age": (18, 100),
        "on": "boolean",
        "place": {"kind": "code", "buckets": 8},
        "note": {"kind": "text", "buckets": 8},
        "sex": ["f", "m"],
    }
)
OF_NUMBERS = KINDS.select(["person", "age", "on"])
OF_ROWS = TableSchema(KINDS.columns, unit="record")


def test_identifiers_are_no_columns_of_scalers():
    frame = frame_of_kinds()[["person", "age", "on"]]
    for scaler, on in (
        (DPStandardScaler(bounds=OF_NUMBERS, random_state=0), ["on"]),
        (BoundsScaler(bounds=OF_NUMBERS, missing="middle"), ["on"]),
    ):
        found = scaler.set_output(transform="pandas").fit(frame).transform(frame)
        assert list(found.columns) == ["age", *on]
        assert scaler.n_features_in_ == 3
        assert list(scaler.feature_names_in_) == ["person", "age", "on"]
    with pytest.raises(ValueError, match="allows missing values in"):
        BoundsScaler(bounds=OF_NUMBERS).fit(frame)
    with pytest.raises(ValueError, match="allows missing values in"):
        AdditiveFeatures(bounds=OF_NUMBERS, missing="error").fit(frame)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_a_scaler_of_a_schema_has_a_column_for_each_number_boolean_and_category(library):
    """All but booleans are the straight features, in the order of the schema."""
    frame = library(frame_of_kinds())
    scaler = BoundsScaler(bounds=KINDS, missing="indicator").fit(frame)
    found = dict(zip(scaler.get_feature_names_out(), scaler.transform(frame).T, strict=True))
    lines = AdditiveFeatures(bounds=KINDS, linear_share=1.0).fit(frame)
    given = dict(zip(lines.get_feature_names_out(), lines.transform(frame).T, strict=True))
    assert next(iter(found)) == "day"
    assert {*given} - {*found} == {"on_False", "on_True"}
    assert np.array_equal(found["on"], given["on_True"] - given["on_False"])
    for name in {*given} & {*found}:
        scale = (2.0, -1.0) if name.startswith("missing_") else (1.0, 0.0)
        np.testing.assert_allclose(found[name], scale[0] * given[name] + scale[1], atol=1e-15)
    center, scale = scaler.output_units()
    units = dict(zip(found, zip(center, scale, strict=True), strict=True))
    assert (units["age"], units["on"], units["sex_f"]) == ((59.0, 41.0), (0.5, 0.5), (0.0, 1.0))
    middle = BoundsScaler(bounds=KINDS, missing="middle").fit(frame)
    names = [name for name in found if not name.startswith("missing_")]
    assert middle.get_feature_names_out().tolist() == names
    assert np.array_equal(middle.transform(frame), np.column_stack([found[k] for k in names]))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_mixed_naive_bayes_and_statistics(library):
    frame = frame_of_kinds().drop(columns="note")
    y, schema = (frame["age"] > 50).astype(int), KINDS.drop("note")
    frame = library(frame)
    model = DPMixedNB(bounds=schema, epsilon=5.0, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.7
    assert len(model.feature_log_prob_) == 4  # month, on, place, sex
    found = describe(frame, epsilon=1.0, bounds=KINDS, random_state=0)
    assert "day_month" in str(found)
    tables = marginals(frame, epsilon=1.0, categories=KINDS, random_state=0)
    assert ("sex",) in tables.value
    more = {"epsilon": 1.0, "bounds": KINDS, "random_state": 0}
    ages = mean(frame["age"], groups=frame["person"], **more)
    assert ages.value > 18.0
    for one in (found, tables, ages):  # polars in, polars out
        assert isinstance(one.to_frame(), type(frame))
    with pytest.raises(ValueError, match="are not numeric"):
        mean(frame, epsilon=1.0, bounds=KINDS)
    with pytest.raises(ValueError, match="are texts"):
        describe(frame_of_kinds(), epsilon=1.0, bounds=KINDS)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_ordinal_columns_are_categories_in_order(library):
    levels = ["top", "mid", "low"]
    frame = frame_of_kinds()[["age"]].assign(grade=lambda own: np.resize(levels, len(own)))
    schema = TableSchema({"age": (18, 100), "grade": {"kind": "ordinal", "categories": levels}})
    y, frame = (frame["age"] > 50).astype(int), library(frame)
    asked = {"epsilon": 5.0, "random_state": 0}
    tables = marginals(frame, categories=schema, **asked).to_frame()
    described = describe(frame, bounds=schema, **asked).to_frame()
    for found, column in ((tables, "categories"), (described, "statistic")):
        found = pd.DataFrame(found) if library is pd.DataFrame else found.to_pandas()
        labels = found.reset_index()[column].tolist()
        assert [one for one in labels if one in levels] == levels
    model = DPMixedNB(bounds=schema, **asked).fit(frame, y)
    assert model.predict_proba(frame).shape == (len(y), 2)
    with pytest.raises(ValueError, match=r"\['grade'\] are not numeric"):
        mean(frame, bounds=schema, **asked)


def test_by_and_groups_are_columns_of_a_statistic():
    frame = frame_of_kinds()[["person", "age", "sex"]]
    found = mean(
        frame, epsilon=5.0, bounds=KINDS, by="sex", keys=["f", "m"], groups="person", random_state=0
    )
    assert found.value.shape == (2, 1)


def test_feature_maps_agree_with_each_other():
    frame = frame_of_kinds()
    y = frame["note"].str.contains("pain").fillna(False).astype(int)
    parts = {"bounds": KINDS}
    mixture = FeatureMixture(
        additive=AdditiveFeatures(**parts), random=RandomFourierFeatures(n_components=6, **parts)
    )
    names = mixture.fit(frame).get_feature_names_out().tolist()
    assert mixture.transform(frame).shape == (N, len(names))
    assert {"day", "day_month_Feb", "note_bucket3", "missing_note", "place_bucket7"} <= {*names}
    for features in (mixture, RandomTreeFeatures(n_trees=20, depth=3, **parts)):
        model = DPLogisticRegression(features=features, epsilon=5.0, random_state=0)
        assert model.fit(frame, y).predict_proba(frame).shape == (N, 2)


def test_words_and_missing_texts_have_effects():
    frame = frame_of_kinds(4000)
    y = frame["note"].str.contains("pain").fillna(False).astype(int)
    model = DPAdditiveClassifier(bounds=KINDS, epsilon=5.0, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert model.term_names_ == ["day", "age", "day_month", "on", "place", "sex", "note"]
    effects = model.explain_global()
    assert max(effects, key=lambda term: effects[term].importance) == "note"
    note = effects["note"]
    assert note.categorical == (True,)
    assert note.values[0].tolist() == [f"bucket{k}" for k in range(8)]
    assert note.effect.mean() == pytest.approx(0.0, abs=1e-9)
    assert note.missing_effect < note.effect.max()
    local = model.explain_local(frame.iloc[:9])
    scores = model.decision_function(frame.iloc[:9])
    assert local.sum(axis=1) + model.intercept_[0] == pytest.approx(scores)
    with pytest.raises(ValueError, match="words of a text"):
        AdditiveFeatures(bounds=KINDS, interactions=[("age", "note_bucket1")]).fit(frame)
    pairs = AdditiveFeatures(bounds=KINDS, interactions=[("age", "sex"), ("on", "day_month")])
    assert "day_month_Jan on_True" in pairs.fit(frame).get_feature_names_out()


def test_no_row_raises_an_error_or_changes_another():
    """Whatever a row holds, the features of the other rows are the same bits."""
    frame = frame_of_kinds(20).astype(object)
    odd = frame.copy()
    odd.iloc[3] = [None, "31.12.", "old", "maybe", 3.5, 7, b"f"]
    odd.iloc[4] = [pd.NA, 1e300, -np.inf, -1, None, pd.NaT, 1.0]
    features = AdditiveFeatures(bounds=KINDS).fit(frame)
    kept = [i for i in range(20) if i not in (3, 4)]
    found = features.transform(odd)
    assert np.isfinite(found).all()
    assert np.array_equal(found[kept], features.transform(frame)[kept])


ODD = [None, np.nan, np.inf, -np.inf, "zz", pd.NaT, pd.NA, 10**400, -1, b"x", (1, 2), [1], {"a": 1}]
ODD += [np.datetime64("2020-01-01"), complex(0, 1), True]


@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
def test_no_value_raises_an_error_in_any_family():
    frame = frame_of_kinds().astype(object)
    for name in frame:
        for i, odd in enumerate(ODD):
            frame.at[i, name] = odd
    y, numbers = np.resize([0, 1], N), frame[["person", "age", "on"]]
    for make in (DPAdditiveClassifier, DPTabularClassifier):
        model = make(bounds=OF_ROWS, classes=[0, 1]).fit(frame, y)
        assert np.isfinite(model.predict_proba(frame)).all()
    others = frame.drop(columns="note")
    model = DPMixedNB(bounds=OF_ROWS.drop("note"), classes=[0, 1]).fit(others, y)
    assert np.isfinite(model.predict_proba(others)).all()
    schema = OF_ROWS.select(["person", "age", "on"])
    for transformer in (
        DPStandardScaler(bounds=schema),
        DPPCA(bounds=schema, n_components=1),
        DPKMeans(bounds=schema, n_clusters=2),
    ):
        assert np.isfinite(transformer.fit(numbers).transform(numbers)).all()
    assert np.isfinite(mean(numbers, epsilon=1.0, bounds=schema).value).all()


def test_searches_pipelines_and_prices():
    frame = frame_of_kinds()
    y = (frame["age"] > 50).astype(int)
    budget = PrivacyBudget(epsilon=5.0, delta=1e-5, unit="person")
    model = DPTabularClassifier(bounds=KINDS, classes=[0, 1], budget=budget)
    assert clone(model).bounds == KINDS
    search = DPGridSearchCV(
        clone(model).set_params(budget=None), {"class_weight": [None, {0: 1.0, 1: 0.5}]},
        epsilon=1.0, budget=budget,
    )  # fmt: skip
    search.fit(frame, y)
    assert search.predict(frame).shape == (N,)
    numbers = frame[["person", "age", "on"]]
    pipeline = make_private_pipeline(
        DPStandardScaler(bounds=OF_NUMBERS), DPLogisticRegression(classes=[0, 1]), epsilon=1.0,
        budget=budget,
    )  # fmt: skip
    assert budget.price(pipeline, numbers, y).epsilon > 0.0
    pipeline.fit(numbers, y)
    public = make_pipeline(
        BoundsScaler(bounds=OF_NUMBERS, missing="middle"),
        DPLogisticRegression(classes=[0, 1], budget=budget, epsilon=1.0),
    )
    public.fit(numbers, y, dplogisticregression__groups=numbers["person"])
    model.set_params(epsilon=0.5).fit(frame, y, groups=None)
    tags = [release["tag"] for release in budget.history()]
    assert f"schema {KINDS.fingerprint}" in tags[0]
    assert f"schema {OF_NUMBERS.fingerprint}" in tags
    assert tags[-1] == f"schema {KINDS.fingerprint}"
    assert KINDS.fingerprint in budget.report(audience="internal")


def test_arrays_have_numbers_of_columns():
    schema = TableSchema({0: (0.0, 1.0), 1: "id", 2: (0.0, 5.0)})
    X = np.random.default_rng(0).random((N, 3))
    scaled = BoundsScaler(bounds=schema, missing="middle").fit_transform(X)
    assert scaled.shape == (N, 2)
    assert np.array_equal(scaled[:, 0], 2.0 * X[:, 0] - 1.0)
    model = DPTabularClassifier(bounds=schema, random_state=0).fit(X, X[:, 0] > 0.5)
    assert model.score(X, X[:, 0] > 0.5) > 0.9


def test_constraints_and_pairs_are_of_encoded_columns():
    frame = frame_of_kinds(4_000)
    y, terms = (frame["age"] > 50).astype(int), {"bounds": KINDS, "epsilon": 8.0}
    rising = DPAdditiveClassifier(**terms, monotonic_cst={"age": 1}).fit(frame, y)
    ages = np.linspace(18.0, 100.0, 40)
    rows = frame.iloc[[1] * 40].assign(age=ages)
    assert (np.diff(rising.predict_proba(rows)[:, 1]) >= -1e-12).all()
    for column in ("sex", "note", "person"):
        with pytest.raises(ValueError, match=f"monotonic_cst.*{column}"):
            DPAdditiveClassifier(**terms, monotonic_cst={column: 1}).fit(frame, y)
    searched = DPAdditiveClassifier(**terms, interactions="auto").fit(frame, y)
    numbers_and_categories = {"day", "day_month", "age", "on", "place", "sex"}
    assert {name for pair in searched.interactions_ for name in pair} <= numbers_and_categories
    assert len(searched.term_names_) == 7 + len(searched.interactions_)
