#!/usr/bin/env bash
# Dask and scikit-learn: the training rows of a split are sorted, and their labels are not.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'dask[array,dataframe]==2026.8.0' 'scikit-learn==1.9.1' 'pandas==2.3.3' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

age = np.arange(4000) % 80 + 18.0
X, _, y, _ = train_test_split(pd.DataFrame({"age": age}), age > 60, random_state=0)
labels = da.from_array(y, chunks=1000)


def correlation(frame):
    return np.corrcoef(frame["age"].compute(), labels.compute())[0, 1]


memory = np.corrcoef(X["age"], y)[0, 1]
lazy = correlation(dd.from_pandas(X, npartitions=3))
unsorted = correlation(dd.from_pandas(X, npartitions=3, sort=False))
print(f"dask {version('dask')}, scikit-learn {version('scikit-learn')}")
print("from_pandas sorts rows by their index, which a split shuffles. An array of labels stays.")
print(f"correlation of age and label in memory: {memory:.2f}; as a Dask frame and a Dask array", end=" ")
print(f"of as many rows and blocks: {lazy:.2f}; with sort=False: {unsorted:.2f}")
assert memory > 0.8 and abs(lazy) < 0.1 and unsorted == memory
PYTHON
