"""Means, sums, variances and covariances of clipped values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums, exact_sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import (
    OF_SPREAD,
    BoundedStatistic,
    Facts,
    Interval,
    Means,
    Moments,
    MomentsStatistic,
    Part,
    Vector,
    covariance_ends,
    no_spread,
    variance_ends,
    variance_half_width,
)
from skdp.statistics._results import (
    Labels,
    NoisyNumbers,
    Numbers,
    effect_of_noise,
    risk_of,
)
from skdp.support.types import Bounds, KeysLike, MatrixLike, RandomState, VectorLike
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE


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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import mean
    >>> ages = np.arange(1000) % 90
    >>> average = mean(ages, epsilon=1.0, bounds=(0, 100), random_state=0)
    >>> round(average.value, 1)
    44.2
    >>> [round(end, 1) for end in average.interval()]
    [43.9, 44.5]
    >>> [round(end, 1) for end in average.population_interval()]
    [39.1, 49.3]
    """

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        return self._in_units(self._means.ends(risk))

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
        low, high = self._means.ends(0.5 * risk)
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
    keys: KeysLike = None,
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    max_weight: float | None = None,
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
    by : str, array-like of shape (n_rows,), list of several, default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list, dict of lists by column, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    sample_weight : array-like of shape (n_rows,), str or None, default None
        *Private.* Weight of each row, as in a survey, or the public name of that column of a data
        frame. Weights are clipped to [0, `max_weight`].
    max_weight : float or None, default None
        *Public.* Bound of the weights, required with `sample_weight`. Noise is proportional to it.
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
    (True, 0.61)
    """
    asked: dict[str, Any] = {"missing": missing, "by": by, "keys": keys}
    return MeanStatistic(bounds, noise, max_weight=max_weight, **asked)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight
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


def sum(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds,
    by: VectorLike | None = None,
    keys: KeysLike = None,
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    max_weight: float | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> NoisyNumbers:
    """Sum the values of each column privately.

    Values outside the bounds are clipped, and missing values add nothing. A person with several
    rows adds their mean: to get totals, add up the rows of each person first.

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
    by : str, array-like of shape (n_rows,), list of several, default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list, dict of lists by column, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    sample_weight : array-like of shape (n_rows,), str or None, default None
        *Private.* Weight of each row, as in a survey, or the public name of that column of a data
        frame. Weights are clipped to [0, `max_weight`].
    max_weight : float or None, default None
        *Public.* Bound of the weights, required with `sample_weight`. Noise is proportional to it.
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
    NoisyNumbers
        Unbiased for the sums of the clipped values.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** Let m be max(abs(low), abs(high)). An added or removed record changes a sum by at
    most m. A replaced record changes it by at most high − low, or by m if one of the two values is
    missing. With `keys`, an added or removed record changes the sums of one group. A replaced
    record changes those of one group, or those of two groups by m each.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import sum
    >>> hours = np.tile([35.0, 40.0, 20.0, 38.0], 250)
    >>> total = sum(hours, epsilon=1.0, delta=0.0, bounds=(0, 60), random_state=0)
    >>> low, high = total.interval()
    >>> low < 33250.0 < high, round(high - low)
    (True, 360)
    """
    return SumStatistic(bounds, noise, by=by, keys=keys, max_weight=max_weight)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight
    )


@dataclass(eq=False)
class SumStatistic(BoundedStatistic[QueryPlan, Sums]):
    """The release of `sum`."""

    noise: str = "auto"

    released_as = "statistics.sum"

    _effect_of_noise = effect_of_noise("an average group's sum", lambda one: one.n_groups or 1)

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> QueryPlan:
        query = _query(records.facts, parameters.neighboring.n_changed)
        return parameters.plan_queries([query], self.noise, weighted=records.is_weighted)

    def _read(self, plan: QueryPlan, records: Records[Facts], rng: np.random.Generator) -> Sums:
        facts = records.facts
        return plan.release(
            exact_sums({"sum": facts.n_columns}, records, _present, facts.keys), rng
        )

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> NoisyNumbers:
        facts, sums = records.facts, released["sum"]
        bounds = facts.bounds
        if facts.n_groups is not None:
            sums = sums.reshape(facts.n_groups, -1)
        unit = np.broadcast_to(bounds.largest * (records.max_weight or 1.0), sums.shape)
        value = facts.shaped(unit * sums)
        known: dict[str, Any] = {"_unit": facts.shaped(unit), "_labels": facts.labels}
        return NoisyNumbers(value, guarantee, _plan=plan, _noisy=value, **known)


def _query(facts: Facts, n_changed: int) -> Query:
    """Return the query, in units of the largest values of each column."""
    n, bounds = facts.n_columns, facts.bounds
    # A replaced value changes its sum by high − low, or by 1, the sums of two groups by 1 each.
    within = float(((bounds.high - bounds.low) / bounds.largest).max()) if n_changed > 1 else 1.0
    farthest = max(within, 1.0) * ROUNDED_ONCE
    if facts.n_groups is None:
        return Query("sum", size=n, linf_sensitivity=farthest, l0_sensitivity=n)
    return Query(
        "sum",
        size=n * facts.n_groups,
        linf_sensitivity=farthest,
        l0_sensitivity=n_changed * n,
        l1_sensitivity=n_changed * n * ROUNDED_ONCE,
        l2_sensitivity=math.sqrt(n) * max(farthest, math.sqrt(n_changed) * ROUNDED_ONCE),
    )


def _present(records: Records[Facts]) -> Iterator[Sums]:
    bounds = records.facts.bounds
    for rows, _, _ in records.chunks():
        yield {"sum": np.where(np.isnan(rows), 0.0, bounds.clip(rows) / bounds.largest)}


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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import variance
    >>> ages = np.arange(5000) % 90
    >>> found = variance(ages, epsilon=1.0, bounds=(0, 100), random_state=0)
    >>> round(found.value), round(found.mean, 1)
    (675, 44.3)
    >>> [round(end) for end in found.interval()]
    [672, 678]
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
    keys: KeysLike = None,
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
    by : str, array-like of shape (n_rows,), list of several, default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list, dict of lists by column, default None
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


@dataclass(frozen=True, eq=False, repr=False)
class Covariance(Moments):
    """A released covariance matrix, with the means.

    Parameters
    ----------
    value : ndarray of shape (n_columns, n_columns)
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    mean : ndarray of shape (n_columns,)
        *Released*, together with the matrix.
    _means, _bounds : object
        *Released* and *public*: what `interval` is computed from.
    _labels : object
        *Public.* The labels in `to_frame`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import covariance
    >>> x = np.arange(5000.0) % 10
    >>> table = np.column_stack([x, 9.0 - x])
    >>> found = covariance(table, epsilon=1.0, bounds=(0, 9), random_state=0)
    >>> found.value.round(1), found.mean.round(1)
    (array([[ 8.2, -8.2],
           [-8.2,  8.3]]), array([4.5, 4.5]))
    >>> low, high = found.interval()
    >>> (high - low).round(1)
    array([[0.1, 0.2],
           [0.2, 0.1]])
    """

    mean: np.ndarray

    def _ends(self, risk: float) -> Interval:
        means = self._means
        least, most = covariance_ends(means, risk)
        lost = np.logical_or.outer(*[means.is_noise()] * 2)
        least, most = np.where(lost, -1.0, least), np.where(lost, 1.0, most)
        np.fill_diagonal(least, np.maximum(np.diag(least), 0.0))
        unit = np.outer(self._bounds.half, self._bounds.half)
        return unit * np.clip(least, -1.0, 1.0), unit * np.clip(most, -1.0, 1.0)


def covariance(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Covariance:
    """Release the covariance matrix of the columns and their means together, privately.

    Values outside the bounds are clipped, and rows with a missing value are left out. A covariance
    that the noise outweighs is nan, and `notes` say why.

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
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
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
    Covariance
        Its `value` (``ddof=0``) is positive semidefinite: negative eigenvalues are set to 0.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The release contains the sums of u, of 2u² − 1, of the products of two columns,
    and of w, over rows without missing values, where u are the values mapped to [−1, 1]. A replaced
    row changes most products if half of its values change sign: ⌊d²/4⌋ of them by 2 each, for d
    columns. The squared l2 distance of two rows is at most 5.1447·d + 4·⌊d²/4⌋. A row and one that
    is left out are not farther apart, by the choice of w.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import covariance
    >>> x = np.arange(1000.0) % 10
    >>> table = np.column_stack([x, 9.0 - x])
    >>> found = covariance(table, epsilon=1.0, bounds=(0, 9), random_state=0)
    >>> found.value.round(1)
    array([[ 8.2, -8.2],
           [-8.2,  8.4]])
    """
    return CovarianceStatistic(bounds, noise, missing="skip")._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


MOST_COLUMNS = 4096  # so that a matrix needs 128 MB


class CovarianceStatistic(MomentsStatistic):
    """The release of `covariance`."""

    released_as = "statistics.covariance"
    by_row = True

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> QueryPlan:
        if records.columns.n_columns > MOST_COLUMNS:
            raise ValueError(f"at most {MOST_COLUMNS} columns have covariances: pass fewer.")
        return super()._plan(parameters, records)

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        alone = Part("x", n_columns), Part("square", n_columns, 0.5)
        n_pairs = n_columns * (n_columns - 1) // 2
        return (*alone, Part("product", n_pairs)) if n_pairs else alone

    def _vector(self, n_columns: int) -> Vector:
        d, (_, l1, square, _) = n_columns, OF_SPREAD
        most = 2.0 * (d**2 // 4)  # of the products; each moves by at most 2
        return Vector(2 * d + d * (d - 1) // 2, d * l1 + most, d * square + 2.0 * most)

    @staticmethod
    def _numbers(units: np.ndarray) -> Sums:
        i, j = np.triu_indices(units.shape[1], 1)
        return {"x": units, "square": units**2 - 0.5, "product": units[:, i] * units[:, j]}

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Covariance:
        facts = records.facts
        means, bounds = self._means(plan, facts, released), facts.bounds
        first = means.mean("x")
        moments = np.diag(means.mean("square") + 0.5)
        i, j = np.triu_indices(first.size, 1)
        if i.size:
            moments[i, j] = moments[j, i] = means.mean("product")
        unit = np.outer(bounds.half, bounds.half)
        value = _semidefinite(moments - np.outer(first, first)) * unit
        lost = means.is_noise()
        value[np.logical_or.outer(lost, lost)] = np.nan
        center = bounds.middle + bounds.half * np.where(lost, np.nan, first)
        names = facts.columns.labels
        return Covariance(
            value,
            guarantee,
            center,
            _means=means,
            _bounds=bounds,
            _labels=Labels((("column", names), ("with", names)), facts.columns.library),
        )


def _semidefinite(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
