"""Test accuracy over ε of every solver, by defaults alone, and of peers, in one run.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_solvers.py [--data FOLDER] [--seeds 20]
                                                           [--only NAME] [--smallest]

FOLDER holds the libsvm files of a9a; without it Adult is left out. Splits and noise are seeded by
the same number. Each cell has the mean, its standard error and the mean seconds of a fit. Peers
know two classes and add_remove_one only; those that are not installed, or fail, are named with the
reason.
"""

import argparse
import time

import numpy as np
from data_sets import adult, small_sets, split
from peers import PeerError, available

from skdp import DPLogisticRegression
from skdp.exceptions import IncompatibleSolverError
from skdp.solvers import SOLVERS

EPSILONS = (0.1, 0.3, 1.0, 3.0)


def own(solver, neighboring):
    """Return a learner of this library, in the form of those of the peers."""

    def learn(X, y, epsilon, seed):
        model = DPLogisticRegression(
            epsilon=epsilon, solver=solver, neighboring=neighboring, random_state=seed
        )
        return model.fit(X, y).predict

    return learn


def cell(learn, parts, epsilon):
    """Return the text of one cell, from (X, X_test, y, y_test, seed) for each run."""
    scores, seconds = [], []
    for X, X_test, y, y_test, seed in parts:
        start = time.perf_counter()
        try:
            predict = learn(X, y, epsilon, seed)
        except IncompatibleSolverError:
            return "refused"
        except PeerError as error:
            return str(error)
        seconds.append(time.perf_counter() - start)
        scores.append(np.mean(predict(X_test) == y_test))
    error = np.std(scores) / np.sqrt(len(scores))
    return f"{np.mean(scores):.4f} ({error:.4f}) {np.mean(seconds):.3f} s"


def report(data, neighboring, parts, peers):
    """Print one line a learner."""
    learners = {
        name: own(name, neighboring)
        for name in SOLVERS
        if name not in ("adassp", "exponential_mechanism")
    }
    if len(np.unique(parts[0][2])) == 2 and neighboring == "add_remove_one":
        learners |= peers
    for learner, learn in learners.items():
        cells = " | ".join(cell(learn, parts, epsilon) for epsilon in EPSILONS)
        print(f"| {data} | {neighboring} | {learner} | {cells} |", flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=None, help="folder with the libsvm files of a9a")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default=None, help="one data set")
    parser.add_argument("--smallest", action="store_true", help="wine, one split, no peers")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.seeds, options.only = None, 1, "wine"
    peers, reasons = ({}, []) if options.smallest else available()
    print("\n".join(reasons))
    print("| data | relation | learner | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |")
    print("|---" * 7 + "|")
    for name, (X, y) in small_sets().items():
        if options.only in (None, name):
            runs = [(*split(X, y, seed), seed) for seed in range(options.seeds)]
            report(name, "add_remove_one", runs, peers)
    parts = adult(options.data)
    if parts is not None and options.only in (None, "Adult a9a"):
        X, X_test, y, y_test = parts
        runs = [(X, X_test, y > 0, y_test > 0, seed) for seed in range(max(3, options.seeds // 4))]
        for neighboring in ("replace_one", "add_remove_one"):
            report("Adult a9a", neighboring, runs, peers)


if __name__ == "__main__":
    main()
