"""Means of clipped values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.statistics._columns import Box, numeric_columns
from skdp.statistics._means import Means, Part, purchase
from skdp.statistics._release import Terms
from skdp.statistics._result import Statistic, risk_of, shown

__all__ = ["Mean", "mean"]


@dataclass(frozen=True, eq=False, repr=False)
class Mean(Statistic):
    """Released means, one for each column."""

    _means: Means = field(kw_only=True)
    _box: Box = field(kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        return self._in_units(*self._means.ends("x", risk))

    def population_interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return intervals for the means of the population, of values clipped to the bounds.

        They hold for rows that are independent draws from it, whatever its law: Hoeffding's
        inequality with the public bounds, and the noise, each with half of the risk.

        Parameters
        ----------
        level : float in (0, 1)
            *Public.* For each column by itself, over noise and sampling.
        """
        risk = 0.5 * risk_of(level)
        low, high = self._means.ends("x", 0.5 * risk)
        least, _ = self._means.count_ends(0.5 * risk)
        spread = math.sqrt(2.0 * math.log(2.0 / risk) / least)
        low, high = np.maximum(low - spread, -1.0), np.minimum(high + spread, 1.0)
        return self._in_units(low, high)

    def _in_units(self, low: np.ndarray, high: np.ndarray) -> tuple[Any, Any]:
        ends = (self._box.centre + self._box.half * end for end in (low, high))
        low, high = ends if np.ndim(self.value) else (end[0] for end in ends)
        return shown(low), shown(high)


def mean(
    x: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Mean:
    """Average the values of each column privately.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Values outside `bounds` are clipped; ``nan`` counts as the middle of the bounds.
    bounds : pair (low, high), or one pair per column
        *Public.* As in `skdp.preprocessing.BoundsScaler`.
    epsilon, delta, noise, neighboring, budget, random_state
        As in `count`.

    Returns
    -------
    Mean
        With `population_interval`, for the mean of those the rows are a sample of.

    Notes
    -----
    **Guarantee.** Let u be values mapped to [−1, 1]. Under ``replace_one`` Σu of each column moves
    by at most 2 and the number of rows is public. Under ``add_remove_one`` Σu moves by at most 1,
    and the number of rows, which moves by 1, is released in the same purchase.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import mean
    >>> ages = np.arange(1000) % 90
    >>> average = mean(ages, bounds=(0, 100), epsilon=1.0, random_state=0)
    >>> low, high = average.interval()
    >>> bool(low < ages.mean() < high), round(high - low, 2)
    (True, 0.6)
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    columns, single = numeric_columns(x, count_is_public=terms.count_is_public)
    box = Box.of(bounds, columns.shape[1])
    bought = purchase([Part("x", columns.shape[1])], terms, "statistics.mean")
    means = bought.release({"x": box.unit(columns)})
    value = box.centre + box.half * means.mean("x")
    return Mean(float(value[0]) if single else value, bought.privacy, _means=means, _box=box)
