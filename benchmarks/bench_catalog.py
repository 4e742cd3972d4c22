"""What the bounds of the catalog cost beside bounds that are known for a table.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_catalog.py [--data FOLDER] [--seeds 4] [--smallest]

FOLDER holds adult.data.csv.gz and bank-full.csv.gz; without it only the diabetes table of
scikit-learn is used, resampled to 20 000 rows. ε = 1. Each line has the mean accuracy or R² with
known bounds, and the loss in points with the catalog's, with its standard error.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import skdp
from skdp.preprocessing import BoundsScaler
from skdp.tables import ColumnSchema


def diabetes(n_rows=20_000):
    """Return rows, targets, known bounds, and the names of columns in the catalog."""
    data = load_diabetes(scaled=False, as_frame=True)
    rows = np.random.default_rng(0).integers(0, len(data.data), n_rows)
    known = {"age": (18, 90), "bmi": (15, 50), "bp": (50, 150), "s6": (50, 150)}
    names = {"age": "age", "bp": "mean arterial pressure", "s6": "glucose"}
    X = data.data.iloc[rows][[*known]].reset_index(drop=True)
    return X, data.target.to_numpy()[rows] / 350.0, known, names


def adult(folder):
    """Return the same of Adult."""
    frame = pd.read_csv(Path(folder) / "adult.data.csv.gz", header=None, skipinitialspace=True)
    X = frame[[0, 4, 12]].set_axis(["age", "schooling", "hours"], axis=1).astype(float)
    known = {"age": (17, 90), "schooling": (1, 16), "hours": (1, 99)}
    return X, (frame[14] == ">50K").to_numpy(), known, {"age": "age", "hours": "hours a week"}


def bank(folder):
    """Return the same of bank marketing."""
    frame = pd.read_csv(Path(folder) / "bank-full.csv.gz", sep=";")
    X = frame[["age", "day", "campaign"]].astype(float)
    known = {"age": (17, 100), "day": (1, 31), "campaign": (1, 30)}
    return X, (frame["y"] == "yes").to_numpy(), known, {"age": "age", "day": "day of the month"}


def models(is_class, bounds):
    """Return a model of each kind."""
    kind = "Classifier" if is_class else "Regressor"
    linear = skdp.DPLogisticRegression if is_class else skdp.DPLinearRegression
    known = {"classes": [False, True]} if is_class else {"target_bounds": (0, 1)}
    known["epsilon"] = 1.0
    return {
        "linear": make_pipeline(BoundsScaler(bounds=bounds), linear(**known)),
        "tabular": getattr(skdp, f"DPTabular{kind}")(bounds=bounds, **known),
        "additive": getattr(skdp, f"DPAdditive{kind}")(bounds=bounds, **known),
    }


def rows(name, X, y, known, names, n_seeds):
    """Print the scores of each model with both bounds."""
    own = {column: ColumnSchema.from_catalog(one).bounds for column, one in names.items()}
    for model in models(y.dtype == bool, known):
        scores = []
        for seed in range(n_seeds):
            X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=seed)
            both = (models(y.dtype == bool, bounds)[model] for bounds in (known, known | own))
            scores.append([one.fit(X_fit, y_fit).score(X_test, y_test) for one in both])
        score, losses = np.mean(scores, axis=0)[0], -np.diff(scores, axis=1)
        error = losses.std() / np.sqrt(n_seeds)
        print(f"{name:10}{model:10}{score:8.4f}{losses.mean():9.4f} ± {error:.4f}", flush=True)


def main():
    """Print a line for each table and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--smallest", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows("diabetes", *diabetes(400 if options.smallest else 20_000), options.seeds)
    if options.data is not None:
        rows("adult", *adult(options.data), options.seeds)
        rows("bank", *bank(options.data), options.seeds)


if __name__ == "__main__":
    main()
