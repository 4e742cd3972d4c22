#!/usr/bin/env bash
# formulaic and patsy: scale(x) of the same formula differs by sqrt(n / (n - 1)).
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'formulaic==1.2.2' 'patsy==1.0.3' 'pandas==2.3.3' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import formulaic
import numpy as np
import pandas as pd
import patsy

table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
of_patsy = np.asarray(patsy.dmatrix("scale(x) - 1", table)).ravel()
of_formulaic = np.asarray(formulaic.model_matrix("scale(x) - 1", table)).ravel()
ratio = of_patsy / of_formulaic

print(f"formulaic {version('formulaic')}, patsy {version('patsy')}")
print("One divides by the population's standard deviation, its successor by the sample's.")
print(f"scale(x) of 1, 2, 3, 4: {of_patsy.round(3)} and {of_formulaic.round(3)}")
assert np.allclose(ratio, np.sqrt(4 / 3))
PYTHON
