"""
Privacy-utility trade-off: how accurate is each solver at a given ε?
====================================================================

With ``--data FOLDER``, the example uses Adult and predicts whether an income is above 50 000
dollars a year. FOLDER must contain a9a.libsvm.gz and a9a.t.libsvm.gz, the one-hot encoded data.
Otherwise the example uses scikit-learn's digits and predicts whether a digit is above 4. Both data
sets are public, and the scores are exact.
"""

import argparse
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.model_selection import cross_val_score, validation_curve

from skdp import DPLogisticRegression
from skdp.preprocessing import BoundsScaler
from skdp.solvers import SOLVERS

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)


def adult(folder: Path):
    """Return X, y and the official split into records to learn from and records to predict."""
    names = ("a9a.libsvm.gz", "a9a.t.libsvm.gz")
    train, test = (load_svmlight_file(str(folder / name), n_features=123) for name in names)
    n, n_test = len(train[1]), len(test[1])
    split = [(np.arange(n), np.arange(n, n + n_test))]
    return sparse.vstack([train[0], test[0]], format="csr"), np.r_[train[1], test[1]], split


def digits():
    """Return X, scaled from its public bounds, y and five folds."""
    X, y = load_digits(return_X_y=True)
    return BoundsScaler(bounds=(0, 16)).fit_transform(X), (y > 4).astype(int), 5


def main() -> None:
    """Fit every solver at every ε, and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    folder = parser.parse_args().data
    X, y, cv = adult(folder) if folder else digits()
    folds = 10 * cv if folder else cv
    settings = {"cv": folds, "scoring": "accuracy", "error_score": "raise"}
    _, ax = plt.subplots(figsize=(8.5, 4.8), layout="constrained")
    for name in SOLVERS:
        if name in ("adassp", "exponential_mechanism"):
            continue
        model = DPLogisticRegression(solver=name)
        _, scores = validation_curve(
            model, X, y, param_name="epsilon", param_range=EPSILONS, **settings
        )
        error = scores.std(axis=1, ddof=1) / scores.shape[1] ** 0.5
        # The line of "auto" lies on that of the solver that it takes.
        style = {"color": "k", "ls": ":", "lw": 2.5, "zorder": 10} if name == "auto" else {}
        ax.errorbar(EPSILONS, scores.mean(axis=1), error, label=name, capsize=3, **style)
    open_score = cross_val_score(DPLogisticRegression(epsilon=np.inf), X, y, cv=cv).mean()
    ax.axhline(open_score, color="black", linestyle="--", label="no privacy")
    ax.set(xscale="log", xlabel="ε", ylabel="accuracy")
    ax.set_title(f"{'Adult' if folder else 'Digits 0-4 v 5-9'}, δ = 1e-5, replace_one")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plt.show()


if __name__ == "__main__":
    with warnings.catch_warnings():  # the figure shows what large and small ε do
        warnings.simplefilter("ignore")
        main()
