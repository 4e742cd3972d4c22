"""Schemas in the formats of other tools, as dicts of columns.

Each reader knows the keys of its format that state facts. Any other key that is no annotation is
left to be confirmed, as is a column that cannot be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from skdp.data.column import home_of, is_missing
from skdp.data.column_schema import OF_EVERY_KIND, ColumnSchema, moment_of, number_of, text_of
from skdp.data.columns import frame_names
from skdp.support.types import MatrixLike
from skdp.support.validation import check_choice

NUMBERS = ("number", "integer")
_FORMATS = ("decimal", "thousands", "affixes")
# The letters with which names of types begin in NumPy, pandas, polars, Arrow and pandera.
_KINDS = {
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("int", "uint"), "integer"),
    **dict.fromkeys(("float", "double", "halffloat", "decimal"), "number"),
    **dict.fromkeys(("datetime", "date", "timestamp"), "date"),
    **dict.fromkeys(("category", "categorical", "dictionary", "enum"), "category"),
}
_ALTERNATIVES = re.compile(r"\^?\(?(?:\?:)?([\w -]+(?:\|[\w -]+)+)\)?\$?")

Read = tuple[dict[Hashable, ColumnSchema], dict[str, Any]]
"""The columns of a table, and its `unit` and `max_rows`."""
_ASKS_FOR_PERSONS = "say whether it identifies persons: kind='id', or else confirm its kind"
_OF_CSVW = {
    "boolean": "boolean",
    **dict.fromkeys(("date", "dateTime", "datetime", "dateTimeStamp"), "date"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
}
# Integers and the bounds that the type implies. ±2^31 and ±2^63 are too wide to be useful.
_INTEGERS: dict[str, tuple[float | None, float | None]] = {
    **dict.fromkeys(("integer", "long", "int"), (None, None)),
    **dict.fromkeys(("nonNegativeInteger", "unsignedLong", "unsignedInt"), (0, None)),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
_INHERITED = {
    "datatype", "default", "null", "required", "separator", "ordered", "lang", "textDirection",
    "aboutUrl", "propertyUrl", "valueUrl",
}  # fmt: skip
# Keys of CSVW and CSVW-EO. The last two lines only tighten other facts, or describe the data.
_OF_COLUMN = _INHERITED | {
    "name", "titles", "virtual", "suppressOutput", "notes", "privacyId", "minimum", "maximum",
    "keyValues", "maxLength", "maxContributions", "maxGroupsPerUnit", "maxNumPartitions",
    "partitions", "exhaustivePartitions", "invariantPublicKeys", "exhaustiveKeys",
    "rowDependencies", "nullableProportion",
}  # fmt: skip
_OF_TABLE = _INHERITED | {
    "url", "tableSchema", "tables", "columns", "dialect", "notes", "primaryKey", "foreignKeys",
    "rowTitles", "suppressOutput", "tableDirection", "transformations", "privacyUnit",
    "maxContributions", "additionalInformation", "id",
}  # fmt: skip
_LOWS = {"minimum": False, "minInclusive": False, "minExclusive": True}
_HIGHS = {"maximum": False, "maxInclusive": False, "maxExclusive": True}
_OF_DATATYPE = {"base", "format", "title", "description", "id", "name", *_LOWS, *_HIGHS}
_DIRECTIVES = {
    **{"yyyy": "%Y", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d"},
    **{"HH": "%H", "mm": "%M", "ss": "%S", "T": "T"},
}
_ISO = re.compile(r"yyyy-MM-dd([T ]HH:mm(:ss(\.S+)?)?([Xx]{1,3})?)?")


@dataclass
class ColumnDraft:
    """Facts about a column, which readers add one by one.

    A fact that makes no sense leaves the column open, and so does an error of a reader.
    """

    facts: dict[str, Any]  # for `ColumnSchema`
    kind: str | None = None
    unread: list[str] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    categories: list[Any] | None = None
    is_ordered: bool = False

    def check(self, given: Mapping[str, Any], known: Collection[str] = ()) -> None:
        """List the keys that a reader does not know."""
        self.unread += unknown_keys(given, known)

    def limit(self, low: object = None, high: object = None, *, is_open: bool = False) -> None:
        """Add bounds. Those of integers are integers, 1 beyond an open bound that is one."""
        for end, ends, sign in ((low, self.lows, 1.0), (high, self.highs, -1.0)):
            if end is not None and self.kind in (None, *NUMBERS, "date"):
                value = self._number(end)
                if self.kind == "integer" and math.isfinite(value):
                    floor = math.floor(sign * value)
                    value = sign * (floor + float(is_open or floor < sign * value))
                ends.append(value)

    def among(self, values: Iterable[Any]) -> None:
        """Keep the categories that are among some values, in the order of the first ones."""
        known = sorted(values, key=str) if isinstance(values, (set, frozenset)) else [*values]
        known = [self._category(one) for one in known if not is_missing(one)]
        texts = {text_of(one) for one in known}
        before = known if self.categories is None else self.categories
        self.categories = [one for one in before if text_of(one) in texts]

    def cannot_read(self, given: Mapping[str, Any]) -> None:
        """Leave the column open because its cells cannot be read as they are written."""
        if unread := unknown_keys(given):
            self.kind, self.unread = None, [*self.unread, *unread]

    def match(self, pattern: str, key: str) -> None:
        """Add the categories that a regular expression lists; any other one is left to check."""
        found = _ALTERNATIVES.fullmatch(pattern) if self.kind is None else None
        if found:
            self.among(found[1].split("|"))
        else:
            self.check({key: pattern})

    def _number(self, end: object) -> float:
        formats = {name: self.facts[name] for name in _FORMATS if name in self.facts}
        value = number_of(end, ColumnSchema(kind="number", **formats))
        if self.kind == "date" or math.isnan(value):
            value = moment_of(end, self.facts.get("date_format"))
        if math.isnan(value):
            raise ValueError(f"the bound {end!r} is no value of the column.")
        return value

    def _category(self, value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if any(self.facts.get(name) for name in ("date_format", "thousands", "affixes")):
            raise ValueError(f"the value {value!r} has the format of its column.")
        if self.kind in NUMBERS:
            value = self._number(value)
            return int(value) if value.is_integer() else value
        return value if isinstance(value, (str, bool, int, float)) else text_of(value)

    def column(self, read: Callable[..., None], *given: Any) -> ColumnSchema:
        """Return the column after a reader has added its facts; it is open if they make none."""
        error = None
        try:
            read(self, *given)
            facts = self._facts()  # which may change the kind
            return ColumnSchema(kind=self.kind, **facts, unread=tuple(self.unread))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as odd:
            error = odd
        self.check({"fill": self.facts.pop("fill", None)})
        unread = (*self.unread, f"check what could not be read: {error}")
        own = {k: self.facts[k] for k in ("source", "drafted", *OF_EVERY_KIND) if k in self.facts}
        try:
            return ColumnSchema(kind=None, **own, unread=unread)
        except (TypeError, ValueError):
            return ColumnSchema(kind=None, source=own["source"], unread=unread)

    def _facts(self) -> dict[str, Any]:
        """Return the facts about the column, with its bounds or categories."""
        facts, missing = self.facts, self.facts.get("missing_values", ())
        if self.kind in ("id", "ignored"):
            self.unread *= self.kind == "id"
            return {k: facts[k] for k in ("source", "missing_values", "aliases") if k in facts}
        low, high = max(self.lows, default=-math.inf), min(self.highs, default=math.inf)
        if self.categories is not None and self.kind != "boolean":
            numbers, codes = self.kind in NUMBERS, {*map(text_of, missing)}
            known = [one for one in self.categories if not numbers or low <= one <= high]
            facts["categories"] = [one for one in known if text_of(one) not in codes]
            self.is_ordered |= self.kind == "ordinal"
            self.kind = "ordinal" if self.is_ordered else "category"
            facts = {name: fact for name, fact in facts.items() if name not in _FORMATS}
        elif self.kind in (*NUMBERS, "date") and -math.inf < low and high < math.inf:
            facts["bounds"] = (low, high) if self.kind in NUMBERS else (_date(low), _date(high))
        elif low > -math.inf or high < math.inf:
            self.unread.append(f"state bounds or categories within ({low:g}, {high:g})")
        # An empty cell is missing anyway unless it may be a text.
        facts["missing_values"] = [one for one in missing if one != "" or self.kind is None]
        return facts


def _date(seconds: float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


def unknown_keys(given: Mapping[str, Any], known: Collection[str] = ()) -> list[str]:
    """Describe the keys that a reader does not know, and their values.

    Annotations are left out: keys with a colon belong to other namespaces, and those that begin
    with @ or $ to JSON-LD and JSON Schema.
    """
    return [
        f"check {key}={short(value)}, which was not read"
        for key, value in given.items()
        if key not in known and not (":" in key or key.startswith(("@", "$"))) and value is not None
    ]


def by_name(columns: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    """Return columns by name; raise ValueError if a name is missing or occurs twice."""
    found: dict[Hashable, Any] = {}
    for name, column in columns:
        if not isinstance(name, str):
            raise ValueError(f"column {name!r}: the metadata must give a name, a string.")
        if name in found:
            raise ValueError(f"column {name!r}: the metadata describe it twice.")
        found[name] = column
    return found


def listed(what: str, value: Any, kind: type = str) -> list[Any]:
    """Return the names in a property of metadata, or its objects if `kind` is a mapping."""
    found = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, kind) for one in found):
        form = "the name of a column or a list of names" if kind is str else "a list of objects"
        raise ValueError(f"{what} must be {form}, got {short(value)}.")
    return [*found]


def kind_of_type(dtype: object) -> str | None:
    """Return the kind of the values of a type of a column, by its name."""
    found = re.match("[a-z]+", str(dtype).lower())
    kind = _KINDS.get(found[0]) if found else None
    return "ordinal" if kind == "category" and getattr(dtype, "ordered", False) else kind


def _check_dict(metadata: object, reader: str) -> None:
    if not isinstance(metadata, Mapping):
        kind = type(metadata).__name__
        raise ValueError(f"metadata must be a dict, as {reader} reads the file, got a {kind}.")


def from_csvw(metadata: Mapping[str, Any]) -> Read:
    """Read the metadata of one table."""
    _check_dict(metadata, "json.load")
    above: Mapping[str, Any] = {}
    if "tables" in metadata:
        if len(metadata["tables"]) != 1:
            raise ValueError("the metadata describe several tables. Pass metadata['tables'][k].")
        above, metadata = metadata, metadata["tables"][0]
    schema = metadata.get("tableSchema")
    if not isinstance(schema, Mapping) or not schema.get("columns"):
        raise ValueError("the metadata have no tableSchema with columns.")
    levels = (above, metadata, schema)
    inherited = {k: v for level in levels for k, v in level.items() if k in _INHERITED}
    source = f"CSVW metadata of {metadata.get('dc:title') or metadata.get('url') or 'a table'}"
    given = [one for one in listed("columns", schema["columns"], Mapping) if not one.get("virtual")]
    titles = {one[0]: one for one in map(_titles, range(len(given)), given)}
    columns = by_name((_titles(j, one)[0], one) for j, one in enumerate(given))
    units = listed("privacyUnit", metadata.get("privacyUnit"))  # the next two are of CSVW-EO, too
    marked = [name for name, one in columns.items() if one.get("privacyId")]

    def named(names: Iterable[str]) -> list[Hashable]:
        return [name for name in columns if {*names} & {*titles[name]}]

    keys = listed("primaryKey", schema.get("primaryKey"))
    foreign = _references(schema)
    kinds, unit = _of_keys(named(units) or marked, named(keys), keys, bool(units))
    kinds = dict.fromkeys(marked, "ignored") | kinds
    if unit.get("unit") == "person":
        unit["max_rows"] = metadata.get("maxContributions")
    open_keys = [line for level in levels for line in unknown_keys(level, _OF_TABLE)]
    refers, read = named(foreign), dict[Hashable, ColumnSchema]()
    for name, one in columns.items():
        facts = {"source": source, "aliases": titles[name][1:]}
        draft = ColumnDraft(facts, kinds.get(name), unread=[*open_keys])
        if name in refers and name not in kinds:
            draft.unread.append(_ASKS_FOR_PERSONS)
        read[name] = draft.column(_read_csvw, inherited | dict(one))
    return read, unit


def _of_keys(
    persons: Sequence[Hashable], of_key: Sequence[Hashable], keys: Sequence[str], has_unit: bool
) -> tuple[dict[Hashable, str], dict[str, Any]]:
    """Return the kinds of the columns of persons and of the primary key, and the unit.

    A key of one column names rows. One of several columns may contain a person or not.
    """
    rows = of_key if len(keys) == 1 and not (persons or has_unit) else []
    kinds = dict.fromkeys(of_key, "ignored") | dict.fromkeys([*persons, *rows], "id")
    if persons or has_unit:
        return kinds, {"unit": "person"}
    return kinds, {"unit": "record"} if rows else {}


def _references(schema: Mapping[str, Any]) -> list[str]:
    """Return the columns that are keys of other tables."""
    keys = listed("foreignKeys", schema.get("foreignKeys"), Mapping)
    found = [listed("foreignKeys", one.get("columnReference", one.get("fields"))) for one in keys]
    return [name for names in found for name in names]


def _titles(j: int, column: Mapping[str, Any]) -> list[Hashable]:
    """Return the names that a column may have in a file, its first title first."""
    titles = column.get("titles")
    found = [*titles.values()] if isinstance(titles, Mapping) else [titles]
    try:
        names = [title for one in found for title in listed("titles", one)]
    except ValueError as error:
        raise ValueError(f"column {column.get('name', j)!r}: {error}") from None
    names += [column["name"]] if isinstance(column.get("name"), str) else []
    return list(dict.fromkeys(names)) or [f"_col.{j + 1}", j]


def _read_csvw(draft: ColumnDraft, column: Mapping[str, Any]) -> None:
    datatype = column.get("datatype", "string")
    datatype = datatype if isinstance(datatype, Mapping) else {"base": datatype}
    base = datatype.get("base", "string")
    if draft.kind is None:
        draft.kind = "integer" if base in _INTEGERS else _OF_CSVW.get(base)
    null = listed("null", column.get("null", ""))
    draft.facts |= {"missing": not column.get("required", False), "missing_values": null}
    draft.check(column, _OF_COLUMN)
    draft.check(datatype, _OF_DATATYPE)
    draft.cannot_read({"separator": column.get("separator")})
    if draft.kind is None and base not in ("string", "any"):
        draft.check({"datatype": base})
    if column.get("default") and {*null} <= {""}:
        draft.facts["fill"] = column["default"]
    elif column.get("default"):  # it replaces empty cells, but not the codes
        draft.check({"default": column["default"]})
    if datatype.get("format") is not None:
        _read_format(draft, datatype["format"])
    draft.limit(*_INTEGERS.get(base, (None, None)))
    for told in (datatype, column):
        for key, is_open in _LOWS.items():
            draft.limit(told.get(key), is_open=is_open)
        for key, is_open in _HIGHS.items():
            draft.limit(high=told.get(key), is_open=is_open)
    _read_eo(draft, column)


def _read_eo(draft: ColumnDraft, column: Mapping[str, Any]) -> None:
    """Read terms of CSVW-EO. Its generator may compute them from the data: they need a source."""
    values, kind = column.get("keyValues"), draft.kind
    if values is not None and kind is None:
        draft.among(values)
    elif values is not None and kind != "boolean":  # of numbers and dates, which have bounds
        draft.check({"keyValues": values})
    if values is None and column.get("partitions"):
        draft.check({"partitions": column["partitions"]})
    keys = ("exhaustiveKeys", "invariantPublicKeys")
    draft.check({key: False for key in keys if column.get(key) is False})
    if not {"keyValues", "minimum", "maximum"}.isdisjoint(column):
        draft.facts |= {"source": "", "drafted": True}


def _read_format(draft: ColumnDraft, stated: Any) -> None:
    """Read how the cells of a column are written."""
    facts = draft.facts
    if draft.kind == "boolean" and isinstance(stated, str) and stated.count("|") == 1:
        true, false = stated.split("|")
        facts |= {"true_values": [true], "false_values": [false]}
    elif draft.kind in NUMBERS:
        told = stated if isinstance(stated, Mapping) else {"pattern": stated}
        pattern = told.get("pattern") or ""
        draft.check(told, ("pattern", "decimalChar", "groupChar"))
        if {"%", "‰"} & {*pattern}:
            draft.cannot_read({"pattern": pattern})
            return
        facts["decimal"] = told.get("decimalChar") or "."
        facts["thousands"] = told.get("groupChar") or ("," if "," in pattern else "")
    elif draft.kind == "date":
        facts["date_format"] = _directives(stated)
    else:
        draft.match(str(stated), "format")


def _directives(pattern: str) -> str | None:
    """Return a format of Python, None for formats of ISO 8601."""
    if _ISO.fullmatch(pattern):
        return None
    try:
        return re.sub(r"([A-Za-z])\1*", lambda it: _DIRECTIVES[it[0]], pattern)
    except KeyError as error:
        raise ValueError(f"the format {pattern!r} has the unknown part {error}.") from None


_OF_SMARTNOISE = {"int": "integer", "float": "number", "boolean": "boolean", "datetime": "date"}
_OPTIONS = {
    "rows", "rows_exact", "row_privacy", "max_ids", "sample_max_ids", "clamp_counts",
    "clamp_columns", "use_dpsu", "censor_dims",
}  # fmt: skip
_OF_SMARTNOISE_COLUMN = {
    "type", "private_id", "nullable", "missing_value", "lower", "upper", "cardinality"
}  # fmt: skip


def from_smartnoise(metadata: Mapping[str, Any], table: str | None) -> Read:
    """Read one table of a collection of databases and schemas."""
    _check_dict(metadata, "yaml.safe_load")
    tables = {
        (str(base), str(schema), str(name)): columns
        for base, own in metadata.items()
        if isinstance(own, Mapping)
        for schema, some in own.items()
        if isinstance(some, Mapping)
        for name, columns in some.items()
        if isinstance(columns, Mapping)
    }
    forms = {path: [".".join(path[k:]) for k in range(3)] for path in tables}
    found = [path for path in tables if table is None or table in forms[path]]
    if not found:  # SQL compares names without regard to case
        names = {path: [*map(str.lower, forms[path])] for path in tables}
        found = [path for path in tables if str(table).lower() in names[path]]
    if len(found) != 1:
        known = [of_table[0] for of_table in forms.values()]
        raise ValueError(f"table must be one of {known}, got {table!r}.")
    source, facts = f"SmartNoise metadata of {'.'.join(found[0][1:])}", tables[found[0]]
    columns = {k: c for k, c in facts.items() if isinstance(c, Mapping)}
    unread = unknown_keys({k: c for k, c in facts.items() if k not in columns}, _OPTIONS)
    read = {
        name: ColumnDraft({"source": source}, unread=[*unread]).column(_read_smartnoise, one)
        for name, one in columns.items()
    }
    if facts.get("row_privacy"):
        return read, {"unit": "record"}
    has_ids = any(column.kind == "id" for column in read.values())
    return read, {"max_rows": facts.get("max_ids")} if has_ids else {}


def _read_smartnoise(draft: ColumnDraft, column: Mapping[str, Any]) -> None:
    draft.kind = "id" if column.get("private_id") else _OF_SMARTNOISE.get(column.get("type", ""))
    draft.facts |= {"missing": bool(column.get("nullable", True))}
    draft.facts |= {"fill": column.get("missing_value")}
    draft.check(column, _OF_SMARTNOISE_COLUMN)
    draft.limit(column.get("lower"), column.get("upper"))


_OF_CHECKS = {
    "greater_than", "greater_than_or_equal_to", "less_than", "less_than_or_equal_to", "in_range",
    "isin", "equal_to", "unique_values_eq",
}  # fmt: skip


def from_pandera(schema: Any) -> dict[Hashable, ColumnSchema]:
    """Return the columns of a `DataFrameSchema`, read by attributes that pandera documents."""
    if hasattr(schema, "to_schema"):  # a DataFrameModel
        schema = schema.to_schema()
    if not hasattr(schema, "columns"):
        raise ValueError("schema must be a DataFrameSchema of pandera.")
    source = f"pandera schema {schema.name}" if getattr(schema, "name", None) else "pandera schema"
    return {
        name: ColumnDraft({"source": source}).column(_read_pandera, name, column, schema)
        for name, column in schema.columns.items()
    }


def _read_pandera(draft: ColumnDraft, name: Hashable, column: Any, schema: Any) -> None:
    dtype = column.dtype or getattr(schema, "dtype", None)
    fill = getattr(column, "default", None)
    draft.kind, draft.facts["missing"] = kind_of_type(dtype), bool(column.nullable)
    draft.facts |= {} if is_missing(fill) else {"fill": fill}
    if (declared := getattr(dtype, "categories", None)) is not None:
        draft.among(declared.to_list() if hasattr(declared, "to_list") else declared)
    for check in [*(column.checks or ()), *(getattr(schema, "checks", None) or ())]:
        _read_check(draft, check)
    for one in (column, schema):
        draft.check({"parsers": getattr(one, "parsers", None) or None})
    if getattr(column, "regex", False):
        draft.kind = draft.categories = None
        draft.unread.append("the name is a pattern: give a column for each name that it matches")
    if getattr(column, "unique", False) or name in (getattr(schema, "unique", None) or ()):
        draft.unread.append(_ASKS_FOR_PERSONS)


def _read_check(draft: ColumnDraft, check: Any) -> None:
    """Read a check of pandera; all checks of a column hold together."""
    name, told = check.name, check.statistics or {}
    is_weak = getattr(check, "raise_warning", False) or getattr(check, "groupby", None)
    if is_weak or name not in _OF_CHECKS:
        draft.check({f"{name} of pandera": told})
        return
    for key in told.keys() & {"allowed_values", "values", "value"}:
        draft.among([told[key]] if key == "value" else told[key])
    is_open = name in ("greater_than", "less_than")
    draft.limit(told.get("min_value"), is_open=is_open or not told.get("include_min", True))
    draft.limit(high=told.get("max_value"), is_open=is_open or not told.get("include_max", True))


_OF_FRICTIONLESS = {
    **{"number": "number", "integer": "integer", "year": "integer", "boolean": "boolean"},
    **{"date": "date", "datetime": "date"},
}
_NOTES = {
    "title", "description", "example", "rdfType", "profile", "name", "type", "categoriesOrdered"
}  # fmt: skip
_OF_FIELD = _NOTES | {
    "format", "constraints", "missingValues", "trueValues", "falseValues", "decimalChar",
    "groupChar", "bareNumber", "floatNumber", "categories",
}  # fmt: skip
_OF_CONSTRAINTS = {
    "required", "unique", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum",
}  # fmt: skip
_OF_SCHEMA = _NOTES | {"fields", "missingValues", "primaryKey", "foreignKeys", "fieldsMatch"}


def from_frictionless(schema: Any) -> Read:
    """Read a Table Schema, alone, in a resource, or in a package of one resource."""
    told = schema.to_descriptor() if hasattr(schema, "to_descriptor") else schema
    told = told if isinstance(told, Mapping) else {}
    told = told["resources"][0] if len(told.get("resources", ())) == 1 else told
    source = f"Table Schema of {told['name']}" if told.get("name") else "Table Schema"
    told = told.get("schema", told)
    if not isinstance(told, Mapping) or not told.get("fields"):
        raise ValueError("schema must be a Table Schema with fields, or a resource with one.")
    fields = by_name((one.get("name"), one) for one in listed("fields", told["fields"], Mapping))
    keys, unread = listed("primaryKey", told.get("primaryKey")), unknown_keys(told, _OF_SCHEMA)
    foreign = _references(told)
    kinds, unit = _of_keys([], [name for name in fields if name in keys], keys, False)
    read = dict[Hashable, ColumnSchema]()
    for name, one in fields.items():
        draft = ColumnDraft({"source": source}, kinds.get(name), unread=[*unread])
        if name in foreign and name not in kinds:
            draft.unread.append(_ASKS_FOR_PERSONS)
        codes = one.get("missingValues", told.get("missingValues", [""]))
        read[name] = draft.column(_read_frictionless, one, codes)
    return read, unit


def _values(given: Sequence[Any]) -> list[Any]:
    """Return values of a list in which each may have a label."""
    return [one["value"] if isinstance(one, Mapping) else one for one in given]


def _read_frictionless(draft: ColumnDraft, told: Mapping[str, Any], codes: Sequence[Any]) -> None:
    limits, type_name = told.get("constraints") or {}, told.get("type", "string")
    if draft.kind is None:
        draft.kind = _OF_FRICTIONLESS.get(type_name)
        draft.unread += [_ASKS_FOR_PERSONS] * bool(limits.get("unique"))
    codes = _values(codes)
    draft.facts |= {"missing": not limits.get("required", False), "missing_values": codes}
    draft.check(told, _OF_FIELD)
    draft.check(limits, _OF_CONSTRAINTS)
    if draft.kind is None and type_name not in ("string", "any"):
        draft.check({"type": type_name})
    _read_cells(draft, told)
    draft.is_ordered = bool(told.get("categories") and told.get("categoriesOrdered"))
    for values in (told.get("categories"), limits.get("enum")):
        if values is not None:
            draft.among(_values(values))
    if limits.get("pattern") is not None:
        draft.match(limits["pattern"], "pattern")
    draft.limit(limits.get("minimum"), limits.get("maximum"))
    draft.limit(limits.get("exclusiveMinimum"), limits.get("exclusiveMaximum"), is_open=True)


def _read_cells(draft: ColumnDraft, told: Mapping[str, Any]) -> None:
    """Read how the cells of a field are written."""
    stated, facts = told.get("format", "default"), draft.facts
    if draft.kind == "boolean":
        facts["true_values"] = told.get("trueValues", ["true", "True", "TRUE", "1"])
        facts["false_values"] = told.get("falseValues", ["false", "False", "FALSE", "0"])
    elif draft.kind in NUMBERS:
        facts |= {"decimal": told.get("decimalChar", "."), "thousands": told.get("groupChar", "")}
        facts["affixes"] = () if told.get("bareNumber", True) else "any"
    if draft.kind == "date" and stated not in ("default", "any"):
        facts["date_format"] = stated
    elif stated != "default" and draft.kind not in ("id", "ignored"):
        draft.cannot_read({"format": stated})


def columns_of_frame(frame: MatrixLike) -> dict[Hashable, ColumnSchema]:
    """Return a drafted column for each column of a frame; no value is read."""
    types = list(frame.schema.types if hasattr(frame, "column_names") else frame.dtypes)
    return {name: _of_type(one) for name, one in zip(frame_names(frame), types, strict=True)}


def _of_type(dtype: object) -> ColumnSchema:
    if home_of(dtype) == "polars" and type(dtype).__name__ == "Enum":
        declared = tuple(dtype.categories.to_list())  # type: ignore[attr-defined]
        return ColumnSchema(kind="category", categories=declared or None, drafted=True)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":  # one missing value makes these floats
        return ColumnSchema(kind="number", drafted=True)
    return ColumnSchema(kind=kind_of_type(dtype), drafted=True)


_READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta"}
_DATES = re.compile(r"%-?(t[dcwmqh]|d)|[aejs]?date|datetime", re.IGNORECASE)


@dataclass
class _Header:
    """What a file states about a column."""

    kind: str | None
    labels: Mapping[Any, str]  # of codes
    missing: list[Any]  # codes of missing values
    ranges: list[tuple[float, float]]  # and the ranges of others


def from_labels(path: Any, cells: str) -> dict[Hashable, ColumnSchema]:
    """Return the columns of a file whose cells are read as codes or as labels."""
    check_choice("cells", cells, ("codes", "labels"))
    if (reader := _READERS.get(Path(path).suffix.lower())) is None:
        raise ValueError(f"the name of the file must end in {[*_READERS]}, got {str(path)!r}.")
    try:
        import pyreadstat
    except ImportError:
        if reader != "read_dta":
            raise ImportError("files of SPSS need pyreadstat: pip install pyreadstat") from None
        headers = _headers_of_pandas(path)
    else:
        more = {} if reader == "read_por" else {"user_missing": True}  # else codes are left out
        told = getattr(pyreadstat, reader)(path, metadataonly=True, **more)[1]
        headers = {name: _header(told, name) for name in told.column_names}
    facts = {"source": f"labels in {Path(path).name}"}
    return {
        name: ColumnDraft({**facts}).column(_read_labels, one, cells)
        for name, one in headers.items()
    }


def _header(told: Any, name: str) -> _Header:
    """Collect what pyreadstat states about a column."""
    kind = _kind_of_format(str(told.original_variable_types[name]))
    pairs = [(one["lo"], one["hi"]) for one in told.missing_ranges.get(name, ())]
    single = [low for low, high in pairs if low == high]
    missing = [*told.missing_user_values.get(name, ()), *single]
    ranges = [pair for pair in pairs if pair[0] != pair[1]]
    return _Header(kind, told.variable_value_labels.get(name, {}), missing, ranges)


def _headers_of_pandas(path: Any) -> dict[str, _Header]:
    from pandas.io.stata import StataReader

    with StataReader(path) as reader:
        labels = reader.value_labels()
        # Which column has which labels is public nowhere else; types by data would read rows.
        columns = [*zip(reader._varlist, reader._fmtlist, reader._lbllist, strict=True)]
    return {
        name: _Header(_kind_of_format(shown), labels.get(own, {}), [], [])
        for name, shown, own in columns
    }


def _kind_of_format(shown: str) -> str | None:
    """Return the kind of the values that a format of Stata or SPSS shows."""
    if _DATES.match(shown):
        return "date"
    return None if re.fullmatch(r"%-?\d+s|%strl|A\d+", shown, re.IGNORECASE) else "number"


def _read_labels(draft: ColumnDraft, header: _Header, cells: str) -> None:
    labels = {_whole(code): label for code, label in header.labels.items()}
    missing = [*map(_whole, header.missing)]
    missing += [code for code in labels if isinstance(code, str) and header.kind == "number"]
    for low, high in header.ranges:
        missing += [code for code in labels if not isinstance(code, str) and low <= code <= high]
        draft.check({"missing values": f"{low:g} to {high:g}"})
    known = {code: label for code, label in labels.items() if code not in missing}
    draft.facts["missing_values"] = list(dict.fromkeys(missing))
    if cells == "labels":
        draft.facts["missing_values"] += [labels[code] for code in missing if code in labels]
    draft.kind = None if known else header.kind
    if known:
        draft.among(known.values() if cells == "labels" else known)
        draft.unread.append("confirm that only the values with labels occur")


def _whole(code: Any) -> Any:
    return int(code) if isinstance(code, float) and code.is_integer() else code
