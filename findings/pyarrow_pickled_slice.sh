#!/usr/bin/env bash
# pyarrow: a pickle of one row of a table contains all rows.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pyarrow==26.0.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
import pickle

import pyarrow as pa

people = pa.table({"name": [f"person {i}" for i in range(1000)]})
row = people.slice(0, 1)

sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, row.schema) as stream:
    stream.write_table(row)
kept = {
    "pickle": pickle.dumps(row),
    "pickle of take": pickle.dumps(people.take([0])),
    "Arrow stream": sink.getvalue().to_pybytes(),
}
leaks = {name: b"person 999" in stored for name, stored in kept.items()}

print(f"pyarrow {pa.__version__}")
print("A slice keeps the buffers of its table. A pickle stores them, and an Arrow stream cuts them.")
print("Rows:", row.num_rows, "- contains the last of 1000 persons:", leaks)
assert leaks == {"pickle": True, "pickle of take": False, "Arrow stream": False}
PYTHON
