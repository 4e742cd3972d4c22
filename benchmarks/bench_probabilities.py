"""Log-loss of probabilities against a constant's, for weak and strong signals and few rows.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_probabilities.py [--runs 5] [--smallest]

Labels follow a logistic rule of normal or binary columns; persons have 1 to 20 rows. Printed are,
in means over runs, the log-loss of the training share of each class, of the loss's own link, and of
`predict_proba`; the calibration error of the last; the weight of the evidence of two classes, or of
the scores of more; `signal_`.
"""

import argparse

import numpy as np
from data_sets import calibration_error, curves_and_waves
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from skdp import (
    DPAdditiveClassifier,
    DPLogisticRegression,
    DPTabularClassifier,
)

TEST_ROWS = 4000
STEEPNESS = {
    0.55: 0.18,
    0.6: 0.37,
    0.7: 0.82,
    0.8: 1.42,
    0.9: 2.7,
}  # of the log-odds, by area under the curve


def kernel_classifier(bounds, **public):
    """Return a logistic regression of curves and random Fourier features."""
    return DPLogisticRegression(features=curves_and_waves(bounds=bounds), **public)


FEATURES = {
    "additive": DPAdditiveClassifier,
    "kernel": kernel_classifier,
    "tabular": DPTabularClassifier,
}
RELATIONS = ("replace_one", "add_remove_one")


def table(kind, n, d, area, share, n_classes, rng):
    """Columns in [−1, 1] and labels. The first class has the share `share`."""
    X = rng.normal(size=(n, d)) / 3 if kind == "normal" else 2.0 * (rng.random((n, d)) < 0.3) - 1.0
    rule = rng.normal(size=(d, n_classes))
    u = X @ rule
    u = STEEPNESS[area] * (u - u.mean(axis=0)) / u.std(axis=0)
    if n_classes == 2:
        p = expit(u[:, 0] - np.log(share / (1.0 - share)))
        return np.clip(X, -1, 1), (rng.random(n) < p).astype(int)
    base = np.log(np.r_[share, np.full(n_classes - 1, (1.0 - share) / (n_classes - 1))])
    p = softmax(u + base, axis=1)
    codes = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return np.clip(X, -1, 1), codes.clip(0, n_classes - 1)


def cell(kind, n, d, area, share, K, epsilon, relation, per_person, features, seed):
    """Return the figures of one fit."""
    rng = np.random.default_rng(seed)
    X, y = table(kind, n + TEST_ROWS, d, area, share, K, rng)
    public = {"epsilon": epsilon, "neighboring": relation, "classes": range(K)}
    if features in FEATURES:
        model = FEATURES[features](bounds=(-1, 1), **public, random_state=seed)
    else:
        model, X = DPLogisticRegression(**public, random_state=seed), X / np.sqrt(d)
    groups = np.arange(n) // per_person if per_person > 1 else None
    model.fit(X[:n], y[:n], groups=groups)
    X, labels, y = X[n:], y[:n], y[n:]
    shares = (np.bincount(labels, minlength=K) + 0.5) / (n + 0.5 * K)
    scores = model._scores(X)
    plain = np.exp(model.loss_.log_probabilities(scores.ravel() if K == 2 else scores))
    found = model.predict_proba(X)
    losses = [log_loss(y, p, labels=range(K)) for p in (np.tile(shares, (y.size, 1)), plain, found)]
    error = np.mean([calibration_error(found[:, k], (y == k).astype(float)) for k in range(K)])
    evidence, moved = model._probabilities_.evidence, model._probabilities_.moved
    weight, signal = (0.0, 0.0) if evidence is None else (evidence.trust, evidence.signal)
    weight = getattr(moved, "weight", weight)
    return (*losses, error, weight, signal)


def cells():
    """Return settings: weak and strong signals, both relations, persons, several classes."""
    for relation in RELATIONS:
        for n, epsilon in ((300, 1.0), (1000, 1.0), (1000, 3.0), (10_000, 1.0)):
            for area in (0.55, 0.6, 0.7, 0.9):
                yield "normal", n, 15, area, 0.7, 2, epsilon, relation, 1, "linear"
    for kind, d, share, K, per_person, features in (
        ("binary", 30, 0.9, 2, 1, "linear"),
        ("normal", 5, 0.5, 2, 1, "additive"),
        ("normal", 30, 0.7, 2, 1, "additive"),
        ("normal", 10, 0.7, 2, 1, "kernel"),
        ("normal", 10, 0.7, 2, 1, "tabular"),
        ("normal", 15, 0.7, 2, 4, "linear"),
        ("normal", 15, 0.5, 3, 1, "linear"),
        ("normal", 15, 0.85, 5, 1, "linear"),
        ("normal", 15, 0.85, 5, 1, "tabular"),
        ("normal", 15, 0.1, 10, 1, "linear"),
    ):
        for area in (0.55, 0.6, 0.9):
            yield kind, 3000, d, area, share, K, 1.0, "replace_one", per_person, features


def main():
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--smallest", action="store_true")
    asked = parser.parse_args()
    print("kind   n d area share K eps relation rows_each features: constant, loss's link, now;")
    print("    calibration error, weight, signal_")
    for setting in list(cells())[: 2 if asked.smallest else None]:
        runs = [cell(*setting, seed) for seed in range(1 if asked.smallest else asked.runs)]
        means = np.mean(runs, axis=0)
        print(*setting, ":", " ".join(f"{value:.3f}" for value in means), flush=True)


if __name__ == "__main__":
    main()
