"""The data sets of the benchmarks, with bounds that are public.

Every feature is mapped from its public bounds to [−1, 1]; the estimators then scale each row down
to norm 1. Adult (`a9a`) is one-hot coded: its values are 0 or 1 by construction, and its rows,
which all have norms above 1, are used as they are.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from skdp.features import AdditiveFeatures, FeatureMixture, RandomFourierFeatures
from skdp.preprocessing import BoundsScaler

# Breast cancer: the maxima printed in the data set's description, rounded up to two digits.
CANCER_HIGH = np.ravel(
    [
        [29, 40, 190, 2600, 0.17, 0.35, 0.43, 0.21, 0.31, 0.1],
        [2.9, 4.9, 22, 550, 0.032, 0.14, 0.4, 0.053, 0.079, 0.03],
        [37, 50, 260, 4300, 0.23, 1.1, 1.3, 0.3, 0.67, 0.21],
    ]
)
# Wine: the minima and maxima printed in the data set's description, rounded outwards to two digits.
WINE_LOW = [11, 0.74, 1.3, 10, 70, 0.98, 0.34, 0.13, 0.41, 1.2, 0.48, 1.2, 270]
WINE_HIGH = [15, 5.8, 3.3, 30, 170, 3.9, 5.1, 0.66, 3.6, 13, 1.8, 4.0, 1700]


ADULT_BOUNDS = {0: (17, 90), 4: (1, 16), 10: (0, 99_999), 11: (0, 4500), 12: (1, 99)}
MAGIC_BOUNDS = [(0, 250), (0, 100), (1, 5), (0, 1), (0, 1), *3 * [(-200, 200)], (0, 90), (0, 400)]


def small_sets():
    """Return {name: (X, y)}, scaled by public bounds."""
    cancer, digits, wine = (
        load(return_X_y=True) for load in (load_breast_cancer, load_digits, load_wine)
    )
    pixels = BoundsScaler(bounds=(0, 16)).fit_transform(digits[0])
    return {
        "breast_cancer": (
            BoundsScaler(bounds=(0, CANCER_HIGH)).fit_transform(cancer[0]),
            cancer[1],
        ),
        "digits 0-4 v 5-9": (pixels, (digits[1] > 4).astype(int)),
        "digits, ten classes": (pixels, digits[1]),
        "wine": (BoundsScaler(bounds=(WINE_LOW, WINE_HIGH)).fit_transform(wine[0]), wine[1]),
    }


def raw_adult(folder):
    """Return the official split of Adult: numbers by public bounds, one column a category."""
    train, test = (
        pd.read_csv(Path(folder) / name, header=None, skipinitialspace=True, na_values="?")
        for name in ("adult.data.csv.gz", "adult.test.csv.gz")
    )
    kinds = [1, 3, 5, 6, 7, 8, 9, 13]
    coded = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    coded.fit(train[kinds].fillna("missing"))
    scaler = BoundsScaler(bounds=tuple(np.transpose(list(ADULT_BOUNDS.values()))))

    def table(frame):
        numbers = scaler.fit_transform(frame[list(ADULT_BOUNDS)].to_numpy(float))
        return np.hstack([numbers, coded.transform(frame[kinds].fillna("missing"))])

    labels = [(part[14].str.rstrip(".") == ">50K").astype(int) for part in (train, test)]
    return table(train), table(test), labels[0].to_numpy(), labels[1].to_numpy()


def magic(folder):
    """Return X and y of the gamma telescope."""
    table = pd.read_csv(Path(folder) / "magic04.csv.gz", header=None)
    scaler = BoundsScaler(bounds=tuple(np.transpose(MAGIC_BOUNDS)))
    X = scaler.fit_transform(table.iloc[:, :10].to_numpy(float))
    return X, (table.iloc[:, 10] == "g").astype(int).to_numpy()


def calibration_error(p, y, n_bins=15):
    """Return the mean distance of stated and observed shares of the second class, over bins."""
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    inside = [bins == k for k in range(n_bins) if (bins == k).any()]
    return sum(abs(p[b].mean() - y[b].mean()) * b.mean() for b in inside)


def split(X, y, seed):
    """Return a stratified split, four fifths for training."""
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)


def adult(folder):
    """Return X, X_test, y, y_test of a9a, or None where the files are not to be had."""
    if folder is None or not (Path(folder) / "a9a.libsvm.gz").exists():
        return None
    parts = [
        load_svmlight_file(str(Path(folder) / name), n_features=123)
        for name in ("a9a.libsvm.gz", "a9a.t.libsvm.gz")
    ]
    for X, _ in parts:  # liblinear wants 32-bit indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    (X, y), (X_test, y_test) = parts
    return X, X_test, y, y_test


def curves_and_waves(**columns):
    """Return additive features and random Fourier features of columns, half and half."""
    additive, random = AdditiveFeatures(**columns), RandomFourierFeatures(**columns)
    return FeatureMixture(additive=additive, random=random)
