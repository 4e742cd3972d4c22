"""Means of bounded columns, released together; most statistics are functions of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import compress
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skdp._private_fit import PlanT, PrivateFit, ReleasedT, ReleaseParameters
from skdp.data.column_facts import ColumnBounds
from skdp.data.columns import Columns
from skdp.data.exact_sums import Sums, exact_sums
from skdp.data.records import Records
from skdp.statistics._results import (
    Keys,
    Labels,
    Numbers,
    Statistic,
    Terms,
    axes_of,
    effect_of_noise,
    grouped,
    half_width,
    shown,
    sum_half_widths,
)
from skdp.support.types import Bounds, KeysLike, Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE, becomes_gaussian, counts_query

SUMS = "sums"
_RISK = 0.05  # of an interval of all possible numbers, which has no estimate
_UNNAMED = 1e-6  # of a mean at an end of its bounds that is not named as such
_FAR, _NEAR = 4.9, 0.05  # standard deviations of a sum, and their most for each number
_MANY_GAPS = 0.1  # of the values of a column, which a sentence names; at the rate above, wrongly
_SMALL = 0.1  # half width of a mean of numbers in [−1, 1]; no guarantee rests on it

Interval = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Part:
    """Numbers of a row in [−radius, radius] whose means are released."""

    name: str
    size: int
    radius: float = 1.0

    def query(self, n_changed: int, n_groups: int | None = None) -> Query:
        """Return the query of the sums, which one record changes by one row or by two.

        With groups, an added or removed record changes all numbers of one group. A replaced one
        changes those of one group by 2·radius, or those of two groups by the radius.
        """
        moved = n_changed * self.radius * self.size * ROUNDED_ONCE
        return Query(
            self.name,
            size=(n_groups or 1) * self.size,
            linf_sensitivity=n_changed * self.radius * ROUNDED_ONCE,
            l0_sensitivity=self.size if n_groups is None else n_changed * self.size,
            l1_sensitivity=math.inf if n_groups is None else moved,
        )


class Vector(NamedTuple):
    """The numbers in [−1, 1] of a value, and the largest l1 and squared l2 distance of two.

    `own` has the largest l1 and squared l2 norm, if some numbers are in a smaller interval.
    """

    size: int
    l1: float
    square: float
    own: tuple[float, float] | None = None


# (u, 2u² − 1) and (v, 2v² − 1) for s = |u + v|, so that |u − v| ≤ 2 − s, are (2 − s)·(1 + 2s) apart
# in l1, which is largest at s = 3/4, and √((2 − s)²·(1 + 4s²)) in l2, at s = (2 + √2)/4.
OF_MEAN, OF_SPREAD = Vector(1, 2.0, 4.0), Vector(2, 3.125, 5.1447)


def present_query(
    vector: Vector, n_vectors: int, weight: float, n_changed: int, n_groups: int | None
) -> Query:
    """Return the query of the sums over values that are not missing, and of `weight` a value.

    A row has a vector for each column, or one for all columns. It adds the vector and the weight w,
    or 0 if the value is missing, or any of them. Two vectors with equal w are as far apart as
    `vector` says. A vector and a gap are as far apart as a vector is long. The vectors of a
    replaced record are in two groups if it moves. The rows of a person add a point in the convex
    hull of these vectors and 0, which has no larger diameter in any norm.
    """
    n, moves = vector.size, n_changed > 1 and n_groups is not None
    l1, square = (n, n) if vector.own is None else vector.own
    l1, square, largest = l1 + weight, square + weight**2, max(1.0, weight)
    if moves:
        l1, square = 2.0 * l1, 2.0 * square
    if n_changed > 1:
        l1, square, largest = max(l1, vector.l1), max(square, vector.square), 2.0
    return Query(
        SUMS,
        size=(n_groups or 1) * (n + 1) * n_vectors,
        linf_sensitivity=largest * ROUNDED_ONCE,
        l0_sensitivity=(1 + moves) * (n + 1) * n_vectors,
        l1_sensitivity=l1 * n_vectors * ROUNDED_ONCE,
        l2_sensitivity=math.sqrt(square * n_vectors) * ROUNDED_ONCE,
    )


def count_weight(noise: str, vector: Vector, n_changed: int, n_groups: int | None) -> float:
    """Return the weight of a value in `present_query`.

    If a record is replaced within its group, two values are as far apart as a value and a gap at
    this weight, so that the number of values costs nothing. Beyond 2 it would exceed the largest
    change of the other numbers.
    """
    if n_changed == 1 or n_groups is not None:
        return 1.0
    l2 = math.sqrt(vector.square - vector.size)
    return min(l2 if noise == "gaussian" else vector.l1 - vector.size, 2.0)


@dataclass(frozen=True, eq=False)
class Facts:
    """*Public* facts about columns of numbers: `columns` has no rows, only names and types.

    `n_rows` is the number of records, None if it is private, as it is in groups and with weights.
    """

    bounds: ColumnBounds
    keys: Keys | None
    n_rows: int | None
    columns: Columns

    @property
    def n_columns(self) -> int:
        return self.columns.n_columns

    @property
    def n_groups(self) -> int | None:
        """The number of groups, None if rows are not grouped."""
        return None if self.keys is None else self.keys.n_groups

    @property
    def labels(self) -> Labels:
        """The labels of a number for each group and column."""
        return Labels((*axes_of(self.keys), ("column", self.columns.labels)), self.columns.library)

    def shaped(self, values: np.ndarray) -> Numbers:
        """Return numbers of shape (n_groups, n_columns) without the axes that were not given."""
        if self.keys is not None:
            values = values.reshape(*self.keys.shape, *values.shape[1:])
        return shown(values[..., 0] if self.columns.single else values)


def bounded(
    records: Records[Any],
    bounds: Bounds | ColumnBounds | None,
    keys: Keys | None = None,
    parameter: str = "bounds",
) -> Records[Facts]:
    """Return records of numbers, after checks of types and bounds."""
    records, bounds, _, scales = records.resolved(bounds, only_numbers=True)
    columns = records.columns
    checked = ColumnBounds.of(bounds, columns.n_columns, columns.names, parameter)
    checked = checked.scaled(scales, columns.names)
    records.check(partial(_check, keys))
    n_rows = records.n_known if keys is None and records.weights is None else None
    return records.with_facts(Facts(checked, keys, n_rows, columns.take(slice(0))))


def _check(keys: Keys | None, records: Records[Any]) -> None:
    records.columns.check_numeric()
    if keys is not None:
        keys.check(records)


@dataclass(eq=False)
class BoundedStatistic(PrivateFit[Records[Facts], PlanT, ReleasedT]):
    """The release of a statistic of numbers within bounds."""

    bounds: Bounds | None
    _: KW_ONLY
    by: VectorLike | None = None
    keys: KeysLike = None
    missing: str = "middle"
    max_weight: float | None = None

    takes_infinite_epsilon = False

    _effect_of_noise = effect_of_noise("half the width of the bounds", lambda o: o.n_groups or 1)

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, **more: VectorLike
    ) -> Records[Facts]:
        check_choice("missing", self.missing, ("skip", "middle"))
        public: dict[str, Any] = {"count_is_public": parameters.neighboring.count_is_public}
        public["max_weight"] = self.max_weight
        records, keys = grouped(x, self.by, self.keys, **more, **public)
        return bounded(records, self.bounds, keys)


@dataclass(eq=False)
class MomentsStatistic(BoundedStatistic[QueryPlan, Sums]):
    """The release of a statistic that is a function of means.

    A subclass defines the numbers of a row, mapped to [−1, 1], whose means are released.
    """

    noise: str = "auto"

    by_row: ClassVar[bool] = False
    """Whether a row with a missing value is left out."""

    def _is_gaussian(self) -> bool:
        return becomes_gaussian(self.noise)

    @abstractmethod
    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        """Return the parts for this number of columns."""

    def _vector(self, n_columns: int) -> Vector:
        """Return the numbers of a column's value, or with `by_row` those of all columns."""
        return OF_MEAN if len(self._parts(n_columns)) == 1 else OF_SPREAD

    @staticmethod
    @abstractmethod
    def _numbers(units: np.ndarray) -> Sums:
        """Return the numbers of each part for some rows that were mapped to [−1, 1]."""

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> QueryPlan:
        facts, n_changed = records.facts, parameters.neighboring.n_changed
        if self.missing == "skip":
            return self._plan_of_present(parameters, facts, records.is_weighted)
        parts = self._parts(facts.n_columns)
        queries = [part.query(n_changed, facts.n_groups) for part in parts]
        if facts.n_rows is None:
            n_groups = facts.n_groups
            queries.append(counts_query("count", n_groups or 1, n_changed if n_groups else 1))
        return parameters.plan_queries(queries, self.noise, weighted=records.is_weighted)

    def _plan_of_present(
        self, parameters: ReleaseParameters, facts: Facts, weighted: bool
    ) -> QueryPlan:
        """Return the plan with the least noise, for the weight that suits each kind of noise."""
        gaussian = self.noise == "auto" and parameters.delta > 0.0
        names = ("gaussian", "auto") if gaussian else (self.noise,)
        n_changed, vector = parameters.neighboring.n_changed, self._vector(facts.n_columns)
        plans = []
        for noise in names:
            weight = count_weight(noise, vector, n_changed, facts.n_groups)
            n_vectors = self._n_counts(facts)
            query = present_query(vector, n_vectors, weight, n_changed, facts.n_groups)
            plans.append(parameters.plan_queries([query], noise, weighted=weighted))
        return min(plans, key=attrgetter("loss"))

    def _read(self, plan: QueryPlan, records: Records[Facts], rng: np.random.Generator) -> Sums:
        facts, skips = records.facts, self.missing == "skip"
        sizes = {part.name: part.size for part in self._parts(facts.n_columns)}
        sizes["count"] = self._n_counts(facts) if skips else 1
        numbers = partial(numbers_of, self._numbers, self.missing, self.by_row)
        answers = exact_sums(sizes, records, numbers, facts.keys)
        if skips:
            units = self._units(plan, facts).items()
            sums = [answers[name] / unit for name, (_, unit) in units]
            answers = {SUMS: np.concatenate(sums, axis=-1)}
        return plan.release(answers, rng)

    def _n_counts(self, facts: Facts) -> int:
        return 1 if self.by_row else facts.n_columns

    def _units(self, plan: QueryPlan, facts: Facts) -> dict[str, tuple[str, float]]:
        """Return the query of each part and of the count, and the unit of its numbers."""
        parts, (query,) = self._parts(facts.n_columns), plan.queries
        n_changed = 2 if query.linf_sensitivity >= 2.0 else 1  # 1 if no two values are compared
        weight = count_weight(plan.noise, self._vector(facts.n_columns), n_changed, facts.n_groups)
        units = {part.name: part.radius for part in parts} | {"count": 1.0 / weight}
        return {name: (SUMS, unit) for name, unit in units.items()}

    def _means(self, plan: QueryPlan, facts: Facts, released: Sums) -> Means:
        radii = {part.name: part.radius for part in self._parts(facts.n_columns)}
        if self.missing == "skip":
            units = self._units(plan, facts)
            ends = np.cumsum([part.size for part in self._parts(facts.n_columns)])
            each = np.split(released[SUMS].reshape(facts.n_groups or 1, -1), ends, axis=1)
            each = [own[0] for own in each] if facts.n_groups is None else each
            sums = {name: own * units[name][1] for name, own in zip(units, each, strict=True)}
            return Means(plan, radii, sums, None, facts.n_rows, units)
        if facts.n_groups is not None:
            released = {name: sums.reshape(facts.n_groups, -1) for name, sums in released.items()}
        return Means(plan, radii, released, facts.n_rows)


def is_at_end(total: float, n: float, variance: float) -> bool:
    """Return whether a *released* Σu over n numbers in [−1, 1] may be that of numbers at one end.

    If their mean is a tenth away, noise moves it so far in one of 10⁶ releases.
    """
    noise = _FAR * math.sqrt(variance)
    return bool(noise <= _NEAR * n and abs(total) >= n - noise)


def numbers_of(
    numbers: Callable[[np.ndarray], Sums], missing: str, by_row: bool, records: Records[Facts]
) -> Iterator[Sums]:
    """Yield the numbers of some rows at a time, and 1 for each row or for each value."""
    for rows, _, _ in records.chunks():
        found = numbers(records.facts.bounds.unit(rows))
        present: np.ndarray = ~np.isnan(rows)
        if missing == "middle":
            present = np.ones((len(rows), 1), dtype=bool)
        elif by_row:
            present = np.asarray(present.all(axis=1, keepdims=True))
        if not present.all():
            found = {name: own * present for name, own in found.items()}
        yield found | {"count": present}


@dataclass(frozen=True, eq=False)
class Means:
    """Released sums and, where it is not public, the released number of rows.

    Sums have shape (n_numbers,) or (n_groups, n_numbers). The mean of no rows counts as 0. `most`
    is a public bound of the number of values. `units` has the query and the unit of a name where
    they are not the name itself and 1.
    """

    plan: QueryPlan
    radii: Mapping[str, float]
    sums: Mapping[str, np.ndarray]
    n_rows: int | None
    most: int | None = None
    units: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def count(self) -> Numbers:
        """The number of rows, at least 1; of each group if there are groups."""
        return self.n_rows or np.clip(self.sums["count"], 1.0, self.most)

    def half_width(self, name: str, risk: float) -> float:
        """Return a bound that the noise of a sum exceeds with probability at most `risk`."""
        query, unit = self.units.get(name, (name, 1.0))
        return unit * half_width(self.plan, query, risk)

    def is_noise(self) -> np.ndarray:
        """Return where the interval of a mean has all numbers, or values are few for the noise."""
        low, high = self._ends(_RISK)
        every = (low <= -1.0) & (high >= 1.0)
        if self.n_rows:
            return np.asarray(every)
        query, unit = self.units.get("count", ("count", 1.0))
        deviation = unit * self.plan.mechanism(query).expected_loss("l2") ** 0.5
        least = max(2.0 * deviation, 1.0 - 3.0 * deviation)  # weights may add up to less than one
        return np.asarray(every | (self.sums["count"] < least))

    def at_bounds(self, names: Sequence[Label]) -> Iterator[str]:
        """Yield a sentence if means of columns are at an end of their bounds, within the noise."""
        low, high = self._ends(_UNNAMED)
        at = ((low <= -1.0) | (high >= 1.0)) & self.is_precise("x", _RISK) & ~self.is_noise()
        if at.any():
            found = at.reshape(-1, len(names)).any(axis=0)
            yield (
                f"Means of columns {[*compress(names, found)]} may be at an end of their bounds, "
                "to which values are clipped. Check the units and the bounds."
            )

    def gaps(self, names: Sequence[Label]) -> Iterator[str]:
        """Yield a sentence if many values of columns are missing, beyond the noise."""
        counts = np.ravel(self.sums.get("count", 0.0))
        if self.most is None or counts.size != len(names):
            return  # the number of values is private in a group, or one for all columns
        most = (1.0 - _MANY_GAPS) * self.most - self.half_width("count", _UNNAMED)
        if found := [*compress(names, counts < most)]:
            why = "are missing or cannot be read, and are left out."
            yield f"More than a tenth of the values of columns {found} {why}"

    def mean(self, name: str) -> np.ndarray:
        """Return the means of a part, within its radius."""
        return self._within(name, self.ratio(name))

    def ratio(self, name: str) -> np.ndarray:
        """Return the noisy sums of a part over the number of rows, not clipped."""
        return np.asarray(self.sums[name] / self.count)

    def is_precise(self, name: str, risk: float) -> bool | np.ndarray:
        """Return where a mean's noise is so small that functions of it are nearly linear."""
        count_width = 0.0 if self.n_rows else self.half_width("count", risk)
        return max(self.half_width(name, risk), count_width) <= _SMALL * self.count

    def linear_half_width(self, slopes: Terms, decrease: Numbers, risk: float) -> np.ndarray:
        """Return a bound of the noise in a function of means, valid except at probability `risk`.

        `slopes` has names of parts, and the derivative of the function in one mean of each.
        `decrease` is minus the derivative in the logarithm of the number of rows: Σ slope·mean.
        """
        terms = [*slopes] if self.n_rows else [*slopes, ("count", decrease)]
        found = ((*self.units.get(str(name), (name, 1.0)), slope) for name, slope in terms)
        terms = [(query, unit * slope) for query, unit, slope in found]
        return np.asarray(sum_half_widths(self.plan, terms, risk) / self.count)

    def ends(self, risk: float) -> Interval:
        """Return intervals for the means without noise; each fails with probability `risk`.

        They have all numbers where noise outweighs the mean, and not only one end.
        """
        low, high = self._ends(risk)
        is_noise = self.is_noise()
        return np.where(is_noise, -1.0, low), np.where(is_noise, 1.0, high)

    def _ends(self, risk: float) -> Interval:
        value, safe = self.ratio("x"), self.safe_ends("x", risk)
        if self.n_rows:
            return safe
        width = self.linear_half_width([("x", np.ones(value.shape))], value, risk)
        precise = self.is_precise("x", risk)
        return (
            np.where(precise, self._within("x", value - width), safe[0]),
            np.where(precise, self._within("x", value + width), safe[1]),
        )

    def safe_ends(self, name: str, risk: float) -> Interval:
        """Return intervals that fail with probability ≤ `risk`, however few rows there are.

        Without a public count the sum and the count each get half of the risk.
        """
        risk = risk if self.n_rows else 0.5 * risk
        least, most = self.count_ends(risk)
        width = self.half_width(name, risk)
        low, high = self.sums[name] - width, self.sums[name] + width
        return (
            self._within(name, np.minimum(low / least, low / most)),
            self._within(name, np.maximum(high / least, high / most)),
        )

    def count_ends(self, risk: float) -> tuple[Numbers, Numbers]:
        """Return an interval for the number of rows, at least 1."""
        if self.n_rows:
            return self.n_rows, self.n_rows
        width, count = self.half_width("count", risk), self.sums["count"]
        low, high = (np.clip(end, 1.0, self.most) for end in (count - width, count + width))
        return low, high

    def _within(self, name: str, values: np.ndarray) -> np.ndarray:
        return np.clip(values, -self.radii[name], self.radii[name])


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Statistic):
    """A statistic with intervals from released means."""

    _means: Means = field(kw_only=True)
    _bounds: ColumnBounds = field(kw_only=True)

    @property
    def notes(self) -> tuple[str, ...]:
        names, means = dict(self._labels.axes)["column"], self._means
        return (*super().notes, *means.gaps(names), *means.at_bounds(names))

    def _shaped(self, ends: Interval) -> tuple[Numbers, Numbers]:
        low, high = (shown(end.reshape(np.shape(self.value))) for end in ends)
        return low, high


def variance_ends(means: Means, risk: float) -> Interval:
    """Return intervals for the variances of the numbers in [−1, 1], from "x" and "square"."""
    precise = means.is_precise("x", risk)
    both = zip(_linear(means, risk), _safe(means, risk), strict=True)
    low, high = (np.clip(np.where(precise, *end), 0.0, 1.0) for end in both)
    is_noise = means.is_noise() | (high <= 0.0)
    return np.where(is_noise, 0.0, low), np.where(is_noise, 1.0, high)


def no_spread(means: Means) -> np.ndarray:
    """Return where a variance is only noise: its interval begins at 0."""
    return means.is_noise() | (variance_ends(means, _RISK)[0] <= 0.0)


def _linear(means: Means, risk: float) -> Interval:
    """Return ends of second + 1/2 − first², which is nearly linear in small noise."""
    value = means.ratio("square") + 0.5 - means.ratio("x") ** 2
    width = variance_half_width(means, risk)
    return value - width, value + width


def variance_half_width(means: Means, risk: float) -> np.ndarray:
    """Return a bound of small noise in the variances, valid except at probability `risk`."""
    first, second = means.ratio("x"), means.ratio("square")
    slopes = [("x", -2.0 * first), ("square", np.ones(first.shape))]
    return means.linear_half_width(slopes, second - 2.0 * first**2, risk)


def _safe(means: Means, risk: float) -> Interval:
    """Return ends from intervals of the two means, each with half of the risk."""
    first, second = (means.safe_ends(part, 0.5 * risk) for part in ("x", "square"))
    return second[0] + 0.5 - _largest_square(*first), second[1] + 0.5 - _least_square(*first)


def covariance_ends(means: Means, risk: float) -> Interval:
    """Return intervals for each covariance: the mean product minus the product of the means."""
    precise = np.all(means.is_precise("x", risk))
    return (_linear_matrix if precise else _safe_matrix)(means, risk)


def _linear_matrix(means: Means, risk: float) -> Interval:
    """Return ends for small noise, in which every entry is nearly linear."""
    first, second = means.ratio("x"), means.ratio("square")
    values, widths = np.diag(second + 0.5 - first**2), np.zeros((first.size, first.size))
    np.fill_diagonal(widths, variance_half_width(means, risk))
    i, j = np.triu_indices(first.size, 1)
    if i.size:
        both, found = first[i] * first[j], means.ratio("product")
        values[i, j] = values[j, i] = found - both
        slopes = [("x", -first[j]), ("x", -first[i]), ("product", np.ones(i.size))]
        widths[i, j] = widths[j, i] = means.linear_half_width(slopes, found - 2.0 * both, risk)
    return values - widths, values + widths


def _safe_matrix(means: Means, risk: float) -> Interval:
    """Return ends from intervals of the three kinds of means, each with a third of the risk."""
    low, high = means.safe_ends("x", risk / 3.0)
    pairs = np.triu_indices(low.size, 1)
    least, most = (np.empty((low.size, low.size)) for _ in range(2))
    squares = means.safe_ends("square", risk / 3.0)
    np.fill_diagonal(least, squares[0] + 0.5 - _largest_square(low, high))
    np.fill_diagonal(most, squares[1] + 0.5 - _least_square(low, high))
    if pairs[0].size:
        i, j = pairs
        smallest, largest = _product((low[i], high[i]), (low[j], high[j]))
        products = means.safe_ends("product", risk / 3.0)
        least[i, j] = least[j, i] = products[0] - largest
        most[i, j] = most[j, i] = products[1] - smallest
    return least, most


def _least_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.maximum(np.maximum(low, -high), 0.0) ** 2


def _largest_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.maximum(-low, high) ** 2


def _product(first: Interval, second: Interval) -> Interval:
    """Return the least and the largest products of numbers in two intervals."""
    corners = np.stack([a * b for a in first for b in second])
    return corners.min(axis=0), corners.max(axis=0)
