#!/usr/bin/env bash
# fastparquet: durations are written as times of day, so that pyarrow and polars read 90 minutes as 01:30.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'fastparquet==2026.9.0' 'pyarrow==26.0.1' 'polars==2.1.0' \
    'pandas==2.3.3'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
import fastparquet
import pandas as pd
import polars as pl
import pyarrow.parquet as pq

stay = pd.DataFrame({"stay": pd.to_timedelta([90, 600], unit="min")})
fastparquet.write("stays.parquet", stay)
own = fastparquet.ParquetFile("stays.parquet").to_pandas()["stay"].dtype
arrow = pq.read_table("stays.parquet")["stay"]
polars = pl.read_parquet("stays.parquet")["stay"]

print(f"fastparquet {fastparquet.__version__}, pyarrow, polars {pl.__version__}")
print("Parquet has no type of durations; its type of times of day is taken, and a note for pandas.")
print(f"read by fastparquet: {own}; by pyarrow: {arrow.type}; by polars: {polars.dtype} {polars[0]}")
assert own.kind == "m" and str(arrow.type) == "time64[us]" and polars.dtype == pl.Time
PYTHON
