#!/usr/bin/env bash
# pyreadstat: the codes of missing values are in the metadata of an SPSS file only if asked for.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pyreadstat==1.3.7' 'pandas==3.0.0'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
from importlib.metadata import version

import pandas as pd
import pyreadstat

frame = pd.DataFrame({"answer": [1.0, 2.0, 9.0]})
pyreadstat.write_sav(frame, "t.sav", missing_ranges={"answer": [9]})
usual = pyreadstat.read_sav("t.sav", metadataonly=True)[1].missing_ranges
asked = pyreadstat.read_sav("t.sav", metadataonly=True, user_missing=True)[1].missing_ranges

print(f"pyreadstat {version('pyreadstat')}")
print("user_missing decides about the cells, and about the metadata too.")
print(f"missing ranges: {usual}; with user_missing=True: {asked}")
assert usual == {} and asked == {"answer": [{"lo": 9.0, "hi": 9.0}]}
PYTHON
