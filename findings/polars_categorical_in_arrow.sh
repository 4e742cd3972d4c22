#!/usr/bin/env bash
# polars and pyarrow: a Categorical becomes a dictionary that Arrow cannot decode.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'polars==2.1.0' 'pyarrow==26.0.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import polars as pl
import pyarrow as pa

cities = pl.Series(["Bonn", "Oslo", "Bonn"], dtype=pl.Categorical)
column = pa.chunked_array(cities)
try:
    seen = column.chunk(0).dictionary_decode().type
except pa.ArrowNotImplementedError:
    seen = "ArrowNotImplementedError"

print(f"polars {version('polars')}, pyarrow {version('pyarrow')}")
print("Through the stream interface the labels are string views, and Arrow has no take for them.")
print(f"type: {column.type}; decoded: {seen}; to_pylist: {column.to_pylist()}")
assert pa.types.is_dictionary(column.type) and seen == "ArrowNotImplementedError"
assert column.to_pylist() == ["Bonn", "Oslo", "Bonn"]
PYTHON
