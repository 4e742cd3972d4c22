#!/usr/bin/env bash
# Apache DataSketches: 1000 identifiers that are integers in one file and floats in another are 2000.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'datasketches==5.2.0' 'pandas==3.1.1'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
import io
from importlib.metadata import version

import pandas as pd
from datasketches import cpc_sketch, hll_sketch, update_theta_sketch

first = pd.read_csv(io.StringIO("person\n" + "\n".join(map(str, range(1000)))))
second = pd.read_csv(io.StringIO("person,x\n" + "\n".join(f"{k},1" for k in range(1000)) + "\n,1"))
together = set(first.person) | set(second.person.dropna())
print(f"datasketches {version('datasketches')}")
print("Python and pandas count equal numbers once; the sketches count each type of number apart.")
print(f"dtypes {first.person.dtype} and {second.person.dtype}; distinct in Python {len(together)}")
for sketch in (hll_sketch(12), cpc_sketch(12), update_theta_sketch(12)):
    for person in [*first.person, *second.person.dropna()]:
        sketch.update(person)
    count = sketch.get_estimate()
    print(f"{type(sketch).__name__}: {count:.0f}")
    assert len(together) == 1000 and 1800 < count < 2200
PYTHON
