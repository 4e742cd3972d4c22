"""Simulated rows with a weak signal: ten columns of mixed kinds, of which eight have an effect.

The score of a row is

    f = .02 (age - 45) - .3 (log(1 + income) - 10) + .1 (visits - 2) + .03 (dose - 5)²
        + .02 (pressure - 130) [sex = m] + .4 [smoker = yes] + .3 [region = islands]

with standard deviation .55. The columns wait and job have no effect. The label is 1 with
probability 1 / (1 + exp(1.25 - f)), so that .3 of the labels are 1 and the area under the ROC
curve of these probabilities is .65. The number is 4.5 + 1.5 f + 1.65 z, clipped to [0, 10], where
z is standard normal. R² of the mean 4.5 + 1.5 f is .2.
"""

import numpy as np
import pandas as pd

BOUNDS = {
    "age": (18, 90),
    "income": (0, 200_000),
    "visits": (0, 20),
    "pressure": (60, 250),
    "dose": (0, 10),
    "wait": (0, 365),
}
SHARES = {
    "sex": {"f": 0.5, "m": 0.5},
    "smoker": {"yes": 0.2, "no": 0.6, "unknown": 0.2},
    "region": {"north": 0.35, "south": 0.25, "east": 0.2, "west": 0.15, "islands": 0.05},
    "job": {"a": 0.3, "b": 0.25, "c": 0.2, "d": 0.1, "e": 0.1, "f": 0.05},
}
CATEGORIES = {column: [*shares] for column, shares in SHARES.items()}
TARGET_BOUNDS = (0.0, 10.0)


def rows(n, rng):
    """Return n independent rows."""
    numbers = {
        "age": rng.normal(45, 15, n),
        "income": np.exp(rng.normal(10, 0.8, n)),
        "visits": rng.poisson(2.0, n),
        "pressure": rng.normal(130, 18, n),
        "dose": rng.uniform(0, 10, n),
        "wait": rng.exponential(20, n),
    }
    clipped = {column: np.clip(of, *BOUNDS[column]) for column, of in numbers.items()}
    texts = {
        column: rng.choice([*shares], size=n, p=[*shares.values()])
        for column, shares in SHARES.items()
    }
    return pd.DataFrame(clipped | texts).astype(dict.fromkeys(texts, object))


def score(X):
    """Return f of each row."""
    curves = 0.02 * (X["age"] - 45) - 0.3 * (np.log1p(X["income"]) - 10) + 0.1 * (X["visits"] - 2)
    curves = curves + 0.03 * (X["dose"] - 5) ** 2 + 0.02 * (X["pressure"] - 130) * (X["sex"] == "m")
    levels = 0.4 * (X["smoker"] == "yes") + 0.3 * (X["region"] == "islands")
    return (curves + levels).to_numpy()


def probability(X):
    """Return the probability of label 1 of each row."""
    return 1 / (1 + np.exp(1.25 - score(X)))


def mean(X):
    """Return the mean of the number of each row."""
    return 4.5 + 1.5 * score(X)


def labeled(n):
    """Return n rows and their labels."""
    rng = np.random.default_rng(n)
    X = rows(n, rng)
    return X, (rng.random(n) < probability(X)).astype(int)


def measured(n):
    """Return n rows and their numbers."""
    rng = np.random.default_rng(n)
    X = rows(n, rng)
    return X, np.clip(mean(X) + 1.65 * rng.normal(size=n), *TARGET_BOUNDS)
