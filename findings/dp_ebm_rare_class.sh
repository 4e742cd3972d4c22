#!/usr/bin/env bash
# DP-EBM: with 2 % positives the default mean probability is .26, at any epsilon.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'interpret-core==0.7.8' 'scikit-learn==1.9.1' 'pandas==3.1.1' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier

rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.uniform(0, 1, 20_000)})
y = (rng.uniform(size=len(X)) < 0.02).astype(int)
public = {"privacy_bounds": {"a": (0, 1)}, "feature_types": ["continuous"]}
mean = {}
for epsilon in (1.0, 100.0):
    model = DPExplainableBoostingClassifier(epsilon=epsilon, delta=1e-6, **public).fit(X, y)
    mean[epsilon] = float(model.predict_proba(X)[:, 1].mean().round(3))

print(f"interpret-core {version('interpret-core')}")
print("300 rounds with a rate of .01 start at log-odds of 0 and cannot reach those of 2 %.")
print(f"share of positives {y.mean():.3f}; mean probability by epsilon: {mean}")
assert min(mean.values()) > 5 * y.mean()
PYTHON
