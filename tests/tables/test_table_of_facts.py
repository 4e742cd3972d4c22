"""No public fact is lost: each changes the schema, or has to be confirmed.

The table in `docs/facts_of_formats.md` says which. To write it anew, run this file.
"""

from pathlib import Path
from types import SimpleNamespace as Like

import pytest

from skdp import TableSchema
from skdp.data.column_draft import ColumnDraft
from skdp.data.labeled_files import _Header, _read_labels

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


def pandera(*checks, dtype="float64", of_table=(), **column):
    told = {"dtype": dtype, "nullable": True, "checks": [Like(**check) for check in checks]}
    columns = {"a": Like(**told | column)}
    return TableSchema.from_pandera(Like(name=None, columns=columns, **dict(of_table)))


def labels(kind="number", known=None, missing=(), ranges=()):
    header = _Header(kind, known or {}, list(missing), list(ranges))
    return TableSchema({"a": ColumnDraft({"source": "x"}).column(_read_labels, header, "codes")})


def check(name, **statistics):
    return {"name": name, "statistics": statistics}


def limits(**told):
    return {"type": "number", "constraints": told}


KEY = {"reference": {"resource": "r", "fields": ["b"]}}
FACTS = {
    "type": {
        "CSVW": (csvw({}), csvw(NUMBER)),
        "SmartNoise": (smartnoise({"type": "string"}), smartnoise({})),
        "pandera": (pandera(dtype=None), pandera()),
        "Table Schema": (frictionless({}), frictionless({"type": "number"})),
        "Stata, SPSS": (labels(None), labels()),
    },
    "bounds": {
        "CSVW": (csvw(NUMBER), csvw({"datatype": BOUNDED})),
        "CSVW-EO": (csvw(NUMBER), csvw({**NUMBER, "minimum": 0, "maximum": 9})),
        "SmartNoise": (smartnoise({}), smartnoise({"lower": 0, "upper": 9})),
        "pandera": (pandera(), pandera(check("in_range", min_value=0, max_value=9))),
        "Table Schema": (frictionless(limits()), frictionless(limits(minimum=0, maximum=9))),
    },
    "one bound": {
        "CSVW": (csvw(NUMBER), csvw({"datatype": {"base": "number", "minimum": 0}})),
        "CSVW-EO": (csvw(NUMBER), csvw({**NUMBER, "minimum": 0})),
        "SmartNoise": (smartnoise({}), smartnoise({"lower": 0})),
        "pandera": (pandera(), pandera(check("greater_than", min_value=0))),
        "Table Schema": (frictionless(limits()), frictionless(limits(minimum=0))),
    },
    "bounds of a type": {
        "CSVW": (csvw({"datatype": "integer"}), csvw({"datatype": "unsignedByte"})),
    },
    "categories": {
        "CSVW": (csvw({}), csvw({"datatype": {"base": "string", "format": "m|f"}})),
        "CSVW-EO": (csvw({}), csvw({"keyValues": ["m", "f"]})),
        "pandera": (
            pandera(dtype="str"),
            pandera(check("isin", allowed_values=["m", "f"]), dtype="str"),
        ),
        "Table Schema": (frictionless({}), frictionless({"constraints": {"enum": ["m", "f"]}})),
        "Stata, SPSS": (labels(), labels(known={1: "m", 2: "f"})),
    },
    "required": {
        "CSVW": (csvw(NUMBER), csvw({**NUMBER, "required": True})),
        "SmartNoise": (smartnoise({}), smartnoise({"nullable": False})),
        "pandera": (pandera(), pandera(nullable=False)),
        "Table Schema": (frictionless(limits()), frictionless(limits(required=True))),
    },
    "codes of missing values": {
        "CSVW": (csvw(NUMBER), csvw({**NUMBER, "null": "-99"})),
        "Table Schema": (
            frictionless(limits()),
            frictionless({**limits(), "missingValues": ["-99"]}),
        ),
        "Stata, SPSS": (labels(), labels(missing=[9])),
    },
    "ranges of missing values": {"Stata, SPSS": (labels(), labels(ranges=[(97.0, 99.0)]))},
    "value of missing cells": {
        "CSVW": (csvw(NUMBER), csvw({**NUMBER, "default": "7"})),
        "SmartNoise": (smartnoise({}), smartnoise({"missing_value": 5.0})),
        "pandera": (pandera(), pandera(default=0.5)),
    },
    "decimal and group signs": {
        "CSVW": (
            csvw(NUMBER),
            csvw({"datatype": {"base": "number", "format": {"decimalChar": ","}}}),
        ),
        "Table Schema": (frictionless(limits()), frictionless({**limits(), "decimalChar": ","})),
    },
    "text around numbers": {
        "Table Schema": (frictionless(limits()), frictionless({**limits(), "bareNumber": False})),
    },
    "words for true and false": {
        "CSVW": (
            csvw({"datatype": "boolean"}),
            csvw({"datatype": {"base": "boolean", "format": "2|1"}}),
        ),
        "Table Schema": (
            frictionless({"type": "boolean"}),
            frictionless({"type": "boolean", "trueValues": ["ja"]}),
        ),
    },
    "format of dates": {
        "CSVW": (
            csvw({"datatype": "date"}),
            csvw({"datatype": {"base": "date", "format": "d.M.yyyy", **DAYS}}),
        ),
        "Table Schema": (
            frictionless({"type": "date"}),
            frictionless({"type": "date", "format": "%d.%m.%Y", "constraints": DAYS}),
        ),
    },
    "several answers in a cell": {
        "CSVW": (csvw(NUMBER), csvw({**NUMBER, "separator": ";"})),
        "Table Schema": (frictionless({}), frictionless({"type": "list"})),
    },
    "other names": {"CSVW": (csvw(NUMBER), csvw({**NUMBER, "titles": ["A", "B"]}))},
    "pattern of texts": {
        "CSVW": (csvw({}), csvw({"datatype": {"base": "string", "format": "[a-z]+"}})),
        "pandera": (pandera(dtype="str"), pandera(check("str_matches", pattern="a"), dtype="str")),
        "Table Schema": (frictionless({}), frictionless({"constraints": {"pattern": "[a-z]+"}})),
    },
    "length of texts": {
        "CSVW": (csvw({}), csvw({"datatype": {"base": "string", "maxLength": 9}})),
        "pandera": (pandera(dtype="str"), pandera(check("str_length", max_value=9), dtype="str")),
        "Table Schema": (frictionless({}), frictionless({"constraints": {"maxLength": 9}})),
    },
    "unique values": {
        "pandera": (pandera(), pandera(unique=True)),
        "Table Schema": (frictionless(limits()), frictionless(limits(unique=True))),
    },
    "key of the rows": {
        "CSVW": (csvw(NUMBER), csvw(NUMBER, primaryKey="a")),
        "Table Schema": (frictionless(limits()), frictionless(limits(), primaryKey="a")),
    },
    "key of another table": {
        "CSVW": (csvw(NUMBER), csvw(NUMBER, foreignKeys=[{"columnReference": "a", **KEY}])),
        "Table Schema": (
            frictionless(limits()),
            frictionless(limits(), foreignKeys=[{"fields": ["a"], **KEY}]),
        ),
    },
    "column of persons": {
        "CSVW-EO": (csvw(WHOLE), csvw({**WHOLE, "privacyId": True})),
        "SmartNoise": (smartnoise({}), smartnoise({"private_id": True})),
    },
    "rows of a person": {
        "CSVW-EO": (csvw({"privacyId": True}), csvw({"privacyId": True}, maxContributions=3)),
        "SmartNoise": (
            smartnoise({"private_id": True}),
            smartnoise({"private_id": True}, max_ids=3),
        ),
    },
    "each row a unit": {
        "SmartNoise": (
            smartnoise({"private_id": True}),
            smartnoise({"private_id": True}, row_privacy=True),
        ),
    },
    "rows of the table": {"CSVW-EO": (csvw(NUMBER), csvw(NUMBER, maxLength=300))},
    "keys that are not public": {
        "CSVW-EO": (
            csvw({"keyValues": ["a"]}),
            csvw({"keyValues": ["a"], "invariantPublicKeys": False}),
        ),
    },
    "stated for all columns": {
        "CSVW": (csvw(NUMBER), csvw(NUMBER, null="-99")),
        "pandera": (pandera(dtype=None), pandera(dtype=None, of_table={"dtype": "float64"})),
        "Table Schema": (frictionless(limits()), frictionless(limits(), missingValues=["-99"])),
    },
    "several checks of a column": {
        "pandera": (
            pandera(check("isin", allowed_values=["m", "f"]), dtype="str"),
            pandera(*(check("isin", allowed_values=x) for x in (["m", "f"], ["f"])), dtype="str"),
        ),
    },
    "order of categories": {
        "CSVW-EO": (csvw({"keyValues": ["m", "f"]}), csvw({"keyValues": ["f", "m"]})),
        "pandera": (
            pandera(check("isin", allowed_values=["m", "f"]), dtype="str"),
            pandera(check("isin", allowed_values=["f", "m"]), dtype="str"),
        ),
        "Table Schema": (
            frictionless({"constraints": {"enum": ["m", "f"]}}),
            frictionless({"constraints": {"enum": ["f", "m"]}}),
        ),
        "Stata, SPSS": (labels(known={1: "m", 2: "f"}), labels(known={2: "f", 1: "m"})),
    },
    "name as a pattern": {"pandera": (pandera(), pandera(regex=True))},
    "another constraint": {
        "CSVW": (csvw(NUMBER), csvw({"datatype": {"base": "number", "multipleOf": 5}})),
        "CSVW-EO": (
            csvw({"keyValues": ["a"]}),
            csvw({"keyValues": ["a"], "exhaustiveKeys": False}),
        ),
        "SmartNoise": (smartnoise({}), smartnoise({"sensitivity": 5})),
        "pandera": (pandera(), pandera(check("notin", forbidden_values=[5]))),
        "Table Schema": (frictionless(limits()), frictionless(limits(multipleOf=5))),
    },
}
FORMATS = ("CSVW", "CSVW-EO", "SmartNoise", "pandera", "Table Schema", "Stata, SPSS")


def outcome(without, with_fact):
    """Return what became of a fact that is all in which two metadata differ."""
    if without == with_fact:
        return "lost"
    news = {*with_fact.unstated.get("a", [])} - {*without.unstated.get("a", [])}
    return "open" if news - {"give a source", "state its bounds"} else "read"


def table():
    lines = [f"| fact | {' | '.join(FORMATS)} |", "|---" * (len(FORMATS) + 1) + "|"]
    for fact, pairs in FACTS.items():
        cells = (outcome(*pairs[name]) if name in pairs else "—" for name in FORMATS)
        lines.append(f"| {fact} | {' | '.join(cells)} |")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("fact", "name"), [(fact, name) for fact, pairs in FACTS.items() for name in pairs]
)
def test_no_fact_is_lost(fact, name):
    assert outcome(*FACTS[fact][name]) in ("read", "open")


def test_the_page_has_this_table():
    assert PAGE.read_text() == f"{table()}\n"


if __name__ == "__main__":
    PAGE.write_text(f"{table()}\n")
