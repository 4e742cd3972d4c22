"""Variances of clipped values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import (
    Bounded,
    Means,
    MomentsStatistic,
    Part,
    variance_ends,
    variance_half_width,
)
from skdp.statistics._result import Statistic, shown
from skdp.workloads import QueryPlan

__all__ = ["Variance", "variance"]


@dataclass(frozen=True, eq=False, repr=False)
class Variance(Statistic):
    """Released variances, one for each column, and the means that came with them.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    mean : float or ndarray
        *Released*, together with the variances.
    _means, _bounds : object
        *Released* and *public*: what `interval` is computed from.
    _axes, _library : tuple and str
        *Public.* What the numbers are of, and whose frame `to_frame` returns.
    """

    mean: Any
    _means: Means = field(kw_only=True)
    _bounds: ColumnBounds = field(kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        low, high = variance_ends(self._means, risk)
        ends = (self._bounds.half**2 * end for end in (low, high))
        low, high = (end.reshape(np.shape(self.value)) for end in ends)
        return shown(low), shown(high)

    def _half_width(self, risk: float) -> np.ndarray:
        """Return how far noise moves each variance, but with probability `risk`; at most to h²."""
        return self._bounds.half**2 * np.minimum(variance_half_width(self._means, risk), 1.0)


def variance(
    x: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Any,
    by: Any = None,
    keys: Any = None,
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Variance:
    """Release the variance and the mean of each column together, privately.

    Values outside of the bounds are clipped. A missing value counts as the middle of its bounds.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails; 0 for pure privacy. ``None``: the budget's δ,
        or 1e-5.
    bounds : pair (low, high), one pair per column, or dict
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    by : str, array-like of shape (n_rows,), default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list or None, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    Variance
        `value` is the mean square of deviations (``ddof=0``), at least 0, and `mean` the mean.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** Released are the means of u and of u² − 1/2, where u are values mapped to
    [−1, 1]. Under ``replace_one`` their sums move by at most 2 and 1, under ``add_remove_one`` by
    1 and 1/2, and the number of rows is the third part of the release. Groups have the price of
    one, as in `mean`.

    **Missing values.** `describe` leaves them out. To leave them out here, keep the rows without
    them under ``add_remove_one``: under ``replace_one`` how many there are would be told.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import variance
    >>> ages = np.arange(1000) % 90
    >>> spread = variance(ages, epsilon=1.0, delta=0.0, bounds=(0, 100), random_state=0)
    >>> low, high = spread.interval()
    >>> bool(low < ages.var() < high), round(spread.mean), round(spread.value**0.5)
    (True, 44, 26)
    """
    return VarianceStatistic(bounds, noise, by, keys)._release(
        x,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


class VarianceStatistic(MomentsStatistic):
    """The parts of the transaction of `variance`."""

    released_as = "statistics.variance"

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        return Part("x", n_columns), Part("square", n_columns, 0.5)

    @staticmethod
    def _numbers(units: np.ndarray) -> Sums:
        return {"x": units, "square": units**2 - 0.5}

    def _publish(
        self,
        plan: QueryPlan,
        records: Records[Bounded],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> Variance:
        asked = records.facts
        means, bounds = self._means(plan, asked, released), asked.bounds
        first = means.mean("x")
        second = bounds.half**2 * np.maximum(means.mean("square") + 0.5 - first**2, 0.0)
        value, center = map(asked.shaped, (second, bounds.middle + bounds.half * first))
        return Variance(value, guarantee, center, _means=means, _bounds=bounds, **asked.labels)
