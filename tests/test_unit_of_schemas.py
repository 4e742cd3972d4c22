"""The privacy unit that a schema states reaches every public release, and every budget."""

import inspect
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import releases as suite
from published import published
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPGaussianNB,
    DPLogisticRegression,
    PrivacyBudget,
    TableSchema,
)
from skdp.calibration import DPCalibratedClassifier
from skdp.features import AdditiveFeatures
from skdp.metrics import dp_accuracy_score, make_private_scorer
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV, HashSplit
from skdp.pipeline import PrivatePipeline, allow_replaced_fit, check_pipeline, make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.statistics import describe, mean

N, ROWS = 80, 2
NAMES = np.repeat([f"p{i}" for i in range(N)], ROWS)
RNG = np.random.default_rng(0)
COLUMNS = {"person": "id", "a": (-1.0, 1.0), "b": {"bounds": (-1.0, 1.0), "missing": False}}
SCHEMA = TableSchema(COLUMNS)
CODES = TableSchema({"person": "id", "c": ["x", "y"]})
FRAME = pd.DataFrame({
    "person": NAMES,
    "a": RNG.uniform(-1.0, 1.0, N * ROWS),
    "b": RNG.uniform(-1.0, 1.0, N * ROWS),
    "c": RNG.choice(["x", "y"], N * ROWS),
})  # fmt: skip
NUMBERS, LABELS = FRAME[["person", "a", "b"]], list(suite.LABELS[:2])
TRUTH = np.where(FRAME["a"] > 0.0, *LABELS)
SCORE = FRAME["b"].to_numpy() / 2.0 + 0.5
TERMS = {"epsilon": 1.0, "random_state": 0}


def schema_for(name, kind):
    """Return the parameter of a release that takes a schema, a value with one, and columns."""
    parameters = suite.Case(name, kind, {}).parameters
    if "covariate_bounds" in parameters:
        return "covariate_bounds", SCHEMA, NUMBERS
    if name in suite.MADE or "bounds" in parameters:
        schema = SCHEMA.select(["person", "a"]) if name == "statistics.quantile" else SCHEMA
        return "bounds", schema, NUMBERS[list(schema.columns)]
    if "categories" in parameters:
        return "categories", CODES, FRAME[["person", "c"]]
    if "features" in parameters:
        return "features", AdditiveFeatures(bounds=SCHEMA, n_terms=4), NUMBERS
    if "estimator" in parameters and hasattr(kind, "fit"):
        if "Regressor" in name:
            target = {"target_bounds": suite.TARGETS}
            return "estimator", DPAdditiveRegressor(bounds=SCHEMA, n_terms=4, **target), NUMBERS
        inner = DPAdditiveClassifier(bounds=SCHEMA, n_terms=4, classes=LABELS)
        is_fitted = name == "calibration.DPCalibratedClassifier"
        return "estimator", inner.fit(NUMBERS, TRUTH) if is_fitted else inner, NUMBERS
    return None, None, NUMBERS


RELEASES = {name: (kind, *schema_for(name, kind)) for name, kind in suite.releases().items()}
WITH_SCHEMA = [name for name, (_, parameter, *_) in RELEASES.items() if parameter]


def call(name, X, value=None, groups=None, **terms):
    """Return the result of a release for a table with IDs."""
    kind, parameter, usual, _ = RELEASES[name]
    case = suite.Case(name, kind, {})
    settings = {k: v for k, v in suite._settings(name, kind).items() if k != "random_state"}
    if "bounds" in settings and "categories" in case.parameters:
        settings["categories"] = None
    settings |= {parameter: usual if value is None else value} if parameter else {}
    if "param_grid" in settings or "param_distributions" in settings:
        settings["param_grid" if "param_grid" in settings else "param_distributions"] = {
            "n_terms": [4, 5]
        }
    settings |= {"epsilon": 100.0} if "Calibrated" in name else {}
    settings |= {"q": 0.5} if name == "statistics.quantile" else {}
    settings |= {k: v for k, v in terms.items() if k in case.parameters}
    many = name == "metrics.one_vs_rest_report"
    data = {
        "x": X["a"] if name == "statistics.histogram" else X,
        "X": X,
        "y": SCORE if case.task == "numbers" else TRUTH,
        "y_true": SCORE if case.task == "numbers" else TRUTH,
        "y_pred": SCORE if case.task == "numbers" else TRUTH,
        "y_score": np.tile(SCORE, (3, 1)).T if many else SCORE,
        "y_prob": SCORE,
        "condition": FRAME["a"] > 0.0,
        "time": FRAME["a"],
        "event": FRAME["b"] > 0.0,
        "covariates": X,
        "treated": FRAME["b"] > 0.0,
        "by": [*suite.KEYS] * (len(FRAME) // 3) + [*suite.KEYS][: len(FRAME) % 3],
    }
    if "keys" not in settings:
        del data["by"]
    data = {k: v for k, v in data.items() if k in case.data}
    data |= {} if groups is None else {"groups": groups}
    if name in suite.MADE:
        made = make_private_pipeline(
            DPStandardScaler(bounds=settings["bounds"]),
            DPLogisticRegression(classes=LABELS),
            unit=terms.get("unit"),
            budget=terms.get("budget"),
        )
        for step in made if "budget" not in terms else ():
            step.set_params(budget=None, random_state=terms.get("random_state"))
        return made.fit(**data)
    return kind(**settings).fit(**data) if inspect.isclass(kind) else kind(**data, **settings)


def guarantee(result):
    return result.privacy_ if hasattr(result, "privacy_") else result.privacy


TAKE_ONE_COLUMN = {f"statistics.{name}" for name in ("count", "histogram", "survival_curve")}


def test_releases_without_a_schema_are_those_that_take_no_table_with_bounds():
    others = {name.removeprefix("metrics.") for name in RELEASES.keys() - {*WITH_SCHEMA}}
    assert others - {*suite.skdp.metrics.__all__} == TAKE_ONE_COLUMN


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_a_schema_with_an_id_protects_persons_in_every_release(name):
    X = RELEASES[name][-1]
    found = call(name, X, random_state=0)
    assert guarantee(found).unit == "person"
    given = call(name, X, groups=X["person"], random_state=0)
    assert published(found) == published(given)


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_what_does_not_agree_with_the_schema_raises_before_the_spend(name):
    _, parameter, value, X = RELEASES[name]
    asked = {"epsilon": 50.0, "delta": 1e-5}  # all of them, though none is spent
    budget = PrivacyBudget(**asked, unit="person")
    if name != "model_selection.DPRandomizedSearchCV":  # the same transaction as the grid
        lost = X.assign(person=[None, *X["person"][1:]])
        with pytest.raises(ValueError, match="column 'person', which identifies persons, has miss"):
            call(name, lost, budget=budget)
    with pytest.raises(ValueError, match=r"by the column 'person', which the data do not have"):
        call(name, X.drop(columns="person"), budget=budget)
    assert budget.history() == []
    left_out = PrivacyBudget(**asked)
    with pytest.raises(ValueError, match=r"'person' \(columns.*\['person'\]\).*unit='record'"):
        call(name, X, budget=left_out)
    if parameter == "bounds" or parameter == "categories":
        rows = TableSchema(value.columns, unit="record")
        with pytest.raises(ValueError, match=r"unit 'record', but this budget has unit='person'"):
            call(name, X, rows, budget=budget)
        with pytest.raises(ValueError, match="groups identify persons, but the schema states"):
            call(name, X, rows, groups=X["person"], random_state=0)
        assert guarantee(call(name, X, rows, random_state=0)).unit == "record"
    assert left_out.history() == budget.history() == []


@pytest.mark.parametrize("name", sorted(RELEASES.keys() - {*WITH_SCHEMA}))
def test_a_release_without_a_table_needs_groups_for_a_budget_of_persons(name):
    budget = PrivacyBudget(epsilon=50.0, delta=1e-5, unit="person")
    with pytest.raises(ValueError, match=r"protects one record, but.*groups=.*Nothing was spent"):
        call(name, NUMBERS, budget=budget)
    assert budget.history() == []
    assert guarantee(call(name, NUMBERS, groups=NAMES, budget=budget)).unit == "person"
    assert budget.history()[-1]["n"] == N


LEARNS = ("fit", "partial_fit", "conformalize", "update")
OF_OUTPUT = ("inverse_transform",)  # takes rows of what `transform` returns


def methods_on_rows(fitted, y):
    """Return the public methods of a fitted object that take rows and do not learn, with calls."""
    found = {}
    for name in dir(fitted):
        if name.startswith(("_", *LEARNS, *OF_OUTPUT)) or not hasattr(fitted, name):
            continue
        method = getattr(fitted, name)
        parameters = inspect.signature(method).parameters if callable(method) else {}
        if "X" in parameters:
            found[name] = (method, {"y": y} if "y" in parameters else {})
    return found


def same(one, other):
    """Return whether results of a method are equal."""
    if isinstance(one, tuple):
        return all(map(same, one, other))
    one, other = (getattr(x, "toarray", lambda x=x: x)() for x in (one, other))
    return np.array_equal(np.asarray(one), np.asarray(other))


OBJECTS = [name for name in WITH_SCHEMA if inspect.isclass(RELEASES[name][0])]


@pytest.mark.parametrize("name", OBJECTS)
def test_a_fitted_object_takes_rows_with_and_without_the_id(name):
    """Also a table with the ID in another place. Where a schema is, the ID is no feature."""
    X = RELEASES[name][-1]
    fitted = call(name, X, random_state=0)
    task = suite.Case(name, RELEASES[name][0], {}).task
    tried = methods_on_rows(fitted, SCORE if task == "numbers" else TRUTH)
    assert tried, "a release without a method would try nothing"
    others = [column for column in X if column != "person"]
    for method, more in tried.values():
        for library in (pd.DataFrame, pl.from_pandas):
            expected = method(library(X), **more)
            assert same(method(library(X[others]), **more), expected)
            assert same(method(library(X[[*others, "person"]]), **more), expected)
        for wrong in (X.assign(z=1.0), X[["person", *others[1:]]]):
            with pytest.raises(ValueError, match=r"feature names|columns|column"):
                method(wrong, **more)


def test_types_are_compared_by_name_if_the_id_is_absent():
    schema = TableSchema({"person": "id", "b": (-1.0, 1.0), "c": {"kind": "code", "buckets": 4}})
    frame = FRAME[["person", "b", "c"]].assign(c=RNG.integers(0, 9, N * ROWS))
    model = DPAdditiveClassifier(bounds=schema, classes=LABELS, n_terms=4).fit(frame, TRUTH)
    for rows in (frame, frame[["b", "c"]], frame[["b", "c", "person"]]):
        model.predict(rows)
        with pytest.raises(ValueError, match=r"column 'c' contains strings, but it had numbers"):
            model.predict(rows.assign(c=rows["c"].astype(str)))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, "array"])
def test_ids_are_found_in_tables_of_every_library(library):
    if library == "array":
        codes = NUMBERS.assign(person=np.repeat(np.arange(N), ROWS))
        schema, X = TableSchema({0: "id", 1: (-1.0, 1.0), 2: (-1.0, 1.0)}), codes.to_numpy()
    else:
        schema, X = SCHEMA, library(NUMBERS)
    found = mean(X, bounds=schema, **TERMS)
    assert found.privacy.unit == "person"
    given = mean(NUMBERS[["a", "b"]], bounds=(-1.0, 1.0), groups=NAMES, **TERMS)
    assert np.array_equal(found.value, given.value)


@pytest.mark.parametrize("lost", [(1.0, np.nan), (1, None), (1, (2, pd.NA)), frozenset([pd.NaT])])
def test_an_id_with_a_missing_part_is_missing(lost):
    """Several NaN in tuples differ, so that the rows of one person would count as several."""
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    ids = pd.Series([(name, 0.0) for name in NAMES], dtype=object)
    mean(NUMBERS.assign(person=ids), bounds=SCHEMA, epsilon=0.1, budget=budget)
    ids[3] = lost
    with pytest.raises(ValueError, match="has missing values"):
        mean(NUMBERS.assign(person=ids), bounds=SCHEMA, epsilon=0.1, budget=budget)
    with pytest.raises(ValueError, match="groups has missing values"):
        mean(NUMBERS[["a", "b"]], bounds=(-1, 1), groups=ids, epsilon=0.1, budget=budget)
    with pytest.raises(ValueError, match="missing values"):
        next(HashSplit().split(NUMBERS, groups=ids))
    assert [row["n"] for row in budget.history()] == [N]


@pytest.mark.parametrize("made", [DPAdditiveClassifier, DPGaussianNB, DPStandardScaler])
def test_a_price_by_numbers_of_rows_and_columns_asks_for_a_frame(made):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    with pytest.raises(ValueError, match=r"Pass a frame.*budget\.price with made-up rows"):
        budget.price(made(bounds=SCHEMA), (100, 3))
    assert budget.price(made(bounds=SCHEMA), NUMBERS, groups=NAMES).n_releases == 1


def test_given_groups_replace_the_ids():
    """They are not compared with the IDs, which are private. A household has several persons."""
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    more, households = {"epsilon": 0.1, "budget": budget}, np.arange(N * ROWS) // 4
    mean(NUMBERS, bounds=SCHEMA, groups=households, **more)
    mean(FRAME, bounds=TableSchema({**COLUMNS, "c": "id"}), groups="person", **more)
    assert [row["n"] for row in budget.history()] == [N // 2, N]


@pytest.mark.parametrize("parts", [["a", "b"], ["b"]])
def test_a_part_of_a_schema_keeps_its_unit(parts):
    part, X = SCHEMA.select(parts), NUMBERS[parts]
    assert (part.unit, part.ids) == ("person", [])
    assert SCHEMA.drop("person").unit == "person"
    with pytest.raises(ValueError, match="no column of it identifies persons"):
        mean(X, bounds=part, **TERMS)
    assert mean(X, bounds=part, groups=NAMES, **TERMS).privacy.unit == "person"


def test_the_unit_and_the_rows_of_a_person_are_parts_of_a_schema():
    schema = TableSchema(COLUMNS, max_rows=3)
    assert (SCHEMA.unit, schema.max_rows, SCHEMA.drop("person").unit) == ("person", 3, "person")
    assert (TableSchema({"a": (0, 1)}).unit, TableSchema({"a": (0, 1)}, unit="record").unit) == (
        None,
        "record",
    )
    for one in (schema, TableSchema(COLUMNS, unit="record"), schema.drop("person")):
        again = TableSchema.from_json(one.to_json())
        assert (again, again.unit, again.max_rows) == (one, one.unit, one.max_rows)
        assert again.fingerprint != SCHEMA.fingerprint
    assert "unit='person', max_rows=3, fingerprint=" in repr(schema)
    assert schema.confirm({"a": (0.0, 1.0)}).max_rows == 3
    assert TableSchema({"person": "ignored"}).confirm({"person": "id"}).unit == "person"
    with pytest.raises(ValueError, match="unit must be one of 'record', 'person'"):
        TableSchema(COLUMNS, unit="user")
    with pytest.raises(ValueError, match="max_rows must be a positive integer"):
        TableSchema(COLUMNS, max_rows=0)
    for facts in ({}, {"unit": "record"}):
        with pytest.raises(ValueError, match="max_rows limits the rows per person"):
            TableSchema({"a": (0, 1), **({"p": "id"} if facts else {})}, max_rows=2, **facts)


def test_schemas_of_one_fit_agree():
    two = TableSchema({**COLUMNS, "c": "id"})
    with pytest.raises(ValueError, match=r"several columns of the kind 'id': \['person', 'c'\]"):
        mean(FRAME, bounds=two, **TERMS)
    steps = (
        DPStandardScaler(bounds=SCHEMA),
        DPGaussianNB(bounds=TableSchema(COLUMNS, unit="record")),
    )
    with pytest.raises(ValueError, match="state different units"):
        make_private_pipeline(*steps).fit(NUMBERS, TRUTH)


@pytest.mark.parametrize(("own", "most"), [(None, 1), (2, 2)])
def test_an_estimator_keeps_as_many_rows_as_the_schema_or_its_own_parameter_says(own, most):
    more = {"solver": "objective_perturbation", "classes": LABELS, "random_state": 0}
    stated = AdditiveFeatures(bounds=TableSchema(COLUMNS, max_rows=1), n_terms=4)
    found = DPLogisticRegression(features=stated, max_rows=own, **more).fit(NUMBERS, TRUTH)
    plain = AdditiveFeatures(bounds=SCHEMA, n_terms=4)
    expected = DPLogisticRegression(features=plain, max_rows=most, **more).fit(NUMBERS, TRUTH)
    assert np.array_equal(found.coef_, expected.coef_)
    assert found.privacy_ == expected.privacy_


def test_a_pipeline_passes_the_ids_to_steps_without_a_schema():
    steps = DPStandardScaler(bounds=SCHEMA), DPLogisticRegression(classes=LABELS)
    pipeline = make_private_pipeline(*steps, epsilon=1.0).fit(NUMBERS, TRUTH)
    assert pipeline.privacy_.unit == pipeline[0].budget.unit == "person"
    assert [row["n"] for row in pipeline[0].budget.history()] == [N, N]
    public = BoundsScaler(bounds=SCHEMA, missing="middle")
    for step in (public, FrozenEstimator(clone(public).fit(NUMBERS))):
        made = make_private_pipeline(step, steps[1], epsilon=1.0).fit(NUMBERS, TRUTH)
        assert made[-1].privacy_.unit == made[-1].budget.unit == "person"
    for table in (pl.from_pandas(NUMBERS), NUMBERS.astype({"person": "category"})):
        again = make_private_pipeline(*steps, epsilon=1.0)
        assert again.fit(table, TRUTH).privacy_.unit == "person"
    elsewhere = make_private_pipeline(*steps, epsilon=1.0)
    elsewhere.fit(NUMBERS.drop(columns="person"), TRUTH, groups=NAMES)
    assert elsewhere.privacy_.unit == "person"


@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("asks", [None, True, False])
@pytest.mark.parametrize("given", [{}, {"one__groups": NAMES}, {"two__groups": NAMES}])
def test_no_step_protects_records_beside_one_that_protects_persons(place, routing, asks, given):
    """Whatever is said about groups: all steps get them, or the fit raises."""
    schema = SCHEMA if place == "before" else (-1.0, 1.0)
    scaler = DPStandardScaler(bounds=schema)
    model = DPLogisticRegression(classes=LABELS)
    with config_context(enable_metadata_routing=routing):
        if routing and asks is not None:
            scaler.set_fit_request(groups=True)
            model.set_fit_request(groups=asks)
        X = NUMBERS if place == "before" else NUMBERS[["a", "b"]]
        pipeline = PrivatePipeline([("one", scaler), ("two", model)])
        with suppress(ValueError, TypeError):
            pipeline.fit(X, TRUTH, **given)
        units = [step.privacy_.unit for step in pipeline if hasattr(step, "privacy_")]
        assert len(set(units)) <= 1
        if place == "before" and not routing:
            assert units == ["person", "person"]
        if place == "before" and routing and not given:
            assert units == (["person", "person"] if asks else [])


def test_steps_that_were_fitted_apart_have_no_joint_unit():
    scaler = DPStandardScaler(bounds=SCHEMA).fit(NUMBERS)
    model = DPLogisticRegression(classes=LABELS).fit(NUMBERS[["a", "b"]], TRUTH)
    with pytest.raises(ValueError, match=r"Some steps protect a person, and others only a record"):
        PrivatePipeline([("one", scaler), ("two", model)]).privacy_  # noqa: B018


def test_a_step_that_drops_the_id_is_found_before_the_spend():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    model = DPAdditiveClassifier(bounds=SCHEMA, classes=LABELS, budget=budget)
    kept = ColumnTransformer([("kept", "passthrough", ["a", "b"])])
    with pytest.raises(ValueError, match="by the column 'person', which the data do not have"):
        make_pipeline(kept, model).fit(NUMBERS, TRUTH)
    unknowing = DPLogisticRegression(classes=LABELS, budget=budget)
    with pytest.raises(ValueError, match="protects one record"):
        make_pipeline(kept, unknowing).fit(NUMBERS, TRUTH)
    assert budget.history() == []


def test_folds_that_divide_the_rows_of_persons_are_named():
    model = DPAdditiveClassifier(bounds=SCHEMA, classes=LABELS)
    grid = {"n_terms": [4]}

    def named(cv, model=model):
        leaks = check_pipeline(GridSearchCV(model, grid, cv=cv))
        return [leak for leak in leaks if "divide the rows of a person" in leak.advice]

    assert len(named(KFold(5))) == 1
    assert not named(HashSplit())
    rows = TableSchema(COLUMNS, unit="record")
    assert not named(KFold(5), DPAdditiveClassifier(bounds=rows, classes=LABELS))


def test_a_step_that_gets_no_ids_is_named():
    public = BoundsScaler(bounds=SCHEMA, missing="middle")
    model = DPLogisticRegression(classes=LABELS)

    def named(estimator):
        return [(one.path, one.kind) for one in check_pipeline(estimator)]

    assert named(make_pipeline(public, model)) == [("dplogisticregression", "unit")]
    assert make_pipeline(public, model).fit(NUMBERS, TRUTH)[-1].privacy_.unit == "record"
    frozen = FrozenEstimator(BoundsScaler(bounds=SCHEMA, missing="middle").fit(NUMBERS))
    inner = make_pipeline(frozen, clone(model))
    assert ("estimator__dplogisticregression", "unit") in named(
        GridSearchCV(inner, {"dplogisticregression__C": [1.0]}, cv=HashSplit())
    )
    both = make_pipeline(DPStandardScaler(bounds=SCHEMA), model)
    assert ("dplogisticregression", "unit") in named(both)
    assert not named(PrivatePipeline([("one", public), ("two", model)]))
    of_persons = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    assert not named(make_pipeline(public, clone(model).set_params(budget=of_persons)))
    rows = BoundsScaler(bounds=TableSchema(COLUMNS, unit="record"), missing="middle")
    assert not named(make_pipeline(rows, model))
    with config_context(enable_metadata_routing=True):
        assert not named(make_pipeline(public, clone(model).set_fit_request(groups=True)))


def test_a_search_of_a_pipeline_passes_the_ids_to_its_last_step():
    public = BoundsScaler(bounds=SCHEMA, missing="middle")
    pipeline = make_pipeline(public, DPLogisticRegression(classes=LABELS))
    search = DPGridSearchCV(pipeline, {"dplogisticregression__data_norm": [1.0]})
    assert search.fit(NUMBERS, TRUTH).privacy_.unit == "person"


def test_a_search_keeps_the_rows_of_a_person_together(monkeypatch):
    seen, fit = [], DPAdditiveClassifier.fit

    def watched(self, X, *more, **others):
        seen.append(X)
        return fit(self, X, *more, **others)

    monkeypatch.setattr(DPAdditiveClassifier, "fit", watched)
    search = DPGridSearchCV(DPAdditiveClassifier(bounds=SCHEMA, classes=LABELS), {"n_terms": [4]})
    with allow_replaced_fit():
        search.fit(NUMBERS, TRUTH)
    assert all((X["person"].value_counts() == ROWS).all() for X in seen)
    assert seen[-1]["person"].nunique() == N - N // 5


def test_a_scorer_takes_the_ids_of_the_test_rows():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    model = DPAdditiveClassifier(bounds=SCHEMA, classes=LABELS).fit(NUMBERS, TRUTH)
    scorer = make_private_scorer(dp_accuracy_score, epsilon=0.5, budget=budget)
    assert np.isfinite(scorer(model, NUMBERS, TRUTH))
    assert budget.history()[-1]["n"] == N


class Foreign(ClassifierMixin, BaseEstimator):
    """A wrapper of another library, whose parameters cannot be listed."""

    def __init__(self, model=None):
        self.model_ = [{"best": model}]
        self.classes_ = LABELS

    def get_params(self, deep=True):
        raise RuntimeError

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.model_[0]["best"].predict(X)

    def predict_proba(self, X):
        return self.model_[0]["best"].predict_proba(X)


def additive(**more):
    return DPAdditiveClassifier(n_terms=4, classes=LABELS, **more)


def of_grid(**more):
    return DPGridSearchCV(additive(**more), {"bounds": [SCHEMA]})


HOLDERS = {
    "frozen": lambda: FrozenEstimator(additive(bounds=SCHEMA).fit(NUMBERS, TRUTH)),
    "frozen twice": lambda: FrozenEstimator(HOLDERS["frozen"]()),
    "frozen pipeline": lambda: FrozenEstimator(
        make_pipeline(
            BoundsScaler(bounds=SCHEMA, missing="middle"), additive(bounds=(-1.0, 1.0))
        ).fit(NUMBERS, TRUTH)
    ),
    "pipeline of frozen": lambda: make_pipeline(HOLDERS["frozen"]()),
    "search": lambda: of_grid().fit(NUMBERS, TRUTH, groups=NAMES),
    "frozen search": lambda: FrozenEstimator(HOLDERS["search"]()),
    "search of scikit-learn": lambda: GridSearchCV(
        additive(), {"bounds": [SCHEMA]}, cv=KFold(2)
    ).fit(NUMBERS, TRUTH),
    "another library": lambda: Foreign(HOLDERS["frozen"]()),
}
"""Fitted estimators that hold a schema somewhere inside."""


@pytest.mark.parametrize("name", HOLDERS)
def test_a_schema_is_found_wherever_an_estimator_holds_it(name):
    holder = HOLDERS[name]()
    asked = {"epsilon": 50.0, "budget": PrivacyBudget(epsilon=200.0, delta=1e-5, unit="person")}
    found = DPCalibratedClassifier(holder, **asked).fit(NUMBERS, TRUTH)
    assert found.privacy_.unit == "person"
    make_private_scorer(dp_accuracy_score, **asked)(holder, NUMBERS, TRUTH)
    assert [row["n"] for row in asked["budget"].history()] == [N, N]
    rows = PrivacyBudget(epsilon=200.0, delta=1e-5)
    with pytest.raises(ValueError, match="the schema has the unit 'person'"):
        DPCalibratedClassifier(holder, epsilon=50.0, budget=rows).fit(NUMBERS, TRUTH)


def of_list():
    return DPRandomizedSearchCV(additive(), {"bounds": [SCHEMA], "n_terms": [4, 5]}, n_iter=2)


@pytest.mark.parametrize("makes", [of_grid, of_list])
def test_a_search_protects_the_persons_of_a_schema_in_its_grid(makes):
    assert makes().fit(NUMBERS, TRUTH).privacy_.unit == "person"


class Drawn:
    """A distribution of schemas, which no search can list."""

    def rvs(self, random_state=None):
        return SCHEMA


def test_a_search_that_meets_a_schema_late_asks_for_groups():
    search = DPRandomizedSearchCV(additive(), {"bounds": Drawn(), "n_terms": [4, 5]}, n_iter=2)
    with pytest.raises(
        ValueError, match=r"not protect a record.*With groups=, it requires a person"
    ):
        search.fit(NUMBERS, TRUTH)
    assert search.fit(NUMBERS, TRUTH, groups=NAMES).privacy_.unit == "person"
    budget = PrivacyBudget(epsilon=200.0, delta=1e-5, unit="person")
    late = DPCalibratedClassifier(search, epsilon=50.0, budget=budget).fit(NUMBERS, TRUTH)
    assert late.privacy_.unit == "person"


def test_the_ledger_says_that_rows_are_the_unit_on_purpose():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    rows = TableSchema(COLUMNS, unit="record")
    describe(NUMBERS, bounds=rows, epsilon=0.5, budget=budget)
    (row,) = budget.history()
    assert row["tag"] == f"schema {rows.fingerprint} (unit='record')"
    assert "unit='record'" in budget.report(audience="internal")
    assert "one record" in budget.report()
