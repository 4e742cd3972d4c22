"""Errors of proximal coordinate descent by kind of noise, and by the number of steps.

Usage: python benchmarks/bench_coordinate_descent.py [--data FOLDER] [--repeats 3]
       [--smallest]

FOLDER holds adult.data.csv.gz, bank-full.csv.gz and cylinder-bands.csv.gz; without it
scikit-learn's breast cancer data are used. In the first table each
step of one coefficient is (1, 0.1)-DP by itself, as in Table 3 of Selvi, Liu and Wiesemann. This is
no guarantee for the model; it compares kinds of noise. In the second table all steps together are
(ε, δ)-DP, so the noise of a step grows with their number.
"""

import argparse

import numpy as np
from bench_naive_bayes import CLASSIC_GAUSSIAN
from data_sets import small_sets
from mixed_tables import tables
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from skdp import DPLogisticRegression
from skdp.design import ClippedDesign
from skdp.losses import LogisticLoss
from skdp.preprocessing import BoundsScaler
from skdp.privacy import Neighboring
from skdp.research.solvers.coordinate_descent import CoordinateDescent, Cycles
from skdp.solvers import Problem
from skdp.workloads import NOISES, Query

N_CYCLES, STEP = 100, 4.0  # for the mean loss, whose second derivatives are at most 1/4


class Noise:
    """A generator whose "normal" numbers are those of a mechanism."""

    def __init__(self, mechanism, seed):
        """Take the mechanism of one step."""
        self._mechanism, self._rng = mechanism, np.random.default_rng(seed)
        self.permutation = self._rng.permutation

    def normal(self, scale, size):
        """Return noise for one number."""
        return self._mechanism.release(0.0, self._rng)


def encoded(X, bounds, categories):
    """Return numbers in [−1, 1] and a column for each category."""
    encode = make_column_transformer(
        (BoundsScaler(bounds=np.array(list(bounds.values()), dtype=float)), list(bounds)),
        (
            OneHotEncoder(
                categories=list(categories.values()), handle_unknown="ignore", sparse_output=False
            ),
            list(categories),
        ),
    )
    return encode.fit_transform(X)


def data_sets(folder, n):
    """Yield (name, X, y) of at most `n` records."""
    if folder is None:
        X, y = small_sets()["breast_cancer"]
        yield "breast cancer", X[:n], y[:n]
        return
    for name, table, y, bounds, categories in tables(folder):
        yield name, encoded(table, bounds, categories)[:n], y[:n]


def each_step(mechanism, parts, seed):
    """Return the percentage of wrong labels if every step has this noise."""
    X, X_test, y, y_test = parts
    problem = Problem(
        loss=LogisticLoss(),
        data_norm=1.0,
        intercept_scaling=0.3,
        n_samples=len(X),
        neighboring=Neighboring.REPLACE_ONE,
    )
    cycles = Cycles(
        n_cycles=N_CYCLES,
        step_size=STEP / len(X),
        noise=1.0,
        l1=0.0,
        ridge=1e-8 * len(X),
        average=0.0,
    )
    design = ClippedDesign.clip(X, 1.0, 0.3, 2.0 * y - 1.0)
    theta = cycles.run(problem, design, Noise(mechanism, seed), lambda *step: None)
    scores = ClippedDesign.clip(X_test, 1.0, 0.3).scores(theta)
    return 100.0 * np.mean((scores > 0.0) != y_test)


def together(n_cycles, epsilon, parts, seed):
    """Return the percentage of wrong labels for a guarantee of the model."""
    X, X_test, y, y_test = parts
    solver = CoordinateDescent(n_cycles=n_cycles)
    model = DPLogisticRegression(epsilon=epsilon, solver=solver, classes=[0, 1], random_state=seed)
    return 100.0 * (1.0 - model.fit(X, y).score(X_test, y_test))


def main():
    """Print both tables for every set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--smallest", action="store_true", help="two kinds of noise, once")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.repeats = None, 1
    kinds = [CLASSIC_GAUSSIAN, *(kind for kind in NOISES.values() if kind.needs_delta)]
    kinds = kinds[: 2 if options.smallest else None]
    step = Query("step", linf_sensitivity=2.0)
    for name, X, y in data_sets(options.data, 100 if options.smallest else None):
        splits = [
            train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
            for seed in range(options.repeats)
        ]
        print(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} columns; error in %", flush=True)
        for kind in kinds:
            mechanism = kind.mechanisms((step,), 1.0, 0.1)[0]
            found = [each_step(mechanism, parts, seed) for seed, parts in enumerate(splits)]
            print(f"  each step (1, 0.1)  {kind.name:18}{np.mean(found):8.2f}", flush=True)
        for epsilon in (0.1, 1.0)[: 1 if options.smallest else None]:
            for n_cycles in (10, 30, 100)[: 1 if options.smallest else None]:
                found = [together(n_cycles, epsilon, p, seed) for seed, p in enumerate(splits)]
                label = f"all {n_cycles * (X.shape[1] + 1)} steps ({epsilon}, 1e-05)"
                print(f"  {label:38}{np.mean(found):8.2f}", flush=True)


if __name__ == "__main__":
    main()
