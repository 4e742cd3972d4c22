#!/usr/bin/env bash
# autodp: four exact Gaussians compose by Renyi divergences, not exactly.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'autodp==0.2.3.1' 'numpy==2.4.6' 'scipy==1.17.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

from autodp.mechanism_zoo import ExactGaussianMechanism
from autodp.transformer_zoo import Composition

four = Composition()([ExactGaussianMechanism(1.0)], [4]).get_approxDP(1e-5)
same = ExactGaussianMechanism(0.5).get_approxDP(1e-5)  # equal to four with twice the noise

print(f"autodp {version('autodp')}")
print("The composition of mechanisms whose exact curve is known forgets that curve.")
print(f"four Gaussians of sigma 1: epsilon {four:.3f}; one of sigma 0.5, the same loss: {same:.3f}")
assert abs(four - 10.725) < 0.01 and abs(same - 9.997) < 0.01
PYTHON
