"""Synthetic rows beside private models and boosting without privacy.

Usage: python benchmarks/bench_density.py [--data FOLDER] [--seeds 3] [--smallest]

FOLDER holds Adult, bank and the cylinder bands; without it a small made-up table is used. A quarter
of the rows is for testing. δ = 1e-5, add_remove_one. The columns are

- boosting: AUC of scikit-learn's boosting, trained on as many synthetic rows as there are records;
- tree NB: AUC of the released model itself, `DPTreeNB`;
- tabular: AUC of `DPTabularClassifier`, trained for this target only;
- two-way, three-way: l1 distance of tables of frequencies, records against as many synthetic rows,
  with numbers in four bins, averaged over all pairs and over 20 triples of columns, y included;
- seconds of CPU for the fit and the sample.

The line "none" is boosting on the records, and the distance of another half of the records.
"""

import argparse
import warnings
from itertools import combinations
from time import process_time

import numpy as np
import pandas as pd
from mixed_tables import made_up, tables
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from skdp import DPTabularClassifier, DPTreeNB

EPSILONS = (0.3, 1.0, 3.0)
LOGARITHMIC = {"capital-gain", "capital-loss", "balance", "campaign", "previous"}


def encoded(X, categories):
    """Return numbers, with codes in the place of categories."""
    codes = {name: pd.Categorical(X[name], values).codes for name, values in categories.items()}
    return X.assign(**codes).to_numpy(dtype=float)


def boosted(X, y, X_test, y_test, categories):
    """Return the AUC of boosting without privacy."""
    is_category = [name in categories for name in X]
    model = HistGradientBoostingClassifier(categorical_features=is_category, random_state=0)
    model.fit(encoded(X, categories), y)
    return auc(model, encoded(X_test, categories), y_test)


def auc(model, X, y):
    """Return the area under the ROC curve."""
    return roc_auc_score(y, model.predict_proba(X)[:, 1])


def levels(X, y, bounds, categories):
    """Return codes of all columns and of y, numbers in four bins between their bounds."""
    codes = encoded(X, categories)
    for j, name in enumerate(X):
        if name in bounds:
            low, high = bounds[name]
            scaled = (codes[:, j] - low) / (high - low)
            if name in LOGARITHMIC:
                scaled = np.log1p(np.clip(codes[:, j], 0, None)) / np.log1p(high)
            codes[:, j] = np.nan_to_num(np.clip(np.floor(4 * scaled), 0, 3), nan=-1)
    return np.column_stack([codes + 1, y]).astype(int)  # 0 for missing categories


def distance(one, other, size):
    """Return the mean l1 distance of the frequencies of sets of `size` columns."""
    sets = list(combinations(range(one.shape[1]), size))
    if size == 3:
        sets = [sets[k] for k in np.random.default_rng(0).permutation(len(sets))[:20]]
    sizes = np.maximum(one.max(axis=0), other.max(axis=0)) + 1
    found = []
    for columns in map(list, sets):
        cells = int(sizes[columns].prod())
        p, q = (
            np.bincount(np.ravel_multi_index(x[:, columns].T, sizes[columns]), minlength=cells)
            / len(x)
            for x in (one, other)
        )
        found.append(np.abs(p - q).sum())
    return float(np.mean(found))


def line(name, numbers):
    """Print a line of the table."""
    print(f"{name:16s}" + "".join(f"{number:10.3f}" for number in numbers), flush=True)


def of_density(parts, bounds, categories, epsilon, seed):
    """Return all columns of the table for one private fit."""
    X, X_test, y, y_test = parts
    logs = {name: "log" for name in bounds if name in LOGARITHMIC}
    terms = {"bounds": bounds, "categories": categories, "transformation": logs}
    terms |= {"epsilon": epsilon, "neighboring": "add_remove_one"}
    start = process_time()
    model = DPTreeNB(**terms, random_state=seed).fit(X, y)
    rows, labels = model.sample(len(y), random_state=seed)
    seconds = process_time() - start
    tabular = DPTabularClassifier(**terms, random_state=seed).fit(X, y)
    here, there = (levels(*pair, bounds, categories) for pair in ((X, y), (rows, labels)))
    return (
        boosted(rows, labels, X_test, y_test, categories),
        auc(model, X_test, y_test),
        auc(tabular, X_test, y_test),
        *(distance(here, there, size) for size in (2, 3)),
        seconds,
    )


def without_privacy(parts, bounds, categories):
    """Return the same of the records themselves."""
    X, X_test, y, y_test = parts
    codes = levels(X, y, bounds, categories)
    halves = codes[::2], codes[1::2]
    exact = boosted(X, y, X_test, y_test, categories)
    return exact, np.nan, np.nan, *(distance(*halves, size) for size in (2, 3)), np.nan


def main():
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--smallest", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = made_up() if given.data is None or given.smallest else tables(given.data)
    seeds, epsilons = (1, (1.0,)) if given.smallest else (given.seeds, EPSILONS)
    print(f"{'':16s}  boosting   tree NB   tabular   two-way three-way   seconds")
    for name, X, y, bounds, categories in found:
        parts = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
        line(f"{name}, none", without_privacy(parts, bounds, categories))
        for epsilon in epsilons:
            runs = [of_density(parts, bounds, categories, epsilon, seed) for seed in range(seeds)]
            line(f"{name}, {epsilon:g}", np.mean(runs, axis=0))


if __name__ == "__main__":
    main()
