"""The default classifier from ε = .05 to 100, beside the model without privacy and other libraries.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_frontier.py [--data FOLDER] [--seeds 10]
       [--only NAME] [--picture FILE] [--smallest]

FOLDER holds the files of Adult (raw and a9a) and of the gamma telescope (magic04); without it they
are left out. Accuracy, area under the ROC curve, log-loss, calibration error (15 bins), CPU seconds
and passes over the data are means over splits, or over noise where the split is given. All rows are
clipped to norm 1 and the relation is add_remove_one, δ = 1e-5. Other libraries' rows state their
own relation and δ; they print accuracy alone.
"""

import argparse
import math
import time

import numpy as np
from data_sets import adult, calibration_error, magic, raw_adult, small_sets, split
from diagnosed import diagnosed
from peers import PeerError, available
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPLogisticRegression
from skdp.preprocessing import RowClipper

EPSILONS = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
MEASURES = ("accuracy", "AUC", "log-loss", "calibration error", "CPU seconds", "passes")
_LEAST = 1e-15  # a probability, of which a logarithm is taken


def sets(folder):
    """Return {name: function of a seed that returns X, X_test, y, y_test}."""
    found = {}
    if folder is not None:
        open_parts = {"Adult a9a": adult(folder), "Adult": raw_adult(folder)}
        found |= {name: lambda seed, p=parts: p for name, parts in open_parts.items()}
    tables = {} if folder is None else {"magic04": magic(folder)}
    for name, table in {**tables, **small_sets()}.items():
        found[name] = lambda seed, table=table: split(*table, seed)
    return found


def measured(model, X_test, y_test, seconds=math.nan):
    """Return the MEASURES of a fitted model."""
    p, two = model.predict_proba(X_test), len(model.classes_) == 2
    second = y_test == model.classes_[1]
    return (
        model.score(X_test, y_test),
        roc_auc_score(second, p[:, 1]) if two else math.nan,
        log_loss(y_test, np.clip(p, _LEAST, 1.0), labels=model.classes_),
        calibration_error(p[:, 1], second) if two else math.nan,
        seconds,
        getattr(model, "diagnostics_", {}).get("n_evaluations", math.nan),
    )


def private(parts, epsilon, seed):
    """Return the MEASURES of a default fit."""
    X, X_test, y, y_test = parts
    terms = {"epsilon": epsilon, "delta": 1e-5, "neighboring": "add_remove_one"}
    model = diagnosed(DPLogisticRegression(**terms, random_state=seed))
    start = time.process_time()
    model.fit(X, y)
    values = measured(model, X_test, y_test, time.process_time() - start)
    return (*values[:-1], values[-1] / X.shape[0])


def without_privacy(parts):
    """Return the MEASURES of scikit-learn's fit to rows that are clipped alike."""
    X, X_test, y, y_test = parts
    clip = RowClipper(max_norm=1.0)
    model, start = LogisticRegression(C=100.0, max_iter=10_000), time.process_time()
    model.fit(clip.fit_transform(X), y)
    return measured(model, clip.transform(X_test), y_test, time.process_time() - start)


def peer_accuracy(learn, parts, epsilon, seed):
    """Return the accuracy of another library's model, nan where it fails."""
    X, X_test, y, y_test = parts
    labels, clip = (y == y.max()).astype(int), RowClipper(max_norm=1.0)
    try:
        predict = learn(clip.fit_transform(X), labels, epsilon, seed)
        return np.mean(predict(clip.transform(X_test)) == (y_test == y.max()))
    except PeerError:
        return math.nan


def line(name, who, epsilon, values):
    """Print one row of the table and return its means."""
    values = np.atleast_2d(values)
    means = [np.nan if np.isnan(column).all() else np.nanmean(column) for column in values.T]
    error = values[:, 0].std() / math.sqrt(max(1, len(values) - 1))
    cells = " | ".join("" if np.isnan(m) else f"{m:.4g}" for m in means[1:])
    print(f"| {name} | {who} | {epsilon:g} | {means[0]:.4f} ({error:.4f}) | {cells} |", flush=True)
    return means


def frontier(name, load, epsilons, seeds, peers):
    """Print a data set's rows; return {who: {ε: means}}."""
    parts = [load(seed) for seed in range(seeds)]
    found = {"skdp": {}, "without privacy": {}}
    for epsilon in epsilons:
        values = [private(part, epsilon, seed) for seed, part in enumerate(parts)]
        found["skdp"][epsilon] = line(name, "skdp", epsilon, values)
    plain = line(name, "without privacy", math.inf, [without_privacy(part) for part in parts])
    found["without privacy"] = dict.fromkeys(epsilons, plain)
    if len(np.unique(parts[0][2])) > 2:
        return found
    for peer, learn in peers.items():
        found[peer] = {}
        for epsilon in epsilons:
            scores = [[peer_accuracy(learn, p, epsilon, s)] for s, p in enumerate(parts[:3])]
            found[peer][epsilon] = line(name, peer, epsilon, scores)
    return found


def draw(figures, path):
    """Save a picture: a row a data set; accuracy, AUC and log-loss against ε."""
    import matplotlib.pyplot as plt

    shape = (len(figures), 3)
    figure, axes = plt.subplots(*shape, figsize=(10, 2.4 * shape[0]), squeeze=False, sharex=True)
    for row, (name, curves) in zip(axes, figures.items(), strict=True):
        for k, axis in enumerate(row):
            for who, means in curves.items():
                values = [m[k] if k < len(m) else np.nan for m in means.values()]
                plain = who == "without privacy"
                style = {"color": "black", "linestyle": ":"} if plain else {"marker": "."}
                axis.semilogx(list(means), values, label=who, **style)
            if not axis.lines or np.isnan(axis.lines[0].get_ydata()).all():
                axis.set_axis_off()  # no area under the curve for several classes
                continue
            axis.set_title(f"{name}: {MEASURES[k]}", fontsize=9)
            axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("ε")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def main():
    """Print the table, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=None, help="folder with Adult and magic04")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default=None, help="one data set")
    parser.add_argument("--picture", default=None, help="file that the picture is saved to")
    parser.add_argument("--smallest", action="store_true", help="wine, one split, two ε")
    options = parser.parse_args()
    epsilons, (peers, left_out) = EPSILONS, available()
    if options.smallest:
        options.data, options.seeds, options.only = None, 1, "wine"
        epsilons, peers = (1.0, 100.0), {}
    print(*left_out, sep="\n")
    print("| data | model | ε | " + " | ".join(MEASURES) + " |")
    print("|---" * (3 + len(MEASURES)) + "|")
    chosen = {k: v for k, v in sets(options.data).items() if options.only in (None, k)}
    figures = {
        name: frontier(name, load, epsilons, options.seeds, peers) for name, load in chosen.items()
    }
    if options.picture:
        draw(figures, options.picture)


if __name__ == "__main__":
    main()
