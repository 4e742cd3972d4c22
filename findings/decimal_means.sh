#!/usr/bin/env bash
# pyarrow, pandas and ibis: the mean of a decimal column is rounded to the places of the column.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pyarrow==26.0.1' 'pandas==2.3.3' 'polars==2.1.0' 'duckdb==2.0.1' 'ibis-framework[duckdb]==12.0.0' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow.compute as pc

# a flag in a column numeric(1, 0) of a database: 1 in 300 of 1000 rows
query = "SELECT (i % 10 < 3)::INT::DECIMAL(1, 0) AS flag FROM range(1000) AS t(i)"
flags = duckdb.sql(query).to_arrow_table()
column = ibis.memtable(flags).flag
found = {
    "DuckDB": duckdb.sql("SELECT avg(flag) FROM flags").fetchall()[0][0],
    "polars": pl.from_arrow(flags)["flag"].mean(),
    "pandas, objects": flags.to_pandas()["flag"].mean(),
    "pyarrow": pc.mean(flags["flag"]).as_py(),
    "pandas, Arrow types": flags.to_pandas(types_mapper=pd.ArrowDtype)["flag"].mean(),
    "ibis on DuckDB": column.mean().execute(),
}
deviation = column.std().execute()

names = ("pyarrow", "pandas", "polars", "duckdb", "ibis-framework")
print(", ".join(f"{name} {version(name)}" for name in names))
print("The mean has the type of the column. So the share of a flag that is 1 in 30 % is 0.")
print("; ".join(f"{name}: {number}" for name, number in found.items()), end="; ")
print(f"standard deviation in ibis: {deviation}")
numbers = [float(number) for number in found.values()]
assert all(abs(number - 0.3) < 1e-9 for number in numbers[:3]), "these three are right"
assert numbers[3:] == [0.0, 0.0, 0.0] and deviation == 0
PYTHON
