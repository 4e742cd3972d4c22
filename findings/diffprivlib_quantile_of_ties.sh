#!/usr/bin/env bash
# diffprivlib: the median of 1000 equal numbers is uniform noise.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'diffprivlib==0.6.6' 'scikit-learn==1.7.2' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
import diffprivlib
import numpy as np
from diffprivlib.tools import median

equal = np.full(1000, 0.5)
spread = np.linspace(0.0, 1.0, 1001)
of_equal = [float(median(equal, epsilon=1.0, bounds=(0, 1))) for _ in range(200)]
of_spread = [float(median(spread, epsilon=1.0, bounds=(0, 1))) for _ in range(200)]

print(f"diffprivlib {diffprivlib.__version__}")
print("An interval between two values is drawn, and one of no width has no probability.")
print(f"sd of 200 medians at epsilon 1: {np.std(of_equal):.3f} of equal values,", end=" ")
print(f"{np.std(of_spread):.4f} of spread ones; uniform on (0, 1) has {12**-0.5:.3f}")
# The sd of 200 uniform numbers has a standard error of .0093: six of them are .056.
assert abs(np.std(of_equal) - 12**-0.5) < 0.056 and np.std(of_spread) < 0.05
PYTHON
