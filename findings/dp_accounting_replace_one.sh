#!/usr/bin/env bash
# dp-accounting: under replace-one, the Renyi bound is half of the exact epsilon.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'dp-accounting==0.6.0'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import dp_accounting
from dp_accounting import pld, rdp

relation = dp_accounting.NeighboringRelation.REPLACE_ONE
event = dp_accounting.GaussianDpEvent(noise_multiplier=2.0)
renyi = rdp.RdpAccountant(neighboring_relation=relation).compose(event, 10).get_epsilon(1e-5)
exact = pld.PLDAccountant(relation).compose(event, 10).get_epsilon(1e-5)

print(f"dp-accounting {version('dp-accounting')}")
print("Under REPLACE_ONE one accountant takes the noise multiplier as noise over the sensitivity,")
print("the other one as noise over the norm of a record, so that an upper bound is below the value.")
print(f"ten Gaussians, multiplier 2, delta 1e-5: Renyi {renyi:.3f}, privacy loss {exact:.3f}")
assert abs(renyi - 8.079) < 0.01 and abs(exact - 17.857) < 0.01
PYTHON
