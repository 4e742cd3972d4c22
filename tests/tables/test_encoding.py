"""The encoding of a row depends on that row and the schema alone, and no value raises an error."""

import datetime as dt
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

from skdp import TableSchema
from skdp.data.column import Column
from skdp.data.columns import Columns

KINDS = {
    "number": (0.0, 10.0),
    "integer": {"kind": "integer", "bounds": (0, 10)},
    "boolean": "boolean",
    "category": ["a", "b", 3, True],
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
