"""Releases of skdp to audit, each on two neighboring data sets that are far apart for it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp import (
    DPPCA,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
    statistics,
)
from skdp.accounting import gdp_mu
from skdp.auditing.attacks import kind_of, reader
from skdp.metrics import dp_accuracy_score
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB
from skdp.preprocessing import DPMinMaxScaler, DPStandardScaler
from skdp.privacy import GDPEvent, PrivacyGuarantee

FAR, ROWS = 1e4, 11
"""A value that is clipped, so that its record has the largest influence; and the number of rows."""
SEVERAL = 8.0
"""Factor of less noise for controls with several numbers: one line shows only a part of ε."""


@dataclass(frozen=True)
class Fits:
    """Fits of an estimator. `factor` is how much less noise its control has."""

    make: Any
    one: tuple
    other: tuple
    delta: float = 1e-5
    readout: Any = None
    factor: float = 2.0

    def claim(self, epsilon):
        """Return the guarantee of a fit, its `privacy_`."""
        return self.make(epsilon, self.delta).fit(*self.one).privacy_

    def samples(self, epsilon, n, rng):
        """Return scores of n fits on each of the two data sets."""
        return self._scores(self.one, epsilon, n, rng), self._scores(self.other, epsilon, n, rng)

    def _scores(self, data, epsilon, n, rng):
        model = self.make(epsilon, self.delta)
        read = self.readout or reader(kind_of(model), self.one[0])
        with warnings.catch_warnings(action="ignore"):  # of few rows
            seeds = rng.integers(2**31, size=n).tolist()
            fits = (model.set_params(random_state=seed).fit(*data) for seed in seeds)
            return np.array([np.ravel(read(fitted)) for fitted in fits], dtype=float)


@dataclass(frozen=True)
class Releases:
    """Numbers that a function releases, called with data, ε, δ and `random_state`."""

    release: Any
    one: Any
    other: Any
    delta: float = 1e-5
    numbers: Any = np.ravel
    factor: float = 2.0

    def claim(self, epsilon):
        """Return the guarantee of a release, its `privacy`."""
        return self.release(self.one, epsilon, self.delta, random_state=None).privacy

    def samples(self, epsilon, n, rng):
        """Return the numbers of n releases on each of the two data sets."""
        return self._scores(self.one, epsilon, n, rng), self._scores(self.other, epsilon, n, rng)

    def _scores(self, data, epsilon, n, rng):
        found = (self.release(data, epsilon, self.delta, random_state=rng) for _ in range(n))
        return np.array([self.numbers(result.value) for result in found], dtype=float)


def weaker(target, epsilon):
    """Return the ε whose noise is smaller by the target's factor.

    Pure noise has a scale inverse to ε, and Gaussian noise one inverse to μ. Noise in sampled steps
    is nearly inverse to μ.
    """
    if target.delta == 0.0:
        return target.factor * epsilon
    mu = target.factor * gdp_mu(epsilon, target.delta)
    return PrivacyGuarantee(GDPEvent(mu), "replace_one", "a control").epsilon(target.delta)


X = np.zeros((ROWS, 2))
X[0, 0] = FAR
y = np.arange(ROWS) % 2
TURNED = (X, np.r_[1 - y[0], y[1:]]), (X, y)
NUMBERS = (X, np.r_[FAR, np.zeros(ROWS - 1)]), (X, np.r_[-FAR, np.zeros(ROWS - 1)])
CODES = np.zeros((ROWS, 2), dtype=int)
CODED = (CODES, TURNED[0][1]), (CODES, y)
ROW_MOVED = (X,), (np.r_[-X[:1], X[1:]],)
# With 200 rows the ranks of both tails are 2 rows from the ends. The first row moves each of them
# by one rank, toward or away from the three rows beside it.
TAIL = np.r_[np.full(3, -0.5), np.zeros(193), np.full(3, 0.5)]
TAILS = tuple((np.column_stack([np.r_[end, TAIL]] * 2),) for end in (1.0, -1.0))
MOVED = np.r_[1.0, np.zeros(ROWS - 1)], np.zeros(ROWS)


def logistic(solver):
    """Return a function that makes a logistic regression with a solver."""
    return lambda epsilon, delta: DPLogisticRegression(
        epsilon=epsilon, delta=delta, center=False, solver=solver, classes=[0, 1]
    )


def rows_of(cls, **settings):
    """Return a function that makes an estimator for rows within (-1, 1)."""
    return lambda epsilon, delta: cls(epsilon=epsilon, delta=delta, bounds=(-1, 1), **settings)


def released(function, **settings):
    """Return a function of data, ε and δ."""
    return lambda data, epsilon, delta, random_state: function(
        data, epsilon=epsilon, delta=delta, random_state=random_state, **settings
    )


def judged(function, **settings):
    """Return a function of labels. The first prediction is correct in one data set only."""
    return lambda labels, epsilon, delta, random_state: function(
        labels,
        np.ones(ROWS),
        epsilon=epsilon,
        delta=delta,
        random_state=random_state,
        **settings,
    )


TARGETS = {
    "logistic regression, auto": Fits(logistic("auto"), *TURNED),
    "logistic regression, noisy_gd": Fits(logistic("noisy_gd"), *TURNED),
    "logistic regression, dp_sgd": Fits(logistic("dp_sgd"), *TURNED),
    "logistic regression, objective_perturbation": Fits(
        logistic("objective_perturbation"), *TURNED
    ),
    "logistic regression, output_perturbation": Fits(logistic("output_perturbation"), *TURNED),
    "linear regression": Fits(
        lambda epsilon, delta: DPLinearRegression(
            epsilon=epsilon, delta=delta, center=False, target_bounds=(-1, 1)
        ),
        *NUMBERS,
    ),
    "Gaussian naive Bayes": Fits(rows_of(DPGaussianNB, classes=[0, 1]), *TURNED, factor=SEVERAL),
    "categorical naive Bayes": Fits(
        lambda epsilon, delta: DPCategoricalNB(
            epsilon=epsilon, delta=delta, categories=[0, 1], classes=[0, 1]
        ),
        *CODED,
        delta=0.0,
        factor=SEVERAL,
    ),
    "PCA": Fits(rows_of(DPPCA), *ROW_MOVED, factor=SEVERAL),
    "k-means": Fits(rows_of(DPKMeans, n_clusters=2), *ROW_MOVED, factor=SEVERAL),
    "standard scaler": Fits(rows_of(DPStandardScaler), *ROW_MOVED, factor=SEVERAL),
    "min-max scaler": Fits(rows_of(DPMinMaxScaler), *TAILS, delta=0.0, factor=SEVERAL),
    "count": Releases(released(statistics.count), MOVED[0] > 0, MOVED[1] > 0, delta=0.0),
    "count, Gaussian noise": Releases(
        released(statistics.count, noise="gaussian"), MOVED[0] > 0, MOVED[1] > 0
    ),
    "mean": Releases(released(statistics.mean, bounds=(0, 1)), *MOVED, delta=0.0),
    "median": Releases(
        released(statistics.quantile, q=0.5, bounds=(0, 1)),
        np.array([1.0, 0.5, 0.5]),  # few rows: no value between 0 and 1 is far better than others
        np.array([0.0, 0.5, 0.5]),
        delta=0.0,
    ),
    "marginals": Releases(
        released(statistics.marginals, categories=[0, 1]),
        MOVED[0][:, None],
        MOVED[1][:, None],
        numbers=lambda tables: np.concatenate([np.ravel(table) for table in tables.values()]),
    ),
    "accuracy score": Releases(judged(dp_accuracy_score, classes=[0, 1]), *MOVED, delta=0.0),
}
