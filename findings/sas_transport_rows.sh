#!/usr/bin/env bash
# pandas and pyreadstat: a SAS transport file of 33 rows has 34 for pandas, and blank last rows are lost.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pyreadstat==1.3.7' 'pandas==2.3.3'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
import pandas as pd
import pyreadstat

counts = []
for remarks in (["late"] * 33, ["late"] * 30 + [""] * 5):
    pyreadstat.write_xport(pd.DataFrame({"remark": remarks}), "remarks.xpt", file_format_version=5)
    of_pandas = len(pd.read_sas("remarks.xpt", encoding="utf-8"))
    counts.append((len(remarks), len(pyreadstat.read_xport("remarks.xpt")[0]), of_pandas))

print(f"pandas {pd.__version__}, pyreadstat {pyreadstat.__version__}")
print("A record of 80 bytes is padded with blanks; rows of a narrow table may be blank too.")
print(f"rows written, read by pyreadstat, read by pandas: {counts}")
assert counts == [(33, 33, 34), (35, 30, 30)]
PYTHON
