"""Means of clipped values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import Bounded, Means, MomentsStatistic, Part
from skdp.statistics._result import Statistic, risk_of, shown
from skdp.workloads import QueryPlan

__all__ = ["Mean", "mean"]


@dataclass(frozen=True, eq=False, repr=False)
class Mean(Statistic):
    """Released means, one for each column.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* What the release promises; of all numbers together.
    _means, _bounds : object
        *Released* and *public*: what `interval` is computed from.
    _axes, _library : tuple and str
        *Public.* What the numbers are of, and whose frame `to_frame` returns.
    """

    _means: Means = field(kw_only=True)
    _bounds: ColumnBounds = field(kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        return self._in_units(*self._means.ends("x", risk))

    def population_interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return intervals for the means of the population, of values clipped to the bounds.

        They hold for rows that are independent samples of it, whatever its distribution:
        Hoeffding's inequality with the public bounds, and the noise, each with half of the risk.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* For each column by itself, over noise and sampling.

        Returns
        -------
        low, high : float or ndarray
            Of the shape of `value`, computed from what was released and from public numbers.
        """
        risk = 0.5 * risk_of(level)
        low, high = self._means.ends("x", 0.5 * risk)
        least, _ = self._means.count_ends(0.5 * risk)
        spread = np.sqrt(2.0 * math.log(2.0 / risk) / least)
        low, high = np.maximum(low - spread, -1.0), np.minimum(high + spread, 1.0)
        return self._in_units(low, high)

    def _in_units(self, low: np.ndarray, high: np.ndarray) -> tuple[Any, Any]:
        ends = (self._bounds.middle + self._bounds.half * end for end in (low, high))
        low, high = (end.reshape(np.shape(self.value)) for end in ends)
        return shown(low), shown(high)


def mean(
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
) -> Mean:
    """Average the values of each column privately.

    Values outside of the bounds are clipped. A missing value counts as the middle of its bounds.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss in nats of all numbers together; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    bounds : pair (low, high), one pair per column, or dict
        *Public.* The dict is from names or numbers of columns to pairs. A list of tuples has a pair
        for each column; a tuple of two lists has all lows and all highs. Bounds come from knowledge
        about the columns, never from the data.
    by : str, array-like of shape (n_rows,), default None
        *Private.* The column by which rows are grouped, or its name in a frame, which is public.
        There are numbers for each of `keys`; rows with another value, or none, are in no group.
    keys : list or None, default None
        *Public.* The values of `by` that are asked about, known without a look at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* Whose each row is, where a person may have several, or the name of that column of
        a frame, which is public: all rows of a person are protected together, and count together as
        one record, each alike. ``None``: each row is a record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.

    Returns
    -------
    Mean
        With `population_interval`, for the mean of those the rows are a sample of.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** Let u be values mapped to [−1, 1]. Under ``replace_one`` Σu of each column moves
    by at most 2 and the number of rows is public. Under ``add_remove_one`` Σu moves by at most 1,
    and the number of rows, which moves by 1, is part of the same release. Groups have the price of
    one: a record that comes or goes is in one group. A replaced one may move Σu by 2 in one group,
    or by 1 in each of two, as it does numbers of rows, which are released with them.

    **Missing values.** `describe` leaves them out. To leave them out here, keep the rows without
    them under ``add_remove_one``: under ``replace_one`` how many there are would be told.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import mean
    >>> ages = np.arange(1000) % 90
    >>> average = mean(ages, epsilon=1.0, delta=0.0, bounds=(0, 100), random_state=0)
    >>> low, high = average.interval()
    >>> bool(low < ages.mean() < high), round(high - low, 2)
    (True, 0.6)
    """
    return MeanStatistic(bounds, noise, by, keys)._release(
        x,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


class MeanStatistic(MomentsStatistic):
    """The parts of the transaction of `mean`."""

    released_as = "statistics.mean"

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        return (Part("x", n_columns),)

    @staticmethod
    def _numbers(units: np.ndarray) -> Sums:
        return {"x": units}

    def _publish(
        self,
        plan: QueryPlan,
        records: Records[Bounded],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> Mean:
        asked = records.facts
        means, bounds = self._means(plan, asked, released), asked.bounds
        value = asked.shaped(bounds.middle + bounds.half * means.mean("x"))
        return Mean(value, guarantee, _means=means, _bounds=bounds, **asked.labels)
