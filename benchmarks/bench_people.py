"""Accuracy of fits that protect all rows of a person together.

Usage: OMP_NUM_THREADS=2 python benchmarks/bench_people.py [--runs 40] [--smallest]

Persons have 1 to 20 rows (geometric, 0.18) of 15 columns. `icc` is the share of the variance that
lies between persons. Labels follow a noisy linear rule. The table shows the mean accuracy on new
persons, with the standard error of the first model. "rows as records" has a guarantee for one row
only; the difference is the cost of the unit. δ = 1e-5, under replace_one.
"""

import argparse

import numpy as np

from skdp import DPLogisticRegression
from skdp.solvers import NoisyGD

COLUMNS, STEEPNESS, TEST_ROWS = 15, 1.15, 20_000
MODELS = {
    "default": {},
    "weights 1/count": {"solver": NoisyGD(clip_share=1.0)},
    "samples, 1/count": {"solver": "regularized_exponential"},
    "keep 1 row": {"max_rows": 1},
    "keep 3 rows": {"max_rows": 3},
    "dp_sgd": {"solver": "dp_sgd"},
    "rows as records": {},
}


def people(n_persons, icc, rng):
    """Return rows, labels and whose each row is, then rows and labels of others."""
    counts = np.minimum(rng.geometric(0.18, n_persons), 20)
    groups = np.repeat(np.arange(n_persons), counts)
    own = rng.normal(size=(n_persons, COLUMNS))[groups]
    X = np.sqrt(icc) * own + np.sqrt(1.0 - icc) * rng.normal(size=(len(groups), COLUMNS))
    new = rng.normal(size=(TEST_ROWS, COLUMNS))
    rule = rng.normal(size=COLUMNS)
    rule *= STEEPNESS / np.linalg.norm(rule)
    y, y_new = ((rows @ rule + rng.logistic(size=len(rows)) > 0).astype(int) for rows in (X, new))
    size = np.sqrt(COLUMNS)
    return X / size, y, groups, new / size, y_new


def accuracies(n_persons, icc, epsilon, runs):
    """Return the accuracy of each model in each run."""
    found = {name: [] for name in MODELS}
    for run in range(runs):
        X, y, groups, X_new, y_new = people(n_persons, icc, np.random.default_rng(run))
        for name, parameters in MODELS.items():
            model = DPLogisticRegression(epsilon=epsilon, delta=1e-5, classes=(0, 1), **parameters)
            model.fit(X, y, groups=None if name == "rows as records" else groups)
            found[name].append(model.score(X_new, y_new))
    return found


def main():
    """Print one line for each number of persons, icc and ε."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--smallest", action="store_true")
    asked = parser.parse_args()
    runs = 2 if asked.smallest else asked.runs
    cells = [(n, icc, e) for n in (500, 3000) for icc in (0.2, 0.9) for e in (1.0, 3.0)]
    print("persons  icc  eps  " + "  ".join(MODELS))
    for n_persons, icc, epsilon in cells[:1] if asked.smallest else cells:
        found = accuracies(n_persons, icc, epsilon, runs)
        error = np.std(found["default"]) / np.sqrt(runs)
        means = "".join(f"{np.mean(one):>{len(name) + 2}.3f}" for name, one in found.items())
        print(f"{n_persons:7} {icc:4} {epsilon:4} {means}  (± {error:.4f})", flush=True)


if __name__ == "__main__":
    main()
