#!/usr/bin/env bash
# SDMetrics: a synthetic table that lost a perfect dependence has the quality 1, one with gaps .98.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'sdmetrics==0.32.0' 'pandas==2.3.3' 'numpy==2.4.6' 'scikit-learn==1.9.1'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import numpy as np
import pandas as pd
from sdmetrics.reports.single_table import QualityReport

rng = np.random.default_rng(0)


def quality(real, synthetic):
    kinds = {"O": "categorical", "f": "numerical"}
    columns = {name: {"sdtype": kinds[real[name].dtype.kind]} for name in real}
    report = QualityReport()
    report.generate(real, synthetic, {"columns": columns}, verbose=False)
    return report.get_score(), report.get_details("Column Pair Trends")["Score"].tolist()


dose = rng.uniform(-1.0, 1.0, 2000)
real = pd.DataFrame({"dose": dose, "effect": dose**2})
score, pairs = quality(real, real.assign(effect=rng.permutation(real["effect"])))

people = pd.DataFrame({"age": rng.normal(50.0, 10.0, 2000)})
people["sex"] = pd.Series(rng.choice(["f", "m"], 2000), dtype=object)
with_gaps, _ = quality(people, people.assign(age=people["age"].mask(rng.random(2000) < 0.9)))

print(f"sdmetrics {version('sdmetrics')}")
print("A pair with a small linear correlation is left out of the score, and so are missing values.")
print(f"effect = dose squared, then shuffled: quality {score:.3f}, score of the pair {pairs}", end="; ")
print(f"90 % of the ages are missing: quality {with_gaps:.3f}")
assert score > 0.999 and np.isnan(pairs).all() and with_gaps > 0.9
PYTHON
