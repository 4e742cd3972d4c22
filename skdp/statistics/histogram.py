"""Counts of rows in cells of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import by_column
from skdp.data.columns import column_name
from skdp.data.exact_sums import Sums, counted
from skdp.data.records import Records, check_numeric
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._keys import most_records
from skdp.statistics._result import Axes, Labels, NoisyNumbers
from skdp.support.types import Label, MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan
from skdp.workloads.plan import counts_query

__all__ = ["histogram"]


def histogram(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    edges: VectorLike | Mapping[Label, ArrayLike],
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> NoisyNumbers:
    """Count the rows in each cell between public edges, privately.

    Values beyond the edges count in the first or last cell. Rows with missing values count in no
    cell.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    edges : array-like, one for each column, or dict
        *Public.* Increasing ends of the cells, or a dict from names or positions of columns to
        them. The last cell contains its right end.
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
        Counts, limited to 0 and to the number of records if it is public, with an axis for each
        column.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A row lies in at most one cell: one count changes by 1 under ``add_remove_one``,
    two under ``replace_one``. The rows of a person have total weight 1. They may change any cell,
    but their total change is no larger.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import histogram
    >>> ages = np.arange(1000) % 90
    >>> found = histogram(ages, epsilon=1.0, edges=[0, 30, 60, 90], random_state=0)
    >>> low, high = found.interval(simultaneous=True)
    >>> bool(np.all((low <= [340, 330, 330]) & ([340, 330, 330] <= high)))
    True
    """
    return HistogramStatistic(edges, noise)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False)
class Grid:
    """The public edges of the cells of each column, and the columns' labels."""

    edges: list[np.ndarray]
    labels: list[Label]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each column."""
        return tuple(len(ends) - 1 for ends in self.edges)

    @property
    def axes(self) -> Axes:
        """The cells of each column, by their ends."""
        cells = ([f"[{low:g}, {high:g})" for low, high in pairwise(ends)] for ends in self.edges)
        named = ([*one[:-1], one[-1].replace(")", "]")] for one in cells)
        return tuple(zip(map(str, self.labels), named, strict=True))

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape))

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the cell of each row, by number."""
        inner = (np.searchsorted(e[1:-1], rows[:, j], "right") for j, e in enumerate(self.edges))
        return np.ravel_multi_index(tuple(inner), self.shape)


@dataclass(eq=False)
class HistogramStatistic(PrivateFit[Records[Grid], QueryPlan, Sums]):
    """The release of `histogram`."""

    edges: VectorLike | Mapping[Label, ArrayLike]
    noise: str = "auto"

    released_as = "statistics.histogram"
    takes_infinite_epsilon = False

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, *, groups: VectorLike | None = None
    ) -> Records[Grid]:
        records = Records.of_columns(x, groups=groups)
        columns = records.columns
        edges = _checked_edges(self.edges, columns.n_columns, columns.names)
        records.check(check_numeric)
        return records.with_facts(Grid(edges, columns.labels))

    def _plan(self, parameters: ReleaseParameters, records: Records[Grid]) -> QueryPlan:
        query = counts_query("cells", records.facts.n_cells, parameters.neighboring.n_changed)
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: Records[Grid], rng: np.random.Generator) -> Sums:
        return plan.release(records.counts(_counts), rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Grid], released: Sums, guarantee: PrivacyGuarantee
    ) -> NoisyNumbers:
        grid, library = records.facts, records.columns.library
        cells, labels = released["cells"].reshape(grid.shape), Labels(grid.axes, library)
        most = most_records(records, guarantee)
        known: dict[str, Any] = {"_noisy": cells, "_most": most, "_labels": labels}
        return NoisyNumbers(np.clip(cells, 0.0, most), guarantee, _plan=plan, **known)


def _counts(records: Records[Grid]) -> Sums:
    found = np.zeros(records.facts.n_cells, dtype=np.int64)
    for rows, _, weights in records.chunks():
        whole = ~np.isnan(rows).any(axis=1)
        cells = records.facts.places(rows[whole])
        found += counted(cells, found.size, None if weights is None else weights[whole])
    return {"cells": found}


def _checked_edges(
    edges: VectorLike | Mapping[Label, ArrayLike], n_columns: int, names: Sequence[Label]
) -> list[np.ndarray]:
    """Return the ends of the cells of each column."""
    if isinstance(edges, Mapping):
        given = by_column("edges", edges, n_columns, names)
        edges = [given.get(j, ()) for j in range(n_columns)]
    elif not isinstance(edges, (list, tuple)) and np.ndim(edges) == 0:
        raise ValueError(
            f"edges must be the ends of the cells, not the number of cells; got {edges!r}. Choose "
            "them without looking at the data."
        )
    elif n_columns == 1 and len(edges) and np.ndim(edges[0]) == 0:
        edges = [edges]
    grid = [_ends(one) for one in edges]
    wrong = [j for j in range(n_columns) if j >= len(grid) or not grid[j].size]
    if wrong:
        raise ValueError(
            f"edges of columns {[column_name(names, j) for j in wrong]} are missing or wrong. Pass "
            "at least two increasing finite numbers for each column."
        )
    if len(grid) > n_columns:
        raise ValueError(f"edges are given for {len(grid)} columns, and x has {n_columns}.")
    return grid


def _ends(ends: ArrayLike) -> np.ndarray:
    """Return increasing ends of cells, an empty array if `ends` are something else."""
    try:
        numbers = np.asarray(ends, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)
    good = numbers.ndim == 1 and numbers.size > 1 and np.isfinite(numbers).all()
    return numbers if good and (np.diff(numbers) > 0.0).all() else np.empty(0)
