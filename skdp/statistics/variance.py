"""Variances of clipped values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.statistics._columns import Box, largest_square, least_square, numeric_columns
from skdp.statistics._means import Means, Part, purchase
from skdp.statistics._release import Terms
from skdp.statistics._result import Statistic, shown

__all__ = ["Variance", "variance"]


@dataclass(frozen=True, eq=False, repr=False)
class Variance(Statistic):
    """Released variances, one for each column, and the means that came with them.

    Attributes
    ----------
    mean : float or ndarray
        *Released*, in the same purchase.
    """

    mean: Any
    _means: Means = field(kw_only=True)
    _box: Box = field(kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        first, second = (self._means.ends(part, 0.5 * risk) for part in ("x", "square"))
        low = np.maximum(second[0] + 0.5 - largest_square(*first), 0.0)
        high = np.clip(second[1] + 0.5 - least_square(*first), 0.0, 1.0)
        ends = (self._box.half**2 * end for end in (low, high))
        low, high = ends if np.ndim(self.value) else (end[0] for end in ends)
        return shown(low), shown(high)


def variance(
    x: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str = "statistics.variance",
) -> Variance:
    """Release the variance and the mean of each column together, privately.

    Parameters
    ----------
    x : array-like of shape (n_rows, ) or (n_rows, n_columns)
        *Private.* Values outside `bounds` are clipped; ``nan`` counts as the middle of the bounds.
    bounds : pair (low, high), or one pair per column
        *Public.* As in `skdp.preprocessing.BoundsScaler`.
    epsilon, delta, noise, neighboring, budget, random_state
        As in `count`.
    label : str
        *Public.* Who buys, for the history of the budget.

    Returns
    -------
    Variance
        `value` is the mean square of deviations (``ddof=0``), at least 0, and `mean` the mean.

    Notes
    -----
    **Guarantee.** Released are the means of u and of u² − 1/2, where u are values mapped to
    [−1, 1]. Under ``replace_one`` their sums move by at most 2 and 1, under ``add_remove_one`` by
    1 and 1/2, and the number of rows is the third part of the purchase.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import variance
    >>> ages = np.arange(1000) % 90
    >>> spread = variance(ages, bounds=(0, 100), epsilon=1.0, random_state=0)
    >>> low, high = spread.interval()
    >>> bool(low < ages.var() < high), round(spread.mean), round(spread.value**0.5)
    (True, 44, 26)
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    columns, single = numeric_columns(x, count_is_public=terms.count_is_public)
    n = columns.shape[1]
    box = Box.of(bounds, n)
    bought = purchase([Part("x", n), Part("square", n, 0.5)], terms, label)
    units = box.unit(columns)
    means = bought.release({"x": units, "square": units**2 - 0.5})
    first = means.mean("x")
    second = box.half**2 * np.maximum(means.mean("square") + 0.5 - first**2, 0.0)
    centre = box.centre + box.half * first
    value, centre = (float(second[0]), float(centre[0])) if single else (second, centre)
    return Variance(value, bought.privacy, centre, _means=means, _box=box)
