#!/usr/bin/env bash
# dp-accounting: a Laplace release of epsilon 1e-5 is reported as 1e-4.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'dp-accounting==0.6.0'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

from dp_accounting.pld import privacy_loss_distribution as losses

found = {}
for epsilon in (1e-3, 1e-5, 1e-7):
    one = losses.from_laplace_mechanism(parameter=1.0 / epsilon)
    found[epsilon] = one.get_epsilon_for_delta(0.0)

print(f"dp-accounting {version('dp-accounting')}")
print("Losses are rounded up to a grid of 1e-4 by default, so no release costs less than that.")
print("Laplace noise of epsilon, and the epsilon reported:", found)
assert abs(found[1e-3] - 1e-3) < 1e-9
assert all(abs(found[epsilon] - 1e-4) < 1e-9 for epsilon in (1e-5, 1e-7))
PYTHON
