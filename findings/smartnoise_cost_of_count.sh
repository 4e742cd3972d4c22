#!/usr/bin/env bash
# SmartNoise SQL: COUNT(*) costs twice the epsilon of the connection, COUNT(DISTINCT id) once.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'smartnoise-sql==1.0.10' 'pandas==2.3.3'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import pandas as pd
import snsql

table = pd.DataFrame({"pid": range(1000), "age": [18 + k % 70 for k in range(1000)]})
columns = {
    "pid": {"type": "int", "private_id": True},
    "age": {"type": "int", "lower": 0, "upper": 120},
}
metadata = {"": {"db": {"people": {"row_privacy": False, "rows": 1000, **columns}}}}
privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
reader = snsql.from_df(table, privacy=privacy, metadata=metadata)
queries = ["COUNT(DISTINCT pid)", "COUNT(*)", "AVG(age)", "VAR(age)"]
cost = {q: float(reader.get_privacy_cost(f"SELECT {q} AS x FROM db.people")[0]) for q in queries}

print(f"smartnoise-sql {version('smartnoise-sql')}")
print("Privacy(epsilon=1) is the price of one noisy sum, and a query needs one to four of them.")
print("epsilon of one query:", cost)
assert list(cost.values()) == [1.0, 2.0, 3.0, 4.0]
PYTHON
