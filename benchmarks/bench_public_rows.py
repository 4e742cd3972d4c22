"""What public rows gain as a prior: accuracy or area under the ROC curve on held-out rows.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_public_rows.py [--folder DATA] [--runs 20]
[--smallest]

Samples of the tables of `tabular/tables.py` are fitted with and without the directions of 200
public rows, by the default logistic regression under `add_remove_one`. A line is printed for each
setting in which rows are not left as they are: the table, ε, n·μ/p, the figure without public
rows, and the mean differences with random and with shifted public rows, with standard errors.
Shifted rows are drawn with weights e^(1.5z) for a standardized random direction z.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

sys.path.append(str(Path(__file__).parent / "tabular"))

from tables import tables

from skdp import DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.preprocessing import PublicDirections

SIGNALS = (2.0, 5.0)  # n·μ for each column
PUBLIC, TEST_ROWS = 200, 4000


def split(X, rng, shifted):
    """Return the numbers of public rows, and of the others in random order."""
    p = None
    if shifted:
        z = (X - X.mean(axis=0)) @ rng.normal(size=X.shape[1])
        p = np.exp(np.clip(1.5 * z / z.std(), -5.0, 5.0))
        p /= p.sum()
    public = rng.choice(len(X), min(PUBLIC, len(X) // 4), replace=False, p=p)
    return public, rng.permutation(np.setdiff1d(np.arange(len(X)), public))


def figure(model, X, y):
    """Return the area under the ROC curve, or the accuracy for several classes."""
    if len(model.classes_) > 2:
        return model.score(X, y)
    return roc_auc_score(y, model.decision_function(X))


def gain(X, y, n, epsilon, seed, shifted):
    """Return the figures without and with public rows, or None if rows stay as they are."""
    public, others = split(X, np.random.default_rng(seed), shifted)
    hints = {"n_samples_hint": n, "epsilon_hint": epsilon}
    prior = PublicDirections(**hints).fit(X[public])
    if prior.mean_ is None:
        return None
    learn, judge = others[:n], others[n : n + TEST_ROWS]
    found = []
    for step in ("passthrough", FrozenEstimator(prior)):
        model = DPLogisticRegression(
            epsilon=epsilon,
            classes=np.unique(y),
            neighboring="add_remove_one",
            n_samples_hint=n,
        )
        model = make_pipeline(step, model).fit(X[learn], y[learn])
        found.append(figure(model, X[judge], y[judge]))
    return found


def main():
    """Print a line for each setting with public rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--smallest", action="store_true")
    asked = parser.parse_args()
    runs = 2 if asked.smallest else asked.runs
    for table in tables(None if asked.smallest else asked.folder):
        X, y = table.encoded(table.X), table.y
        y = (y > np.median(y)).astype(int) if table.is_regression else y
        for epsilon in (1.0,) if asked.smallest else (0.3, 1.0):
            mu, most = gdp_mu(epsilon, 1e-5), len(X) - PUBLIC - len(X) // 6
            sizes = {min(int(q * X.shape[1] / mu), most) for q in SIGNALS}
            for n in sorted(n for n in sizes if n >= 50):
                pairs = [
                    [gain(X, y, n, epsilon, seed, shifted) for seed in range(runs)]
                    for shifted in (False, True)
                ]
                if None not in pairs[0] + pairs[1]:
                    show(table.name, epsilon, n * mu / X.shape[1], np.array(pairs))


def show(name, epsilon, signal, pairs):
    """Print the means of pairs of figures."""
    gains = pairs[:, :, 1] - pairs[:, :, 0]
    errors = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])
    shown = [f"{g:+.3f} ({e:.3f})" for g, e in zip(gains.mean(axis=1), errors, strict=True)]
    print(f"{name}, {epsilon:g}, {signal:.1f}: {pairs[0, :, 0].mean():.3f}", *shown, flush=True)


if __name__ == "__main__":
    main()
