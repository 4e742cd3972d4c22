"""Variances of clipped values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import (
    Facts,
    Means,
    Moments,
    MomentsStatistic,
    Part,
    no_spread,
    variance_ends,
    variance_half_width,
)
from skdp.statistics._result import Numbers
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan

__all__ = ["Variance", "spread", "variance"]


@dataclass(frozen=True, eq=False, repr=False)
class Variance(Moments):
    """Released variances, one for each column, with the means.

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
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    mean: Numbers

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        low, high = (self._bounds.half**2 * end for end in variance_ends(self._means, risk))
        return self._shaped((low, high))

    def _half_width(self, risk: float) -> np.ndarray:
        """Return a bound, at most h², of the noise in each variance at probability `risk`."""
        return self._bounds.half**2 * np.minimum(variance_half_width(self._means, risk), 1.0)


def variance(
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
) -> Variance:
    """Release the variance and the mean of each column together, privately.

    Values outside the bounds are clipped, and missing values are left out. A number that the noise
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
    Variance
        The variances (``ddof=0``), and in `mean` the means.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The release contains the sums of u and of u² − 1/2, where u are the values mapped
    to [−1, 1]. A record changes them by at most 2 and 1 under ``replace_one``, and by 1 and 1/2
    under ``add_remove_one``. The number of values is part of the release, and all groups cost as
    much as one, as in `mean`.

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
    return VarianceStatistic(bounds, noise, missing=missing, by=by, keys=keys)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


class VarianceStatistic(MomentsStatistic):
    """The release of `variance`."""

    released_as = "statistics.variance"

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        return Part("x", n_columns), Part("square", n_columns, 0.5)

    @staticmethod
    def _numbers(units: np.ndarray) -> Sums:
        return {"x": units, "square": units**2 - 0.5}

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Variance:
        facts = records.facts
        means, bounds = self._means(plan, facts, released), facts.bounds
        first = np.where(means.is_noise(), np.nan, means.mean("x"))
        second = np.where(no_spread(means), np.nan, bounds.half**2 * spread(means))
        value, center = map(facts.shaped, (second, bounds.middle + bounds.half * first))
        return Variance(
            value, guarantee, center, _means=means, _bounds=bounds, _labels=facts.labels
        )


def spread(means: Means) -> np.ndarray:
    """Return the variances of the numbers in [−1, 1], at least 0."""
    return np.asarray(np.maximum(means.mean("square") + 0.5 - means.mean("x") ** 2, 0.0))
