"""A first look at a table: counts, means, standard deviations, quantiles, and categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
from skdp.statistics._choices import (
    Neighbors,
    QuantilePlan,
    Ranks,
    cell_counts,
    choose_all,
    grids_of,
    of_grids,
)
from skdp.statistics._moments import Interval, Means, Part, no_spread, numbers_of, variance_ends
from skdp.statistics._results import (
    NONE_OF_THESE,
    Axes,
    Keys,
    Labels,
    Statistic,
    axes_of,
    effect_of_noise,
    grouped,
    half_width,
    largest_noise,
    lines_of_rest,
    most_records,
    risk_of,
)
from skdp.statistics.means import VarianceStatistic, spread
from skdp.support.types import (
    Bounds,
    Categories,
    KeysLike,
    Label,
    MatrixLike,
    RandomState,
    VectorLike,
)
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import counts_query

_USUAL = (0.25, 0.5, 0.75)
_NUMBERS = ("count", "mean", "std")

Row = tuple[Label, ...]

_present = partial(numbers_of, VarianceStatistic._numbers, "skip", False)


@dataclass(frozen=True, eq=False, repr=False)
class Description(Statistic):
    """A description of a table, made by `describe`.

    ``found["age", "mean"]`` is one number, by its column and a name: "count", "mean", "std", "50%"
    and so on, or a category. With `keys` it is ``found["f", "age", "mean"]``.

    Parameters
    ----------
    value : ndarray of shape (n_numbers,)
        *Released.* In the order of the rows of `to_frame`.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _labels : object
        *Public.* The labels in `to_frame`.
    _rows : tuple of tuple
        *Public.* The labels of each number.
    _parts : object
        *Released* and *public*: what `interval` is computed from.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.statistics import describe
    >>> table = pd.DataFrame({"age": [20, 30, 40, 70] * 2500, "smokes": [0, 1, 0, 0] * 2500})
    >>> asked = {"bounds": {"age": (0, 100)}, "categories": {"smokes": [0, 1]}}
    >>> found = describe(table, epsilon=1.0, **asked, random_state=0)
    >>> round(found["smokes", 1]), round(found["age", "mean"], 1)
    (2499, 40.0)
    >>> found.to_frame().loc["age", "estimate"].round(1).to_dict()
    {'count': 9988.1, 'mean': 40.0, 'std': 18.7, '25%': 23.0, '50%': 35.3, '75%': 59.4}
    """

    _rows: tuple[Row, ...] = field(kw_only=True)
    _parts: _Released = field(kw_only=True)

    def __getitem__(self, row: Row) -> float:
        return float(self.value[self._rows.index(row)])

    def _text(self) -> list[str]:
        names = (", ".join(map(str, row)) for row in self._rows)
        return [f"{name}: {value:.6g}" for name, value in zip(names, self.value, strict=True)]

    @property
    def notes(self) -> tuple[str, ...]:
        layout, means = self._parts.layout, self._parts.means
        names = [layout.names[j] for j in layout.numbers]
        at_bounds = means.at_bounds(names) if names else ()
        return (*self._parts.unreadable(), *super().notes, *at_bounds)

    def _are_counts(self) -> list[bool]:
        layout = self._parts.layout
        categories = {layout.names[j] for j in layout.categories}
        return [row[-2] in categories or row[-1] == "count" for row in self._rows]

    def _index(self) -> Axes:
        names = (*(name for name, _ in self._labels.axes), "column", "statistic")
        return tuple((name, [row[k] for row in self._rows]) for k, name in enumerate(names))

    def _ends(self, risk: float) -> Interval:
        """Return ends of intervals; those of quantiles are nan except at their level."""
        return self._parts.ends(risk)


def describe(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds | None = None,
    categories: Categories | None = None,
    quantiles: ArrayLike = _USUAL,
    level: float | None = 0.95,
    ties: bool = True,
    by: VectorLike | None = None,
    keys: KeysLike = None,
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    max_weight: float | None = None,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Description:
    """Describe the columns of a table by one release.

    - A column with bounds: the count, mean, standard deviation (``ddof=0``) and quantiles of the
      values that are not missing.
    - A column with categories: the count of each category.
    - Other columns are left out. Bounds that are not a dict are for all columns without categories.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers or categories: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    bounds : pair (low, high), one pair per column, dict or TableSchema, default None
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    categories : dict or list, default None
        *Public.* Possible values of columns: a dict from names or positions of the columns to
        count to lists, or one list for all columns.
    quantiles : array-like, default (0.25, 0.5, 0.75)
        *Public.* Probabilities in [0, 1]; empty for none.
    level : float in (0, 1) or None, default 0.95
        *Public.* Probability that an interval contains its number, approximately; ``None`` for no
        intervals. With ``ties=False`` it is lower if values repeat, or if n is private and small
        (some hundreds at ε = 0.1). The ends of an interval of a quantile are two more quantiles,
        which share ε with it.
    ties : bool, default True
        *Public.* Whether values may repeat, as ages, counts and rounded amounts do. Then `level` is
        guaranteed. ``False`` is for measurements that hardly repeat: intervals are about a quarter
        as wide, but hold less often if values do repeat.
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
    Description
        The numbers and their intervals. Intervals of quantiles have `level`; at other levels they
        are nan.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** Let u be the values mapped to [−1, 1]. The release has up to four parts: all
    counts, the Σu and the Σ(u² − 1/2) over values that are not missing, and the choices of
    quantiles. Each part gets an equal share of μ², or of ε if δ = 0. A record changes the sums as
    in `variance`. The number of values that are not missing is private, so that a record changes
    ranks as in `quantile` with a private n. A replaced record may be in two groups. The rows of a
    person add a point in the convex hull of what rows add. The choices of quantiles in all groups
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
    asked = bounds, categories, quantiles, level, ties, by, keys, max_weight
    return DescribeStatistic(*asked)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight
    )


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """*Public* facts about the columns that are described, in order.

    `numbers` are the columns with `bounds`; `ranks` is None for no quantiles.
    """

    names: list[Label]
    numbers: list[int]
    bounds: ColumnBounds
    categories: Mapping[int, np.ndarray]
    keys: Keys | None
    ranks: Ranks | None

    @property
    def n_groups(self) -> int:
        """The number of groups, 1 if rows are not grouped."""
        return 1 if self.keys is None else self.keys.n_groups

    @property
    def n_cells(self) -> int:
        """The number of categories of all columns."""
        return sum(values.size for values in self.categories.values())

    def check(self, records: Records[None]) -> None:
        """Raise if the type of a column rules out its bounds or categories."""
        columns = records.columns
        columns.select(self.numbers).check_numeric()
        for j, values in self.categories.items():
            check_comparable(columns.parts[j], values, columns.name(j))
        if self.keys is not None:
            self.keys.check(records)

    def queries(self, n_changed: int) -> list[Query]:
        """Return the queries of all but quantiles."""
        # A record counts once in each column. A replaced record changes one count of a column of
        # numbers, and two counts of a column of categories or of a column in two groups.
        d, moved = len(self.numbers), len(self.numbers) + len(self.categories) * n_changed
        if self.keys is not None:
            moved = n_changed * (d + len(self.categories))
        counts = counts_query("count", self.n_groups * (d + self.n_cells), moved)
        parts = (Part("x", d), Part("square", d, 0.5)) if d else ()
        n_groups = None if self.keys is None else self.n_groups
        return [counts, *(part.query(n_changed, n_groups) for part in parts)]

    def answers(self, records: Records[Layout]) -> Sums:
        """Return the *private* sums of shape (n_groups, n_numbers), and cells for quantiles."""
        totals = records.total(self._totals)
        cells = {name: totals.pop(name) for name in ("cells", "categories")}
        if records.is_weighted:
            cells |= from_steps({"categories": cells["categories"]})
        sums = {name: s.reshape(self.n_groups, -1) for name, s in from_steps(totals).items()}
        sums["count"] = np.hstack([sums["count"], cells["categories"]])
        return sums | {"cells": cells["cells"]}

    def _totals(self, records: Records[Layout]) -> Sums:
        found = {"categories": self._cells(records)}
        numbers, d = records.select(self.numbers), len(self.numbers)
        sizes = dict.fromkeys(("x", "square", "count"), d)
        none = np.zeros((self.n_groups, 0, 1), dtype=np.int64)
        if not d:
            return found | dict.fromkeys(sizes, none[..., 0]) | {"cells": none}
        sums = sums_in_steps(sizes, _present, self.keys, numbers)
        cells = {"cells": none}
        if self.ranks is not None:
            cells = cell_counts(grids_of(self.bounds), self.keys, None, numbers)
        return found | sums | cells

    def _cells(self, records: Records[Layout]) -> np.ndarray:
        """Return the count of each category in each group."""
        groups = 0 if self.keys is None else self.keys.codes(records)
        counts = [np.zeros((self.n_groups, 0), dtype=np.int64)]
        for j, values in self.categories.items():
            places = category_codes(records.columns.parts[j], values)
            known = (places >= 0) & (groups >= 0)
            cells, size = groups * values.size + places, self.n_groups * values.size
            found = counted(cells, size, records.steps, known)
            counts.append(found.reshape(self.n_groups, -1))
        return np.hstack(counts)

    def rows(self) -> Iterator[Row]:
        """Yield the labels of each number, in the order of the columns."""
        keys = [*product(*(labels for _, labels in axes_of(self.keys)))]
        shares = () if self.ranks is None else [f"{100.0 * q:g}%" for q in self.ranks.q]
        for key in keys:
            for j in sorted((*self.numbers, *self.categories)):
                numbers = (*_NUMBERS, *shares)
                said = self.categories[j].tolist() if j in self.categories else numbers
                yield from ((*key, self.names[j], one) for one in said)

    def columns_of(self, cells: np.ndarray) -> list[np.ndarray]:
        """Return the cells of each column of categories."""
        ends = np.cumsum([values.size for values in self.categories.values()], dtype=int)
        return np.split(cells, ends, axis=1)[:-1]

    def flat(self, numbers: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return numbers in the order of `rows`.

        Numbers have shape (n_groups, n_columns, n_statistics), cells (n_groups, n_cells).
        """
        parts = dict(zip(self.numbers, np.moveaxis(numbers, 1, 0), strict=True))
        parts |= dict(zip(self.categories, self.columns_of(cells), strict=True))
        return np.hstack([parts[j] for j in sorted(parts)]).ravel()


@dataclass(frozen=True)
class DescribePlan:
    """Sums and counts with noise, and quantiles that are chosen."""

    queries: QueryPlan
    choices: QuantilePlan | None

    theorem = "additive noise and exponential mechanism, composition"
    exact = True

    def rank_error(self, risk: float, share: float) -> float:
        """Return the bound of all ranks, or of what counts and sums are off by."""
        ranks = 0.0 if self.choices is None else self.choices.rank_error(risk, share)
        return max(largest_noise(self.queries), ranks)

    @property
    def event(self) -> Event:
        if self.choices is None:
            return self.queries.event
        return ComposedEvent((self.queries.event, self.choices.event))


@dataclass(eq=False)
class DescribeStatistic(PrivateFit[Records[Layout], DescribePlan, Sums]):
    """The release of `describe`."""

    bounds: Bounds | None = None
    categories: Categories | None = None
    quantiles: ArrayLike = _USUAL
    level: float | None = 0.95
    ties: bool = True
    by: VectorLike | None = None
    keys: KeysLike = None
    max_weight: float | None = None

    released_as = "statistics.describe"

    _effect_of_noise = effect_of_noise("half the width of the bounds", lambda one: one.n_groups)
    takes_infinite_epsilon = False

    def _is_gaussian(self) -> bool:
        return True  # all parts are counted as a Gaussian budget counts them

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, **more: VectorLike
    ) -> Records[Layout]:
        public: dict[str, Any] = {"count_is_public": parameters.neighboring.count_is_public}
        public["max_weight"] = self.max_weight
        records, keys = grouped(x, self.by, self.keys, **more, **public)
        records, bounds, known, scales = records.resolved(self.bounds, self.categories)
        columns = records.columns
        categories = categories_by_column(known, columns.n_columns, columns.names)
        categories = {j: categories[j] for j in sorted(categories)}
        numbers, bounds = self._numbers(columns, bounds, categories)
        bounds = bounds.scaled(scales, [columns.name(j) for j in numbers])
        ranks = None
        if numbers and np.size(self.quantiles):
            ranks = Ranks.check(np.ravel(self.quantiles), self.level, ties=self.ties)
        layout = Layout(columns.labels, numbers, bounds, categories, keys, ranks)
        records.check(layout.check)
        return records.with_facts(layout)

    @staticmethod
    def _numbers(
        columns: Columns, bounds: Bounds | None, categories: Mapping[int, np.ndarray]
    ) -> tuple[list[int], ColumnBounds]:
        """Return the columns with bounds, and their bounds."""
        names = columns.names
        if isinstance(bounds, Mapping):
            found = by_column("bounds", bounds, columns.n_columns, names)
            if both := [column_name(names, j) for j in found if j in categories]:
                raise ValueError(f"columns {both} have both bounds and categories. Choose one.")
            numbers = sorted(found)
            bounds = sides_of_pairs(found, numbers)
        else:
            free = [] if bounds is None else range(columns.n_columns)
            numbers = [j for j in free if j not in categories]
        if not (numbers or categories):
            raise ValueError("bounds or categories must be given for the columns to describe.")
        empty = ColumnBounds(np.empty(0), np.empty(0))
        of_numbers = [column_name(names, j) for j in numbers]
        return numbers, ColumnBounds.of(bounds, len(numbers), of_numbers) if numbers else empty

    def _plan(self, parameters: ReleaseParameters, records: Records[Layout]) -> DescribePlan:
        n_changed = parameters.neighboring.n_changed
        layout, ranks = records.facts, records.facts.ranks
        queries = layout.queries(n_changed)
        share = 0.0 if ranks is None else 1.0 / (len(queries) + 1)
        noise = "gaussian" if parameters.delta else "auto"
        weighted, rest = records.is_weighted, _part_of(parameters, 1.0 - share)
        plan = parameters.plan_queries(queries, noise, rest, weighted=weighted)
        if ranks is None:
            return DescribePlan(plan, None)
        neighbors = Neighbors(n_changed, layout.n_groups, weighted)
        epsilon, grids = _part_of(parameters, share), grids_of(layout.bounds)
        choices = ranks.planned(epsilon, parameters.delta, "gdp", neighbors, None, grids)
        return DescribePlan(plan, choices)

    def _read(self, plan: DescribePlan, records: Records[Layout], rng: np.random.Generator) -> Sums:
        answers = records.facts.answers(records)
        cells = answers.pop("cells")
        released = plan.queries.release(answers, rng)
        if plan.choices is not None:
            own = of_grids(cells, grids_of(records.facts.bounds))
            released["cells"] = choose_all(plan.choices, own, rng, records.is_weighted)
        return released

    def _publish(
        self,
        plan: DescribePlan,
        records: Records[Layout],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> Description:
        layout = records.facts
        most = most_records(records, guarantee)
        n = records.n_known or math.inf
        parts = _Released.of(plan, layout, released, n, most, records.max_weight)
        rest = lines_of_rest(plan.queries, parts.most, parts.tables())
        return Description(
            parts.value(),
            guarantee,
            _rows=tuple(layout.rows()),
            _parts=parts,
            _labels=Labels(axes_of(layout.keys), records.columns.library, rest),
        )


def _part_of(parameters: ReleaseParameters, share: float) -> float:
    """Return the ε of a release with this share of μ², or of ε if δ = 0."""
    if parameters.delta == 0.0 or share == 1.0:
        return parameters.epsilon * share
    mu = gdp_mu(parameters.epsilon, parameters.delta) * math.sqrt(share)
    return GaussianCurve(mu).epsilon(parameters.delta)


@dataclass(frozen=True, eq=False, repr=False)
class _Released:
    """The released parts of a description, and the public layout."""

    layout: Layout
    means: Means
    cells: np.ndarray
    quantiles: np.ndarray
    most: float
    max_weight: float | None

    @classmethod
    def of(
        cls,
        plan: DescribePlan,
        layout: Layout,
        released: Mapping[str, np.ndarray],
        n: float,
        most: float,
        max_weight: float | None,
    ) -> _Released:
        d, n_groups = len(layout.numbers), layout.n_groups
        counts = released["count"].reshape(n_groups, -1)
        none = np.empty(0)
        sums = {n: released.get(n, none).reshape(n_groups, d) for n in ("x", "square")}
        sums["count"] = counts[:, :d]
        means = Means(plan.queries, {"x": 1.0, "square": 0.5}, sums, None)
        quantiles = np.empty((1, n_groups, 0, d))
        if layout.ranks is not None:
            grids = grids_of(layout.bounds)
            is_noise = plan.choices is not None and plan.choices.hides_ranks(n)
            found = layout.ranks.values(released["cells"], grids, is_noise=is_noise)
            quantiles = np.delete(found, (1, 2), axis=0)
        return cls(layout, means, counts[:, d:], quantiles, most, max_weight)

    def tables(self) -> Iterator[tuple[str, str, np.ndarray]]:
        """Yield the label, the query and the counts of each column of categories."""
        layout = self.layout
        for j, cells in zip(layout.categories, layout.columns_of(self.cells), strict=True):
            yield f"{layout.names[j]}: {NONE_OF_THESE}", "count", cells

    def unreadable(self) -> Iterator[str]:
        """Yield a sentence for each column of numbers whose released count is only noise."""
        counts, width = self.means.sums["count"], self._width(0.05)
        of = "" if math.isinf(self.most) else f" of {self.most:g}"
        for j, own in zip(self.layout.numbers, counts.T, strict=True):
            is_many = self.max_weight is None and self.most > 2.0 * width
            if is_many and np.all(own < width):
                yield (
                    f"About 0{of} values of {self.layout.names[j]!r} are readable. Check the type "
                    "of the column, and how its schema reads it."
                )

    def value(self) -> np.ndarray:
        """Return all numbers, in the order of `Layout.rows`."""
        means, counts = self.means, self.means.sums["count"]
        moments = (counts, counts)  # of no columns
        if self.layout.numbers:
            first = np.where(means.is_noise(), np.nan, means.mean("x"))
            moments = self._moments(first, np.where(no_spread(means), np.nan, spread(means)))
        return self._stacked(counts, moments, self.quantiles[0], self.cells)

    def ends(self, risk: float) -> Interval:
        """Return ends of intervals for all numbers, in the order of `Layout.rows`."""
        means, counts, width = self.means, self.means.sums["count"], self._width(risk)
        sides = [(counts, counts)] * 2  # of no columns
        if self.layout.numbers:
            both = zip(means.ends(risk), variance_ends(means, risk), strict=True)
            sides = [self._moments(*pair) for pair in both]
        low, high = (
            self._stacked(counts + w, moments, quantiles, self.cells + w)
            for w, moments, quantiles in zip(
                (-width, width), sides, self._of_quantiles(risk), strict=True
            )
        )
        return low, high

    def _width(self, risk: float) -> float:
        return half_width(self.means.plan, "count", risk)

    def _moments(self, means: np.ndarray, variances: np.ndarray) -> Interval:
        """Return means and standard deviations in units of the columns."""
        bounds = self.layout.bounds
        return bounds.middle + bounds.half * means, bounds.half * np.sqrt(variances)

    def _of_quantiles(self, risk: float) -> Interval:
        ranks = self.layout.ranks
        level = None if ranks is None else ranks.level
        if level is not None and math.isclose(risk_of(level), risk):
            return self.quantiles[1], self.quantiles[2]
        return self.quantiles[0] * np.nan, self.quantiles[0] * np.nan

    def _stacked(
        self, counts: np.ndarray, moments: Interval, quantiles: np.ndarray, cells: np.ndarray
    ) -> np.ndarray:
        """Return arrays of shape (n_groups, n_columns), quantiles and cells as one vector."""
        unit = self.max_weight or 1.0
        counts, cells = (unit * np.clip(one, 0.0, self.most) for one in (counts, cells))
        numbers = np.stack([counts, *moments], axis=-1)
        each = np.concatenate([numbers, np.moveaxis(quantiles, 1, -1)], axis=-1)
        return self.layout.flat(each, cells)
