"""Time and peak memory of every solver as rows and columns grow, beside scikit-learn's fit.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_scaling.py [--largest 1000000] [--rounds 3]
       [--smallest]

Dense synthetic data in the unit ball, ε = 1, add_remove_one with a hint. Times are medians over
interleaved rounds; ratios are to `LogisticRegression` in the same round. Memory is what a fit
allocates beyond its input at its peak, in vectors of length n.
"""

import argparse
import time
import tracemalloc

import numpy as np
from peers import available
from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression
from skdp.solvers import SOLVERS

SHAPES = [(1_000, 50), (10_000, 50), (100_000, 50), (1_000_000, 50), (10_000, 500), (10_000, 2000)]


def data(n, d):
    """Return rows of norm 1 and labels of a logistic model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    logits = 4.0 * X @ rng.normal(size=d)
    return X, (logits + rng.logistic(size=n) > 0).astype(int)


def learners(n, peers):
    """Return {name: function that fits}."""
    own = {
        solver: DPLogisticRegression(
            solver=solver, neighboring="add_remove_one", n_samples_hint=n, random_state=0
        ).fit
        for solver in SOLVERS
        if solver not in ("adassp", "exponential_mechanism")
    }
    others = {name: lambda X, y, learn=learn: learn(X, y, 1.0, 0) for name, learn in peers.items()}
    return {"scikit-learn": LogisticRegression().fit} | own | others


def seconds(fit, X, y):
    """Return the time of one fit."""
    start = time.perf_counter()
    fit(X, y)
    return time.perf_counter() - start


def peak_vectors(fit, X, y):
    """Return the peak of what a fit allocates, in float64 vectors of length n."""
    tracemalloc.start()
    fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * len(X))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000, help="most rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smallest", action="store_true", help="1000 rows, once, no peers")
    options = parser.parse_args()
    if options.smallest:
        options.rounds = 1
    peers, reasons = ({}, []) if options.smallest else available()
    print("\n".join(reasons))
    print("| rows | columns | learner | median ms | ratio to scikit-learn | peak, n-vectors |")
    print("|---" * 6 + "|")
    for n, d in [(1000, 5)] if options.smallest else SHAPES:
        if n > options.largest:
            continue
        X, y = data(n, d)
        fits = learners(n, peers)
        times = {name: [] for name in fits}
        for _ in range(options.rounds):
            for name, fit in fits.items():
                times[name].append(seconds(fit, X, y))
        for name, fit in fits.items():
            ratio = np.median(np.divide(times[name], times["scikit-learn"]))
            print(
                f"| {n} | {d} | {name} | {1e3 * np.median(times[name]):.1f} | {ratio:.2f} "
                f"| {peak_vectors(fit, X, y):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
