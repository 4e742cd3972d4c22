#!/usr/bin/env bash
# Apache DataSketches: the quantiles of a t-digest decrease for data that are mostly zeros.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'datasketches==5.2.0' 'numpy==2.4.6'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
from importlib.metadata import version

import numpy as np
from datasketches import tdigest_double

spending = np.r_[np.zeros(9000), np.arange(1.0, 1001.0)]
np.random.default_rng(0).shuffle(spending)
digest = tdigest_double(100)
for value in spending:
    digest.update(value)
ranks = np.linspace(0.0, 1.0, 401)
quantiles = np.array([digest.get_quantile(rank) for rank in ranks])
falls = np.flatnonzero(np.diff(quantiles) < 0.0)
deepest = falls[np.diff(quantiles)[falls].argmin()]

print(f"datasketches {version('datasketches')}")
print("Values of 90 % zeros and 1 to 1000: a quantile of a higher rank may be the smaller one.")
print(f"{falls.size} of 400 steps fall; the deepest:", end=" ")
for k in (deepest, deepest + 1):
    print(f"rank {ranks[k]:.4f} is {quantiles[k]:.1f},", end=" ")
print("of the data", *np.quantile(spending, ranks[deepest : deepest + 2]).round(1))
assert falls.size >= 5 and np.diff(quantiles).min() < -10.0
PYTHON
