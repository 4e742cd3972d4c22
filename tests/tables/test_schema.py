"""Schemas: what they accept, how they print, and how they are drafted, read and written."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skdp import TableSchema, statistics
from skdp.tables import ColumnSchema

FULL = {
    "age": (18, 100),
    "amount": {"bounds": (0, 1e6), "scale": "log"},
    "n_visits": {"kind": "integer", "bounds": (0, 50), "missing": False},
    "smoker": ["yes", "no"],
    "insured": "boolean",
    "visit": {"bounds": ("2020-01-01", "2025-12-31"), "parts": ["weekday", "month"]},
    "note": {"kind": "text", "buckets": 16},
    "place": {"kind": "code", "buckets": 32},
    "person": "id",
    "free": "ignored",
}


def full():
    return TableSchema(FULL, source="handbook of the ward")


def test_short_forms_imply_the_kind():
    kinds = [column.kind for column in full().columns.values()]
    assert kinds[:4] == ["number", "number", "integer", "category"]
    assert kinds[4:] == ["boolean", "date", "text", "code", "id", "ignored"]
    assert {column.source for column in full().columns.values()} == {"handbook of the ward"}


def test_json_round_trip():
    schema, text = full(), full().to_json()
    again = TableSchema.from_json(text)
    assert again == schema
    assert again.fingerprint == schema.fingerprint == full().fingerprint
    assert json.loads(text)["columns"][0]["bounds"] == [18.0, 100.0]
    assert schema.drop("age") != schema
    assert schema.drop("age").fingerprint != schema.fingerprint


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "columns": []}'])
def test_other_json_raises(text):
    with pytest.raises(ValueError, match="schema"):
        TableSchema.from_json(text)


def test_json_with_unknown_keys_raises():
    data = json.loads(full().to_json())
    with pytest.raises(ValueError, match=r"unknown keys: \['units'\]"):
        TableSchema.from_json(json.dumps(data | {"units": "person"}))
    data["columns"][0]["bound"] = [0, 1]
    with pytest.raises(ValueError, match="bound"):
        TableSchema.from_json(json.dumps(data))


def test_it_prints_as_a_table():
    lines = str(full()).splitlines()
    assert lines[0].split() == ["column", "kind", "values", "missing", "source"]
    assert len(lines) == 1 + len(FULL)
    assert "2020-01-01 to 2025-12-31, weekday, month" in lines[6]
    html = TableSchema({"a<b": (0, 1)})._repr_html_()
    assert "a&lt;b" in html
    assert "a<b" not in html


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("words", "kind must be one of"),
        ((1, 0), "low below high"),
        ((0, float("inf")), "finite"),
        (("2021-01-01", "2020-01-01"), "first before"),
        ([], "at least one value"),
        ([1, "1"], "equal as text"),
        (["a", None], "none missing"),
        ({"kind": "category", "bounds": (0, 1)}, "bounds is for columns of the kind"),
        ({"kind": "text", "buckets": 1}, "buckets"),
        ({"kind": "number", "bounds": (0, 1), "scale": -1.0}, "scale"),
        ({"kind": "date", "parts": ["year"]}, "parts"),
        ({"low": 1}, "Unknown parameters"),
        ({"kind": "id", "source": 3}, "source must be a string"),
        (3.0, "must be a pair"),
    ],
)
def test_wrong_columns_raise_with_their_name(column, words):
    with pytest.raises(ValueError, match=r"column 'x': .*") as error:
        TableSchema({"x": column})
    assert words in str(error.value)


def test_select_and_drop():
    schema = full().select(["smoker", "age"])
    assert list(schema.columns) == ["smoker", "age"]
    assert list(schema.drop("age").columns) == ["smoker"]
    for change in (schema.select, schema.drop):
        with pytest.raises(ValueError, match="Unknown columns"):
            change("weight")


class Untouchable:
    """A value that no draft may look at."""

    def touched(self, *_):
        raise AssertionError("a draft read a value")

    __eq__ = __hash__ = __lt__ = __bool__ = __float__ = __int__ = __str__ = __repr__ = touched


def frames():
    """Pairs of frames with equal types and other values."""
    days = pd.date_range("2020-01-01", periods=4)
    one = pd.DataFrame({"n": [1.0, 2, 3, 4], "k": [1, 2, 3, 4], "day": days, "t": list("abcd")})
    one["c"] = pd.Categorical(list("aabb"))
    yield one, one.iloc[::-1].assign(c=pd.Categorical(list("zzyx")))
    yield one, one.assign(k=[1.0, np.nan, 2.0, 3.0])  # integers with a missing value are floats
    some = pl.DataFrame({"t": ["a", "b"], "k": [1, 2]}, schema={"t": pl.Categorical, "k": pl.Int64})
    yield some, some[::-1].with_columns(t=pl.Series(["y", "x"], dtype=pl.Categorical))
    table = pa.table({"d": pa.array(["a", "b"]).dictionary_encode(), "b": [True, False]})
    yield table, pa.table({"d": pa.array(["x", "x"]).dictionary_encode(), "b": [False, False]})


@pytest.mark.parametrize(("one", "other"), list(frames()))
def test_a_draft_depends_on_names_and_types_only(one, other):
    draft = TableSchema.draft(one)
    assert draft == TableSchema.draft(other)
    assert all(column.categories is None for column in draft.columns.values())
    assert draft.unstated.keys() == draft.columns.keys()


def test_a_draft_reads_no_object():
    frame = pd.DataFrame({"x": pd.Series([Untouchable()] * 3, dtype=object)})
    assert TableSchema.draft(frame).columns["x"].kind is None


def test_a_draft_copies_declared_categories():
    frame = pl.DataFrame({"c": ["a"]}, schema={"c": pl.Enum(["a", "b"])})
    column = TableSchema.draft(frame).columns["c"]
    assert column.categories == ("a", "b")
    assert column.unstated == ["give a source"]


def test_a_draft_is_confirmed_line_by_line():
    frame = pd.DataFrame({"age": [1.0], "smoker": ["no"], "on": [True]})
    draft = TableSchema.draft(frame)
    assert draft.unstated == {
        "age": ["state its bounds", "give a source"],
        "smoker": ["choose its kind"],
        "on": ["give a source"],
    }
    assert TableSchema.from_json(draft.to_json()) == draft
    stated = draft.confirm({"age": {"bounds": (0, 120), "source": "registry"}})
    assert stated.columns["age"] == ColumnSchema(
        kind="number", bounds=(0.0, 120.0), source="registry"
    )
    stated = stated.confirm({"smoker": ["yes", "no"]})
    assert stated.unstated == {"smoker": ["give a source"], "on": ["give a source"]}
    stated = stated.confirm(source="form")
    assert not stated.unstated
    assert stated.columns["age"].source == "registry"
    assert draft.unstated.keys() == {"age", "smoker", "on"}


def test_a_draft_needs_a_frame():
    for data in (np.ones((2, 2)), [[1, 2]], pd.Series([1.0])):
        with pytest.raises(ValueError, match="data frame"):
            TableSchema.draft(data)
    with pytest.raises(ValueError, match="collect"):
        TableSchema.draft(pl.LazyFrame({"a": [1]}))


CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "visits.csv",
    "tableSchema": {
        "primaryKey": "person",
        "columns": [
            {"name": "person", "datatype": "string"},
            {
                "name": "age",
                "titles": "Age",
                "required": True,
                "datatype": {"base": "integer", "minimum": "0", "maximum": "120"},
            },
            {
                "name": "day",
                "datatype": {
                    "base": "date",
                    "minInclusive": "2020-01-01",
                    "maxInclusive": "2024-12-31",
                },
            },
            {"name": "cost", "datatype": "decimal"},
            {"name": "note", "datatype": "string"},
            {"name": "row", "virtual": True},
        ],
    },
}


def test_csvw():
    schema = TableSchema.from_csvw(json.loads(json.dumps(CSVW)))
    assert list(schema.columns) == ["person", "Age", "day", "cost", "note"]
    assert schema.columns["person"].kind == "id"
    assert schema.columns["Age"].bounds == (0.0, 120.0)
    assert not schema.columns["Age"].missing
    assert schema.columns["day"].details == "2020-01-01 to 2024-12-31"
    assert schema.unstated == {"cost": ["state its bounds"], "note": ["choose its kind"]}
    assert "visits.csv" in schema.columns["day"].source
    assert schema.unit == "record"  # a key of one column is unique
    german = {"base": "date", "format": "d.M.yyyy", "minimum": "1.2.2020", "maximum": "3.4.2021"}
    columns = [{"name": "day", "datatype": german}]
    day = TableSchema.from_csvw({"tableSchema": {"columns": columns}}).columns["day"]
    assert day.date_format == "%d.%m.%Y"
    assert day.details == "2020-02-01 to 2021-04-03"
    with pytest.raises(ValueError, match="tableSchema"):
        TableSchema.from_csvw({})


def csvw_eo(columns, **facts):
    """Return metadata in the dialect that states privacy, with the keys of its own examples."""
    columns = [{"name": name, **INTEGER, **more} for name, more in columns.items()]
    return {"@type": "Table", **facts, "tableSchema": {"columns": columns}}


INTEGER = {"datatype": {"base": "integer", "minimum": 0, "maximum": 9}}


@pytest.mark.parametrize(
    ("columns", "facts", "ids", "ignored"),
    [
        ({"p": {"privacyId": True}, "x": {}}, {"maxContributions": 3}, ["p"], []),
        ({"p": {}, "x": {}}, {"privacyUnit": "p", "maxContributions": 3}, ["p"], []),
        (
            {"p": {}, "q": {"privacyId": True}, "x": {}},
            {"privacyUnit": "p", "maxContributions": 3},
            ["p"],
            ["q"],
        ),
        ({"p": {"privacyId": True}, "x": {"privacyId": False}}, {}, ["p"], []),
        ({"x": {}}, {"privacyUnit": "household", "maxContributions": 3}, [], []),
    ],
)
def test_csvw_eo_states_who_is_protected(columns, facts, ids, ignored):
    schema = TableSchema.from_csvw(csvw_eo(columns, **facts))
    assert (schema.unit, schema.max_rows) == ("person", facts.get("maxContributions"))
    assert schema.ids == ids
    assert [name for name, one in schema.columns.items() if one.kind == "ignored"] == ignored
    assert schema.encoding([*columns]).encoded_names == ["x"]


@pytest.mark.parametrize(
    ("key", "marked", "unit", "ids", "features"),
    [
        ("visit", None, "record", ["visit"], ["p", "x"]),
        (["p", "visit"], None, None, [], ["x"]),
        (["p", "visit"], "p", "person", ["p"], ["x"]),
        (["p", "visit"], ["p"], "person", ["p"], ["x"]),
        ("visit", "household", "person", [], ["p", "x"]),
        (["p", "visit"], ["household"], "person", [], ["x"]),
        ("visit", "p", "person", ["p"], ["x"]),
        ("p", "p", "person", ["p"], ["visit", "x"]),
        ((), None, None, [], ["p", "visit", "x"]),
    ],
)
def test_a_key_is_never_a_feature(key, marked, unit, ids, features):
    data = csvw_eo({"p": {}, "visit": {}, "x": {}}, privacyUnit=marked)
    data["tableSchema"]["primaryKey"] = key
    schema = TableSchema.from_csvw(data)
    assert (schema.unit, schema.ids) == (unit, ids)
    assert schema.encoding(["p", "visit", "x"]).encoded_names == features
    frame = pd.DataFrame({"p": [1, 2], "visit": [3, 4], "x": [5, 6]})
    if unit == "person" and not ids:
        with pytest.raises(ValueError, match="no column of it identifies persons"):
            statistics.mean(frame, bounds=schema, epsilon=1.0)


@pytest.mark.parametrize("name", ["privacyUnit", "primaryKey", "titles"])
@pytest.mark.parametrize("value", [3, {"p"}, [["p"]], [3]])
def test_a_name_in_metadata_that_is_none_is_an_error(name, value):
    data = csvw_eo({"p": {}, "x": {}})
    place = {"primaryKey": data["tableSchema"], "titles": data["tableSchema"]["columns"][0]}
    place.get(name, data)[name] = value
    with pytest.raises(ValueError, match=f"{name} must be the name of a column or a list of names"):
        TableSchema.from_csvw(data)


SMARTNOISE = {  # as yaml.safe_load reads the examples of SmartNoise
    "": {
        "MySchema": {
            "MyTable": {
                "row_privacy": False,
                "rows": 1000,
                "person": {"private_id": True, "type": "int"},
                "age": {"type": "int", "lower": 0, "upper": 120, "nullable": False},
                "income": {"type": "float", "lower": 0, "upper": 500000},
                "married": {"type": "boolean"},
                "sex": {"type": "string", "cardinality": 2},
            }
        }
    }
}


def test_smartnoise():
    for table in (None, "MyTable", "MySchema.MyTable"):
        schema = TableSchema.from_smartnoise(SMARTNOISE, table=table)
        kinds = [column.kind for column in schema.columns.values()]
        assert kinds == ["id", "integer", "number", "boolean", None]
        assert schema.columns["age"].bounds == (0.0, 120.0)
        assert not schema.columns["age"].missing
        assert list(schema.unstated) == ["sex"]
        assert (schema.unit, schema.max_rows) == ("person", None)
    with pytest.raises(ValueError, match="table must be one of"):
        TableSchema.from_smartnoise(SMARTNOISE, table="Other")


@pytest.mark.parametrize(
    ("facts", "unit", "max_rows"),
    [
        ({"max_ids": 5}, "person", 5),
        ({"max_ids": 5, "row_privacy": False}, "person", 5),
        ({"max_ids": 5, "row_privacy": True}, "record", None),
    ],
)
def test_smartnoise_states_who_is_protected(facts, unit, max_rows):
    columns = {"p": {"private_id": True, "type": "int", "lower": 0, "upper": 9}}
    columns["x"] = {"type": "float", "lower": 0, "upper": 9}
    schema = TableSchema.from_smartnoise({"": {"db": {"visits": facts | columns}}})
    assert (schema.unit, schema.max_rows, schema.ids) == (unit, max_rows, ["p"])
    assert schema.encoding(["p", "x"]).encoded_names == ["x"]
    del columns["p"]
    assert TableSchema.from_smartnoise({"": {"db": {"v": {"max_ids": 5} | columns}}}).unit is None


class Like:
    """An object with attributes, as pandera documents them."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_pandera():
    within = Like(name="in_range", statistics={"min_value": 0, "max_value": 120})
    one_of = Like(name="isin", statistics={"allowed_values": ["no", "yes"]})
    columns = {
        "age": Like(dtype="int64", nullable=False, checks=[within]),
        "smoker": Like(dtype="str", nullable=True, checks=[one_of]),
        "cost": Like(dtype="float64", nullable=True, checks=[]),
    }
    schema = TableSchema.from_pandera(Like(name="visits", columns=columns))
    assert schema.columns["age"].kind == "integer"
    assert schema.columns["age"].bounds == (0.0, 120.0)
    assert schema.columns["smoker"].categories == ("no", "yes")
    assert schema.unstated == {"cost": ["state its bounds"]}
    model = Like(to_schema=lambda: Like(name=None, columns=columns))
    assert list(TableSchema.from_pandera(model).columns) == ["age", "smoker", "cost"]
    with pytest.raises(ValueError, match="DataFrameSchema"):
        TableSchema.from_pandera(3)


def test_groups():
    frame = pd.DataFrame({"person": ["a", "b"], "age": [1.0, 2.0]})
    schema = TableSchema({"person": "id", "age": (0, 1)})
    assert schema.groups(frame).tolist() == ["a", "b"]
    assert schema.groups(frame, column="age").tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="column must be given"):
        schema.drop("person").groups(frame)
    with pytest.raises(ValueError, match="no column"):
        schema.groups(frame[["age"]])


def test_ordinal_columns():
    levels = ["low", "mid", "top"]
    schema = TableSchema({"a": {"kind": "ordinal", "categories": levels}}, source="made up")
    assert TableSchema.from_json(schema.to_json()) == schema
    assert "low < mid < top" in str(schema)
    assert schema != TableSchema({"a": levels}, source="made up")
    with pytest.raises(ValueError, match="column 'a': an ordinal column needs at least two levels"):
        TableSchema({"a": {"kind": "ordinal", "categories": ["low"]}})
    open_ = TableSchema({"a": "ordinal"}, source="made up")
    assert open_.unstated == {"a": ["list the categories that may occur"]}
    for ordered, kind in ((True, "ordinal"), (False, "category")):
        frame = pd.DataFrame({"a": pd.Categorical(["x", "y"], ordered=ordered)})
        (drafted,) = TableSchema.draft(frame).columns.values()
        assert (drafted.kind, drafted.categories) == (kind, None)  # pandas may sort the data's
        field = {"name": "a", "type": "string", "categories": levels, "categoriesOrdered": ordered}
        (read,) = TableSchema.from_frictionless({"fields": [field]}).columns.values()
        assert (read.kind, read.categories) == (kind, tuple(levels))
