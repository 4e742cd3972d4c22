"""Readers of metadata agree with the tools whose formats they read, cell by cell.

The tools are not installed with the test extras: `.ci/readers` runs these tests with them.
"""

import copy
import csv
import datetime as dt
import itertools
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skdp import TableSchema
from skdp.data.encoding import UNKNOWN
from skdp.tables import ColumnSchema

LIBRARIES = {
    "pandas": lambda cells: pd.DataFrame({"a": cells}, dtype=str),
    "polars": lambda cells: pl.DataFrame({"a": cells}, schema={"a": pl.String}),
    "arrow": lambda cells: pa.table({"a": pa.array(cells, pa.string())}),
    "numpy": lambda cells: np.array(cells, dtype=object)[:, None],
}


def read_by(schema, cells, library="pandas"):
    """Return the values that a complete schema reads in the strings of a column."""
    table, one = LIBRARIES[library](cells), schema.columns["a"]
    schema = TableSchema({0: one}) if library == "numpy" else schema
    (part,) = schema.encoding([0 if library == "numpy" else "a"]).table(table).parts
    found = part.source.tolist()
    if one.is_date:
        days = (None if np.isnan(day) else dt.timedelta(day) for day in found)
        return [None if day is None else one.bounds[0] + day for day in days]
    if one.kind == "boolean":
        return [None if value is None else bool(value) for value in map(of_missing, found)]
    return [of_missing(value) for value in found]


def of_missing(value):
    return None if isinstance(value, float) and np.isnan(value) else value


def same(ours, theirs):
    """Return whether a value is what the tool returned."""
    if ours is UNKNOWN or ours is None or theirs is None:
        return ours is None and theirs is None
    if isinstance(theirs, dt.date):
        moment = theirs if isinstance(theirs, dt.datetime) else dt.datetime(*theirs.timetuple()[:3])
        if moment.tzinfo is not None:
            moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
        return abs(ours - moment) < dt.timedelta(milliseconds=1)
    if isinstance(theirs, (bool, str)):
        return str(ours) == str(theirs)
    return float(ours) == pytest.approx(float(theirs), rel=1e-12)


def check_against(schema, cells, theirs):
    """Compare with a tool, in all libraries, unless the column is left open; return whether so."""
    if schema.columns["a"].unstated:
        return False
    for library in LIBRARIES:
        ours = read_by(schema, cells, library)
        assert len(ours) == len(theirs)
        assert all(map(same, ours, theirs)), (library, cells, ours, theirs)
    return True


def read_by_csvw(folder, metadata, cells):
    csvw = pytest.importorskip("csvw")
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a"], *([cell] for cell in cells)])
    metadata = {"@context": "http://www.w3.org/ns/csvw", "url": "t.csv", **metadata}
    (folder / "t.csv-metadata.json").write_text(json.dumps(metadata))
    table = csvw.Table.from_file(folder / "t.csv-metadata.json")
    return [row["a"] for row in table.iterdicts(strict=True)]


def bounded(base, low, high, **more):
    return {"base": base, "minimum": low, "maximum": high, **more}


GERMAN = {"decimalChar": ",", "groupChar": "."}
DATATYPES = {
    "number": (bounded("number", 0, 100), ["5", "1.5", "1e1", " 7"]),
    "double as text": (bounded("double", "0", "100"), ["5", "99.9"]),
    "integer": (bounded("integer", 0, 100), ["5", "007"]),
    "exclusive": ({"base": "integer", "minExclusive": 0, "maxExclusive": 10}, ["1", "9"]),
    "unsignedByte": ("unsignedByte", ["0", "255"]),
    "byte": ("byte", ["-128", "127"]),
    "short": ("short", ["-32768", "32767"]),
    "positiveInteger": ({"base": "positiveInteger", "maximum": 9}, ["1", "9"]),
    "german": (bounded("decimal", "0,5", "2.000,5", format=GERMAN), ["1,5", "1.000,5"]),
    "pattern": (bounded("decimal", "0.00", "2,000.00", format="#,##0.00"), ["1,000.50", "2.25"]),
    "grouped": (bounded("integer", "0", "2,000", format={"groupChar": ","}), ["1,000", "5"]),
    "percent": (bounded("decimal", "0", "1", format="#0%"), ["50%"]),
    "boolean": ("boolean", ["true", "0", "1", "false"]),
    "ja|nein": ({"base": "boolean", "format": "ja|nein"}, ["ja", "nein"]),
    "2|1": ({"base": "boolean", "format": "2|1"}, ["2", "1"]),
    "N|Y": ({"base": "boolean", "format": "N|Y"}, ["N", "Y"]),
    "date": (bounded("date", "2020-01-01", "2024-12-31"), ["2021-03-02"]),
    "d.M.yyyy": (bounded("date", "1.1.2020", "31.12.2024", format="d.M.yyyy"), ["2.3.2021"]),
    "M/d/yyyy": (bounded("date", "1/1/2020", "12/31/2024", format="M/d/yyyy"), ["3/2/2021"]),
    "yyyyMMdd": (bounded("date", "20200101", "20241231", format="yyyyMMdd"), ["20210302"]),
    "fractions": (
        bounded(
            "dateTime",
            "2020-01-01T00:00:00",
            "2024-12-31T00:00:00",
            format="yyyy-MM-ddTHH:mm:ss.SSS",
        ),
        ["2021-03-02T01:02:03.500", "2021-03-02T01:02:03"],
    ),
    "zones": (
        bounded("dateTimeStamp", "2020-01-01T00:00:00Z", "2024-12-31T00:00:00Z"),
        ["2021-03-02T01:02:03Z", "2021-03-02T01:02:03+02:00"],
    ),
    "minutes": (
        bounded(
            "dateTime", "01.01.2020 00:00", "31.12.2024 00:00", format="dd.MM.yyyy HH:mm"
        ),
        ["02.03.2021 01:02"],
    ),
    "m|f": ({"base": "string", "format": "m|f"}, ["m", "f"]),
    "gYear": ("gYear", ["2001"]),
    "time": ("time", ["10:11:12"]),
}  # fmt: skip
OPEN = {"percent", "gYear", "time"}  # whose cells no kind of column can read
NULLS = [None, "-99", ["NA", "-99"], ["", "-99", "n/a"]]
PLACES = ("column", "schema", "table")


@pytest.mark.parametrize("name", DATATYPES)
@pytest.mark.parametrize("place", PLACES)
def test_csvw(name, place, tmp_path):
    """Types, codes, defaults and required cells, stated at any level.

    csvw 4.1.1 drops a default above the columns, which the recommendation lets them inherit.
    """
    datatype, cells = DATATYPES[name]
    defaults = [None, cells[0]] if place == "column" else [None]
    for null, default, required in itertools.product(NULLS, defaults, [False, True]):
        stated = {"datatype": datatype, "null": null, "default": default, "required": required}
        stated = {key: value for key, value in stated.items() if value not in (None, False)}
        own = {"name": "a", **(stated if place == "column" else {})}
        columns = {"columns": [own], **(stated if place == "schema" else {})}
        metadata = {"tableSchema": columns, **(stated if place == "table" else {})}
        codes = [""] if null is None else [null] if isinstance(null, str) else null
        missing = [] if required else codes
        missing = [one for one in missing if one or default is None]
        tried = [*cells, *missing, *([""] if default else [])]
        theirs = read_by_csvw(tmp_path, metadata, tried)
        is_read = check_against(TableSchema.from_csvw(metadata), tried, theirs)
        both = default is not None and {*codes} > {""}
        assert is_read == (name not in OPEN and not (default is not None and {*codes} - {""}))
        assert not (both and is_read)


@pytest.mark.parametrize("header", ["a", "Age", "Alter", "age"])
def test_a_column_has_any_of_its_titles(header):
    column = {"name": "a", "titles": {"en": ["Age", "age"], "de": "Alter"}, "datatype": "byte"}
    person = {"name": "p", "titles": "Person"}
    metadata = {"tableSchema": {"columns": [person, column], "primaryKey": "Person"}}
    schema = TableSchema.from_csvw(metadata)
    encoding = schema.encoding(["p", header])
    assert encoding.encoded_names == [header]
    assert encoding.fingerprint == schema.fingerprint
    assert schema.unit == "record"
    frame = pd.DataFrame({"p": [1], header: ["5"]})
    assert schema.groups(frame).tolist() == [1]
    with pytest.raises(ValueError, match="does not have the columns"):
        schema.encoding(["p", "years"])


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"separator": ";"}, "separator"),
        ({"datatype": {"base": "integer", "format": {"sign": "-"}}}, "sign"),
        ({"datatype": {"base": "integer", "multipleOf": 5}}, "multipleOf"),
        ({"datatype": bounded("date", "1", "2", format="d MMM yyyy")}, "'d MMM yyyy'"),
        ({"datatype": bounded("date", "1", "2")}, "bound"),
        ({"datatype": bounded("number", 1, 1)}, "low below high"),
        ({"datatype": bounded("number", "0,5", 1)}, "0,5"),
        ({"datatype": bounded("number", 0, "INF")}, "within"),
        ({"datatype": {"base": "number", "minimum": 3}}, "within"),
        ({"datatype": bounded("number", 0, 9), "default": "12"}, "fill"),
        ({"datatype": bounded("number", 0, 9), "null": 3}, "null must be"),
        ({"datatype": {"base": "string", "format": "[a-z]+"}}, "format"),
        ({"datatype": {"base": "string", "maxLength": 3}}, "maxLength"),
        ({"datatype": {"base": "boolean", "format": "yes"}}, "format"),
        ({"datatype": 3}, "datatype"),
        ({"datatype": "duration"}, "duration"),
        ({"strange": 3}, "strange"),
    ],
)
def test_what_is_not_understood_leaves_only_its_column_open(column, words):
    other = {"name": "b", "datatype": "byte"}
    metadata = {"tableSchema": {"columns": [{"name": "a", **column}, other]}}
    schema = TableSchema.from_csvw(metadata)
    assert list(schema.unstated) == ["a"]
    assert words in " ".join(schema.unstated["a"])
    with pytest.raises(ValueError, match=r"not complete \('a': "):
        schema.encoding(["a", "b"])
    stated = schema.confirm({"a": (0, 1)})
    assert not stated.unstated
    assert TableSchema.from_json(schema.to_json()) == schema


def test_annotations_are_no_constraints():
    notes = {"dc:title": "x", "schema:minimum": 5, "@id": "y", "notes": [], "lang": "de"}
    columns = [{"name": "a", "datatype": {"base": "byte", "dc:format": "z"}, **notes}]
    schema = TableSchema.from_csvw({"tableSchema": {"columns": columns, **notes}, **notes})
    assert not schema.unstated


@pytest.mark.parametrize("reader", ["from_csvw", "from_smartnoise"])
def test_a_path_is_no_metadata(reader):
    with pytest.raises(ValueError, match=r"metadata must be a dict, as .* reads the file, got a s"):
        getattr(TableSchema, reader)("metadata.json")


def test_a_key_of_another_table_may_be_a_person():
    columns = [{"name": "a", "datatype": "byte"}, {"name": "b", "datatype": "byte"}]
    reference = {"resource": "persons.csv", "columnReference": "id"}
    keys = [{"columnReference": "a", "reference": reference}]
    schema = TableSchema.from_csvw({"tableSchema": {"columns": columns, "foreignKeys": keys}})
    assert list(schema.unstated) == ["a"]
    assert schema.confirm({"a": "id"}).unit == "person"


@pytest.mark.parametrize("reader", ["from_csvw", "from_frictionless"])
def test_a_column_that_is_described_twice_or_without_a_name_is_an_error(reader):
    for twice in ([{"name": "a"}, {"name": "a"}], [{"name": "b"}, {"name": None}]):
        metadata = {"fields": twice, "tableSchema": {"columns": twice}}
        if reader == "from_csvw" and twice[1]["name"] is None:
            assert TableSchema.from_csvw(metadata).columns["_col.2"].aliases == (1,)
            continue
        with pytest.raises(ValueError, match=r"^column '?(a|None)'?: the metadata"):
            getattr(TableSchema, reader)(metadata)


def test_csvw_eo(tmp_path, rng):
    """Metadata that the generator of CSVW-EO wrote about a table with persons."""
    make = pytest.importorskip("csvw_eo.make_metadata_from_data")
    n = 60
    frame = pd.DataFrame({
        "person": np.repeat(np.arange(1, n // 2 + 1), 2),
        "plan": rng.choice(["basic", "plus", "max"], n),
        "age": rng.integers(18, 90, n),
        "cost": rng.uniform(0.0, 1e4, n),
        "ill": rng.random(n) < 0.5,
        "visit": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%dT%H:%M:%S"),
    })  # fmt: skip
    made = make.make_metadata_from_data(
        frame,
        privacy_unit="person",
        with_dependencies=False,  # 0.2.1 cannot compare dates and numbers
        default_contributions_level="table_with_keys",
    )
    metadata = json.loads(json.dumps(made, default=str))
    schema = TableSchema.from_csvw(metadata)
    assert (schema.unit, schema.ids) == ("person", ["person"])
    assert schema.max_rows == metadata["maxContributions"]
    stated = {one["name"]: one for one in metadata["tableSchema"]["columns"]}
    for name in ("age", "cost", "visit"):
        column = schema.columns[name]
        assert "give a source" in column.unstated
        low, high = stated[name]["minimum"], stated[name]["maximum"]
        if column.is_date:
            assert [end.isoformat() for end in column.bounds] == [low, high]
        else:
            assert column.bounds == (low, high)
    assert {*schema.columns["plan"].categories} == {*stated["plan"]["keyValues"]}
    assert "give a source" in schema.columns["plan"].unstated
    known = {name: {"source": "handbook"} for name in schema.unstated}
    assert not schema.confirm(known).unstated


def read_by_frictionless(schema, cells):
    frictionless = pytest.importorskip("frictionless")
    field = frictionless.Schema.from_descriptor(schema).get_field("a")
    found = [field.read_cell(cell) for cell in cells]
    assert not any(notes for _, notes in found)
    return [value for value, _ in found]


def limited(low, high, **more):
    return {"constraints": {"minimum": low, "maximum": high}, **more}


FIELDS = {
    "number": ({"type": "number", **limited(0, 100)}, ["5", "1.5"]),
    "integer": ({"type": "integer", **limited("0", "100")}, ["5", "07"]),
    "german": (
        {"type": "number", "decimalChar": ",", "groupChar": ".", **limited("0,5", "2.000")},
        ["1,5", "1.000,5"],
    ),
    "bare": (
        {"type": "number", "bareNumber": False, **limited(-9, 99)},
        ["$95", "95%", "-5 €", "€-5", "5+", "<1", "1.5 kg"],
    ),
    "bare integer": ({"type": "integer", "bareNumber": False, **limited(0, 99)}, ["5+", "<1"]),
    "year": ({"type": "year", **limited(1990, 2030)}, ["2020"]),
    "boolean": ({"type": "boolean"}, ["true", "1", "FALSE", "0"]),
    "ja": ({"type": "boolean", "trueValues": ["ja", "2"], "falseValues": ["1"]}, ["ja", "2", "1"]),
    "date": ({"type": "date", **limited("2020-01-01", "2024-12-31")}, ["2021-03-02"]),
    "own date": (
        {"type": "date", "format": "%d/%m/%Y", **limited("01/01/2020", "31/12/2024")},
        ["02/03/2021"],
    ),
    "datetime": (
        {"type": "datetime", **limited("2020-01-01T00:00:00Z", "2024-12-31T00:00:00Z")},
        ["2021-03-02T01:02:03Z"],
    ),
    "any date": ({"type": "date", "format": "any"}, ["02/03/2021"]),
    "enum": ({"type": "string", "constraints": {"enum": ["b", "a"]}}, ["a", "b"]),
    "enum of integers": ({"type": "integer", "constraints": {"enum": ["2", 1]}}, ["1", "02"]),
    "pattern": ({"type": "string", "constraints": {"pattern": "a|b c"}}, ["a", "b c"]),
    "time": ({"type": "time"}, ["10:11:12"]),
    "array": ({"type": "array"}, ["[1, 2]"]),
}
NOT_READ = {"any date", "time", "array"}


@pytest.mark.parametrize("name", FIELDS)
def test_frictionless(name):
    field, cells = FIELDS[name]
    for codes, place, required in itertools.product(
        [None, ["-99"], ["", "-99", "NA"]], ["field", "schema"], [False, True]
    ):
        constraints = {**field.get("constraints", {}), "required": required}
        own = {"name": "a", **field, "constraints": constraints}
        schema = {"fields": [own]}
        if codes is not None:
            (own if place == "field" else schema)["missingValues"] = codes
        tried = cells if required else [*cells, *([""] if codes is None else codes)]
        theirs = read_by_frictionless(schema, tried)
        found = TableSchema.from_frictionless(schema)
        assert check_against(found, tried, theirs) == (name not in NOT_READ)
        assert found.columns["a"].missing == (not required)


ODD = [
    *(None, [], {}, -1, "x", "", float("nan"), float("inf"), True, 10**400, [None], {"a": 1}),
    *([[1]], ["x", "x"], 1.5, "9" * 400, {"value": "x"}, [{"value": 1}], "%", "(", "é"),
]
WHOLE_CSVW = {
    "null": "-9",
    "privacyUnit": "p",
    "maxContributions": 3,
    "tableSchema": {
        "primaryKey": "p",
        "foreignKeys": [{"columnReference": "f", "reference": {"columnReference": "x"}}],
        "columns": [
            {"name": "p", "titles": ["P"], "privacyId": True},
            {"name": "f", "datatype": "integer", "minimum": 0, "maximum": 9},
            {"name": "a", "null": ["-99"], "default": "1", "datatype": DATATYPES["german"][0]},
            {"name": "d", "titles": {"en": "D"}, "datatype": DATATYPES["d.M.yyyy"][0]},
            {"name": "s", "keyValues": ["x"], "separator": None, "datatype": DATATYPES["m|f"][0]},
        ],
    },
}
WHOLE_SMARTNOISE = {
    "S": {"T": {"max_ids": 3, "p": {"type": "int", "private_id": True, "nullable": True}}},
    "B": {"U": {"a": {"type": "float", "lower": 0, "upper": 9, "missing_value": 3}}},
}


def places(told, path=()):
    yield from [path] if path else []
    listed = enumerate(told) if isinstance(told, list) else ()
    for key, value in told.items() if isinstance(told, dict) else listed:
        yield from places(value, (*path, key))


@pytest.mark.parametrize("name", ["csvw", "smartnoise", "frictionless"])
def test_odd_metadata_give_a_schema_or_an_error(name):
    """Any value at any place: no error but ValueError, and the schema can be written."""
    tried = ("integer", "german", "ja", "own date", "enum")
    fields = [{"name": f"c{i}", **FIELDS[kind][0]} for i, kind in enumerate(tried)]
    keys = [{"fields": ["c1"], "reference": {"resource": "r", "fields": ["b"]}}]
    told = {
        "csvw": WHOLE_CSVW,
        "smartnoise": {"db": WHOLE_SMARTNOISE},
        "frictionless": {
            "primaryKey": ["c0"], "missingValues": ["", "-9"], "foreignKeys": keys, "fields": fields
        },
    }[name]  # fmt: skip
    more = {"table": "T"} if name == "smartnoise" else {}
    read = getattr(TableSchema, f"from_{name}")
    for path in places(told):
        for value in ODD:
            changed = copy.deepcopy(told)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            try:
                schema = read(changed, **more)
            except ValueError:
                continue
            assert TableSchema.from_json(schema.to_json()) == schema
            assert str(schema)


def test_a_package_of_frictionless():
    frictionless = pytest.importorskip("frictionless")
    fields = [
        {"name": "visit", "type": "integer"},
        {"name": "person", "type": "integer", "constraints": {"unique": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "place", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
    ]
    keys = {"fields": ["place"], "reference": {"resource": "places", "fields": ["id"]}}
    told = {"fields": fields, "primaryKey": ["visit"], "foreignKeys": [keys]}
    package = frictionless.Package.from_descriptor({
        "name": "clinic", "resources": [{"name": "visits", "path": "v.csv", "schema": told}]
    })  # fmt: skip
    schema = TableSchema.from_frictionless(package)
    assert schema == TableSchema.from_frictionless(package.to_descriptor())
    assert (schema.unit, schema.ids) == ("record", ["visit"])
    assert list(schema.unstated) == ["person", "place"]
    assert schema.columns["age"].source == "Table Schema of visits"
    several = {"fields": fields, "primaryKey": ["visit", "person"]}
    assert TableSchema.from_frictionless(several).unit is None
    for wrong in (3, {}, {"schema": "schema.json"}, {"fields": []}):
        with pytest.raises(ValueError, match="Table Schema"):
            TableSchema.from_frictionless(wrong)


def test_pandera():
    """Every type and check of pandera, against what its validation accepts."""
    pa_ = pytest.importorskip("pandera.pandas")
    C, Check = pa_.Column, pa_.Check
    columns = {
        "open": C(int, [Check.gt(0), Check.lt(10), Check.in_range(2, 90)]),
        "listed": C(str, [Check.isin(["lo", "hi", "mid"]), Check.isin(["hi", "lo"])]),
        "numbers": C(int, [Check.isin([10, 2, 1]), Check.ge(2)]),
        "none": C(object, Check.isin(["a", None]), nullable=True),
        "type": C(pd.CategoricalDtype(["lo", "hi"])),
        "type and check": C(pa_.Category(["lo", "hi", "mid"]), Check.isin(["mid", "lo"])),
        "ordered": C(pa_.Category(["lo", "mid", "hi"], ordered=True), Check.isin(["hi", "lo"])),
        "decimal": C(pa_.Decimal(10, 2), Check.in_range(Decimal(0), Decimal(1))),
        "arrow": C(pd.ArrowDtype(pa.float64()), Check.in_range(0, 1)),
        "arrow date": C(pd.ArrowDtype(pa.date32()), Check.ge(dt.date(2020, 1, 1))),
        "table": C(checks=Check.in_range(0, 1)),
        "filled": C(float, Check.in_range(0, 1), default=0.5),
        "when": C("datetime64[ns]", Check.in_range("2020-01-01", "2021-01-01")),
        "unique": C(int, Check.in_range(0, 9), unique=True),
        "x_.*": C(float, Check.in_range(0, 1), regex=True),
        "length": C(str, Check.str_length(1, 5)),
        "warns": C(int, Check.in_range(0, 9, raise_warning=True)),
        "own": C(int, [Check.in_range(0, 9), Check(lambda x: x > 0)]),
        "parsed": C(int, Check.in_range(0, 9), parsers=pa_.Parser(lambda x: x)),
        "interval": C("interval[int64]"),
    }
    schema = TableSchema.from_pandera(pa_.DataFrameSchema(columns, dtype=float))
    found = schema.columns
    assert found["open"].bounds == (2.0, 9.0)
    assert found["listed"].categories == ("lo", "hi")
    assert found["numbers"].categories == (10, 2)
    assert found["none"].categories == ("a",)
    assert found["type"].categories == ("lo", "hi")
    assert found["type and check"].categories == ("lo", "mid")
    assert (found["ordered"].kind, found["ordered"].categories) == ("ordinal", ("lo", "hi"))
    assert [found[k].kind for k in ("decimal", "arrow", "table")] == ["number"] * 3
    assert [found[k].bounds for k in ("decimal", "arrow", "table")] == [(0.0, 1.0)] * 3
    assert (found["filled"].fill, found["filled"].missing) == (0.5, False)
    assert found["when"].details == "2020-01-01 to 2021-01-01"
    assert found["interval"].kind is None
    open_ = {"arrow date", "unique", "x_.*", "length", "warns", "own", "parsed", "interval"}
    assert schema.unstated.keys() == open_
    assert "identifies persons" in " ".join(schema.unstated["unique"])
    assert "a column for each name" in " ".join(schema.unstated["x_.*"])
    frame_checks = pa_.DataFrameSchema({"a": C(bool)}, checks=Check(lambda f: f["a"]))
    assert list(TableSchema.from_pandera(frame_checks).unstated) == ["a"]


def test_pandera_of_polars():
    pp = pytest.importorskip("pandera.polars")
    columns = {
        "a": pp.Column(pl.Int64, pp.Check.in_range(0, 3)),
        "e": pp.Column(pl.Enum(["x", "y"])),
        "c": pp.Column(pl.Categorical),
        "d": pp.Column(pl.Date, pp.Check.in_range(dt.date(2020, 1, 1), dt.date(2021, 1, 1))),
        "n": pp.Column(pl.Decimal(10, 2), pp.Check.in_range(0, 1), nullable=True),
        "l": pp.Column(pl.List(pl.Int64)),
    }
    schema = TableSchema.from_pandera(pp.DataFrameSchema(columns))
    kinds = [one.kind for one in schema.columns.values()]
    assert kinds == ["integer", "category", "category", "date", "number", None]
    assert schema.columns["e"].categories == ("x", "y")
    assert list(schema.unstated) == ["c", "l"]


def test_smartnoise(tmp_path):
    """Metadata that SmartNoise SQL wrote, and what it reads in them."""
    tool = pytest.importorskip("snsql.metadata")
    yaml = pytest.importorskip("yaml")
    columns = [
        tool.Int("p", is_key=True),
        tool.Int("age", lower=0, upper=120),
        tool.Float("cost", lower=0.0, upper=10.0, missing_value=5.0),
        tool.Float("x", lower=0.0, upper=10.0, nullable=False),
        tool.Float("y", sensitivity=10.0),
        tool.Boolean("ill"),
        tool.String("sex", card=2),
        tool.DateTime("day"),
    ]
    table = tool.Table("S", "My.T", columns, rowcount=100, max_ids=5, clamp_columns=False)
    tool.Metadata([table], "pandas").to_file(tmp_path / "m.yaml", "db")
    told = yaml.safe_load((tmp_path / "m.yaml").read_text())
    for name in (None, "My.T", "S.My.T", "db.S.My.T", "s.my.t"):
        schema = TableSchema.from_smartnoise(told, table=name)
        assert (schema.unit, schema.ids, schema.max_rows) == ("person", ["p"], 5)
    theirs = tool.Metadata.from_dict(told).tables()[0]
    for column in theirs.columns():
        ours = schema.columns[column.name]
        assert ours.missing == (column.nullable and column.missing_value is None)
        if column.typename() in ("int", "float") and not column.is_key:
            assert ours.bounds == (None if column.unbounded else (column.lower, column.upper))
            assert ours.fill == column.missing_value
    assert sorted(schema.unstated) == ["day", "sex", "y"]
    assert "sensitivity" in " ".join(schema.unstated["y"])
    filled = TableSchema({"cost": schema.columns["cost"]})
    assert filled.read([{"cost": None}]).loc[0, "cost"] == "5 (missing)"


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_labels_and_missing_codes(ending, tmp_path):
    """The label "1" of one code is another code: both tables are read, each as its cells say."""
    pyreadstat = pytest.importorskip("pyreadstat")
    labels = {1: "0", 2: "1", 9: "refused"}
    frame = pd.DataFrame({"a": [1.0, 2.0, 2.0, 9.0], "b": [1.5, 2.0, 98.0, 3.0]})
    frame["d"], frame["s"] = dt.date(2020, 1, 1), "x"
    path, more = tmp_path / f"t{ending}", {"variable_value_labels": {"a": labels}}
    if is_sav := ending == ".sav":
        more |= {"missing_ranges": {"a": [9], "b": [{"lo": 97, "hi": 99}]}}
    (pyreadstat.write_sav if is_sav else pyreadstat.write_dta)(frame, path, **more)
    read = pyreadstat.read_sav if is_sav else pyreadstat.read_dta
    a, b = "a", "b"
    for cells in ("codes", "labels"):
        table, _ = read(path, apply_value_formats=cells == "labels", user_missing=is_sav)
        schema = TableSchema.from_labels(path, cells=cells)
        assert a in schema.unstated
        column = schema.confirm({a: {"source": "codebook"}}).columns[a]
        known = {"codes": [1, 2, 9], "labels": ["0", "1", "refused"]}[cells]
        assert column.categories == tuple(known[: 2 if is_sav else 3])
        encoded = TableSchema({a: column}).encoding([a]).table(table[[a]]).parts[0].source.tolist()
        last = None if is_sav else known[2]
        assert encoded == [known[0], known[1], known[1], last]
        assert [schema.columns[name].kind for name in "bds"] == ["number", "date", None]
    others = " ".join(schema.unstated[b])
    assert "state its bounds" in others
    assert ("97 to 99" in others) == is_sav


def test_labels_of_stata_by_pandas_alone(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": pd.Categorical(["0", "1", "1"]), "b": [1.0, 2.0, 3.0]})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    for cells, values in (("labels", ("0", "1")), ("codes", (0, 1))):
        schema = TableSchema.from_labels(tmp_path / "t.dta", cells=cells)
        assert schema.columns["a"].categories == values
        assert schema.columns["b"].kind == "number"
        table = pd.read_stata(tmp_path / "t.dta", convert_categoricals=cells == "labels")
        column = schema.confirm({"a": {"source": "codebook"}}).columns["a"]
        found = TableSchema({"a": column}).encoding(["a"]).table(table[["a"]]).parts[0].source
        assert found.tolist() == [values[0], values[1], values[1]]
    with pytest.raises(ImportError, match="pyreadstat"):
        TableSchema.from_labels(tmp_path / "t.sav", cells="codes")
    for path, cells in ((tmp_path / "t.csv", "codes"), (tmp_path / "t.dta", "both")):
        with pytest.raises(ValueError, match="must"):
            TableSchema.from_labels(path, cells=cells)


@pytest.mark.parametrize(
    ("column", "cells", "read"),
    [
        (
            {"kind": "integer", "bounds": (0, 9), "affixes": ["+", "<", ">", " or more"]},
            ["5+", "<1", "> 3", "7 or more", "about 4"],
            [5.0, 1.0, 3.0, 7.0, None],
        ),
        ({"bounds": (0, 9), "affixes": "any"}, ["about 4", "4.5 kg", "€ .5"], [4, 4.5, 0.5]),
        # A sign that may be another one, or none, makes no number.
        (
            {"bounds": (-9e5, 9e5), "thousands": ","},
            ["1,234.5", "-12,34,567", "1,5", "1.000,5", "1,2345", "5,", "1_5"],
            [1234.5, -9e5, *[None] * 5],
        ),
        (
            {"bounds": (0, 9e5), "decimal": ",", "thousands": "."},
            ["1.234,5", "0,125", "1.5", "1,000.5", "1,5,5"],
            [1234.5, 0.125, *[None] * 3],
        ),
        (
            {"bounds": (-9, 9), "affixes": "any"},
            ["COVID-7", "\u22125", "a - 5 b", "-$5", "5-", "5-year", "1" + "a" * 10**5 + "1"],
            [-7, -5, None, None, None, 5, None],
        ),
        ({"bounds": (-9, 9), "affixes": "any"}, ["(5)", "($ 5)", "5 (kg)"], [None, None, 5]),
        ({"bounds": (-9, 9)}, ["\u22125", "1_5", "-5"], [-5, None, -5]),
        ({"bounds": (0, 9), "missing_values": [-9, "n/a"]}, ["-9", "n/a"], [None] * 2),
        ({"bounds": (-9, 9), "missing_values": [-9], "fill": 3}, ["-9", "x", "1"], [3, 3, 1]),
        ({"categories": ["a"], "missing_values": ["", "x"]}, ["", "x", "a"], [None, None, "a"]),
        ({"categories": ["a"]}, ["", None, "a"], [None, None, "a"]),
        ({"categories": ["a", ""]}, ["", None, "a"], ["", None, "a"]),
        ({"categories": [15]}, ["15", "1_5"], [15, object]),
        ({"kind": "code", "buckets": 2}, ["", None, "a"], [None, None, "bucket1"]),
        ({"categories": ["a", "b"], "fill": "b"}, [None, "a"], ["b", "a"]),
        ({"kind": "boolean", "true_values": [2], "false_values": [1]}, ["2", "1"], [1, 0]),
        (
            {"kind": "boolean", "true_values": ["Some"], "false_values": ["None"]},
            ["Some", "None", None, ""],
            [1, 0, None, None],
        ),
        ({"kind": "boolean", "missing_values": ["y"], "fill": "no"}, ["y", "yes"], [0, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", LIBRARIES)
def test_cells(column, cells, read, library):
    schema = TableSchema({"a": column})
    assert read_by(schema, cells, library) == read


def test_several_answers_in_a_cell():
    column = {"kind": "text", "separator": ";", "categories": ["back pain", "fever"]}
    schema = TableSchema({"a": column})
    cells = ["Back pain; cough", "fever;back pain", "fever back", "", "none"]
    found = schema.read([{"a": cell} for cell in cells])["a"].tolist()
    assert found == ["back pain", "back pain, fever", "(no words)", "(no words)", "(no words)"]
    stated = TableSchema({"a": {**column, "missing_values": ["none"]}})
    assert stated.read([{"a": "none"}]).loc[0, "a"] == "(missing)"


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"bounds": (0, 9), "fill": 10}, "fill=10"),
        ({"categories": ["a"], "fill": "b"}, "fill='b'"),
        ({"kind": "id", "fill": "b"}, "fill='b'"),
        ({"categories": ["a", "b"], "missing_values": ["b"]}, "share"),
        ({"kind": "boolean", "true_values": ["1"], "false_values": [1]}, "share"),
        ({"kind": "boolean", "true_values": ["1"]}, "both"),
        ({"bounds": (0, 9), "missing_values": "-9"}, "missing_values must be a list"),
        ({"bounds": (0, 9), "decimal": ",", "thousands": ","}, "must differ"),
        ({"bounds": (0, 9), "decimal": ""}, "must be strings"),
        ({"bounds": (0, 9), "thousands": 1}, "must be strings"),
        ({"kind": "text", "separator": ""}, "must be strings"),
        ({"kind": "date", "date_format": "%Q"}, "date_format must be a format of strptime"),
        ({"kind": "date", "date_format": 5}, "date_format must be a format of strptime"),
        ({"categories": ["a"], "decimal": ","}, "decimal is for columns of the kind"),
        ({"categories": ["a"], "true_values": ["a"]}, "true_values is for columns of the kind"),
    ],
)
def test_facts_about_cells_must_make_sense(column, words):
    with pytest.raises(ValueError, match=r"column 'a': .*") as error:
        TableSchema({"a": column})
    assert words in str(error.value)


def test_a_code_of_missing_numbers_is_found_in_single_precision():
    """As in files of Stata: the code itself has no number in this type."""
    schema = TableSchema({"a": {"bounds": (0, 9), "missing_values": [-9.9]}})
    frame = pd.DataFrame({"a": np.array([-9.9, 0.5], np.float32)})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        (part,) = schema.encoding(["a"]).table(table).parts
        assert np.isnan(part.source[0])
        assert part.source[1] == 0.5


@pytest.mark.parametrize("code", ["-1", "", " x"])
def test_a_code_for_a_missing_id_is_a_missing_id(code):
    from skdp.statistics import mean

    schema = TableSchema({"p": {"kind": "id", "missing_values": ["-1", " x"]}, "a": (0, 1)})
    frame = pd.DataFrame({"p": ["1", "2", code], "a": [0.0, 1.0, 1.0]})
    with pytest.raises(ValueError, match="column 'p', which identifies persons, has missing"):
        mean(frame, bounds=schema, epsilon=1.0)


def test_a_column_that_is_confirmed_keeps_its_codes():
    open_ = ColumnSchema(kind=None, missing_values=[-9], aliases=["A"], unread=["check x"])
    schema = TableSchema({"a": open_})
    for stated in ((0, 9), {"bounds": (0, 9)}, {"kind": "integer", "bounds": (0, 9)}, ["x", "y"]):
        column = schema.confirm({"a": stated}).columns["a"]
        assert (column.missing_values, column.aliases, column.unread) == ((-9,), ("A",), ())
    assert schema.confirm().columns["a"].unread == ("check x",)
