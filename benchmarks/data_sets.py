"""The data sets of the benchmarks, with bounds that are public.

Every feature is mapped from its public bounds to [−1, 1]; the estimators then scale each row down
to norm 1. Adult (`a9a`) is one-hot coded: its values are 0 or 1 by construction, and its rows,
which all have norms above 1, are used as they are.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file, load_wine
from sklearn.model_selection import train_test_split

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


def small_sets():
    """Return {name: (X, y)}, scaled by public bounds."""
    cancer, digits, wine = (
        load(return_X_y=True) for load in (load_breast_cancer, load_digits, load_wine)
    )
    pixels = BoundsScaler((0, 16)).fit_transform(digits[0])
    return {
        "breast_cancer": (BoundsScaler((0, CANCER_HIGH)).fit_transform(cancer[0]), cancer[1]),
        "digits 0-4 v 5-9": (pixels, (digits[1] > 4).astype(int)),
        "digits, ten classes": (pixels, digits[1]),
        "wine": (BoundsScaler((WINE_LOW, WINE_HIGH)).fit_transform(wine[0]), wine[1]),
    }


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
