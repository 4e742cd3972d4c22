"""How many rows fulfil a condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.statistics._columns import as_columns
from skdp.statistics._release import Terms
from skdp.statistics._result import NoisyNumbers
from skdp.workloads import Query

__all__ = ["count"]


def count(
    condition: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> NoisyNumbers:
    """Count the rows that fulfil a condition, privately.

    Parameters
    ----------
    condition : array-like of bool, shape (n_rows,) or (n_rows, n_conditions)
        *Private.* Such as ``ages >= 65``. Several conditions are released together. The number
        of all rows, where that is private, is the count of ``np.ones(n_rows, dtype=bool)``.
    epsilon, delta : float
        *Public.* The guarantee of all counts together.
    noise : str
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.*
    budget : PrivacyBudget or None
        *Public.* Who pays, before a value is read.
    random_state : None, int, numpy Generator or RandomState
        An integer makes the noise repeatable, and removable by whoever knows it: for tests only.

    Returns
    -------
    NoisyNumbers
        `value` may be negative: it is unbiased.

    Notes
    -----
    **Guarantee.** A person changes each count by at most 1, under both relations.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import count
    >>> ages = np.arange(1000) % 90
    >>> found = count(ages >= 65, epsilon=1.0, random_state=0)
    >>> found.interval()
    (272.0, 278.0)
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    columns, single = as_columns(condition)
    if columns.dtype != bool:
        raise ValueError(
            f"condition must hold True and False, such as ages >= 65; got the dtype "
            f"{columns.dtype}."
        )
    n = columns.shape[1]
    plan, privacy = terms.buy(
        [Query("count", size=n, linf_sensitivity=1.0, l0_sensitivity=n, integer=True)],
        "statistics.count",
    )
    value = plan.release({"count": np.count_nonzero(columns, axis=0)}, terms.rng)["count"]
    return NoisyNumbers(float(value[0]) if single else value, privacy, _plan=plan)
