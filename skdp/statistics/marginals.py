"""Counts of rows by the categories of some columns at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import categories_by_column, category_codes
from skdp.data.exact_sums import Sums, counted
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._keys import most_records
from skdp.statistics._noise import half_width
from skdp.statistics._result import Axes, beside, framed, risk_of, view
from skdp.support.types import Categories, Label, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_count
from skdp.workloads import QueryPlan
from skdp.workloads.plan import counts_query

__all__ = ["Marginals", "marginals"]

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
    _most : float
        *Public.* The largest possible count.
    _library : {"pandas", "polars"}
        *Public.* The library of the frames of `to_frame`.
    """

    value: Mapping[Key, np.ndarray]
    privacy: PrivacyGuarantee
    _plan: QueryPlan = field(kw_only=True)
    _categories: Mapping[Key, list[list[Label]]] = field(kw_only=True)
    _noisy: Mapping[Key, np.ndarray] = field(kw_only=True)
    _most: float = field(kw_only=True)
    _library: str = field(kw_only=True)

    def __repr__(self) -> str:
        tables = (
            f"{', '.join(map(str, key))}: {np.array2string(table, prefix='  ')}"
            for key, table in self.value.items()
        )
        return "\n".join([*tables, str(self.privacy)])

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
        widths = {key: half_width(self._plan, str(key), risk) for key in self.value}
        ends = {key: (t - widths[key], t + widths[key]) for key, t in self._noisy.items()}
        return {key: tuple(np.clip(pair, 0.0, self._most)) for key, pair in ends.items()}

    def to_frame(self, level: float = 0.95) -> MatrixLike:
        """Return the counts of all tables and their intervals as a data frame.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* As in `interval`.

        Returns
        -------
        DataFrame
            One row per count, with the columns estimate, lower, upper and level. It is a polars
            frame if the data were polars, else a pandas frame. The labels are the columns of the
            table and their categories: tuples, unless tables have one column.
        """
        return framed(self._index(), self._columns(level), self._library)

    def _repr_html_(self) -> str:
        index = tuple(
            (name, [", ".join(map(str, one)) if isinstance(one, tuple) else one for one in labels])
            for name, labels in self._index()
        )
        return view(beside(index, self._columns(0.95)), self.privacy)

    def _index(self) -> Axes:
        index = [(key, cell) for key in self.value for cell in product(*self._categories[key])]
        named = [tuple(part[0] if len(part) == 1 else part for part in row) for row in index]
        return tuple(zip(("columns", "categories"), zip(*named, strict=True), strict=True))

    def _columns(self, level: float) -> dict[str, Sequence[float]]:
        ends = self.interval(level)
        numbers = {
            "estimate": self.value.values(),
            "lower": [low for low, _ in ends.values()],
            "upper": [high for _, high in ends.values()],
        }
        columns = {n: np.concatenate([*map(np.ravel, one)]).tolist() for n, one in numbers.items()}
        return columns | {"level": [level] * len(columns["estimate"])}


def marginals(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    categories: Categories,
    n_ways: int = 1,
    groups: VectorLike | None = None,
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
    return MarginalsStatistic(categories, n_ways, noise)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False)
class Tables:
    """The public categories of columns, and the columns of each table, by their names."""

    values: Mapping[int, np.ndarray]
    columns: Mapping[Key, tuple[int, ...]]

    def shape(self, table: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of categories of each column of a table."""
        return tuple(self.values[j].size for j in table)


def _counts(records: Records[Tables]) -> Sums:
    facts, parts = records.facts, records.columns.parts
    codes = {j: category_codes(parts[j], known) for j, known in facts.values.items()}
    return {
        str(key): _count([codes[j] for j in table], facts.shape(table), records.steps)
        for key, table in facts.columns.items()
    }


def _count(
    codes: Sequence[np.ndarray], shape: tuple[int, ...], weights: np.ndarray | None
) -> np.ndarray:
    known = np.all([one >= 0 for one in codes], axis=0)
    cells = np.ravel_multi_index(tuple(one[known] for one in codes), shape)
    return counted(cells, int(np.prod(shape)), None if weights is None else weights[known])


def _any_type(records: Records[None]) -> None:
    """Accept columns of any type: all may contain categories."""


@dataclass(eq=False)
class MarginalsStatistic(PrivateFit[Records[Tables], QueryPlan, Sums]):
    """The release of `marginals`."""

    categories: Categories
    n_ways: int = 1
    noise: str = "auto"

    released_as = "statistics.marginals"
    takes_infinite_epsilon = False

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, *, groups: VectorLike | None = None
    ) -> Records[Tables]:
        records = Records.of_columns(x, groups=groups)
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
        records.check(_any_type)
        names, tables = columns.labels, combinations(values, self.n_ways)
        named = {tuple(names[j] for j in table): table for table in tables}
        return records.with_facts(Tables(values, named))

    def _plan(self, parameters: ReleaseParameters, records: Records[Tables]) -> QueryPlan:
        facts, n_changed = records.facts, parameters.neighboring.n_changed
        queries = [
            counts_query(str(key), int(np.prod(facts.shape(table))), n_changed)
            for key, table in facts.columns.items()
        ]
        return parameters.plan_queries(queries, self.noise)

    def _read(self, plan: QueryPlan, records: Records[Tables], rng: np.random.Generator) -> Sums:
        return plan.release(records.counts(_counts), rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Tables], released: Sums, guarantee: PrivacyGuarantee
    ) -> Marginals:
        facts, library = records.facts, records.columns.library
        noisy = {k: released[str(k)].reshape(facts.shape(t)) for k, t in facts.columns.items()}
        most = most_records(records, guarantee)
        tables = {key: np.clip(table, 0.0, most) for key, table in noisy.items()}
        categories = {k: [facts.values[j].tolist() for j in t] for k, t in facts.columns.items()}
        known: dict[str, Any] = {"_plan": plan, "_categories": categories, "_library": library}
        return Marginals(tables, guarantee, _noisy=noisy, _most=most, **known)
