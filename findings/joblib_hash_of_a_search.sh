#!/usr/bin/env bash
# joblib: a fitted search cannot be hashed, because its results are masked arrays.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'joblib==1.6.0' 'scikit-learn==1.9.1' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import joblib
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

X = np.random.default_rng(0).normal(size=(50, 2))
search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=3)
before = joblib.hash(search)
try:
    seen = joblib.hash(search.fit(X, X[:, 0]))
except ValueError as error:
    seen = f"ValueError: {error}"

print(f"joblib {version('joblib')}")
print("Arrays are hashed by their bytes, and those of a masked array do not have its size.")
print(f"hash of the search: {before}; after its fit: {seen}")
assert "cannot reshape" in seen
PYTHON
