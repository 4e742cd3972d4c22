"""Sums of clipped values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums, exact_sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import BoundedStatistic, Facts
from skdp.statistics._result import NoisyNumbers
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE

__all__ = ["sum"]


def sum(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds,
    by: VectorLike | None = None,
    keys: ArrayLike | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> NoisyNumbers:
    """Sum the values of each column privately.

    Values outside the bounds are clipped. Missing values count as the middle of the bounds if the
    number of rows is public, else (also with `keys`) as 0, clipped. `describe` leaves them out. A
    person with several rows adds their mean: to get totals, add up the rows of each person first.

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
    **Guarantee.** A record changes a sum by at most high − low under ``replace_one``, and by
    max(abs(low), abs(high)) under ``add_remove_one``. With `keys`, an added or removed record
    changes the sums of one group. A replaced record changes those of one group by high − low, or
    those of two groups by max(abs(low), abs(high)) each.

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
    return SumStatistic(bounds, noise, by=by, keys=keys)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(eq=False)
class SumStatistic(BoundedStatistic[QueryPlan, Sums]):
    """The release of `sum`."""

    noise: str = "auto"

    released_as = "statistics.sum"

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> QueryPlan:
        query = _query(records.facts, parameters.neighboring.n_changed)
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: Records[Facts], rng: np.random.Generator) -> Sums:
        facts = records.facts
        numbers = _whole if facts.n_rows is None else _centered
        return plan.release(exact_sums({"sum": facts.n_columns}, records, numbers, facts.keys), rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> NoisyNumbers:
        facts, sums = records.facts, released["sum"]
        bounds = facts.bounds
        if facts.n_groups is not None:
            sums = sums.reshape(facts.n_groups, -1)
        offset, unit = np.zeros(bounds.low.size), bounds.largest
        if facts.n_rows is not None:
            offset, unit = facts.n_rows * bounds.middle, bounds.half
        value = facts.shaped(offset + unit * sums)
        known: dict[str, Any] = {"_unit": facts.shaped(unit), "_labels": facts.labels}
        return NoisyNumbers(value, guarantee, _plan=plan, _noisy=value, **known)


def _query(facts: Facts, n_changed: int) -> Query:
    """Return the query: in units of `_centered` or `_whole`, and of the largest values by group."""
    n, bounds = facts.n_columns, facts.bounds
    if facts.n_groups is None:
        return Query("sum", size=n, linf_sensitivity=n_changed * ROUNDED_ONCE, l0_sensitivity=n)
    # A replaced value changes its sum by high − low, or the sums of two groups by 1 each.
    within = float(((bounds.high - bounds.low) / bounds.largest).max()) if n_changed > 1 else 1.0
    farthest = max(within, 1.0) * ROUNDED_ONCE
    return Query(
        "sum",
        size=n * facts.n_groups,
        linf_sensitivity=farthest,
        l0_sensitivity=n_changed * n,
        l1_sensitivity=n_changed * n * ROUNDED_ONCE,
        l2_sensitivity=math.sqrt(n) * max(farthest, math.sqrt(n_changed) * ROUNDED_ONCE),
    )


def _centered(records: Records[Facts]) -> Iterator[Sums]:
    return ({"sum": records.facts.bounds.unit(rows)} for rows, _, _ in records.chunks())


def _whole(records: Records[Facts]) -> Iterator[Sums]:
    bounds = records.facts.bounds
    return ({"sum": bounds.clip(rows, 0.0) / bounds.largest} for rows, _, _ in records.chunks())
