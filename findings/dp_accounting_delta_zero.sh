#!/usr/bin/env bash
# dp-accounting: at delta 0 a Laplace release of epsilon 0.1 is reported as infinite.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'dp-accounting==0.6.0'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

from dp_accounting import LaplaceDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

found = {}
for Accountant in (PLDAccountant, RdpAccountant):
    for delta in (0.0, 1e-12):
        accountant = Accountant()
        accountant.compose(LaplaceDpEvent(10.0))
        found[Accountant.__name__, delta] = accountant.get_epsilon(delta)

print(f"dp-accounting {version('dp-accounting')}")
print("Laplace noise of scale 10 and sensitivity 1 is 0.1-DP without any delta.")
print("; ".join(f"{name}, delta {delta:g}: {found[name, delta]}" for name, delta in found))
infinite = [epsilon == float("inf") for epsilon in found.values()]
assert infinite == [True, False, True, False] and max(found["PLDAccountant", 1e-12], 0.0) < 0.11
PYTHON
