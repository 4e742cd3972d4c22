#!/usr/bin/env bash
# DuckDB: a sample of 10 % of a table of 5000 rows has 0 or 2048 rows, or the other 904.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'duckdb==2.0.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from collections import Counter
from importlib.metadata import version

import duckdb

duckdb.sql("CREATE TABLE people AS SELECT range AS person FROM range(5000)")


def sizes(words):
    query = f"SELECT count(*) FROM people USING SAMPLE {words}"
    return [duckdb.sql(query).fetchall()[0][0] for _ in range(200)]


blocks, rows = sizes("10%"), sizes("10% (bernoulli)")
print(f"DuckDB {version('duckdb')}")
print("A percentage without a method chooses blocks of 2048 rows, each row with its neighbors.")
print(f"sizes in 200 samples: {dict(sorted(Counter(blocks).items()))}", end="; ")
print(f"with bernoulli: {min(rows)} to {max(rows)}")
assert {*blocks} <= {0, 904, 2048, 2952, 4096, 5000} and {0, 2048} <= {*blocks}
assert 350 < min(rows) <= max(rows) < 650
PYTHON
