"""How often intervals of logistic coefficients cover those of the population, by the rarer class.

Usage: python benchmarks/bench_standard_errors.py [--runs 100] [--smallest]

The columns are the share of positives, n, ε, the share of intervals that are not nan, and their
coverage at the level 95 %. With `--any-step`, fits whose ridge outweighs the rarer class have
intervals too, which shows where `_LONGEST_STEP` in `linear_model` has to be.
"""

import argparse
import math
import warnings

import numpy as np

from skdp import DPLogisticRegression
from skdp.linear_model import _standard_errors as errors

TRUE = np.array([1.0, 0.0, -1.0])


def rows_of(n, shift, rng):
    """Return made-up rows; a larger shift leaves fewer positives."""
    X = 0.8 / math.sqrt(TRUE.size) * rng.normal(size=(n, TRUE.size))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(shift - X @ TRUE))).astype(int)


def intervals(n, epsilon, shift, rng):
    """Fit once; return which intervals are known, which cover, and the share of positives."""
    X, y = rows_of(n, shift, rng)
    model = DPLogisticRegression(
        epsilon=epsilon, delta=1e-5, standard_errors=True, classes=[0, 1], data_norm=2.0
    )
    low, high = model.fit(X, y).coef_interval()
    known = ~np.isnan(low[0])
    return known, (low[0] <= TRUE) & (high[0] >= TRUE), y.mean()


def main():
    """Print a line for each share of positives and each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--any-step", action="store_true")
    parser.add_argument("--smallest", action="store_true")
    asked = parser.parse_args()
    if asked.any_step:
        errors._LONGEST_STEP = math.inf
    warnings.simplefilter("ignore")  # few rows are part of the question
    rng = np.random.default_rng(0)
    sizes = [(1000, 1.0)] if asked.smallest else [(4000, 1.0), (4000, 4.5), (30_000, 1.0)]
    print("positives      n  epsilon  known  coverage")
    for shift in (0.0, 1.0, 2.0, 3.0, 4.0):
        for n, epsilon in sizes:
            runs = range(2 if asked.smallest else asked.runs)
            known, covers, share = zip(
                *(intervals(n, epsilon, shift, rng) for _ in runs), strict=True
            )
            cover = np.mean(np.array(covers)[np.array(known)]) if np.any(known) else math.nan
            shown = f"{np.mean(known):5.2f}  {cover:8.3f}"
            print(f"{np.mean(share):9.3f}  {n:5d}  {epsilon:7g}  {shown}", flush=True)


if __name__ == "__main__":
    main()
