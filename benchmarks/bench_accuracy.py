"""Test accuracy, log-loss and calibration error with defaults, compared with target accuracies.

Usage: python benchmarks/bench_accuracy.py [--data FOLDER] [--seeds 40] [--only NAME]
       [--solver NAME] [--smallest]

FOLDER holds the libsvm files of a9a; without it Adult is left out. Splits and noise are seeded by
the same number. The hinge classifier is asked for one point less. Under add_remove_one the number
of rows is private: the default estimates it privately, and nothing is hinted.
"""

import argparse

import numpy as np
from data_sets import adult, calibration_error, small_sets, split
from sklearn.metrics import log_loss

from skdp import DPHingeClassifier, DPLogisticRegression
from skdp.solvers import SOLVERS

EPSILONS = (0.1, 0.3, 1.0, 3.0)
ASKED = {
    "Adult a9a": (0.836, 0.844, 0.848, 0.851),
    "breast_cancer": (0.81, 0.905, 0.938, 0.952),
    "digits 0-4 v 5-9": (0.68, 0.80, 0.863, 0.882),
    "digits, ten classes": (0.255, 0.63, 0.872, 0.92),
    "wine": (0.55, 0.82, 0.939, 0.971),
}


def measured(model, parts):
    """Return accuracy, log-loss and calibration error; nan for what the model does not have."""
    X, X_test, y, y_test = parts
    accuracy = model.fit(X, y).score(X_test, y_test)
    if not hasattr(model, "predict_proba"):
        return accuracy, np.nan, np.nan
    p = model.predict_proba(X_test)
    two, second = p.shape[1] == 2, y_test == model.classes_[1]
    loss = log_loss(y_test, p, labels=model.classes_)
    return accuracy, loss, calibration_error(p[:, 1], second) if two else np.nan


def on_adult(Model, epsilon, parts, seeds, solver):
    """Return what is measured of fits that differ in their noise only."""
    models = (Model(epsilon=epsilon, solver=solver, random_state=seed) for seed in range(seeds))
    return [measured(model, parts) for model in models]


def on_splits(Model, epsilon, X, y, seeds, solver):
    """Return what is measured over splits."""
    given = {"solver": solver, "neighboring": "add_remove_one"}
    return [
        measured(Model(epsilon=epsilon, random_state=seed, **given), split(X, y, seed))
        for seed in range(seeds)
    ]


def report(name, relation, measure):
    """Print one line a model: means, the accuracy's standard error and the figure asked for."""
    for Model, slack in ((DPLogisticRegression, 0.0), (DPHingeClassifier, 0.01)):
        cells = []
        for epsilon, figure in zip(EPSILONS, ASKED[name], strict=True):
            values, asked = np.array(measure(Model, epsilon)), figure - slack
            mean, loss, wrong = values.mean(axis=0)
            error = values[:, 0].std() / np.sqrt(len(values))
            mark = "ok" if mean >= asked else "BELOW"
            cell = f"{mean:.4f} ({error:.4f}) asked {asked:.3f} {mark}"
            cell += "" if np.isnan(loss) else f"; log-loss {loss:.4f}"
            cells.append(cell + ("" if np.isnan(wrong) else f", calibration {wrong:.3f}"))
        row = " | ".join(cells)
        print(f"| {name} | {relation} | {Model.__name__} | {row} |", flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", default=None, help="folder with a9a.libsvm.gz and a9a.t.libsvm.gz"
    )
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--only", default=None, help="one data set")
    parser.add_argument("--solver", default="auto", choices=SOLVERS)
    parser.add_argument("--smallest", action="store_true", help="wine, one split")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.seeds, options.only = None, 1, "wine"
    print("| data | relation | model | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |")
    print("|---" * 7 + "|")
    parts = adult(options.data)
    if parts is None:
        print("Adult is left out: --data FOLDER names the folder with the libsvm files of a9a.")
    elif options.only in (None, "Adult a9a"):
        report(
            "Adult a9a",
            "replace_one",
            lambda Model, epsilon: on_adult(
                Model, epsilon, parts, max(5, options.seeds // 4), options.solver
            ),
        )
    for name, (X, y) in small_sets().items():
        if options.only in (None, name):
            report(
                name,
                "add_remove_one",
                lambda Model, epsilon, X=X, y=y: on_splits(
                    Model, epsilon, X, y, options.seeds, options.solver
                ),
            )


if __name__ == "__main__":
    main()
