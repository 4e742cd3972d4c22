"""The tables of the benchmark: numbers with public bounds, strings with public categories.

Bounds and categories are those of the other benchmarks (`data_sets.py`, `mixed_tables.py`), and
for the rest stated in the tables' documentation or round numbers that a reader would have named.
A missing number counts as the middle of its bounds, a missing text as no category.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import simulated
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

sys.path.append(str(Path(__file__).parents[1]))

from mixed_tables import (
    ADULT_BOUNDS,
    ADULT_CATEGORIES,
    ADULT_COLUMNS,
    BAND_BOUNDS,
    BAND_CATEGORIES,
    BANK_BOUNDS,
    BANK_CATEGORIES,
)

CANCER_HIGH = [
    *(29, 40, 190, 2600, 0.17, 0.35, 0.43, 0.21, 0.31, 0.1),
    *(2.9, 4.9, 22, 550, 0.032, 0.14, 0.4, 0.053, 0.079, 0.03),
    *(37, 50, 260, 4300, 0.23, 1.1, 1.3, 0.3, 0.67, 0.21),
]
WINE_LOW = [11, 0.74, 1.3, 10, 70, 0.98, 0.34, 0.13, 0.41, 1.2, 0.48, 1.2, 270]
WINE_HIGH = [15, 5.8, 3.3, 30, 170, 3.9, 5.1, 0.66, 3.6, 13, 1.8, 4.0, 1700]
MAGIC_BOUNDS = [(0, 250), (0, 100), (1, 5), (0, 1), (0, 1), *3 * [(-200, 200)], (0, 90), (0, 400)]
CALLS_BOUNDS = {
    "age": (17, 100),
    "campaign": (1, 50),
    "pdays": (0, 999),
    "previous": (0, 10),
    "emp.var.rate": (-4, 2),
    "cons.price.idx": (92, 95),
    "cons.conf.idx": (-51, -26),
    "euribor3m": (0, 6),
    "nr.employed": (4900, 5300),
}
CALLS_CATEGORIES = {
    "job": BANK_CATEGORIES["job"],
    "marital": "divorced married single unknown",
    "education": "basic.4y basic.6y basic.9y high.school illiterate professional.course "
    "university.degree unknown",
    "default": "no yes unknown",
    "housing": "no yes unknown",
    "loan": "no yes unknown",
    "contact": "cellular telephone",
    "month": BANK_CATEGORIES["month"],
    "day_of_week": "mon tue wed thu fri",
    "poutcome": "failure nonexistent success",
}
HOUSING_BOUNDS = [
    *((-124.5, -114.1), (32.5, 42.1), (1, 52), (0, 10_000)),
    *((0, 2000), (0, 5000), (0, 2000), (0.5, 15)),
]
QUALITY_BOUNDS = [
    *((4, 16), (0, 1.6), (0, 1), (0, 30), (0, 0.4), (0, 100), (0, 300)),
    *((0.98, 1.01), (2.7, 4.1), (0, 2), (8, 15)),
]
DIABETES_BOUNDS = [
    *((18, 80), (1, 2), (15, 45), (60, 140), (90, 310), (40, 250), (20, 100)),
    *((2, 10), (3, 6.2), (55, 130)),
]

FILES = [
    *("adult.data.csv.gz", "adult.test.csv.gz", "bank-full.csv.gz", "bank-additional-full.csv.gz"),
    *("cylinder-bands.csv.gz", "magic04.csv.gz", "california-housing.csv.gz"),
    *("winequality-red.csv.gz", "winequality-white.csv.gz"),
]
"""What a folder of data holds; the page of the results says where each was first published."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, a target, and what is public: bounds, categories, classes or the target's bounds.

    `truth` maps rows to the probability of class 1 or to the mean, for simulated rows.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    bounds: dict
    categories: dict
    target_bounds: tuple | None = None
    truth: Callable | None = None

    @property
    def is_regression(self):
        return self.target_bounds is not None

    @cached_property
    def classes(self):
        return np.unique(self.y)

    def encoded(self, X):
        """Return numbers from their bounds to [−1, 1], and a column for each public category."""
        low, high = np.transpose([*self.bounds.values()]).astype(float)
        numbers = np.clip(X[[*self.bounds]].to_numpy(float), low, high)
        texts = [
            X[column].to_numpy()[:, None] == np.array(values, dtype=object)
            for column, values in self.categories.items()
        ]
        return np.hstack([2 * (numbers - low) / (high - low) - 1, *texts]).astype(float)


def own_tables():
    """Yield the tables that come with scikit-learn."""
    cancer, wine = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
    digits = load_digits(return_X_y=True)
    diabetes = load_diabetes(return_X_y=True, scaled=False)
    yield _numbers("breast cancer", *cancer, [(0, high) for high in CANCER_HIGH])
    yield _numbers("wine, 3 classes", *wine, [*zip(WINE_LOW, WINE_HIGH, strict=True)])
    yield _numbers("digits, 10 classes", *digits, 64 * [(0, 16)])
    yield _numbers("diabetes", *diabetes, DIABETES_BOUNDS, target_bounds=(25.0, 346.0))


def weak_tables():
    """Yield simulated tables with a weak signal."""
    public = (simulated.BOUNDS, simulated.CATEGORIES)
    for n in (1000, 8000):
        rows = simulated.labeled(n)
        yield Table(f"weak signal, {n} rows", *rows, *public, truth=simulated.probability)
    bounds, rows = simulated.TARGET_BOUNDS, simulated.measured(2000)
    yield Table("weak signal, number", *rows, *public, bounds, truth=simulated.mean)


def tables(folder):
    """Yield those, and the tables whose files lie in `folder`."""
    yield from own_tables()
    yield from weak_tables()
    if folder is None:
        return
    folder = Path(folder)
    if missing := [name for name in FILES if not (folder / name).exists()]:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}: docs/tabular.md has their sources.")
    magic = pd.read_csv(folder / "magic04.csv.gz", header=None)
    y = (magic[10] == "g").astype(int)
    yield _numbers("magic04", magic.iloc[:, :10].to_numpy(float), y, MAGIC_BOUNDS)
    yield from _mixed(folder)
    housing = pd.read_csv(folder / "california-housing.csv.gz").to_numpy(float)
    yield _numbers(
        "California housing",
        *(housing[:, :8], housing[:, 8], HOUSING_BOUNDS),
        target_bounds=(14_999.0, 500_001.0),
    )
    for color in ("red", "white"):
        wine = pd.read_csv(folder / f"winequality-{color}.csv.gz", header=None).to_numpy(float)
        name = f"wine quality, {color}"
        yield _numbers(name, wine[:, :11], wine[:, 11], QUALITY_BOUNDS, target_bounds=(0.0, 10.0))


def _mixed(folder):
    parts = [
        pd.read_csv(folder / f, names=ADULT_COLUMNS, skipinitialspace=True, dtype=str)
        for f in ("adult.data.csv.gz", "adult.test.csv.gz")
    ]
    adult = pd.concat(parts, ignore_index=True)
    richer = adult.income.str.rstrip(".") == ">50K"
    yield _table("Adult", adult, richer, ADULT_BOUNDS, ADULT_CATEGORIES)
    bank = pd.read_csv(folder / "bank-full.csv.gz", sep=";", dtype=str)
    yield _table("bank", bank, bank.y == "yes", BANK_BOUNDS, BANK_CATEGORIES)
    calls = pd.read_csv(folder / "bank-additional-full.csv.gz", sep=";", dtype=str)
    yield _table("bank, calls", calls, calls.y == "yes", CALLS_BOUNDS, CALLS_CATEGORIES)
    bands = pd.read_csv(folder / "cylinder-bands.csv.gz", header=None, dtype=str)
    bands = bands.apply(lambda column: column.str.strip().str.lower().str.replace(" ", ""))
    yield _table("bands", bands, bands[39] == "band", BAND_BOUNDS, BAND_CATEGORIES)


def _numbers(name, X, y, bounds, target_bounds=None):
    X = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    y = np.asarray(y, dtype=int if target_bounds is None else float)
    return Table(name, X, y, dict(zip(X.columns, bounds, strict=True)), {}, target_bounds)


def _table(name, frame, target, bounds, categories):
    X = frame[[*bounds, *categories]].copy()
    for column, (low, high) in bounds.items():
        X[column] = pd.to_numeric(X[column], errors="coerce").fillna(0.5 * (low + high))
    X = X.fillna("missing")
    X.columns = X.columns.astype(str)
    bounds = {str(k): v for k, v in bounds.items()}
    categories = {str(k): v.split() for k, v in categories.items()}
    return Table(name, X, target.to_numpy(int), bounds, categories)
