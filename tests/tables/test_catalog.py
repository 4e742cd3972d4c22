"""The catalog of public bounds: every row makes a column and has a source with a year."""

import csv
import re
from importlib.resources import files

import pytest

from skdp.tables import ColumnSchema

ROWS = list(
    csv.DictReader((files("skdp") / "tables" / "catalog.csv").read_text("utf-8").splitlines())
)


def test_the_catalog_is_sorted_and_no_name_is_there_twice():
    names = [row["name"].lower() for row in ROWS]
    assert names == sorted({*names})
    assert len(names) >= 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_is_a_column_with_a_source(row):
    column = ColumnSchema.from_catalog(row["name"].upper())
    assert not column.unstated
    assert column.bounds == (float(row["low"]), float(row["high"]))
    assert row["kind"] in ("number", "integer")
    assert column.kind == row["kind"]
    assert re.search(r"\b(19|20)\d\d\b|^definition", row["source"])
    assert row["unit"] in column.source


def test_an_unknown_name_lists_similar_ones():
    with pytest.raises(ValueError, match=r"'blood presure'.*diastolic blood pressure"):
        ColumnSchema.from_catalog("blood presure")
    with pytest.raises(ValueError, match=r"'xyzzy'.*latitude"):
        ColumnSchema.from_catalog("xyzzy")
