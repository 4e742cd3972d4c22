"""Counts of rows that fulfill a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums, counted
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._keys import Keys, axes_of, most_records
from skdp.statistics._result import Labels, NoisyNumbers
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan
from skdp.workloads.plan import counts_query

__all__ = ["count"]


def count(
    condition: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    by: VectorLike | None = None,
    keys: ArrayLike | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> NoisyNumbers:
    """Count the rows that fulfill a condition, privately.

    Parameters
    ----------
    condition : array-like of bool, shape (n_rows,) or (n_rows, n_conditions)
        *Private.* For example ``ages >= 65``; missing values count as False. Several conditions
        are released together. Pass ``np.ones(n_rows, dtype=bool)`` to count all rows. A person
        counts by the share of rows that fulfill the condition.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
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
        Counts, limited to 0 and to the number of records if it is public.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A record changes each count by at most 1, under both relations. With `keys`, a
    replaced record may change groups, and then two counts change by 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import count
    >>> ages = np.arange(1000) % 90
    >>> found = count(ages >= 65, epsilon=1.0, random_state=0)
    >>> found.interval()
    (272.0, 278.0)
    """
    return CountStatistic(noise, by, keys)._release(
        (condition,), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(eq=False)
class CountStatistic(PrivateFit[Records[Keys | None], QueryPlan, Sums]):
    """The release of `count`."""

    noise: str = "auto"
    by: VectorLike | None = None
    keys: ArrayLike | None = None

    released_as = "statistics.count"
    takes_infinite_epsilon = False

    def _check_data(
        self,
        parameters: ReleaseParameters,
        condition: MatrixLike,
        *,
        groups: VectorLike | None = None,
    ) -> Records[Keys | None]:
        keys = Keys.of(condition, self.by, self.keys)
        rows = Records.of_columns(condition, "condition", by=self.by, groups=groups)
        records: Records[Keys | None] = rows.with_facts(keys)
        records.check(_check)
        return records

    def _plan(self, parameters: ReleaseParameters, records: Records[Keys | None]) -> QueryPlan:
        n, keys = records.columns.n_columns, records.facts
        n_changed = 1 if keys is None else parameters.neighboring.n_changed
        n_groups = 1 if keys is None else keys.n_groups
        query = counts_query("count", n_groups * n, n_changed * n)
        return parameters.plan_queries([query], self.noise)

    def _read(
        self, plan: QueryPlan, records: Records[Keys | None], rng: np.random.Generator
    ) -> Sums:
        return plan.release(records.counts(_counts), rng)

    def _publish(
        self,
        plan: QueryPlan,
        records: Records[Keys | None],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> NoisyNumbers:
        columns = records.columns
        axes = (*axes_of(records.facts), ("condition", columns.labels))
        counts = released["count"].reshape([len(labels) for _, labels in axes])
        counts = counts[..., 0] if columns.single else counts
        noisy, most = counts if counts.ndim else float(counts), most_records(records, guarantee)
        value = np.clip(noisy, 0.0, most)
        known: dict[str, Any] = {
            "_noisy": noisy,
            "_most": most,
            "_labels": Labels(axes, columns.library),
        }
        return NoisyNumbers(value if counts.ndim else float(value), guarantee, _plan=plan, **known)


def _check(records: Records[Keys | None]) -> None:
    records.columns.check_boolean()
    if records.facts is not None:
        records.facts.check(records)


def _counts(records: Records[Keys | None]) -> Sums:
    """Return the number of true values per column and key, or their weight in steps."""
    columns, keys, weights = records.columns, records.facts, records.steps
    if keys is None and weights is None:
        return {"count": np.array([np.count_nonzero(true) for true in columns.truth()])}
    n_groups = 1 if keys is None else keys.n_groups
    groups = np.ones(columns.n_rows, np.int8) if keys is None else keys.codes(records) + 1
    counts = [
        counted(groups[true], n_groups + 1, None if weights is None else weights[true])[1:]
        for true in columns.truth()
    ]
    return {"count": np.stack(counts, axis=1)}
