#!/usr/bin/env bash
# pandera: a schema that goes through JSON accepts categories that it rejected.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pandera==0.35.0' 'pandas==2.3.3'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import pandas as pd
import pandera.pandas as pa

schema = pa.DataFrameSchema({"risk": pa.Column(pd.CategoricalDtype(["low", "high"], ordered=True))})
again = pa.DataFrameSchema.from_json(schema.to_json())
other = pd.DataFrame({"risk": pd.Categorical(["maybe", "never"])})


def accepts(one):
    try:
        one.validate(other)
    except pa.errors.SchemaError:
        return False
    return True


print(f"pandera {version('pandera')}")
print("JSON keeps that a column is categorical, and drops its categories and their order.")
print(f"accepts other categories: the schema {accepts(schema)}, the same from JSON {accepts(again)}")
assert not accepts(schema) and accepts(again)
PYTHON
