"""Means of clipped values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import Facts, Interval, Moments, MomentsStatistic, Part
from skdp.statistics._result import Numbers, risk_of
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan

__all__ = ["Mean", "mean"]


@dataclass(frozen=True, eq=False, repr=False)
class Mean(Moments):
    """Released means, one for each column.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _means, _bounds : object
        *Released* and *public*: what `interval` is computed from.
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        return self._in_units(self._means.ends("x", risk))

    def population_interval(self, level: float = 0.95) -> tuple[Numbers, Numbers]:
        """Return intervals for the means of the population, of values clipped to the bounds.

        They hold if the rows are independent samples, whatever the distribution. The noise gets
        half of the risk, and Hoeffding's inequality with the public bounds the other half.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* For each column by itself, over noise and sampling.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.
        """
        risk = 0.5 * risk_of(level)
        low, high = self._means.ends("x", 0.5 * risk)
        least, _ = self._means.count_ends(0.5 * risk)
        spread = np.sqrt(2.0 * math.log(2.0 / risk) / least)
        return self._in_units((np.maximum(low - spread, -1.0), np.minimum(high + spread, 1.0)))

    def _in_units(self, ends: Interval) -> tuple[Numbers, Numbers]:
        low, high = (self._bounds.middle + self._bounds.half * end for end in ends)
        return self._shaped((low, high))


def mean(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds,
    by: VectorLike | None = None,
    keys: ArrayLike | None = None,
    groups: VectorLike | None = None,
    missing: str = "skip",
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Mean:
    """Average the values of each column privately.

    Values outside the bounds are clipped, and missing values are left out. A mean that the noise
    outweighs is nan, and `notes` say why.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    bounds : pair (low, high), one pair per column, dict or TableSchema
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
    missing : {"skip", "middle"}, default "skip"
        *Public.* Whether missing values are left out, or count as the middle of the bounds.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    Mean
        Its `population_interval` is for the population that the rows are a sample of.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** Let u be the values mapped to [−1, 1]. The release contains Σu and k·Σ1 over the
    values that are not missing. Under ``add_remove_one`` a record changes them by 1 and k, which is
    1. Under ``replace_one`` two values change Σu by at most 2, and a value that is replaced by a
    missing one changes the two by 1 and k. With k = √3 for Gaussian noise and k = 1 for Laplace
    noise this is not more, so that the number of values costs nothing. An added or removed
    record is in one group, so that all groups cost as much as one. A record that changes groups
    changes the sums by 1 and k = 1 in each of two groups.

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
    return MeanStatistic(bounds, noise, missing=missing, by=by, keys=keys)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


class MeanStatistic(MomentsStatistic):
    """The release of `mean`."""

    released_as = "statistics.mean"

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        return (Part("x", n_columns),)

    @staticmethod
    def _numbers(units: np.ndarray) -> Sums:
        return {"x": units}

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Mean:
        facts = records.facts
        means, bounds = self._means(plan, facts, released), facts.bounds
        known = np.where(means.is_noise(), np.nan, means.mean("x"))
        value = facts.shaped(bounds.middle + bounds.half * known)
        return Mean(value, guarantee, _means=means, _bounds=bounds, _labels=facts.labels)
