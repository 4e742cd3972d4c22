"""Rows of persons, who may have several rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from operator import methodcaller
from typing import Any

import numpy as np

from skdp.data.persons import Persons
from skdp.design.base import (
    ROWS_SUMMED,
    Design,
    MemoryDesign,
    Pointwise,
    RowNumbers,
    SumGrid,
    T,
    Wrapper,
    in_memory,
    rows_at_once,
    scored,
)

_UNIT = 2.0**-53
_MORE_UNITS = 64  # for products with weights and factors, squares and roots; all over in few


@dataclass(frozen=True, eq=False, repr=False)
class SharedDesign(Wrapper):
    """*Private.* The rows of another design; a record is all weighted rows of a person.

    The targets carry the weights, and the weights of a person add up to at most `largest`. So what
    a person adds to a sum of weighted rows is `largest` times a mean of what single rows would add.
    It lies in the convex hull of those and 0, where no norm is larger and no two points are farther
    apart. See *User-level privacy* in the user guide. A person has at most `ROWS_SUMMED` rows, so
    that rounding errors are bounded.
    """

    inner: Design  # *Private.* The rows, in memory, with targets that carry weights
    persons: Persons  # *Private.* The person of each row
    largest: float = 1.0  # *Public.* Bound of the sum of a person's weights

    @property
    def n_records(self) -> int:
        return self.persons.n_persons

    def parts(
        self, function: Callable[[MemoryDesign], T], most_rows: int | None = None
    ) -> Iterator[T]:
        yield from self.inner.parts(function, most_rows)

    def slope_sum(
        self,
        derivative: Pointwise,
        theta: np.ndarray,
        longest: float = math.inf,
        records: np.ndarray | None = None,
        grid: SumGrid | None = None,
    ) -> np.ndarray:
        if longest < math.inf:
            sums = self._clipped_sums(derivative, theta, longest, records)
            if grid is None:
                return sum(sums, start=np.zeros_like(theta))
            nothing = np.zeros((2, *theta.shape), dtype=np.int64)
            return grid.floats(sum(map(grid.integers, sums), start=nothing))
        rows = None if records is None else self.persons.rows_of(records)
        return self.inner.slope_sum(derivative, theta, records=rows, grid=grid)

    def exact_total(
        self,
        function: Callable[[MemoryDesign], np.ndarray],
        grid: SumGrid,
        rows: np.ndarray | None = None,
    ) -> np.ndarray:
        return self.inner.exact_total(function, grid, rows)

    def exact_sum(
        self,
        function: Callable[[MemoryDesign], np.ndarray],
        grid: SumGrid,
        rows: np.ndarray | None = None,
    ) -> np.ndarray:
        return self.inner.exact_sum(function, grid, rows)

    def _clipped_sums(
        self, derivative: Pointwise, theta: np.ndarray, longest: float, records: np.ndarray | None
    ) -> Iterator[np.ndarray]:
        """Yield sums over persons, each of whose parts is scaled down to a norm of `longest`."""
        for block, firsts in self._persons_in_turn(records):
            slopes = derivative(block.targets, block.scores(theta))
            lengths = _lengths(block, slopes, firsts)
            factors = longest / np.maximum(lengths, longest)
            counts = np.diff(np.append(firsts, block.n_samples))
            yield block.weighted_sum((slopes.T * np.repeat(factors, counts)).T)

    def _persons_in_turn(
        self, records: np.ndarray | None
    ) -> Iterator[tuple[MemoryDesign, np.ndarray]]:
        """Yield blocks of rows, one person after the other, and where each person begins."""
        rows, starts = self._by_person(records)
        in_place = records is None and self._is_in_order
        most = min(rows_at_once(self.n_features), ROWS_SUMMED)
        for first, last in _batches(starts, len(rows), most):
            own = slice(starts[first], starts[last] if last < len(starts) else len(rows))
            block = self.inner.take(own if in_place else rows[own])
            yield block, starts[first:last] - starts[first]

    def _by_person(self, records: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of some persons, one person after the other, and where each begins."""
        order, ends = self._order, np.cumsum(self.persons.counts)
        counts = self.persons.counts
        if records is None:
            return order, ends - counts
        chosen = np.zeros(self.persons.n_persons, dtype=bool)
        chosen[records] = True
        rows = order[np.repeat(chosen, counts)]
        return rows, np.cumsum(counts[records]) - counts[records]

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.persons.codes, kind="stable")

    @cached_property
    def _is_in_order(self) -> bool:
        """Whether the rows of a person stand together, so that a slice of rows is no copy."""
        return bool((np.diff(self.persons.codes) >= 0).all())

    def scored(self, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the rows with their scores, and `slope_sum`."""
        return scored(self.inner, derivative, theta)

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        """Return Σ (w/`largest`)·aaᵀ: a person adds as much as one row, or less."""
        return shared_cross_product(self, self.largest, grid)

    def slope_products(self, derivative: Pointwise, theta: np.ndarray) -> np.ndarray:
        """Return Σ ggᵀ over persons, where g is the sum of the gradients of a person's rows."""
        total = np.zeros((theta.size, theta.size))
        for block, firsts in self._persons_in_turn(None):
            slopes = derivative(block.targets, block.scores(theta))
            sums = block.in_memory().group_sums(slopes, firsts)
            total += sums.T @ sums
        return total

    def reach(self, delta: np.ndarray) -> float:
        return self.inner.reach(delta)

    def take(self, rows: RowNumbers) -> MemoryDesign:
        return self.inner.take(rows)

    def in_memory(self) -> Any:
        """Return the rows as a matrix, no longer grouped by person."""
        return in_memory(self.inner)


def _batches(starts: np.ndarray, n_rows: int, most_rows: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive persons with at most `most_rows` rows together, or of one."""
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(starts, starts[first] + most_rows, side="right"))
        ends_here = last >= len(starts) and n_rows - starts[first] <= most_rows
        last = len(starts) if ends_here else max(first + 1, last - 1)
        yield first, last
        first = last


def units_of_length(n_rows: int, n_features: int, n_scores: int) -> int:
    """Return by how many units the length of a person's sum is off, of the sum of their sizes.

    A sum of so many products is off by as many units. Its squared length is a sum over features,
    and then over scores. A few more are for what was computed of each product.
    """
    return n_rows + n_features + n_scores + _MORE_UNITS


def _lengths(block: MemoryDesign, slopes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return upper bounds of the lengths of persons' sums of gradients, rounding included."""
    sizes = np.abs(slopes) if slopes.ndim == 1 else np.linalg.norm(slopes, axis=1)
    together = np.add.reduceat(sizes * block.row_norms(), starts)
    units = units_of_length(len(slopes), block.n_features, slopes.size // max(1, len(slopes)))
    return np.asarray(block.in_memory().norms_of_sums(slopes, starts) + units * _UNIT * together)


def shared_cross_product(design: Design, largest: float, grid: SumGrid | None) -> np.ndarray:
    """Return Σ (w/`largest`)·aaᵀ of weighted rows."""
    product, most = partial(_shared_gram, largest), rows_at_once(design.n_features)
    if grid is not None:
        return design.exact_sum(methodcaller("total", product, most), grid)
    return np.asarray(design.total(product, most))


def _shared_gram(largest: float, block: MemoryDesign) -> np.ndarray:
    return block.gram(block.targets["weight"] / largest)
