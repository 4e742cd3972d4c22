"""R² on held-out rows with defaults, compared with target values.

Usage: python benchmarks/bench_regression.py [--data FOLDER] [--seeds 60] [--data-norm 1]
       [--smallest]

FOLDER holds california-housing.csv.gz and winequality-*.csv.gz; without it only scikit-learn's
diabetes data are used. Splits (four fifths for training) and noise are seeded by the same number.
The relation is add_remove_one: the number of rows is private and nothing is hinted. --data-norm
sets where rows are clipped, and the intercept's column to half of it, as by default.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from skdp import DPHuberRegressor, DPLinearRegression, DPQuantileRegressor
from skdp.preprocessing import BoundsScaler

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
ASKED = {"diabetes": (-0.05, 0.05, 0.22, 0.34, 0.42)}
MODELS = {
    "DPLinearRegression": DPLinearRegression,
    'DPLinearRegression(solver="adassp")': lambda **kw: DPLinearRegression(solver="adassp", **kw),
    "DPHuberRegressor": DPHuberRegressor,
    "DPQuantileRegressor": DPQuantileRegressor,
}
# Wine: what the quantities can be in wine that is sold; the score is defined on 0..10.
WINE = (
    [3, 0, 0, 0, 0, 0, 0, 0.98, 2.5, 0, 8],
    [16, 2, 1, 30, 0.6, 150, 350, 1.01, 4.5, 2, 15],
)
# Housing: the borders of California, the census's codes, and round numbers for counts.
HOUSING = (
    [-124.5, 32.5, 1, 0, 0, 0, 0, 0.5],
    [-114.1, 42.1, 52, 10_000, 2000, 5000, 2000, 15],
)


def data_sets(folder):
    """Yield (name, X, y, target_bounds), X scaled by public bounds."""
    # Columns are centered and their squares sum to 1 over 442 rows: 0.2 is over four deviations.
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", BoundsScaler(bounds=(-0.2, 0.2)).fit_transform(X), y, (25.0, 346.0)
    if folder is None:
        return
    for kind in ("red", "white"):
        table = pd.read_csv(Path(folder) / f"winequality-{kind}.csv.gz", header=None).to_numpy(
            float
        )
        yield (
            f"wine, {kind}",
            BoundsScaler(bounds=WINE).fit_transform(table[:, :-1]),
            table[:, -1],
            (0, 10),
        )
    table = pd.read_csv(Path(folder) / "california-housing.csv.gz").dropna().to_numpy(float)
    X = BoundsScaler(bounds=HOUSING).fit_transform(table[:, :-1])
    yield "California housing", X, table[:, -1], (14_999.0, 500_001.0)


def scores(make, X, y, bounds, epsilon, seeds, data_norm):
    """Return R² over splits."""
    found = []
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
        model = make(
            epsilon=epsilon,
            target_bounds=bounds,
            neighboring="add_remove_one",
            data_norm=data_norm,
            intercept_scaling=0.5 * data_norm,
            random_state=seed,
        )
        found.append(model.fit(X_train, y_train).score(X_test, y_test))
    return found


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=None, help="folder with the csv files")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--data-norm", type=float, default=1.0, help="where rows are clipped")
    parser.add_argument("--smallest", action="store_true", help="diabetes, one split")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.seeds = None, 1
    print("| data | model | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |")
    print("|---" * (2 + len(EPSILONS)) + "|")
    for name, X, y, bounds in data_sets(options.data):
        seeds = options.seeds if len(y) < 5000 else max(5, options.seeds // 6)
        for label, make in MODELS.items():
            cells = []
            for k, epsilon in enumerate(EPSILONS):
                found = scores(make, X, y, bounds, epsilon, seeds, options.data_norm)
                mean, error = np.mean(found), np.std(found) / np.sqrt(seeds)
                asked = ASKED[name][k] if name in ASKED else -np.inf
                cells.append(f"{mean:.3f} ({error:.3f}){'' if mean >= asked else ' BELOW'}")
            print(f"| {name} | {label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
