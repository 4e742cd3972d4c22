"""Sums of clipped values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums, exact_sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import Bounded, bounded_columns
from skdp.statistics._result import NoisyNumbers
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE

__all__ = ["sum"]


def sum(
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
) -> NoisyNumbers:
    """Sum the values of each column privately.

    Values outside of the bounds are clipped. A missing value counts as the middle of its bounds
    where the number of rows is public, and as 0, clipped, where it is not, as with `keys`. Of a
    person of several rows the mean is added: add up the rows of each before where totals matter.

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
    NoisyNumbers
        Unbiased for the sums of the clipped values.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A record changes a sum by at most high − low under ``replace_one``, and by
    max(abs(low), abs(high)) under ``add_remove_one``. With groups a record that comes or goes
    changes the sums of one; a replaced one those of one by high − low, or those of two by
    max(abs(low), abs(high)) each.

    **Missing values.** To leave them out, keep the rows without them under ``add_remove_one``:
    under ``replace_one`` how many there are would be told.

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
    return SumStatistic(bounds, noise, by, keys)._release(
        x,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


class SumStatistic(PrivateFit[Records[Bounded], QueryPlan, Sums]):
    """The parts of the transaction of `sum`."""

    released_as = "statistics.sum"
    takes_infinite_epsilon = False

    def __init__(self, bounds: Any, noise: str = "auto", by: Any = None, keys: Any = None) -> None:
        self.bounds = bounds
        self.noise = noise
        self.by = by
        self.keys = keys

    def _check_data(
        self, parameters: ReleaseParameters, x: Any, *, groups: Any = None
    ) -> Records[Bounded]:
        asked = {"by": self.by, "keys": self.keys, "groups": groups}
        return bounded_columns(x, self.bounds, parameters, **asked)

    def _plan(self, parameters: ReleaseParameters, records: Records[Bounded]) -> QueryPlan:
        asked, n_changed = records.facts, parameters.neighboring.n_changed
        n = asked.n_columns
        query = Query("sum", size=n, linf_sensitivity=n_changed * ROUNDED_ONCE, l0_sensitivity=n)
        if asked.n_groups is not None:
            query = _by_group(asked, n_changed)
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: Records[Bounded], rng: np.random.Generator) -> Sums:
        asked = records.facts
        numbers = _whole if asked.n_rows is None else _centred
        return plan.release(exact_sums({"sum": asked.n_columns}, records, numbers, asked.keys), rng)

    def _publish(
        self,
        plan: QueryPlan,
        records: Records[Bounded],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> NoisyNumbers:
        asked, sums = records.facts, released["sum"]
        bounds = asked.bounds
        if asked.n_groups is not None:
            sums = sums.reshape(asked.n_groups, -1)
        if asked.n_rows is None:
            offset, unit = np.zeros(bounds.low.size), bounds.largest
        else:
            offset, unit = asked.n_rows * bounds.middle, bounds.half
        value, unit = asked.shaped(offset + unit * sums), asked.shaped(unit)
        return NoisyNumbers(value, guarantee, _plan=plan, _unit=unit, **asked.labels)


def _by_group(asked: Bounded, n_changed: int) -> Query:
    """Return what is asked of groups, in units of the largest values.

    A value that is replaced moves its sum by high − low, or those of two groups by 1 each.
    """
    n, bounds = asked.n_columns, asked.bounds
    within = float(((bounds.high - bounds.low) / bounds.largest).max()) if n_changed > 1 else 1.0
    farthest = max(within, 1.0) * ROUNDED_ONCE
    return Query(
        "sum",
        size=n * (asked.n_groups or 1),
        linf_sensitivity=farthest,
        l0_sensitivity=n_changed * n,
        l1_sensitivity=n_changed * n * ROUNDED_ONCE,
        l2_sensitivity=math.sqrt(n) * max(farthest, math.sqrt(n_changed) * ROUNDED_ONCE),
    )


def _centred(records: Records[Bounded]) -> Iterator[Sums]:
    return ({"sum": records.facts.bounds.unit(rows)} for rows, _ in records.chunks())


def _whole(records: Records[Bounded]) -> Iterator[Sums]:
    bounds = records.facts.bounds
    return ({"sum": bounds.clip(rows, 0.0) / bounds.largest} for rows, _ in records.chunks())
