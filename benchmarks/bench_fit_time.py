"""Time and memory of a fit on Adult (a9a) at ε = 1, beside scikit-learn's in the same run.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_fit_time.py --data FOLDER [--rounds 9]

Times are medians over interleaved rounds; read the ratios. Memory is what a fit allocates beyond
its input at its peak, in vectors of length n.
"""

import argparse
import time
import tracemalloc

import numpy as np
from data_sets import adult
from sklearn.linear_model import LogisticRegression

from skdp import DPHingeClassifier, DPLogisticRegression

MODELS = (LogisticRegression, DPLogisticRegression, DPHingeClassifier)


def seconds(Model, X, y):
    """Return the time of one fit."""
    start = time.perf_counter()
    Model().fit(X, y)
    return time.perf_counter() - start


def peak_vectors(Model, X, y):
    """Return the peak of what a fit allocates, in float64 vectors of length n."""
    tracemalloc.start()
    Model().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * X.shape[0])


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with the libsvm files of a9a")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    parts = adult(options.data)
    if parts is None:
        parser.error("no a9a.libsvm.gz in that folder")
    X_sparse, _, y, _ = parts
    print("| input | model | median ms | ratio to scikit-learn | peak memory, n-vectors |")
    print("|---|---|---|---|---|")
    for form, X in (("CSR", X_sparse), ("dense", X_sparse.toarray())):
        times = {Model: [] for Model in MODELS}
        for _ in range(options.rounds):
            for Model in MODELS:
                times[Model].append(seconds(Model, X, y))
        for Model in MODELS:
            ratio = np.median(np.divide(times[Model], times[LogisticRegression]))
            print(
                f"| {form} | {Model.__name__} | {1e3 * np.median(times[Model]):.0f} "
                f"| {ratio:.2f} | {peak_vectors(Model, X, y):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
