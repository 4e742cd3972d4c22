#!/usr/bin/env bash
# feature-engine: DatetimeOrdinal cannot be cloned, and so not be searched or cross-validated.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'feature-engine==1.9.4' 'scikit-learn==1.9.1' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

from feature_engine.datetime import DatetimeOrdinal
from sklearn.base import clone

try:
    clone(DatetimeOrdinal(start_date="2020-01-01"))
    seen = "no error"
except AttributeError as error:
    seen = f"AttributeError: {error}"

print(f"feature-engine {version('feature-engine')}")
print("The constructor keeps start_date under another name, which get_params does not find.")
print("clone(DatetimeOrdinal(start_date=...)):", seen)
assert "start_date" in seen
PYTHON
