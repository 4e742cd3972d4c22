"""Means of bounded columns, released together; most statistics are functions of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skdp._column_facts import ColumnBounds
from skdp._columns import Columns
from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.statistics._result import half_width
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import becomes_gaussian

__all__ = [
    "EXACT",
    "BoundedColumns",
    "Means",
    "MomentsStatistic",
    "Part",
    "exact_sums",
    "largest_square",
    "least_square",
    "product",
]

EXACT = 1.0 + 2.0**-20
"""What sensitivities are multiplied by: the total of `exact_sums` is rounded once, as a float."""

_BITS = 31


@dataclass(frozen=True)
class Part:
    """Numbers of a row in [−radius, radius], of which the means are asked for.

    Parameters
    ----------
    name : str
    size : int
        How many numbers a row has here.
    radius : float
    farthest : float
        Distance in l1 of two rows, where it is less than 2·radius·size.
    """

    name: str
    size: int
    radius: float = 1.0
    farthest: float = math.inf

    def query(self, n_changed: int) -> Query:
        """Return what is asked: their sums, which one record changes by one row or by two."""
        return Query(
            self.name,
            size=self.size,
            linf_sensitivity=n_changed * self.radius * EXACT,
            l0_sensitivity=self.size,
            l1_sensitivity=math.inf if n_changed == 1 else self.farthest * EXACT,
        )


@dataclass(frozen=True, eq=False, repr=False)
class BoundedColumns:
    """*Private* columns, their public bounds, and whether the number of rows is public."""

    columns: Columns
    bounds: ColumnBounds
    count_is_public: bool

    @classmethod
    def of(cls, x: Any, bounds: Any, parameters: ReleaseParameters) -> BoundedColumns:
        """Return columns of numbers; where the number of rows is public there has to be one."""
        columns = Columns.of(x)
        checked = ColumnBounds.of(bounds, columns.n_columns, columns.names)
        columns.check(Columns.check_numeric)
        public = parameters.neighboring.count_is_public
        if public and not columns.n_rows:
            raise ValueError("x must have at least one row.")
        return cls(columns, checked, public)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.columns.n_rows


class MomentsStatistic(PrivateFit):
    """The parts of the transaction of a statistic that is a function of means.

    A subclass says which numbers of a row, mapped to [−1, 1], have their means released.
    """

    takes_infinite_epsilon = False

    def __init__(self, bounds: Any, noise: str = "auto") -> None:
        self.bounds = bounds
        self.noise = noise

    def _is_gaussian(self) -> bool:
        return becomes_gaussian(self.noise)

    @abstractmethod
    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        """Return what is asked for, from the number of columns."""

    @staticmethod
    @abstractmethod
    def _numbers(units: np.ndarray) -> dict[str, np.ndarray]:
        """Return the numbers of each part for some rows that were mapped to [−1, 1]."""

    def _check_data(self, parameters: ReleaseParameters, x: Any) -> BoundedColumns:
        return BoundedColumns.of(x, self.bounds, parameters)

    def _plan(self, parameters: ReleaseParameters, records: BoundedColumns) -> QueryPlan:
        parts = self._parts(records.columns.n_columns)
        queries = [part.query(parameters.neighboring.n_changed) for part in parts]
        if not records.count_is_public:
            queries.append(Query("count", linf_sensitivity=1.0, integer=True))
        return parameters.plan_queries(queries, self.noise)

    def _read(
        self, plan: QueryPlan, records: BoundedColumns, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        parts = self._parts(records.columns.n_columns)
        numbers = partial(_numbers_of, self._numbers, records.bounds)
        sizes = {part.name: part.size for part in parts}
        answers: dict[str, Any] = exact_sums(sizes, records.columns, numbers)
        return plan.release(answers | {"count": records.columns.n_rows}, rng)

    def _means(self, plan: QueryPlan, records: BoundedColumns, released: Any) -> Means:
        radii = {p.name: p.radius for p in self._parts(records.columns.n_columns)}
        n_rows = records.columns.n_rows if records.count_is_public else None
        return Means(plan, radii, released, n_rows)


@dataclass(frozen=True, eq=False)
class Means:
    """Released sums and, where it is not public, the released number of rows.

    The mean of no rows counts as 0.
    """

    plan: QueryPlan
    radii: Mapping[str, float]
    sums: Mapping[str, np.ndarray]
    n_rows: int | None

    def mean(self, name: str) -> np.ndarray:
        """Return the means of a part, within its radius."""
        count = self.n_rows or max(float(self.sums["count"][0]), 1.0)
        return np.clip(self.sums[name] / count, -self.radii[name], self.radii[name])

    def ends(self, name: str, risk: float) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals for the means without noise; each fails with probability ≤ `risk`.

        Without a public count the sum and the count may each miss with half of that.
        """
        risk = risk if self.n_rows else 0.5 * risk
        least, most = self.count_ends(risk)
        width = half_width(self.plan, name, risk)
        low, high = self.sums[name] - width, self.sums[name] + width
        radius = self.radii[name]
        return (
            np.clip(np.minimum(low / least, low / most), -radius, radius),
            np.clip(np.maximum(high / least, high / most), -radius, radius),
        )

    def count_ends(self, risk: float) -> tuple[float, float]:
        """Return ends of an interval for the number of rows, at least 1."""
        if self.n_rows:
            return self.n_rows, self.n_rows
        count, width = float(self.sums["count"][0]), half_width(self.plan, "count", risk)
        return max(count - width, 1.0), max(count + width, 1.0)


def _numbers_of(
    numbers: Callable[[np.ndarray], dict[str, np.ndarray]], bounds: ColumnBounds, columns: Columns
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the numbers of some rows at a time."""
    return (numbers(bounds.unit(rows)) for rows in columns.blocks())


def exact_sums(
    sizes: Mapping[str, int], table: Any, numbers: Callable[[Any], Iterable[Mapping[str, Any]]]
) -> dict[str, np.ndarray]:
    """Return the sums of numbers in [−1, 1], each rounded to a multiple of 2^−31.

    `numbers` yields those of some rows of a table at a time. They are added as integers, whatever
    their order and the blocks of rows that they come in. Totals of at least 2^53 steps are rounded
    as floats, by 2^−54 of at most 2^31: for two neighbours by 2^−22 together.
    """
    totals = table.total(partial(_steps, sizes, numbers))
    return {name: np.ldexp(total.astype(float), -_BITS) for name, total in totals.items()}


def _steps(
    sizes: Mapping[str, int], numbers: Callable[[Any], Iterable[Mapping[str, Any]]], table: Any
) -> dict[str, np.ndarray]:
    """Return the sums in steps of 2^−31."""
    totals = {name: np.zeros(size, dtype=np.int64) for name, size in sizes.items()}
    for block in numbers(table):
        for name, total in totals.items():
            total += np.rint(np.ldexp(block[name], _BITS)).astype(np.int64).sum(axis=0)
    return totals


def least_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the least square of a number in each interval."""
    return np.maximum(np.maximum(low, -high), 0.0) ** 2


def largest_square(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest square of a number in each interval."""
    return np.maximum(-low, high) ** 2


def product(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest products of numbers in two intervals."""
    corners = np.stack([a * b for a in first for b in second])
    return corners.min(axis=0), corners.max(axis=0)
