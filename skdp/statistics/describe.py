"""A first look at a table: counts, means, standard deviations, quantiles, and categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import (
    ColumnBounds,
    by_column,
    categories_by_column,
    category_codes,
    check_comparable,
    sides_of_pairs,
)
from skdp.data.columns import Columns, column_name
from skdp.data.exact_sums import Sums, counted, from_steps, sums_in_steps
from skdp.data.records import Records
from skdp.privacy import ComposedEvent, Event, GaussianCurve, PrivacyGuarantee
from skdp.statistics._keys import Keys
from skdp.statistics._loss_ranges import Neighbors
from skdp.statistics._moments import Means, Part, variance_ends
from skdp.statistics._noise import half_width
from skdp.statistics._result import Statistic, risk_of
from skdp.statistics.quantile import (
    QuantilePlan,
    Ranks,
    cell_counts,
    choose_all,
)
from skdp.workloads import Query, QueryPlan

__all__ = ["Description", "describe"]

_USUAL = (0.25, 0.5, 0.75)
_NUMBERS = ("count", "mean", "std")


@dataclass(frozen=True, eq=False, repr=False)
class Description(Statistic):
    """What a table is like; `describe` makes it.

    ``found["age", "mean"]`` is one number, by its column and what it says of it: "count", "mean",
    "std", "50%" and so on, or a category; in groups ``found["f", "age", "mean"]``.

    Parameters
    ----------
    value : ndarray of shape (n_numbers,)
        *Released.* In the order of the rows of `to_frame`.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _axes, _library : tuple and str
        *Public.* What the numbers are of, and whose frame `to_frame` returns.
    _rows : tuple of tuple
        *Public.* What each number is of: a key, if there are groups, a column, and what it says.
    _parts : object
        *Released* and *public*: what `interval` is computed from.
    """

    _rows: tuple[tuple[Any, ...], ...] = field(kw_only=True)
    _parts: _Released = field(kw_only=True)

    def __getitem__(self, row: tuple[Any, ...]) -> float:
        return float(self.value[self._rows.index(row)])

    def __repr__(self) -> str:
        names = (", ".join(map(str, row)) for row in self._rows)
        numbers = (f"{name}: {value:.6g}" for name, value in zip(names, self.value, strict=True))
        return "\n".join([*numbers, str(self.privacy)])

    def _index(self) -> dict[str, list[Any]]:
        names = (*(name for name, _ in self._axes), "column", "statistic")
        return {name: [row[k] for row in self._rows] for k, name in enumerate(names)}

    def _ends(self, risk: float) -> tuple[Any, Any]:
        """Return ends of intervals; those of quantiles have one level, and are nan at others."""
        return self._parts.ends(risk)


def describe(
    x: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Any = None,
    categories: Any = None,
    quantiles: Any = _USUAL,
    level: float | None = 0.95,
    by: Any = None,
    keys: Any = None,
    groups: Any = None,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Description:
    """Describe the columns of a table by one release.

    Of each column with bounds: how many values are there, their mean, standard deviation
    (``ddof=0``) and quantiles, which leave out what is missing. Of each column with categories: how
    many rows have which. Columns with neither are not described; bounds that are a pair, or one
    for each column, are those of all columns without categories.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers or categories: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails; 0 for pure privacy. ``None``: the budget's δ,
        or 1e-5.
    bounds : pair (low, high), one pair per column, or dict, default None
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    categories : dict or list, default None
        *Public.* The values that columns can have: a dict from names or numbers of columns, those
        that are asked about, or a list that holds for every column.
    quantiles : array-like, default (0.25, 0.5, 0.75)
        *Public.* Probabilities in [0, 1]; empty for none.
    level : float in (0, 1) or None, default 0.95
        *Public.* How often intervals hold what they are about, nearly, each by itself; less often
        where values of a floating type repeat, or rows of a private number are few beside the noise
        in their ranks (some hundreds at ε = 0.1): see ``ties`` of `quantile`. Their ends are two
        more quantiles each, which share ε with the first: ``None`` for none.
    by : str, array-like of shape (n_rows,), default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list or None, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    Description
        One number for each column and what it says; with intervals, also as a frame. Intervals of
        quantiles have the level of the release, and are nan at another one.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With u the values mapped to [−1, 1], all counts, the Σu and the Σ(u² − 1/2) over
    values that are there, and the choices of quantiles have an equal part each of μ², or of ε where
    δ = 0. A record that comes or goes, or of which a value is there or not, moves a sum as in
    `variance`, by half of what a replaced value does; it moves ranks as in `quantile` where n is
    private, for how many values there are is. A replaced record may be in two groups. The rows of a
    person add what lies in the convex hull of what rows add. The choices of quantiles in all groups
    are charged jointly, as in `quantile`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import describe
    >>> table = np.column_stack([np.arange(5000) % 90, np.arange(5000) % 2])
    >>> asked = {"bounds": {0: (0, 100)}, "categories": {1: [0, 1]}}
    >>> found = describe(table, epsilon=1.0, **asked, random_state=0)
    >>> round(found[0, "mean"]), round(found[0, "std"]), round(found[1, 0], -2)
    (44, 26, 2500.0)
    """
    return DescribeStatistic(bounds, categories, quantiles, level, by, keys)._release(
        x,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """What is public about the columns that are described.

    Parameters
    ----------
    names : list
        *Public.* Of all columns, or their numbers.
    numbers : list of int
        *Public.* The columns with bounds, in order.
    bounds : ColumnBounds
        *Public.* Theirs.
    categories : dict of int to ndarray
        *Public.* Values of the columns that have them, in order.
    keys : Keys or None
        *Public.*
    ranks : Ranks or None
        *Public.* Quantiles; None for none.
    """

    names: list[Any]
    numbers: list[int]
    bounds: ColumnBounds
    categories: Mapping[int, np.ndarray]
    keys: Keys | None
    ranks: Ranks | None

    @property
    def n_groups(self) -> int:
        """How many groups there are, 1 where rows are not grouped."""
        return 1 if self.keys is None else self.keys.n_groups

    @property
    def n_cells(self) -> int:
        """How many categories all columns have."""
        return sum(values.size for values in self.categories.values())

    def check(self, records: Records[Any]) -> None:
        """Raise if the type of a column says that it holds something else."""
        columns = records.columns
        columns.select(self.numbers).check_numeric()
        for j, values in self.categories.items():
            check_comparable(columns.parts[j], values, columns.name(j))
        if self.keys is not None:
            self.keys.check(records)

    def queries(self, n_changed: int) -> list[Query]:
        """Return what is asked, apart from quantiles.

        A record counts once in each column; replaced, it moves one count of a column of numbers,
        or two of the same column, of categories or in two groups.
        """
        d, moved = len(self.numbers), len(self.numbers) + len(self.categories) * n_changed
        if self.keys is not None:
            moved = n_changed * (d + len(self.categories))
        counts = Query(
            "count",
            size=self.n_groups * (d + self.n_cells),
            linf_sensitivity=1.0,
            l0_sensitivity=moved,
            integer=True,
        )
        parts = (Part("x", d), Part("square", d, 0.5)) if d else ()
        n_groups = None if self.keys is None else self.n_groups
        return [counts, *(part.query(n_changed, n_groups) for part in parts)]

    def answers(self, records: Records[Any]) -> Sums:
        """Return the *private* sums of shape (n_groups, n_numbers), and cells for quantiles."""
        totals = records.total(self._totals)
        cells = {name: totals.pop(name) for name in ("cells", "categories")}
        if records.is_weighted:
            cells |= from_steps({"categories": cells["categories"]})
        sums = {name: s.reshape(self.n_groups, -1) for name, s in from_steps(totals).items()}
        sums["count"] = np.hstack([sums.pop("present"), cells["categories"]])
        return sums | {"cells": cells["cells"]}

    def _totals(self, records: Records[Any]) -> Sums:
        found = {"categories": self._cells(records)}
        numbers, d = records.select(self.numbers), len(self.numbers)
        sizes = dict.fromkeys(("x", "square", "present"), d)
        none = np.zeros((self.n_groups, 0, 1), dtype=np.int64)
        if not d:
            return found | dict.fromkeys(sizes, none[..., 0]) | {"cells": none}
        sums = sums_in_steps(sizes, partial(_present, self.bounds), self.keys, numbers)
        cells = {"cells": none}
        if self.ranks is not None:
            cells = cell_counts(self.bounds, self.keys, numbers, with_missing=False)
        return found | sums | cells

    def _cells(self, records: Records[Any]) -> np.ndarray:
        """Return how many rows of each group have which category."""
        groups = 0 if self.keys is None else self.keys.codes(records)
        counts = [np.zeros((self.n_groups, 0), dtype=np.int64)]
        for j, values in self.categories.items():
            places = category_codes(records.columns.parts[j], values)
            known = (places >= 0) & (groups >= 0)
            cells = (groups * values.size + places)[known]
            weights = None if records.steps is None else records.steps[known]
            found = counted(cells, self.n_groups * values.size, weights)
            counts.append(found.reshape(self.n_groups, -1))
        return np.hstack(counts)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield what each number is of, in the order of the columns."""
        keys = [()] if self.keys is None else [(key,) for key in self.keys.values.tolist()]
        shares = () if self.ranks is None else [f"{100.0 * q:g}%" for q in self.ranks.q]
        for key in keys:
            for j in sorted((*self.numbers, *self.categories)):
                numbers = (*_NUMBERS, *shares)
                said = self.categories[j].tolist() if j in self.categories else numbers
                yield from ((*key, self.names[j], one) for one in said)

    def flat(self, numbers: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return numbers in the order of `rows`.

        They are of shape (n_groups, n_columns, n_statistics), and those of categories of shape
        (n_groups, n_cells).
        """
        ends = np.cumsum([values.size for values in self.categories.values()], dtype=int)
        parts = dict(zip(self.numbers, np.moveaxis(numbers, 1, 0), strict=True))
        parts |= dict(zip(self.categories, np.split(cells, ends, axis=1)[:-1], strict=True))
        return np.hstack([parts[j] for j in sorted(parts)]).ravel()


def _present(bounds: ColumnBounds, records: Records[Any]) -> Iterator[Sums]:
    """Yield u, u² − 1/2 and 1 for values, and 0 for missing ones, some rows at a time."""
    for rows, _ in records.chunks():
        present, units = ~np.isnan(rows), bounds.unit(rows)
        yield {
            "x": np.where(present, units, 0.0),
            "square": (units**2 - 0.5) * present,
            "present": present.astype(float),
        }


@dataclass(frozen=True)
class DescribePlan:
    """Sums and counts with noise, and quantiles that are chosen."""

    queries: QueryPlan
    choices: QuantilePlan | None

    theorem = "additive noise and exponential mechanism, composition"

    @property
    def event(self) -> Event:
        """What all of them together are."""
        if self.choices is None:
            return self.queries.event
        return ComposedEvent((self.queries.event, self.choices.event))


class DescribeStatistic(PrivateFit[Records[Layout], DescribePlan, Sums]):
    """The parts of the transaction of `describe`."""

    released_as = "statistics.describe"
    takes_infinite_epsilon = False

    def __init__(
        self,
        bounds: Any = None,
        categories: Any = None,
        quantiles: Any = _USUAL,
        level: Any = 0.95,
        by: Any = None,
        keys: Any = None,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.quantiles = quantiles
        self.level = level
        self.by = by
        self.keys = keys

    def _is_gaussian(self) -> bool:
        return True  # all parts are counted as a Gaussian budget counts them

    def _check_data(
        self, parameters: ReleaseParameters, x: Any, *, groups: Any = None
    ) -> Records[Layout]:
        keys = Keys.of(x, self.by, self.keys)
        public = parameters.neighboring.count_is_public
        records = Records.of_columns(x, by=self.by, groups=groups, count_is_public=public)
        columns = records.columns
        categories = categories_by_column(self.categories, columns.n_columns, columns.names)
        categories = {j: categories[j] for j in sorted(categories)}
        numbers, bounds = self._numbers(columns, categories)
        ranks = None
        if numbers and np.size(self.quantiles):
            ranks = Ranks.check(np.ravel(self.quantiles), self.level)
        layout = Layout(columns.labels, numbers, bounds, categories, keys, ranks)
        records.check(layout.check)
        return records.with_facts(layout)

    def _numbers(
        self, columns: Columns, categories: Mapping[int, Any]
    ) -> tuple[list[int], ColumnBounds]:
        """Return the columns with bounds, and theirs."""
        bounds, names = self.bounds, columns.names
        if isinstance(bounds, Mapping):
            found = by_column("bounds", bounds, columns.n_columns, names)
            if both := [column_name(names, j) for j in found if j in categories]:
                raise ValueError(f"columns have bounds or categories; {both} have both.")
            numbers = sorted(found)
            bounds = sides_of_pairs(found, numbers)
        else:
            free = [] if bounds is None else range(columns.n_columns)
            numbers = [j for j in free if j not in categories]
        if not (numbers or categories):
            raise ValueError(
                "bounds or categories must be given, of the columns that are to be described."
            )
        empty = ColumnBounds(np.empty(0), np.empty(0))
        of_numbers = [column_name(names, j) for j in numbers]
        return numbers, ColumnBounds.of(bounds, len(numbers), of_numbers) if numbers else empty

    def _plan(self, parameters: ReleaseParameters, records: Records[Layout]) -> DescribePlan:
        n_changed = parameters.neighboring.n_changed
        layout, ranks = records.facts, records.facts.ranks
        queries = layout.queries(n_changed)
        share = 0.0 if ranks is None else 1.0 / (len(queries) + 1)
        noise = "gaussian" if parameters.delta else "auto"
        plan = parameters.plan_queries(queries, noise, _part_of(parameters, 1.0 - share))
        if ranks is None:
            return DescribePlan(plan, None)
        neighbors = Neighbors(n_changed, layout.n_groups, records.is_weighted)
        may_repeat = [records.columns.may_repeat[j] for j in layout.numbers]
        epsilon = _part_of(parameters, share)
        choices = ranks.planned(epsilon, parameters.delta, "gdp", neighbors, None, may_repeat)
        return DescribePlan(plan, choices)

    def _read(self, plan: DescribePlan, records: Records[Layout], rng: np.random.Generator) -> Sums:
        answers = records.facts.answers(records)
        cells = answers.pop("cells")
        released = plan.queries.release(answers, rng)
        if plan.choices is not None:
            released["cells"] = choose_all(plan.choices, cells, rng, records.is_weighted)
        return released

    def _publish(
        self,
        plan: DescribePlan,
        records: Records[Layout],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> Description:
        layout = records.facts
        parts = _Released.of(plan, layout, released)
        return Description(
            parts.value(),
            guarantee,
            _rows=tuple(layout.rows()),
            _parts=parts,
            _axes=() if layout.keys is None else layout.keys.axes,
            _library=records.columns.library,
        )


def _part_of(parameters: ReleaseParameters, share: float) -> float:
    """Return the ε of a release with this share of μ², or of ε where δ = 0."""
    if parameters.delta == 0.0 or share == 1.0:
        return parameters.epsilon * share
    mu = gdp_mu(parameters.epsilon, parameters.delta) * math.sqrt(share)
    return GaussianCurve(mu).epsilon(parameters.delta)


@dataclass(frozen=True, eq=False, repr=False)
class _Released:
    """What was released of a table, with what is public about it."""

    layout: Layout
    means: Means
    cells: np.ndarray
    quantiles: np.ndarray

    @classmethod
    def of(
        cls, plan: DescribePlan, layout: Layout, released: Mapping[str, np.ndarray]
    ) -> _Released:
        d, n_groups = len(layout.numbers), layout.n_groups
        counts = released["count"].reshape(n_groups, -1)
        sums = {n: released[n].reshape(n_groups, d) for n in ("x", "square") if n in released}
        sums["count"] = counts[:, :d]
        means = Means(plan.queries, {"x": 1.0, "square": 0.5}, sums, None)
        quantiles = np.empty((1, n_groups, 0, d))
        if layout.ranks is not None:
            quantiles = layout.ranks.values(released["cells"], layout.bounds)
        return cls(layout, means, counts[:, d:], quantiles)

    def value(self) -> np.ndarray:
        """Return all numbers, in the order of the rows."""
        if not self.layout.numbers:
            return self._stacked([], self.quantiles[0], self.cells)
        bounds, means = self.layout.bounds, self.means
        first = means.mean("x")
        variances = np.maximum(means.mean("square") + 0.5 - first**2, 0.0)
        center, deviations = bounds.middle + bounds.half * first, bounds.half * np.sqrt(variances)
        return self._stacked(
            [means.sums["count"], center, deviations], self.quantiles[0], self.cells
        )

    def ends(self, risk: float) -> tuple[np.ndarray, np.ndarray]:
        """Return ends of intervals for all numbers, in the order of the rows."""
        width = half_width(self.means.plan, "count", risk)
        low, high = ([], []) if not self.layout.numbers else self._of_numbers(risk, width)
        lower, upper = self._of_quantiles(risk)
        return (
            self._stacked(low, lower, self.cells - width),
            self._stacked(high, upper, self.cells + width),
        )

    def _of_numbers(self, risk: float, width: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return ends for counts, means and standard deviations."""
        bounds, counts = self.layout.bounds, self.means.sums["count"]
        means, variances = self.means.ends("x", risk), variance_ends(self.means, risk)
        sides = [
            [counts + side * width, bounds.middle + bounds.half * m, bounds.half * np.sqrt(v)]
            for side, m, v in zip((-1.0, 1.0), means, variances, strict=True)
        ]
        return sides[0], sides[1]

    def _of_quantiles(self, risk: float) -> tuple[np.ndarray, np.ndarray]:
        ranks = self.layout.ranks
        level = None if ranks is None else ranks.level
        if level is not None and math.isclose(risk_of(level), risk):
            return self.quantiles[1], self.quantiles[2]
        return self.quantiles[0] * np.nan, self.quantiles[0] * np.nan

    def _stacked(
        self, numbers: Sequence[np.ndarray], quantiles: np.ndarray, cells: np.ndarray
    ) -> np.ndarray:
        """Return arrays of shape (n_groups, n_columns), those of quantiles and cells as one."""
        if not self.layout.numbers:
            return self.layout.flat(np.empty((self.layout.n_groups, 0, 3)), cells)
        each = np.concatenate([np.stack(numbers, axis=-1), np.moveaxis(quantiles, 1, -1)], axis=-1)
        return self.layout.flat(each, cells)
