"""Models and tables of these tests."""

import numpy as np
import pandas as pd

JOBS = ["clerk", "smith", "cook"]
FACTS = {"bounds": {"age": (0, 100), "income": (0, 1e6)}, "categories": {"job": JOBS}}


def people(n=400, seed=0):
    """A table of numbers and text with missing values and a job that nobody knows."""
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
