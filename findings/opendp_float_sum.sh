#!/usr/bin/env bash
# OpenDP: a sum of floats over more than 2^20 rows leaves out the rest.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'opendp==0.14.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import opendp.prelude as dp

dp.enable_features("contrib")
n = 3_000_000
unit, loss = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0)


def released_sum(values, bounds, **kind):
    domain = dp.vector_domain(dp.atom_domain(**kind))
    context = dp.Context.compositor(
        data=values, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, domain=domain
    )
    return context.query().clamp(bounds).sum().laplace().release()


floats = released_sum([1.0] * n, (0.0, 1.0), T=float, nan=False)
integers = released_sum([1] * n, (0, 1), T=int)

print(f"opendp {version('opendp')}")
print("The sum of floats adds 2^20 rows only, if the number of rows is not part of the domain.")
print(f"{n} ones: {floats:.1f} as floats, {integers} as integers; 2^20 = {2**20}")
assert abs(floats - 2**20) < 100 and abs(integers - n) < 100  # noise: less than e^-100
PYTHON
