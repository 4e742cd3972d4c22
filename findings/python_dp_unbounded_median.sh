#!/usr/bin/env bash
# PyDP: a median of floats without bounds is searched among all doubles.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'python-dp==1.1.5'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

from pydp.algorithms.laplacian import Median

ages = [20.0 + k % 60 for k in range(1000)]
without = [Median(epsilon=1.0, dtype="float").quick_result(ages) for _ in range(20)]
within = [
    Median(epsilon=1.0, lower_bound=0, upper_bound=120, dtype="float").quick_result(ages)
    for _ in range(20)
]
largest = max(map(abs, without))

print(f"python-dp {version('python-dp')}")
print("Without bounds a mean searches for them. A median takes those of the type, silently.")
print(f"ages 20 to 79: medians with bounds {min(within):.1f} to {max(within):.1f},", end=" ")
print(f"without bounds up to {largest:.1e}")
assert largest > 1e6 and all(30 < one < 70 for one in within)
PYTHON
