#!/usr/bin/env bash
# pyarrow: a Parquet file lists the values of a dictionary column whose rows were left out.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pyarrow==26.0.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

names = pa.array(["Ada", "Bo", "Cy"])


def stored(column):
    """Return the bytes of a Parquet file that holds only the rows of Bo."""
    table = pa.table({"name": column})
    sink = pa.BufferOutputStream()
    pq.write_table(table.filter(pc.equal(table["name"], "Bo")), sink, compression="none")
    return sink.getvalue().to_pybytes()


plain, encoded = (stored(column) for column in (names, names.dictionary_encode()))
leaks = {"strings": b"Ada" in plain, "dictionary": b"Ada" in encoded}
read = pq.read_table(pa.BufferReader(encoded))

print(f"pyarrow {pa.__version__}")
print("The dictionary page has all values of the dictionary, not those of the rows. No row shows it.")
print("Rows read:", read["name"].to_pylist(), "- the file has the name that was left out:", leaks)
assert read["name"].to_pylist() == ["Bo"]
assert leaks == {"strings": False, "dictionary": True}
PYTHON
