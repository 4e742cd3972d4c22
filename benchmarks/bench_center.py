"""What a learned center gains: area under the ROC curve, accuracy and log-loss on held-out rows.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_center.py [--folder DATA] [--runs 8] [--smallest]

Samples of small tables, and of Adult, bank, cylinder bands and magic04 if their files lie in the
folder, are fitted with and without a center. A line is printed for each setting in which the public
rule learns one: the table, features, relation, ε, rows, rows·μ for each feature, the area without a
center, and the mean differences of area, accuracy and log-loss, with the standard error of the
first.
"""

import argparse

import numpy as np
from data_sets import magic, small_sets
from mixed_tables import made_up, tables
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.features import AdditiveFeatures

RELATIONS = ("replace_one", "add_remove_one")
SIZES = {0.3: (500, 1500, 5000, 15_000), 1.0: (200, 500, 1500, 4000), 3.0: (150, 500, 1500)}
TEST_ROWS = 3000


def every_table(folder):
    """Yield (name, X, y, bounds, categories)."""
    for name, (X, y) in small_sets().items():
        yield name, X, (y > 0).astype(int), (-1, 1), {}
    if folder is None:
        yield from made_up()
        return
    yield from tables(folder)
    yield "magic", *magic(folder), (-1, 1), {}


def pair(X, y, n, seed, settings):
    """Return area, accuracy and log-loss without and with a center, or None if there is none."""
    order = np.random.default_rng(seed).permutation(y.size)
    rows = X.iloc[order] if hasattr(X, "iloc") else X[order]
    y = y[order]
    found = []
    for center in ("auto", False):
        model = DPLogisticRegression(center=center, random_state=seed, classes=(0, 1), **settings)
        model.fit(rows[:n], y[:n])
        if center and model.center_ is None:
            return None
        held_out, truth = rows[n : n + TEST_ROWS], y[n : n + TEST_ROWS]
        scores, p = model.decision_function(held_out), model.predict_proba(held_out)[:, 1]
        accuracy = ((scores > 0) == truth).mean()
        loss = log_loss(truth, np.clip(p, 1e-6, 1 - 1e-6), labels=(0, 1))
        found.append((roc_auc_score(truth, scores), accuracy, loss, model.coef_.shape[1]))
    return found[::-1]


def main():
    """Print a line for each setting with a center."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--smallest", action="store_true")
    asked = parser.parse_args()
    sizes = {1.0: (100,)} if asked.smallest else SIZES
    for name, X, y, bounds, categories in every_table(None if asked.smallest else asked.folder):
        for share, kind in ((1.0, "lines"), (0.5, "curves")):
            features = AdditiveFeatures(bounds=bounds, categories=categories, linear_share=share)
            for relation in RELATIONS:
                settings = {"features": features, "neighboring": relation}
                for epsilon, counts in sizes.items():
                    for n in (n for n in counts if n <= 0.8 * y.size):
                        case = {**settings, "epsilon": epsilon}
                        runs = range(2 if asked.smallest else asked.runs)
                        pairs = [pair(X, y, n, seed, case) for seed in runs]
                        if None not in pairs:
                            show(name, kind, relation, epsilon, n, np.array(pairs))


def show(name, kind, relation, epsilon, n, pairs):
    """Print the means of pairs of figures."""
    x = n * gdp_mu(epsilon, 1e-5) / pairs[0, 0, 3]
    gains = pairs[:, 1] - pairs[:, 0]
    error = gains[:, 0].std(ddof=1) / np.sqrt(len(gains))
    figures = (pairs[:, 0, 0].mean(), *gains[:, :3].mean(axis=0), error)
    print(
        name, kind, relation, epsilon, n, f"{x:.1f} :", *(f"{v:.3f}" for v in figures), flush=True
    )


if __name__ == "__main__":
    main()
