"""Sums of clipped values."""

from __future__ import annotations

from typing import Any

from skdp.budget import PrivacyBudget
from skdp.statistics._columns import EXACT, Box, exact_sum, numeric_columns
from skdp.statistics._release import Terms
from skdp.statistics._result import NoisyNumbers
from skdp.workloads import Query

__all__ = ["sum"]


def sum(
    x: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> NoisyNumbers:
    """Sum the values of each column privately.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Values outside `bounds` are clipped; ``nan`` counts as the middle of the bounds
        where the number of rows is public, and as 0, clipped, where it is not.
    bounds : pair (low, high), or one pair per column
        *Public.* As in `skdp.preprocessing.BoundsScaler`.
    epsilon, delta, noise, neighboring, budget, random_state
        As in `count`.

    Returns
    -------
    NoisyNumbers

    Notes
    -----
    **Guarantee.** A person changes a sum by at most high − low under ``replace_one``, and by
    max(abs(low), abs(high)) under ``add_remove_one``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import sum
    >>> hours = np.tile([35.0, 40.0, 20.0, 38.0], 250)
    >>> total = sum(hours, bounds=(0, 60), epsilon=1.0, random_state=0)
    >>> low, high = total.interval()
    >>> low < 33250.0 < high, round(high - low)
    (True, 360)
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    columns, single = numeric_columns(x, count_is_public=terms.count_is_public)
    n_rows, n = columns.shape
    box = Box.of(bounds, n)
    query = Query("sum", size=n, linf_sensitivity=terms.n_changed * EXACT, l0_sensitivity=n)
    plan, privacy = terms.buy([query], "statistics.sum")
    if terms.count_is_public:
        offset, unit, rows = n_rows * box.centre, box.half, box.unit(columns)
    else:
        offset, unit, rows = 0.0, box.size, box.clip(columns, 0.0) / box.size
    value = offset + unit * plan.release({"sum": exact_sum(rows)}, terms.rng)["sum"]
    if single:
        value, unit = float(value[0]), float(unit[0])
    return NoisyNumbers(value, privacy, _plan=plan, _unit=unit)
