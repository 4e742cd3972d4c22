#!/usr/bin/env bash
# csvw: a default that is stated for all columns is dropped, and one for a column is not.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'csvw==4.1.1'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
import json
from importlib.metadata import version

from csvw import Table

def read(column, schema):
    with open("t.csv", "w") as file:
        file.write("a,b\n,x\n")
    columns = [{"name": "a", "datatype": "integer", **column}, {"name": "b"}]
    told = {"@context": "http://www.w3.org/ns/csvw", "url": "t.csv"}
    told["tableSchema"] = {"columns": columns, **schema}
    with open("t.csv-metadata.json", "w") as file:
        json.dump(told, file)
    return list(Table.from_file("t.csv-metadata.json"))[0]["a"]

own, inherited = read({"default": "7"}, {}), read({}, {"default": "7"})
print(f"csvw {version('csvw')}")
print("Columns inherit a default by the recommendation; the reader gives None.")
print(f"empty cell, default 7 in the column: {own}; in the schema: {inherited}")
assert (own, inherited) == (7, None)
PYTHON
