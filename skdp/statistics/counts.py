"""Counts of rows: by a condition, in cells of a grid, and by categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import (
    by_column,
    categories_by_column,
    category_codes,
    check_comparable,
)
from skdp.data.columns import column_name
from skdp.data.exact_sums import Sums, counted
from skdp.data.records import Records, check_numeric
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._results import (
    MOST_OF_COUNTS,
    NONE_OF_THESE,
    Axes,
    Keys,
    NoisyNumbers,
    Statistic,
    axes_of,
    beside,
    columns_of,
    effect_of_noise,
    framed,
    grouped,
    half_width,
    lines_of_rest,
    most_records,
    noisy_counts,
    risk_of,
    rounded_columns,
    view,
)
from skdp.support.types import Categories, KeysLike, Label, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_count
from skdp.workloads import QueryPlan
from skdp.workloads.plan import counts_query


def count(
    condition: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
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
    (270.0, 276.0)
    """
    return CountStatistic(noise, by, keys, max_weight)._release(
        (condition,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight
    )


@dataclass(eq=False)
class CountStatistic(PrivateFit[Records[Keys | None], QueryPlan, Sums]):
    """The release of `count`."""

    noise: str = "auto"
    by: VectorLike | None = None
    keys: KeysLike = None
    max_weight: float | None = None

    released_as = "statistics.count"

    _effect_of_noise = effect_of_noise(
        "an average count", lambda one: one.n_groups if one else 1, MOST_OF_COUNTS
    )
    takes_infinite_epsilon = False

    _data: ClassVar = ("condition", "To count rows give np.ones(len(x), dtype=bool).")

    def _check_data(
        self,
        parameters: ReleaseParameters,
        condition: MatrixLike,
        **more: VectorLike,
    ) -> Records[Keys | None]:
        more["max_weight"] = self.max_weight
        rows, keys = grouped(condition, self.by, self.keys, self._data[0], **more)
        records: Records[Keys | None] = rows.with_facts(keys)
        records.check(partial(_check_condition, *self._data))
        return records

    def _plan(self, parameters: ReleaseParameters, records: Records[Keys | None]) -> QueryPlan:
        n, keys = records.columns.n_columns, records.facts
        n_changed = 1 if keys is None else parameters.neighboring.n_changed
        n_groups = 1 if keys is None else keys.n_groups
        query = counts_query("count", n_groups * n, n_changed * n)
        return parameters.plan_queries([query], self.noise, weighted=records.is_weighted)

    def _read(
        self, plan: QueryPlan, records: Records[Keys | None], rng: np.random.Generator
    ) -> Sums:
        return plan.release(records.counts(_counts_of_true), rng)

    def _publish(
        self,
        plan: QueryPlan,
        records: Records[Keys | None],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> Statistic:
        columns = records.columns
        axes = (*axes_of(records.facts), ("condition", columns.labels))
        counts = released["count"].reshape([len(labels) for _, labels in axes])
        tables = {}
        if records.facts is not None:
            names = [""] if columns.single else [f"{label}: " for label in columns.labels]
            label = f"{NONE_OF_THESE}, or condition not met"
            tables = {f"{name}{label}": counts[..., j] for j, name in enumerate(names)}
        counts = counts[..., 0] if columns.single else counts
        return noisy_counts(counts, plan, records, axes, guarantee, tables)


def _check_condition(parameter: str, advice: str, records: Records[Keys | None]) -> None:
    records.columns.check_boolean(parameter, advice)
    if records.facts is not None:
        records.facts.check(records)


def _counts_of_true(records: Records[Keys | None]) -> Sums:
    """Return the number of true values per column and key, or their weight in steps."""
    columns, keys, weights = records.columns, records.facts, records.steps
    if keys is None and weights is None:
        return {"count": np.array([np.count_nonzero(true) for true in columns.truth()])}
    n_groups = 1 if keys is None else keys.n_groups
    groups = np.ones(len(columns), np.int8) if keys is None else keys.codes(records) + 1
    counts = [counted(groups, n_groups + 1, weights, true)[1:] for true in columns.truth()]
    return {"count": np.stack(counts, axis=1)}


def histogram(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    edges: VectorLike | Mapping[Label, ArrayLike],
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    max_weight: float | None = None,
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
        them. The last cell contains its right end, and the outer ends may be infinite.
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
    >>> found.value, low, high
    (array([337., 332., 330.]), array([329., 324., 322.]), array([345., 340., 338.]))
    """
    return HistogramStatistic(edges, noise, max_weight)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight
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
        named = ([*one[:-1], one[-1].replace(")", "]").replace("inf]", "inf)")] for one in cells)
        named = ([one[0].replace("[-inf", "(-inf"), *one[1:]] for one in named)
        return tuple(zip(map(str, self.labels), named, strict=True))

    @property
    def n_cells(self) -> int:
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
    max_weight: float | None = None

    released_as = "statistics.histogram"

    _effect_of_noise = effect_of_noise(
        "an average count", lambda grid: grid.n_cells, MOST_OF_COUNTS
    )
    takes_infinite_epsilon = False

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, **more: VectorLike
    ) -> Records[Grid]:
        records = Records.of_columns(x, max_weight=self.max_weight, **more)
        columns = records.columns
        edges = _checked_edges(self.edges, columns.n_columns, columns.names)
        records.check(check_numeric)
        return records.with_facts(Grid(edges, columns.labels))

    def _plan(self, parameters: ReleaseParameters, records: Records[Grid]) -> QueryPlan:
        query = counts_query("cells", records.facts.n_cells, parameters.neighboring.n_changed)
        return parameters.plan_queries([query], self.noise, weighted=records.is_weighted)

    def _read(self, plan: QueryPlan, records: Records[Grid], rng: np.random.Generator) -> Sums:
        return plan.release(records.counts(_counts_of_cells), rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Grid], released: Sums, guarantee: PrivacyGuarantee
    ) -> NoisyNumbers:
        counts = released["cells"].reshape(records.facts.shape)
        axes, tables = records.facts.axes, {NONE_OF_THESE: counts}
        return noisy_counts(counts, plan, records, axes, guarantee, tables)


def _counts_of_cells(records: Records[Grid]) -> Sums:
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
    grid = [ends_of_cells(one) for one in edges]
    wrong = [j for j in range(n_columns) if j >= len(grid) or not grid[j].size]
    if wrong:
        raise ValueError(
            f"edges of columns {[column_name(names, j) for j in wrong]} are missing or wrong. Pass "
            "at least two increasing numbers for each column; only the outer ones may be infinite."
        )
    if len(grid) > n_columns:
        raise ValueError(f"edges are given for {len(grid)} columns, and x has {n_columns}.")
    return grid


def ends_of_cells(ends: ArrayLike) -> np.ndarray:
    """Return increasing ends of cells, an empty array if `ends` are something else."""
    try:
        numbers = np.asarray(ends, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)
    good = numbers.ndim == 1 and numbers.size > 1 and np.isfinite(numbers[1:-1]).all()
    return numbers if good and (numbers[1:] > numbers[:-1]).all() else np.empty(0)


Key = tuple[Label, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Marginals:
    """Released tables of counts, by their columns.

    Parameters
    ----------
    value : dict
        *Released.* From tuples of columns to arrays with an axis for each column, in the order of
        its categories. Counts are limited to 0 and to the number of records if it is public.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all tables together.
    _plan : QueryPlan
        *Public.* The noise.
    _categories : dict
        *Public.* The categories of the columns of each table.
    _noisy : dict
        *Released.* The counts before they were limited.
    _most, _unit : float
        *Public.* The largest possible count, and the factor of the noise.
    _library : {"pandas", "polars"}
        *Public.* The library of the frames of `to_frame`.

    Examples
    --------
    >>> from skdp.statistics import marginals
    >>> rows = [["f", "no"], ["m", "yes"], ["f", "yes"], ["f", "no"]] * 250
    >>> asked = {0: ["f", "m"], 1: ["no", "yes"]}
    >>> tables = marginals(rows, epsilon=1.0, categories=asked, n_ways=2, random_state=0)
    >>> tables[0, 1]
    array([[500., 252.],
           [  2., 250.]])
    >>> low, high = tables.interval()[0, 1]
    >>> high - low
    array([[12., 12.],
           [ 8., 12.]])
    """

    value: Mapping[Key, np.ndarray]
    privacy: PrivacyGuarantee
    _plan: QueryPlan = field(kw_only=True)
    _categories: Mapping[Key, list[list[Label]]] = field(kw_only=True)
    _noisy: Mapping[Key, np.ndarray] = field(kw_only=True)
    _most: float = field(kw_only=True)
    _unit: float = field(kw_only=True)
    _library: str = field(kw_only=True)

    def __repr__(self) -> str:
        tables = (
            f"{', '.join(map(str, key))}: {np.array2string(table, prefix='  ')}"
            for key, table in self.value.items()
        )
        return "\n".join([*tables, *self._rest(), str(self.privacy)])

    def _rest(self) -> tuple[str, ...]:
        labels = {key: f"{', '.join(map(str, key))}: {NONE_OF_THESE}" for key in self._noisy}
        tables = ((labels[key], str(key), cells) for key, cells in self._noisy.items())
        return lines_of_rest(self._plan, self._most, tables)

    def __getitem__(self, columns: Key) -> np.ndarray:
        return self.value[columns]

    def interval(self, level: float = 0.95) -> dict[Key, tuple[np.ndarray, np.ndarray]]:
        """Return intervals for the counts of the same data without noise.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* For each count by itself, over the noise.

        Returns
        -------
        dict
            *Released.* From tuples of columns to pairs (low, high) of arrays.
        """
        risk = risk_of(level)
        widths = {key: self._unit * half_width(self._plan, str(key), risk) for key in self.value}
        ends = {key: (t - widths[key], t + widths[key]) for key, t in self._noisy.items()}
        return {key: tuple(np.clip(pair, 0.0, self._most)) for key, pair in ends.items()}

    def to_frame(self, level: float = 0.95, *, rounded: str | None = None) -> MatrixLike:
        """Return the counts of all tables and their intervals as a data frame.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* As in `interval`.
        rounded : {"census", "census_2000", "cms", "ofqual", "uk_llc"} or None, default None
            *Public.* As in `Statistic.to_frame`.

        Returns
        -------
        DataFrame
            One row per count, with the columns estimate, lower, upper and level. It is a polars
            frame if the data were polars, else a pandas frame. The labels are the columns of the
            table and their categories: tuples, unless tables have one column.
        """
        columns: Mapping[str, Any] = self._columns(level)
        if rounded is not None:
            columns = rounded_columns(rounded, columns, [True] * len(columns["estimate"]))
        return framed(self._index(), columns, self._library)

    def _repr_html_(self) -> str:
        index = tuple(
            (name, [", ".join(map(str, one)) if isinstance(one, tuple) else one for one in labels])
            for name, labels in self._index()
        )
        return view(beside(index, self._columns(0.95)), self.privacy, self._rest())

    def _index(self) -> Axes:
        index = [(key, cell) for key in self.value for cell in product(*self._categories[key])]
        named = [tuple(part[0] if len(part) == 1 else part for part in row) for row in index]
        return tuple(zip(("columns", "categories"), zip(*named, strict=True), strict=True))

    def _columns(self, level: float) -> dict[str, list[float]]:
        tables = (self.value.values(), *zip(*self.interval(level).values(), strict=True))
        value, low, high = (np.concatenate([*map(np.ravel, one)]) for one in tables)
        return columns_of(value, low, high, level)


def marginals(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    categories: Categories,
    n_ways: int = 1,
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    max_weight: float | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Marginals:
    """Count the rows by the categories of each set of `n_ways` columns, all tables together.

    A row whose value is missing or not a category counts in no table of that column.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers or categories: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    categories : dict, list or TableSchema
        *Public.* Possible values of columns: a dict from names or positions of the columns to
        count to lists, or one list for all columns.
    n_ways : int, default 1
        *Public.* The number of columns of a table: 1 for one-way marginals.
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
    Marginals
        A table for each set of `n_ways` columns, by their names or positions.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A row lies in at most one cell of each table. For k tables with Laplace noise of
    pure ε/k each, the mean error of a count is at most 2k/ε. With δ > 0 and Gaussian noise it is
    proportional to √(k·log(1/δ))/ε (Tian 2024, Proposition 1, both parts).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import marginals
    >>> records = np.array([["f", "no"], ["m", "yes"], ["f", "yes"], ["m", "no"]] * 250)
    >>> asked = {0: ["f", "m"], 1: ["no", "yes"]}
    >>> tables = marginals(records, epsilon=1.0, categories=asked, n_ways=2, random_state=0)
    >>> tables[0, 1].shape
    (2, 2)
    """
    return MarginalsStatistic(categories, n_ways, noise, max_weight)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight
    )


@dataclass(frozen=True, eq=False)
class Tables:
    """The public categories of columns, and the columns of each table, by their names."""

    values: Mapping[int, np.ndarray]
    columns: Mapping[Key, tuple[int, ...]]

    def shape(self, table: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of categories of each column of a table."""
        return tuple(self.values[j].size for j in table)

    def size(self, table: tuple[int, ...]) -> int:
        return int(np.prod(self.shape(table)))


def _check_categories(values: Mapping[int, np.ndarray], records: Records[Any]) -> None:
    for j, known in values.items():
        check_comparable(records.columns.parts[j], known, records.columns.name(j))


def _counts_of_tables(records: Records[Tables]) -> Sums:
    facts, parts = records.facts, records.columns.parts
    codes = {j: category_codes(parts[j], known) for j, known in facts.values.items()}
    return {
        str(key): _counts_of_table([codes[j] for j in table], facts.shape(table), records.steps)
        for key, table in facts.columns.items()
    }


def _counts_of_table(
    codes: Sequence[np.ndarray], shape: tuple[int, ...], weights: np.ndarray | None
) -> np.ndarray:
    known = np.all([one >= 0 for one in codes], axis=0)
    cells = np.ravel_multi_index(tuple(one[known] for one in codes), shape)
    return counted(cells, int(np.prod(shape)), None if weights is None else weights[known])


@dataclass(eq=False)
class MarginalsStatistic(PrivateFit[Records[Tables], QueryPlan, Sums]):
    """The release of `marginals`."""

    categories: Categories
    n_ways: int = 1
    noise: str = "auto"
    max_weight: float | None = None

    released_as = "statistics.marginals"

    _effect_of_noise = effect_of_noise(
        "an average count", lambda one: max(map(one.size, one.columns.values())), MOST_OF_COUNTS
    )
    takes_infinite_epsilon = False

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, **more: VectorLike
    ) -> Records[Tables]:
        records = Records.of_columns(x, max_weight=self.max_weight, **more)
        records, given, of_schema, _ = records.resolved(self.categories)
        columns, categories = records.columns, given if of_schema is None else of_schema
        values = categories_by_column(categories, columns.n_columns, columns.names)
        if not values:
            raise ValueError("categories must be given: the possible values of each column.")
        if check_count("n_ways", self.n_ways) > len(values):
            raise ValueError(
                f"n_ways must be at most the number of columns with categories, {len(values)}; got "
                f"{self.n_ways}."
            )
        if records.blocks is None:  # the type of a block is that of its rows, which is private
            _check_categories(values, records)
        records.check(lambda rows: None)
        names, tables = columns.labels, combinations(values, self.n_ways)
        named = {tuple(names[j] for j in table): table for table in tables}
        return records.with_facts(Tables(values, named))

    def _plan(self, parameters: ReleaseParameters, records: Records[Tables]) -> QueryPlan:
        facts, n_changed = records.facts, parameters.neighboring.n_changed
        queries = [
            counts_query(str(key), facts.size(table), n_changed)
            for key, table in facts.columns.items()
        ]
        return parameters.plan_queries(queries, self.noise, weighted=records.is_weighted)

    def _read(self, plan: QueryPlan, records: Records[Tables], rng: np.random.Generator) -> Sums:
        return plan.release(records.counts(_counts_of_tables), rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Tables], released: Sums, guarantee: PrivacyGuarantee
    ) -> Marginals:
        facts, library = records.facts, records.columns.library
        most, unit = most_records(records, guarantee), records.max_weight or 1.0
        shapes = {key: facts.shape(table) for key, table in facts.columns.items()}
        noisy = {key: unit * released[str(key)].reshape(shape) for key, shape in shapes.items()}
        tables = {key: np.clip(table, 0.0, most) for key, table in noisy.items()}
        categories = {k: [facts.values[j].tolist() for j in t] for k, t in facts.columns.items()}
        known: dict[str, Any] = {"_plan": plan, "_categories": categories, "_library": library}
        return Marginals(tables, guarantee, _noisy=noisy, _most=most, _unit=unit, **known)
