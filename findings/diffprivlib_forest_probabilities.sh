#!/usr/bin/env bash
# diffprivlib: a random forest's probabilities are votes, .00 on average where a fourth is positive.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'diffprivlib==0.6.6' 'scikit-learn==1.7.2' 'numpy==2.4.6'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
import diffprivlib
import numpy as np
from diffprivlib.models import RandomForestClassifier
from sklearn.ensemble import RandomForestClassifier as OfScikitLearn

rng = np.random.default_rng(0)
X = rng.uniform(0.0, 1.0, (20_000, 2))
y = (rng.uniform(size=20_000) < 0.2 + 0.1 * X[:, 0]).astype(int)
private = RandomForestClassifier(
    n_estimators=10, epsilon=1000.0, bounds=([0, 0], [1, 1]), classes=[0, 1], random_state=0
)
plain = OfScikitLearn(n_estimators=10, max_depth=5, random_state=0)
means = [model.fit(X, y).predict_proba(X)[:, 1].mean() for model in (private, plain)]

print(f"diffprivlib {diffprivlib.__version__}")
print("A leaf keeps only its label, and predict_proba averages labels of trees, at any epsilon.")
print(f"share of positives {y.mean():.3f}; mean probability at epsilon 1000 {means[0]:.3f},", end=" ")
print(f"of scikit-learn's forest {means[1]:.3f}")
assert means[0] < 0.05 and abs(means[1] - y.mean()) < 0.02
PYTHON
