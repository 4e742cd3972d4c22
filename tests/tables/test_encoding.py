"""The encoding of a row depends on that row and the schema alone, and no value raises an error.

`TableSchema.read` shows it in words.
"""

import datetime as dt
import math
import sys
from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as some
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from kinds_of_columns import BIG, VALUES, as_objects
from kinds_of_columns import KINDS as KINDS_OF_COLUMNS

from skdp import DPAdditiveClassifier, TableSchema
from skdp.data.column import Column
from skdp.data.columns import Columns
from skdp.data.encoding import UNKNOWN

KINDS = {
    "number": (0.0, 10.0),
    "integer": {"kind": "integer", "bounds": (0, 10)},
    "boolean": "boolean",
    "category": ["a", "b", 3, True],
    "ordinal": {"kind": "ordinal", "categories": ["a", "b", 3, True]},
    "date": {"bounds": ("2020-01-01", "2021-01-01"), "parts": ["weekday", "month"]},
    "text": {"kind": "text", "buckets": 4},
    "code": {"kind": "code", "buckets": 8},
}
ODD = [
    *(None, float("nan"), np.inf, -np.inf, pd.NA, pd.NaT, "", "nan", "inf", "1e999", "x", b"\xff"),
    *(2**70, -(2**63), Decimal("sNaN"), Decimal("1e400"), Fraction(1, 3), True, 1, 1.0, "1", "3"),
    *(dt.date(2020, 2, 3), dt.datetime(9999, 12, 31, tzinfo=dt.UTC), dt.time(3), "2020-02-30"),
    *(np.datetime64("NaT"), np.datetime64("2020-05-05"), np.timedelta64(3, "D"), (1, 2), "\ud800"),
    *(dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))), complex(1, 2), 20200203),
]


def encoded(values, column, *, only_numbers=False):
    """Return the encoded columns as lists."""
    frame = values if hasattr(type(values), "columns") else pd.DataFrame({"x": values})
    encoding = TableSchema({"x": column}).encoding(["x"], only_numbers=only_numbers)
    return [part.source.tolist() for part in encoding.table(frame).parts]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(rows=some.lists(some.sampled_from(range(len(ODD))), min_size=1, max_size=6))
def test_a_row_is_encoded_by_itself_whatever_it_holds(kind, rows):
    objects = pd.Series([ODD[i] for i in rows], dtype=object)
    together = encoded(objects, KINDS[kind])
    for i in range(len(rows)):
        alone = encoded(objects.iloc[i : i + 1], KINDS[kind])
        assert repr([part[i] for part in together]) == repr([part[0] for part in alone])


@pytest.mark.parametrize("kind", ["number", "integer", "code", "category"])
def test_the_type_of_a_column_does_not_matter(kind):
    """Another row may change a column of integers into one of floats or strings."""
    column = ["1", "2"] if kind == "category" else KINDS[kind]
    columns = [["1", "2", "x"], [1, 2, "x"], [1, 2, 3], [1.0, 2.0, None], [True - 0, 2, 7]]
    columns += [pd.array([1, 2, None], "Int64"), pd.Series(["1", "2", "3"], dtype="category")]
    columns += [pl.Series([1, 2, None]), pa.chunked_array([pa.array([1, 2, 3])]).to_pandas()]
    first, *others = (
        encoded(pl.DataFrame({"x": c}) if isinstance(c, pl.Series) else c, column) for c in columns
    )
    assert all(other[0][:2] == first[0][:2] for other in others)


@pytest.mark.parametrize("name", KINDS_OF_COLUMNS)
def test_a_null_in_one_row_changes_no_other_row(name):
    """For the containers of all libraries; a column of objects is the reference."""
    kind = KINDS_OF_COLUMNS[name]
    values = [*VALUES[kind.holds], *([None] if kind.nullable else [])]
    for column in ("code", (-1.0, 1.0), [str(BIG + 1), "a", "True"]):
        encoding = TableSchema({"x": column}).encoding(["x"])
        found, whole, expected = (
            encoding.table(Columns([Column.of(data)], ["x"], False)).parts[0].source.tolist()
            for data in (kind.make(values), kind.make(values[:-1]), as_objects(values))
        )
        assert repr(found) == repr(expected)
        assert repr(found[:-1]) == repr(whole)


@pytest.mark.parametrize("kind", ["category", "ordinal"])
def test_numbers_of_categories_may_come_in_single_precision(kind):
    """A single .1 is another number than .1."""
    schema = TableSchema({"a": {"kind": kind, "categories": [0.1, 0.2, 0.5]}, "z": (0, 1)})
    table = pd.DataFrame({"a": np.array([0.1, 0.2, 0.5, 0.3], np.float32), "z": 0.5})
    parts = schema.encoding(["a", "z"]).table(table).parts
    assert list(parts[0].values()) == [0.1, 0.2, 0.5, UNKNOWN]
    model = DPAdditiveClassifier(bounds=schema, classes=[0, 1], epsilon=5.0)
    model.fit(pd.concat([table] * 1000), [0, 1, 0, 1] * 1000)
    plain = model.to_sklearn().predict_proba(table)
    np.testing.assert_allclose(plain, model.predict_proba(table), rtol=1e-9)


def test_numbers_of_categories_match_strings():
    assert encoded(["1", "01", "1.0", "2", "x", None], [1, 2])[0][:4:2] == [1, 1]
    assert encoded([1, 1.0, True], ["1", "2"])[0][:2] == ["1", "1"]


def test_dates():
    column = {"bounds": (dt.date(2020, 1, 1), "2020-12-31"), "parts": ["weekday", "month"]}
    moment = pd.Timestamp("2020-02-03 12:00")  # a Monday
    rows = [moment, "2020-02-03T12:00", "2020-02-03 13:00+01:00", moment.to_pydatetime()]
    days, weekdays, months = encoded(pd.Series(rows, dtype=object), column)
    assert days == [33.5] * 4
    assert weekdays == ["Mon"] * 4
    assert months == ["Feb"] * 4
    days, weekdays, _ = encoded(pd.Series([moment, None]).astype("datetime64[ns]"), column)
    assert days[0] == 33.5
    assert np.isnan(days[1])
    assert weekdays == ["Mon", None]
    frame = pl.DataFrame({"x": [dt.date(2020, 2, 3), None]})
    assert encoded(frame, column)[0][0] == 33.0
    german = {"kind": "date", "bounds": ("2020-01-01", "2021-01-01"), "date_format": "%d.%m.%Y"}
    assert encoded(["03.02.2020", "2020-02-03"], german)[0][0] == 33.0


def test_values_that_are_missing_or_outside_the_bounds():
    for name in ("number", "integer"):
        column = {"kind": name, "bounds": (0, 10), "missing": False}
        assert encoded([None, 4.0], column) == [[5.0, 4.0]]
    assert encoded([-np.inf, "1e999", -3, 99], KINDS["number"]) == [[0.0, 10.0, 0.0, 10.0]]
    date = {"kind": "date", "bounds": ("2020-01-01", "2020-01-11"), "missing": False}
    assert encoded([None, "2020-01-03"], date) == [[5.0, 2.0]]
    text = {"kind": "text", "buckets": 2, "missing": False}
    assert encoded([None, "a"], text)[0][0] == encoded([None, "a"], text)[1][0] == 0.0
    unknown, a = encoded([None, "a"], {"kind": "category", "categories": ["a"], "missing": False})[
        0
    ]
    assert a == "a"
    assert unknown not in (None, "a")


def test_texts_have_a_public_norm():
    column = {"kind": "text", "buckets": 16, "norm": 0.5}
    rows = np.transpose(encoded(["Pain, fever; pain!", "pain", "...", None], column))
    assert np.linalg.norm(rows, axis=1)[:3] == pytest.approx([0.5, 0.5, 0.0])
    assert np.isnan(rows[3]).all()
    assert set(rows[1].nonzero()[0]) < set(rows[0].nonzero()[0])
    with pytest.raises(ValueError, match="norm must be"):
        encoded(["pain"], {"kind": "text", "norm": 101.0})


def test_texts_may_count_known_words_only():
    column = {"kind": "text", "categories": ["pain", "fever"]}
    assert encoded(["Fever, pain?", "fever", "other", ""], column) == [
        pytest.approx([0.5**0.5, 0.0, 0.0, 0.0]),
        pytest.approx([0.5**0.5, 1.0, 0.0, 0.0]),
    ]
    names = TableSchema({"note": column}).encoding(["note"]).encoded_names
    assert names == ["note_pain", "note_fever"]
    for words, message in (["Pain"], "lower case"), (["a b"], "single"), ([1], "single"):
        with pytest.raises(ValueError, match=message):
            TableSchema({"note": {"kind": "text", "categories": words}})
    with pytest.raises(ValueError, match="either buckets or categories"):
        TableSchema({"note": column | {"buckets": 4}})


def test_codes_are_spread_over_the_buckets():
    found = encoded([str(i) for i in range(4000)], {"kind": "code", "buckets": 8})[0]
    assert sorted(set(found)) == [f"bucket{k}" for k in range(8)]
    assert pd.Series(found).value_counts().min() > 400
    assert found[7] == encoded(["7"], {"kind": "code", "buckets": 8})[0][0]  # public, for ever


def test_booleans_are_numbers_if_need_be():
    rows = ["yes", False, 1, None, "maybe"]
    assert repr(encoded(rows, "boolean", only_numbers=True)) == "[[1.0, 0.0, 1.0, nan, nan]]"


def test_the_columns_are_matched_by_name():
    schema = TableSchema({"a": (0, 1), "b": ["x"], "i": "id", "drop": "ignored"})
    frame = pd.DataFrame({"b": ["x"], "i": [7], "a": [0.5]})
    table = schema.encoding(list(frame.columns)).table(frame)
    assert table.names == ["b", "a"]
    with pytest.raises(ValueError, match=r"do not have the columns \['b'\]"):
        schema.encoding(["a"])
    with pytest.raises(ValueError, match=r"does not have the columns \['z'\]"):
        schema.encoding(["a", "b", "z"])
    with pytest.raises(ValueError, match=r"columns \['b'\] are not numeric"):
        schema.encoding(["a", "b"], only_numbers=True)
    with pytest.raises(ValueError, match="no column"):
        schema.select(["i"]).encoding(["i"])
    twins = TableSchema({"d": {"bounds": ("2020-01-01", "2021-01-01"), "parts": ["month"]}})
    twins = TableSchema({**twins.columns, "d_month": (0, 1)})
    with pytest.raises(ValueError, match="'d_month'"):
        twins.encoding(["d", "d_month"])


MISSING, NO_CATEGORY = "(missing)", "(no category)"


def as_schema(kind, *, missing=True):
    column = TableSchema({"x": KINDS[kind]}).columns["x"]
    return TableSchema({"x": {**column.to_dict(), "missing": missing}})


def as_encoded(words, kind):
    """Return the encoded cells that some words stand for, independently of the encoding."""
    words, note = words.removesuffix(" (clipped)"), words.endswith(MISSING)
    if kind in ("number", "integer"):
        return [math.nan if words == MISSING else float(words.removesuffix(f" {MISSING}"))]
    if kind == "boolean":
        return [{MISSING: math.nan, NO_CATEGORY: 0.5, "True": 1.0, "False": 0.0}[words]]
    if kind in ("category", "ordinal", "code"):
        known = {str(one): one for one in [*KINDS["category"], *(f"bucket{k}" for k in range(8))]}
        return [{MISSING: None, NO_CATEGORY: UNKNOWN, **known}[words]]
    if kind == "text":
        found = [float(f"bucket{k}" in words.split(", ")) for k in range(4)]
        norm = math.sqrt(sum(found)) or 1.0
        return [math.nan if note else one / norm for one in found]
    if words == MISSING:
        return [math.nan, None, None]
    day, *parts = words.replace(" (clipped)", "").replace(f" {MISSING}", "").split(", ")
    days = (dt.datetime.fromisoformat(day) - dt.datetime(2020, 1, 1)) / dt.timedelta(days=1)
    return [days, *(parts or [UNKNOWN] * 2)]


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, abs=1e-7, nan_ok=True)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_words_say_what_the_encoding_is(kind, missing):
    schema = as_schema(kind, missing=missing)
    for value in ODD:
        row = pd.DataFrame({"x": pd.Series([value], dtype=object)})
        cells = [part.source[0] for part in schema.encoding(["x"]).table(row).parts]
        words = schema.read(row).loc[0, "x"]
        told = as_encoded(words, kind)
        assert len(told) == len(cells)
        assert all(map(same, told, cells)), (value, words, cells)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_is_read_by_itself(kind):
    schema = as_schema(kind)
    together = schema.read(pd.DataFrame({"x": pd.Series(ODD, dtype=object)}))["x"]
    alone = [schema.read([{"x": value}]).loc[0, "x"] for value in ODD]
    assert together.tolist() == alone


@pytest.mark.parametrize("missing", [True, False])
def test_levels_are_numbers_in_feature_maps_and_categories_elsewhere(missing):
    schema, known = as_schema("ordinal", missing=missing), KINDS["category"]
    rows = pd.DataFrame({"x": pd.Series(ODD, dtype=object)})
    by_name, by_level = (schema.encoding(["x"], by_level=one) for one in (False, True))
    assert (by_name.categories, by_name.bounds) == ({"x": known}, {})
    assert (by_level.categories, by_level.bounds) == ({}, {"x": (0.0, 3.0)})
    places = {id(value): float(k) for k, value in enumerate(by_name.categories["x"])}
    named = by_name.table(rows).parts[0].source
    (numbers,) = by_level.table(rows).parts
    none = math.nan if missing else 1.5
    told = [places.get(id(one), none) for one in named]
    np.testing.assert_array_equal(numbers.source, told)


YEAR = ("2020-01-01", "2020-12-31")


@pytest.mark.parametrize(
    ("column", "given", "words"),
    [
        ((0, 50_000), "12,345.00", "(missing)"),
        ((0, 50_000), " 12345.50", "12345.5"),
        ((0, 50_000), -7, "0 (clipped)"),
        ((0, 50_000), math.inf, "50000 (clipped)"),
        ((0, 50_000), 50_000, "50000"),
        ({"kind": "integer", "bounds": (0, 10)}, 10.4, "10"),
        ({"kind": "integer", "bounds": (0, 10)}, 10.6, "10 (clipped)"),
        ({"bounds": (0, 10), "missing": False}, "n/a", "5 (missing)"),
        (["low", "high"], "mild", "(no category)"),
        (["low", "high"], None, "(missing)"),
        ([0, 1], "1.0", "1"),
        ("boolean", "yes", "True"),
        ({"kind": "boolean", "missing": False}, "?", "(no category)"),
        (YEAR, "2020-02-30", "(missing)"),
        (YEAR, "2020-02-03T04:05", "2020-02-03T04:05:00"),
        (YEAR, "2021-07-01", "2020-12-31 (clipped)"),
        ({"bounds": YEAR, "date_format": "%d.%m.%Y"}, "3.2.2020", "2020-02-03"),
        ({"bounds": YEAR, "parts": ["month"]}, "2021-07-01", "2020-12-31 (clipped), Jul"),
        ({"kind": "text", "categories": ["pain", "cough"]}, "Cough & PAIN, fine", "pain, cough"),
        ({"kind": "text", "categories": ["pain", "cough"]}, "fine", "(no words)"),
        ("text", None, "(missing)"),
        ("id", "C0001", "(no feature)"),
        ("ignored", None, "(no feature)"),
    ],
)  # fmt: skip
def test_cells(column, given, words):
    schema = TableSchema({"x": column, "other": (0, 1)})
    assert schema.read([{"x": given, "other": 1}]).loc[0, "x"] == words


def test_rows_may_come_in_any_table():
    schema = TableSchema({"age": (0, 100), "plan": ["basic", "plus"]})
    rows = [{"age": 120, "plan": "basic"}, {"plan": "none"}]
    expected = [["100 (clipped)", "basic"], ["(missing)", "(no category)"]]
    frame = pd.DataFrame(rows)
    assert schema.read(rows).to_numpy().tolist() == expected
    assert schema.read(frame).to_numpy().tolist() == expected
    assert schema.read(frame[["plan"]]).columns.tolist() == ["plan"]
    found = schema.read(pl.from_pandas(frame))
    assert isinstance(found, pl.DataFrame)
    assert list(map(list, found.rows())) == expected
    unnamed = TableSchema({0: (0, 100), 1: ["basic", "plus"]})
    array = np.array([[120, "basic"], [None, "none"]], dtype=object)
    assert unnamed.read(array).to_numpy().tolist() == expected
    assert schema.read(frame.iloc[:0]).shape == (0, 2)


def test_dicts_come_back_without_pandas(monkeypatch):
    schema = TableSchema({"age": (0, 100)})
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert schema.read([{"age": "x"}, {"age": 7}]) == [{"age": "(missing)"}, {"age": "7"}]


def test_errors_are_those_of_a_fit():
    schema = TableSchema({"age": (0, 100)})
    with pytest.raises(ValueError, match="does not have the columns"):
        schema.read([{"age": 7, "plan": "basic"}])
    with pytest.raises(ValueError, match="not complete"):
        TableSchema({"age": "number"}).read([{"age": 7}])
    with pytest.raises(ValueError, match=r"call \.compute"):
        schema.read(pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame({"age": [7]})))
