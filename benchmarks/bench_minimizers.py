"""Time and memory of the solvers that minimize, beside scikit-learn's `LogisticRegression`.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_minimizers.py [--rows 1000000] [--columns 50]
       [--rounds 5] [--smallest]

Dense standard normal features. Times are medians over interleaved rounds; read the ratios. Memory
is what a fit allocates beyond its input at its peak, relative to the input.
"""

import argparse
import time
import tracemalloc

import numpy as np
from diagnosed import diagnosed
from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression

MODELS = {
    "scikit-learn": LogisticRegression(),
    "objective": diagnosed(DPLogisticRegression(solver="objective_perturbation")),
    "objective, plain logistic": diagnosed(
        DPLogisticRegression(solver="objective_perturbation", loss_clip=None)
    ),
    "output": diagnosed(DPLogisticRegression(solver="output_perturbation")),
}


def data(rows, columns):
    """Return X and y from a logistic model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    score = X @ rng.normal(size=columns) * 3.0 / np.sqrt(columns)
    return X / np.sqrt(columns), (score + rng.logistic(size=rows) > 0.0).astype(int)


def seconds(model, X, y):
    """Return the time of one fit."""
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def peak(model, X, y):
    """Return the peak of what a fit allocates, over the size of X."""
    tracemalloc.start()
    model.fit(X, y)
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest / X.nbytes


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smallest", action="store_true", help="1000 rows of 5 columns, once")
    options = parser.parse_args()
    if options.smallest:
        options.rows, options.columns, options.rounds = 1000, 5, 1
    X, y = data(options.rows, options.columns)
    times = {name: [] for name in MODELS}
    for _ in range(options.rounds):
        for name, model in MODELS.items():
            times[name].append(seconds(model, X, y))
    print("| model | median s | ratio | memory over X | passes |\n|---|---|---|---|---|")
    for name, model in MODELS.items():
        ratio = np.median(np.divide(times[name], times["scikit-learn"]))
        passes = getattr(model, "diagnostics_", {}).get("passes", "")
        print(
            f"| {name} | {np.median(times[name]):.2f} | {ratio:.2f} | {peak(model, X, y):.2f} "
            f"| {passes} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
