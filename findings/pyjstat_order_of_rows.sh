#!/usr/bin/env bash
# pyjstat: a table whose rows are not sorted gets its values into wrong cells of JSON-stat.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pyjstat==2.4.0' 'pandas==2.3.3'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
from importlib.metadata import version

import pandas as pd
from pyjstat.pyjstat import Dataset

rows = {"region": ["S", "N", "S", "N"], "year": ["2021", "2020", "2020", "2021"], "value": [4, 1, 3, 2]}
table = pd.DataFrame(rows)
back = Dataset.read(Dataset.read(table).write()).write("dataframe")
cells = [frame.set_index(["region", "year"])["value"].to_dict() for frame in (table, back)]
moved = {key: (cells[0][key], cells[1][key]) for key in cells[0] if cells[0][key] != cells[1][key]}

print(f"pyjstat {version('pyjstat')}")
print("Values are written in the order of rows, dimensions in the order of first appearance.")
print(f"cell: (value given, value read): {moved}")
assert len(moved) == 3 and moved["S", "2020"] == (3, 1)
PYTHON
