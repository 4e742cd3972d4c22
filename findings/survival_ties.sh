#!/usr/bin/env bash
# lifelines and scikit-survival: the default Cox models of the same rows differ.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'lifelines==0.30.3' 'scikit-survival==0.28.0' 'scikit-learn==1.9.1' 'pandas==2.3.3' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import numpy as np
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

rows = load_rossi()
X, y = rows.drop(columns=["week", "arrest"]).astype(float), Surv.from_arrays(
    rows["arrest"].astype(bool), rows["week"]
)
first = CoxPHFitter().fit(rows, "week", "arrest").params_.to_numpy()
second = CoxPHSurvivalAnalysis().fit(X, y).coef_
third = CoxPHSurvivalAnalysis(ties="efron").fit(X, y).coef_

print(f"lifelines {version('lifelines')}, scikit-survival {version('scikit-survival')}")
print("Ties are Efron's by default in one library and Breslow's in the other.")
print(f"largest difference of a coefficient: {np.abs(first - second).max():.5f},", end=" ")
print(f"with ties='efron' {np.abs(first - third).max():.1e}")
assert np.abs(first - second).max() > 1e-3 and np.abs(first - third).max() < 1e-4
PYTHON
