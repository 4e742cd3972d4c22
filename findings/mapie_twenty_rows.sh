#!/usr/bin/env bash
# MAPIE: 19 calibration rows are refused at level .95, where 19 are enough.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'mapie==1.6.0' 'scikit-learn==1.9.1' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import numpy as np
from mapie.regression import SplitConformalRegressor
from sklearn.linear_model import LinearRegression

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 1))
y = X[:, 0] + rng.normal(size=300)


def is_accepted(rows):
    model = SplitConformalRegressor(LinearRegression(), confidence_level=0.95, prefit=False)
    model.fit(X[:200], y[:200])
    try:
        model.conformalize(X[200 : 200 + rows], y[200 : 200 + rows]).predict_interval(X[:1])
    except ValueError:
        return False
    return True


accepted = {rows: is_accepted(rows) for rows in (18, 19, 20)}

print(f"mapie {version('mapie')}")
print("The bound is the ceil(.95 * (n + 1))-th score: with n = 19 the 19th, which exists.")
print("calibration rows, and whether they are accepted:", accepted)
assert accepted == {18: False, 19: False, 20: True}
PYTHON
