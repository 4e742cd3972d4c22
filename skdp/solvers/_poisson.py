"""Poisson samples of rows."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["poisson_sample"]


def poisson_sample(n: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return the sorted numbers of the rows, out of `n`, that won a coin of probability `rate`.

    The gaps between winners are geometric, so the cost is that of the winners alone.
    """
    rows = np.empty(0, dtype=np.int64)
    last = -1
    while last < n:
        expected = (n - last) * rate
        gaps = rng.geometric(rate, size=math.ceil(expected + 4.0 * math.sqrt(expected) + 8.0))
        new = last + np.cumsum(np.minimum(gaps, n + 1))
        rows, last = np.concatenate([rows, new]), int(new[-1])
    return rows[: np.searchsorted(rows, n)]
