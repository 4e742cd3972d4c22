#!/usr/bin/env bash
# Dask: of two fitted models that are dataclasses, both lazy predictions are those of one.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "dask[array]==2026.8.0" "scikit-learn==1.9.0" "numpy==2.4.4"

"$folder/venv/bin/python" - << 'PYTHON'
from dataclasses import dataclass

import dask
import dask.array as da
import numpy as np
import sklearn
from dask.base import tokenize
from sklearn.base import BaseEstimator


@dataclass(eq=False)
class Dataclass(BaseEstimator):
    shrinkage: float = 0.0

    def fit(self, y):
        self.mean_ = (1.0 - self.shrinkage) * np.mean(y)
        return self

    def predict(self, X):
        return X.map_blocks(self._of_block, dtype=float, drop_axis=1)

    def _of_block(self, rows):
        return np.full(len(rows), self.mean_)


class Plain(BaseEstimator):
    def __init__(self, shrinkage=0.0):
        self.shrinkage = shrinkage

    fit, predict, _of_block = Dataclass.fit, Dataclass.predict, Dataclass._of_block


print(f"Dask {dask.__version__}, scikit-learn {sklearn.__version__}")
X = da.from_array(np.zeros((4, 1)), chunks=2)
means, names = {}, {}
for kind in (Dataclass, Plain):
    first, second = kind().fit([1.0, 1.0]), kind().fit([5.0, 5.0])
    both = dask.compute(first.predict(X), second.predict(X))
    means[kind] = [float(one.mean()) for one in both]
    names[kind] = len({tokenize(first), tokenize(second)})
    alone = float(second.predict(X).compute().mean())
    print(f"{kind.__name__:9}: means 1 and 5, names {names[kind]}, "
          f"computed together {means[kind]}, the second alone {alone}")
assert means[Plain] == [1.0, 5.0] and names[Plain] == 2
assert means[Dataclass] != [1.0, 5.0] and names[Dataclass] == 1
print("Dask names a dataclass by its class and its fields, and not by what it has learned beside them.")
PYTHON
