"""No public fact is lost: each changes the schema, or has to be confirmed.

The table in `docs/facts_of_formats.md` says which. To write it anew, run this file.
"""

from pathlib import Path
from types import SimpleNamespace as Like

import pytest

from skdp import TableSchema
from skdp.data.schema_readers import ColumnDraft, _Header, _read_labels

PAGE = Path(__file__).parents[2] / "docs" / "facts_of_formats.md"
NUMBER, WHOLE = {"datatype": "number"}, {"datatype": {"base": "integer", "maximum": 9}}
BOUNDED = {"base": "number", "minimum": 0, "maximum": 9}
DAYS = {"minimum": "01.01.2020", "maximum": "31.12.2024"}


def csvw(column, **table):
    schema = {key: table.pop(key) for key in ("primaryKey", "foreignKeys") if key in table}
    columns = [{"name": "a", **column}, {"name": "b", "datatype": "byte"}]
    return TableSchema.from_csvw({"tableSchema": {"columns": columns, **schema}, **table})


def smartnoise(column, **table):
    return TableSchema.from_smartnoise(
        {"": {"S": {"T": {"a": {"type": "float", **column}, **table}}}}
    )


def frictionless(field, **schema):
    return TableSchema.from_frictionless({"fields": [{"name": "a", **field}], **schema})


def pandera(column, **table):
    told = {"dtype": "float64", "nullable": True, "checks": []} | column
    told["checks"] = [Like(name=name, statistics=given) for name, given in told["checks"]]
    return TableSchema.from_pandera(Like(name=None, columns={"a": Like(**told)}, **table))


def labels(header):
    header = _Header(**{"kind": "number", "labels": {}, "missing": [], "ranges": []} | header)
    return TableSchema({"a": ColumnDraft({"source": "x"}).column(_read_labels, header, "codes")})


def of_type(base, **more):
    return {"datatype": {"base": base, **more}}


def limits(**told):
    return {"type": "number", "constraints": told}


def among(*values):
    return {"dtype": "str", "checks": [("isin", {"allowed_values": [*one]}) for one in values]}


KEY = {"reference": {"resource": "r", "fields": ["b"]}}
TEXT, MF, FM = {"dtype": "str"}, ["m", "f"], ["f", "m"]
PERSON = {"private_id": True}
# The metadata of a column without a fact and with it, and what they state for the table besides.
FACTS = {
    "CSVW": (csvw, {
        "type": ({}, NUMBER),
        "bounds": (NUMBER, {"datatype": BOUNDED}),
        "one bound": (NUMBER, of_type("number", minimum=0)),
        "bounds of a type": ({"datatype": "integer"}, {"datatype": "unsignedByte"}),
        "categories": ({}, of_type("string", format="m|f")),
        "required": (NUMBER, {**NUMBER, "required": True}),
        "codes of missing values": (NUMBER, {**NUMBER, "null": "-99"}),
        "value of missing cells": (NUMBER, {**NUMBER, "default": "7"}),
        "decimal and group signs": (NUMBER, of_type("number", format={"decimalChar": ","})),
        "words for true and false": ({"datatype": "boolean"}, of_type("boolean", format="2|1")),
        "format of dates": ({"datatype": "date"}, of_type("date", format="d.M.yyyy", **DAYS)),
        "several answers in a cell": (NUMBER, {**NUMBER, "separator": ";"}),
        "other names": (NUMBER, {**NUMBER, "titles": ["A", "B"]}),
        "pattern of texts": ({}, of_type("string", format="[a-z]+")),
        "length of texts": ({}, of_type("string", maxLength=9)),
        "key of the rows": (NUMBER, NUMBER, {"primaryKey": "a"}),
        "key of another table": (
            NUMBER, NUMBER, {"foreignKeys": [{"columnReference": "a", **KEY}]}
        ),
        "stated for all columns": (NUMBER, NUMBER, {"null": "-99"}),
        "another constraint": (NUMBER, of_type("number", multipleOf=5)),
    }),
    "CSVW-EO": (csvw, {
        "bounds": (NUMBER, {**NUMBER, "minimum": 0, "maximum": 9}),
        "one bound": (NUMBER, {**NUMBER, "minimum": 0}),
        "categories": ({}, {"keyValues": MF}),
        "column of persons": (WHOLE, {**WHOLE, "privacyId": True}),
        "rows of a person": ({"privacyId": True}, {"privacyId": True}, {"maxContributions": 3}),
        "rows of the table": (NUMBER, NUMBER, {"maxLength": 300}),
        "keys that are not public": (
            {"keyValues": ["a"]}, {"keyValues": ["a"], "invariantPublicKeys": False},
        ),
        "order of categories": ({"keyValues": MF}, {"keyValues": FM}),
        "another constraint": ({"keyValues": ["a"]}, {"keyValues": ["a"], "exhaustiveKeys": False}),
    }),
    "SmartNoise": (smartnoise, {
        "type": ({"type": "string"}, {}),
        "bounds": ({}, {"lower": 0, "upper": 9}),
        "one bound": ({}, {"lower": 0}),
        "required": ({}, {"nullable": False}),
        "value of missing cells": ({}, {"missing_value": 5.0}),
        "column of persons": ({}, PERSON),
        "rows of a person": (PERSON, PERSON, {"max_ids": 3}),
        "each row a unit": (PERSON, PERSON, {"row_privacy": True}),
        "another constraint": ({}, {"sensitivity": 5}),
    }),
    "pandera": (pandera, {
        "type": ({"dtype": None}, {}),
        "bounds": ({}, {"checks": [("in_range", {"min_value": 0, "max_value": 9})]}),
        "one bound": ({}, {"checks": [("greater_than", {"min_value": 0})]}),
        "categories": (TEXT, among(MF)),
        "required": ({}, {"nullable": False}),
        "value of missing cells": ({}, {"default": 0.5}),
        "pattern of texts": (TEXT, {**TEXT, "checks": [("str_matches", {"pattern": "a"})]}),
        "length of texts": (TEXT, {**TEXT, "checks": [("str_length", {"max_value": 9})]}),
        "unique values": ({}, {"unique": True}),
        "stated for all columns": ({"dtype": None}, {"dtype": None}, {"dtype": "float64"}),
        "several checks of a column": (among(MF), among(MF, ["f"])),
        "order of categories": (among(MF), among(FM)),
        "name as a pattern": ({}, {"regex": True}),
        "another constraint": ({}, {"checks": [("notin", {"forbidden_values": [5]})]}),
    }),
    "Table Schema": (frictionless, {
        "type": ({}, {"type": "number"}),
        "bounds": (limits(), limits(minimum=0, maximum=9)),
        "one bound": (limits(), limits(minimum=0)),
        "categories": ({}, {"constraints": {"enum": MF}}),
        "required": (limits(), limits(required=True)),
        "codes of missing values": (limits(), {**limits(), "missingValues": ["-99"]}),
        "decimal and group signs": (limits(), {**limits(), "decimalChar": ","}),
        "text around numbers": (limits(), {**limits(), "bareNumber": False}),
        "words for true and false": (
            {"type": "boolean"}, {"type": "boolean", "trueValues": ["ja"]},
        ),
        "format of dates": (
            {"type": "date"}, {"type": "date", "format": "%d.%m.%Y", "constraints": DAYS},
        ),
        "several answers in a cell": ({}, {"type": "list"}),
        "pattern of texts": ({}, {"constraints": {"pattern": "[a-z]+"}}),
        "length of texts": ({}, {"constraints": {"maxLength": 9}}),
        "unique values": (limits(), limits(unique=True)),
        "key of the rows": (limits(), limits(), {"primaryKey": "a"}),
        "key of another table": (limits(), limits(), {"foreignKeys": [{"fields": ["a"], **KEY}]}),
        "stated for all columns": (limits(), limits(), {"missingValues": ["-99"]}),
        "order of categories": ({"constraints": {"enum": MF}}, {"constraints": {"enum": FM}}),
        "another constraint": (limits(), limits(multipleOf=5)),
    }),
    "Stata, SPSS": (labels, {
        "type": ({"kind": None}, {}),
        "categories": ({}, {"labels": {1: "m", 2: "f"}}),
        "codes of missing values": ({}, {"missing": [9]}),
        "ranges of missing values": ({}, {"ranges": [(97.0, 99.0)]}),
        "order of categories": ({"labels": {1: "m", 2: "f"}}, {"labels": {2: "f", 1: "m"}}),
    }),
}  # fmt: skip


def outcome(name, fact):
    """Return what became of a fact that is all in which two metadata differ."""
    read, facts = FACTS[name]
    before, after, *table = facts[fact]
    without, with_fact = read(before), read(after, **dict(*table))
    if without == with_fact:
        return "lost"
    news = {*with_fact.unstated.get("a", [])} - {*without.unstated.get("a", [])}
    return "open" if news - {"give a source", "state its bounds"} else "read"


def table():
    """Return the table, with the rows in the order of the page, and new ones at its end."""
    known = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines()[2:]]
    rows = dict.fromkeys([*known, *(fact for _, facts in FACTS.values() for fact in facts)])
    lines = [f"| fact | {' | '.join(FACTS)} |", "|---" * (len(FACTS) + 1) + "|"]
    for fact in rows:
        cells = (outcome(name, fact) if fact in FACTS[name][1] else "—" for name in FACTS)
        lines.append(f"| {fact} | {' | '.join(cells)} |")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "fact"), [(name, fact) for name, (_, facts) in FACTS.items() for fact in facts]
)
def test_no_fact_is_lost(name, fact):
    assert outcome(name, fact) in ("read", "open")


def test_the_page_has_this_table():
    assert PAGE.read_text() == f"{table()}\n"


if __name__ == "__main__":
    PAGE.write_text(f"{table()}\n")
