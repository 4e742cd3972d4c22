"""Schemas in the formats of other tools, as dicts of columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from skdp.data.schema.column import ColumnSchema

__all__ = ["from_csvw", "from_pandera", "from_smartnoise"]

_OF_CSVW = {
    "boolean": "boolean",
    **dict.fromkeys(("date", "dateTime", "datetime", "dateTimeStamp"), "date"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **dict.fromkeys(
        [
            *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger"),
            *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "nonPositiveInteger"),
            "negativeInteger",
        ],
        "integer",
    ),
}
_OF_SMARTNOISE = {"int": "integer", "float": "number", "boolean": "boolean", "datetime": "date"}
_OF_PANDERA = {"bool": "boolean", "int": "integer", "uint": "integer", "float": "number"}
_OF_PANDERA |= {"datetime": "date", "date": "date", "timestamp": "date"}
_DIRECTIVES = {
    **{"yyyy": "%Y", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d"},
    **{"HH": "%H", "mm": "%M", "ss": "%S"},
}
_LOW = ("minimum", "minInclusive", "minExclusive")
_HIGH = ("maximum", "maxInclusive", "maxExclusive")


Read = tuple[dict[str, ColumnSchema], dict[str, Any]]
"""The columns of a table, and its `unit` and `max_rows`."""


def from_csvw(metadata: Mapping[str, Any]) -> Read:
    """Read the metadata of one table."""
    if "tables" in metadata:
        if len(metadata["tables"]) != 1:
            raise ValueError("the metadata describe several tables. Pass metadata['tables'][k].")
        metadata = metadata["tables"][0]
    schema = metadata.get("tableSchema")
    if not isinstance(schema, Mapping) or not schema.get("columns"):
        raise ValueError("the metadata have no tableSchema with columns.")
    source, keys = _source_of_csvw(metadata), _names("primaryKey", schema.get("primaryKey"))
    columns = {
        _name_of_csvw(one): one for one in schema["columns"] if not one.get("virtual", False)
    }
    units = _names("privacyUnit", metadata.get("privacyUnit"))  # the next two are of CSVW-EO, too
    marked = [name for name, one in columns.items() if one.get("privacyId")]
    persons = [name for name, one in columns.items() if {*units} & _names_of_csvw(one)] or marked
    of_key = [name for name, one in columns.items() if {*keys} & _names_of_csvw(one)]
    # A key of one column names rows. One of several columns may contain a person or not.
    rows = of_key if len(keys) == 1 and not (persons or units) else []
    kinds = dict.fromkeys([*marked, *of_key], "ignored") | dict.fromkeys([*persons, *rows], "id")
    read = {name: _of_csvw(one, kinds.get(name), source) for name, one in columns.items()}
    if persons or units:
        return read, {"unit": "person", "max_rows": metadata.get("maxContributions")}
    return read, {"unit": "record"} if rows else {}


def _source_of_csvw(metadata: Mapping[str, Any]) -> str:
    table = metadata.get("dc:title") or metadata.get("url") or "a table"
    return f"CSVW metadata of {table}"


def _name_of_csvw(column: Mapping[str, Any]) -> str:
    """Return the title, which is the name in the first line of a CSV file, or else the name."""
    titles = column.get("titles", column.get("name"))
    if isinstance(titles, Mapping):
        titles = next(iter(titles.values()))
    return next(iter(_names("titles", titles)), str(titles))


def _names_of_csvw(column: Mapping[str, Any]) -> set[Any]:
    return {column.get("name"), _name_of_csvw(column)} - {None}


def _of_csvw(column: Mapping[str, Any], kind: str | None, source: str) -> ColumnSchema:
    datatype = column.get("datatype", "string")
    datatype = datatype if isinstance(datatype, Mapping) else {"base": datatype}
    kind = kind or _OF_CSVW.get(datatype.get("base", "string"))
    more: dict[str, Any] = {"missing": not column.get("required", False)}
    ends: list[Any] = []
    for keys in (_LOW, _HIGH):
        ends += [datatype[key] for key in keys if key in datatype][:1]
    if kind == "date" and "format" in datatype:
        more["date_format"] = _strptime_format(datatype["format"])
        ends = [datetime.strptime(end, more["date_format"]) for end in ends]
    if kind in ("number", "integer", "date") and len(ends) == 2:
        more["bounds"] = ends if kind == "date" else list(map(float, ends))
    return _stated(kind, source, more)


def _strptime_format(pattern: str) -> str:
    """Return the format of `strptime` for a pattern of CSVW, such as dd.MM.yyyy HH:mm."""
    return re.sub("|".join(_DIRECTIVES), lambda found: _DIRECTIVES[found[0]], pattern)


def from_smartnoise(metadata: Mapping[str, Any], table: str | None) -> Read:
    """Read one table of a collection of databases and schemas."""
    tables = {
        f"{schema}.{name}": columns
        for database in metadata.values()
        if isinstance(database, Mapping)
        for schema, own in database.items()
        if isinstance(own, Mapping)
        for name, columns in own.items()
        if isinstance(columns, Mapping)
    }
    found = [k for k in tables if table in (None, k, k.split(".", 1)[1])]
    if len(found) != 1:
        raise ValueError(f"table must be one of {list(tables)}, got {table!r}.")
    source = f"SmartNoise metadata of {found[0]}"
    facts = tables[found[0]]
    columns = {k: c for k, c in facts.items() if isinstance(c, Mapping) and "type" in c}
    read = {name: _of_smartnoise(column, source) for name, column in columns.items()}
    if facts.get("row_privacy"):
        return read, {"unit": "record"}
    has_ids = any(column.kind == "id" for column in read.values())
    return read, {"max_rows": facts.get("max_ids")} if has_ids else {}


def _of_smartnoise(column: Mapping[str, Any], source: str) -> ColumnSchema:
    kind = "id" if column.get("private_id") else _OF_SMARTNOISE.get(column["type"])
    more: dict[str, Any] = {"missing": bool(column.get("nullable", True))}
    low, high = column.get("lower"), column.get("upper")
    if kind in ("number", "integer") and None not in (low, high):
        more["bounds"] = (low, high)
    return _stated(kind, source, more)


def from_pandera(schema: Any) -> dict[str, ColumnSchema]:
    """Return the columns of a `DataFrameSchema`, read by attributes that pandera documents."""
    if hasattr(schema, "to_schema"):  # a DataFrameModel
        schema = schema.to_schema()
    if not hasattr(schema, "columns"):
        raise ValueError("schema must be a DataFrameSchema of pandera.")
    source = f"pandera schema {schema.name}" if getattr(schema, "name", None) else "pandera schema"
    return {name: _of_pandera(column, source) for name, column in schema.columns.items()}


def _of_pandera(column: Any, source: str) -> ColumnSchema:
    facts: dict[str, Any] = {}
    for check in column.checks or ():
        facts |= getattr(check, "statistics", None) or {}
    more: dict[str, Any] = {"missing": bool(column.nullable)}
    if "allowed_values" in facts:
        values = sorted(facts["allowed_values"], key=str)  # pandera may keep a set
        return _stated("category", source, more | {"categories": values})
    text = str(column.dtype).lower()
    kind = next((kind for start, kind in _OF_PANDERA.items() if text.startswith(start)), None)
    if kind in ("number", "integer", "date") and {"min_value", "max_value"} <= facts.keys():
        more["bounds"] = (facts["min_value"], facts["max_value"])
    return _stated(kind, source, more)


def _stated(kind: str | None, source: str, more: Mapping[str, Any]) -> ColumnSchema:
    """Return a column that metadata state; what they leave open has to be confirmed."""
    return ColumnSchema(kind=kind, source=source, **more)


def _names(what: str, value: Any) -> Sequence[str]:
    """Return the names in a property of metadata: one, a list of them, or none."""
    found = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{what} must be the name of a column or a list of names, got {value!r}.")
    return found
