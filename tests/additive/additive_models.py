"""Models and tables of these tests."""

import numpy as np
import pandas as pd

from skdp import DPLinearRegression, DPLogisticRegression

JOBS = ["clerk", "smith", "cook"]
FACTS = {"bounds": {"age": (0, 100), "income": (0, 1e6)}, "categories": {"job": JOBS}}


def people(n=400, seed=0):
    """A table with numbers, strings, missing values and an unknown category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(-5, 110, size=n),
            "job": rng.choice([*JOBS, "pirate"], size=n),
            "income": rng.lognormal(10, 1, size=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame


def labels(frame):
    return (np.abs(frame["age"].fillna(50) - 50) > 25).astype(int).to_numpy()


def composed(front, **settings):
    """The linear model that a front is short for, with settings that the front does not have."""
    linear = DPLogisticRegression() if hasattr(front, "classes") else DPLinearRegression()
    given, known = front.get_params(deep=False), linear.get_params(deep=False)
    linear.set_params(**{name: given[name] for name in given.keys() & known.keys()})
    return linear.set_params(features=front._features(), **settings)
