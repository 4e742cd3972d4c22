"""
Privacy-utility trade-off: how accurate is each solver at a given ε?
====================================================================

With ``--data FOLDER``, the example uses Adult and predicts whether an income is above 50 000
dollars a year. FOLDER must contain a9a.libsvm.gz and a9a.t.libsvm.gz, the one-hot encoded data.
Otherwise the example uses scikit-learn's digits and predicts whether a digit is above 4. Both data
sets are public, and the scores are exact.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_svmlight_file

from skdp import DPLogisticRegression
from skdp.inspection import PrivacyUtilityDisplay
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
    display = PrivacyUtilityDisplay.from_estimators(
        {
            name: DPLogisticRegression(solver=name)
            for name in SOLVERS
            if name not in ("adassp", "exponential_mechanism")
        },
        X,
        y,
        epsilons=EPSILONS,
        cv=cv,
        n_repeats=10 if folder else 1,
        scoring="accuracy",
        random_state=0,
    )
    display.ax_.set_title(f"{'Adult' if folder else 'Digits 0-4 v 5-9'}, δ = 1e-5, replace_one")
    chosen = display.lines_["auto"][0]  # lies on the line of the solver that it takes
    chosen.set(color="black", linestyle=":", linewidth=2.5, zorder=10)
    display.ax_.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    display.figure_.set_size_inches(8.5, 4.8)
    display.figure_.tight_layout()
    plt.show()


if __name__ == "__main__":
    main()
