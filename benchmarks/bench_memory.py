"""Memory of a fit beyond its data: peak of a fresh process, in units of the size of X.

Usage: python benchmarks/bench_memory.py [--rows 1000000] [--only WORD] [--smallest]

X has 20 columns of normal float64 numbers. A process first fits the same model to few rows, so that
imports and tables do not count, then makes X and y, and then fits. The peak is the largest resident
size that the system reports. A mark says that a fit needs more than it should.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import skdp

COLUMNS = 20
BOUNDS = {"bounds": (-5.0, 5.0)}
CLASSES = {"classes": [0, 1]}
Case = tuple[Callable[[], Any], bool, bool, float]  # a model, of classes, of a frame; most

CASES: dict[str, Case] = {
    "logistic": (lambda: skdp.DPLogisticRegression(**CLASSES), True, False, 0.2),
    "logistic, frame": (lambda: skdp.DPLogisticRegression(**CLASSES), True, True, 0.2),
    "linear": (lambda: skdp.DPLinearRegression(target_bounds=(-4, 4)), False, False, 0.2),
    "naive Bayes": (lambda: skdp.DPGaussianNB(**BOUNDS, **CLASSES), True, False, 0.2),
    "additive": (lambda: skdp.DPAdditiveClassifier(**BOUNDS, **CLASSES), True, False, 0.2),
    "additive, frame": (lambda: skdp.DPAdditiveClassifier(**BOUNDS, **CLASSES), True, True, 0.2),
    "tabular": (lambda: skdp.DPTabularClassifier(**BOUNDS, **CLASSES), True, False, 0.2),
    "tabular, frame": (lambda: skdp.DPTabularClassifier(**BOUNDS, **CLASSES), True, True, 0.2),
    "forest": (lambda: skdp.DPRandomForestClassifier(**BOUNDS, **CLASSES), True, False, 1.0),
    "density": (lambda: skdp.DPTreeDensity(**BOUNDS), True, False, 1.0),
    "PCA": (lambda: skdp.DPPCA(n_components=2, **BOUNDS), True, False, 0.2),
    "k-means": (lambda: skdp.DPKMeans(n_clusters=5, **BOUNDS), True, False, 0.2),
}


def peak() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else 1024 * found


def data(case: Case, n_rows: int) -> tuple[Any, np.ndarray]:
    """Return rows and targets of a case, without larger arrays on the way."""
    _, of_classes, of_frame, _ = case
    rng = np.random.default_rng(0)
    X, y = np.empty((n_rows, COLUMNS)), np.empty(n_rows)
    for start in range(0, n_rows, 10_000):
        rows = slice(start, start + 10_000)
        X[rows] = rng.normal(size=X[rows].shape)
        y[rows] = X[rows, :3].sum(axis=1) + rng.logistic(size=len(X[rows]))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(COLUMNS)], copy=False)
    return (frame if of_frame else X), (y > 0.0).astype(int) if of_classes else y


def measure(name: str, n_rows: int) -> float:
    """Return the peak of a fit beyond what the process had before, over the size of X."""
    warnings.simplefilter("ignore")
    case = CASES[name]
    case[0]().fit(*data(case, 1000))
    X, y = data(case, n_rows)
    before = peak()
    case[0]().fit(X, y)
    return (peak() - before) / (8.0 * n_rows * COLUMNS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--smallest", action="store_true", help="few rows, two cases")
    parser.add_argument("--measure", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        print(json.dumps(measure(options.measure, options.rows)))
        return
    n_rows = 20_000 if options.smallest else options.rows
    print("| fit | memory beyond X, in X | at most |\n|---|---|---|")
    for name in list(CASES)[: 2 if options.smallest else None]:
        if options.only in name:
            command = [sys.executable, __file__, "--measure", name, "--rows", str(n_rows)]
            threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            answer = subprocess.run(command, env=os.environ | threads, stdout=-1, check=True)
            found, most = json.loads(answer.stdout), CASES[name][3]
            print(f"| {name} | {found:.2f}{' !' if found > most else ''} | {most:g} |", flush=True)


if __name__ == "__main__":
    main()
