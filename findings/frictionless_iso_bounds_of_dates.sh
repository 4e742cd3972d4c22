#!/usr/bin/env bash
# Frictionless: bounds of dates in ISO 8601 make every cell with a format of its own an error.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'frictionless==5.21.0'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
from importlib.metadata import version

from frictionless import Schema

def read(minimum):
    told = {"name": "day", "type": "date", "format": "%d/%m/%Y"}
    told["constraints"] = {"minimum": minimum}
    field = Schema.from_descriptor({"fields": [told]}).get_field("day")
    try:
        return field.read_cell("01/02/2010")[0]
    except TypeError as error:
        return type(error).__name__

iso, own = read("2000-01-01"), read("01/01/2000")
print(f"frictionless {version('frictionless')}")
print("The schema is accepted. A bound must have the format of the cells.")
print(f"cell 01/02/2010 with minimum 2000-01-01: {iso}; with minimum 01/01/2000: {own}")
assert iso == "TypeError" and str(own) == "2010-02-01"
PYTHON
