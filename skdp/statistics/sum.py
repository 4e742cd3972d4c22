"""Sums of clipped values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from skdp._column_facts import ColumnBounds
from skdp._columns import Columns
from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import EXACT, BoundedColumns, exact_sums
from skdp.statistics._result import NoisyNumbers
from skdp.workloads import Query, QueryPlan

__all__ = ["sum"]


def sum(
    x: Any,
    epsilon: float,
    delta: float | None = None,
    *,
    bounds: Any,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str | None = None,
    part: str | int | None = None,
) -> NoisyNumbers:
    """Sum the values of each column privately.

    Values outside of the bounds are clipped. A missing value counts as the middle of its bounds
    where the number of rows is public, and as 0, clipped, where it is not.

    Parameters
    ----------
    x : array-like or dask collection of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss in nats of all numbers together; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    bounds : pair (low, high), one pair per column, or dict
        *Public.* The dict is from names or numbers of columns to pairs. Bounds come from knowledge
        about the columns, never from the data.
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
    label : str or None, default None
        *Public.* Name of the release in the budget's history. ``None`` takes the function's.
    part : str, int or None, default None
        *Public.* The part of the records that these are, by any name: in the budget, releases on
        different parts do not add up. Every record lies in one part for good, whatever other
        records there are; under ``replace_one`` so does what replaces it. ``None`` counts for all
        parts.

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
    max(abs(low), abs(high)) under ``add_remove_one``.

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
    return SumStatistic(bounds, noise)._release(
        x,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
        label=label,
        part=part,
    )


class SumStatistic(PrivateFit):
    """The parts of the transaction of `sum`."""

    released_as = "statistics.sum"
    takes_infinite_epsilon = False

    def __init__(self, bounds: Any, noise: str = "auto") -> None:
        self.bounds = bounds
        self.noise = noise

    def _check_data(self, parameters: ReleaseParameters, x: Any) -> BoundedColumns:
        return BoundedColumns.of(x, self.bounds, parameters)

    def _plan(self, parameters: ReleaseParameters, records: BoundedColumns) -> QueryPlan:
        n = records.columns.n_columns
        largest = parameters.neighboring.n_changed * EXACT
        query = Query("sum", size=n, linf_sensitivity=largest, l0_sensitivity=n)
        return parameters.plan_queries([query], self.noise)

    def _read(
        self, plan: QueryPlan, records: BoundedColumns, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        numbers = partial(_centred if records.count_is_public else _whole, records.bounds)
        sizes = {"sum": records.columns.n_columns}
        return plan.release(exact_sums(sizes, records.columns, numbers), rng)

    def _publish(
        self, plan: QueryPlan, records: BoundedColumns, released: Any, guarantee: PrivacyGuarantee
    ) -> NoisyNumbers:
        bounds, columns = records.bounds, records.columns
        if records.count_is_public:
            offset, unit = columns.n_rows * bounds.middle, bounds.half
        else:
            offset, unit = np.zeros(columns.n_columns), bounds.largest
        value = columns.shaped(offset + unit * released["sum"])
        return NoisyNumbers(value, guarantee, _plan=plan, _unit=columns.shaped(unit))


def _centred(bounds: ColumnBounds, columns: Columns) -> Iterator[dict[str, np.ndarray]]:
    return ({"sum": bounds.unit(rows)} for rows in columns.blocks())


def _whole(bounds: ColumnBounds, columns: Columns) -> Iterator[dict[str, np.ndarray]]:
    return ({"sum": bounds.clip(rows, 0.0) / bounds.largest} for rows in columns.blocks())
