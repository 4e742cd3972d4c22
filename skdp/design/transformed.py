"""Designs around others: rows times a matrix, rows around a center, rows of persons."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any

import numpy as np
from scipy import sparse

from skdp.data.persons import Persons
from skdp.design.base import (
    ROWS_SUMMED,
    Design,
    MemoryDesign,
    OfBlock,
    Pointwise,
    RowNumbers,
    SumGrid,
    T,
    Wrapper,
    in_memory,
    prefetch,
    rows_at_once,
    scored,
)
from skdp.design.memory import ClippedDesign, clip_factors
from skdp.features.base import FeatureMap
from skdp.support.types import MatrixLike


@dataclass(frozen=True, eq=False)
class Center:
    """A point m, and a radius r to which rows are clipped around it."""

    point: np.ndarray  # *Released.* m, in the units of the rows, of shape (n_features,)
    radius: float  # *Released.* r, positive
    data_norm: float  # *Public.* R, to which rows are clipped before they are shifted

    @property
    def stretch(self) -> float:
        """R/r, by which shifted rows are longer."""
        return self.data_norm / self.radius

    def shifted(self, rows: MatrixLike) -> np.ndarray:
        """Return (ã − m)·R/r, with ã the rows clipped to R. They are not yet clipped to r."""
        dense = rows.toarray() if sparse.issparse(rows) else rows
        clipped = dense * clip_factors(rows, self.data_norm)[:, None]
        clipped -= self.point
        clipped *= self.stretch
        return clipped

    def affine(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for rows from those for shifted rows.

        Scores are the same for rows that neither clip changes.
        """
        coef = coef * self.stretch
        return coef, intercept - coef @ self.point


@dataclass(frozen=True, eq=False)
class CenteredMap(FeatureMap):
    """The features of another map, shifted by a center.

    A shifted row depends on the row itself and on public or released numbers only.
    """

    inner: FeatureMap | None  # *Public or released.* None for the columns themselves
    center: Center  # *Released.*

    @property
    def n_features_out(self) -> int:
        return self.center.point.size

    @property
    def cost(self) -> int:
        # Shifting takes as long as a product with θ: up to 256 MB of shifted rows are kept.
        return 4 if self.inner is None else self.inner.cost

    def prepare(self, X: MatrixLike) -> MatrixLike:
        if self.inner is None:
            return X.toarray() if sparse.issparse(X) else X
        return self.inner.prepare(X)

    def expand(self, rows: MatrixLike) -> np.ndarray:
        return self.center.shifted(rows if self.inner is None else self.inner.expand(rows))

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return list(map(str, columns)) if self.inner is None else self.inner.names(columns)

    def for_fits(self) -> FeatureMap:
        return self if self.inner is None else replace(self, inner=self.inner.for_fits())

    def clipped(self, X: MatrixLike) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the rows of a coded table after both clips, in the units of `inner`."""
        center = self.center
        for where, shifted in self.pieces(self.prepare(X)):
            shifted *= clip_factors(shifted, center.data_norm)[:, None] / center.stretch
            yield where, shifted + center.point


_NORM_MARGIN = 1e-10  # relative; a guarantee rests on it: 10·d·2⁻⁵³ and more, for d ≤ 10⁴ columns


class _Transformed(Wrapper):
    """What is computed of rows S·a alike, in memory or elsewhere."""

    matrix: np.ndarray

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        if grid is not None:
            return super().cross_product(grid)
        return np.asarray(self.matrix @ self.inner.cross_product() @ self.matrix)

    def reach(self, delta: np.ndarray) -> float:
        return self.inner.reach(self.matrix @ delta)

    def take(self, rows: RowNumbers) -> TransformedRows:
        return TransformedRows(self.inner.take(rows), self.matrix)


@dataclass(frozen=True, eq=False, repr=False)
class TransformedDesign(_Transformed):
    """*Private.* The rows S·a of another design's rows a, for a symmetric S that lengthens none.

    Nothing is copied: S is applied to coefficients and to sums of rows.
    """

    inner: Design  # *Private.* The rows a
    matrix: np.ndarray  # *Public or released.* S, of shape (n_features, n_features)

    @classmethod
    def shortening(cls, inner: Design, matrix: np.ndarray) -> TransformedDesign:
        """Return the design with S = `matrix`, scaled down if it would lengthen a row."""
        norm = float(np.linalg.norm(matrix, 2)) * (1.0 + _NORM_MARGIN)
        return cls(inner, matrix / max(1.0, norm))

    def parts(self, function: OfBlock[T], most_rows: int | None = None) -> Iterator[T]:
        yield from self.inner.parts(partial(_in_coordinates, function, self.matrix), most_rows)

    def total(
        self, function: OfBlock[T], most_rows: int | None = None, rows: np.ndarray | None = None
    ) -> T:
        return self.inner.total(partial(_in_coordinates, function, self.matrix), most_rows, rows)

    def slope_sum(
        self,
        derivative: Pointwise,
        theta: np.ndarray,
        longest: float = math.inf,
        records: np.ndarray | None = None,
        grid: SumGrid | None = None,
    ) -> np.ndarray:
        if longest < math.inf or grid is not None:  # of S·a, one row after the other
            return super().slope_sum(derivative, theta, longest, records, grid)
        total = self.inner.slope_sum(derivative, self.matrix @ theta, records=records)
        return np.asarray(self.matrix @ total)

    def scored(self, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the rows with their scores if they are in memory, and `slope_sum`."""
        inner, total = scored(self.inner, derivative, self.matrix @ theta)
        return TransformedDesign(inner, self.matrix), np.asarray(self.matrix @ total)

    def prefetch(self, rows: np.ndarray) -> None:
        """Fetch these rows with the next read, if they are not in memory."""
        prefetch(self.inner, rows)


@dataclass(frozen=True, eq=False, repr=False)
class TransformedRows(_Transformed, MemoryDesign):
    """The rows S·a of rows a in memory."""

    inner: MemoryDesign
    matrix: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        return self.inner.targets

    def scores(self, theta: np.ndarray) -> np.ndarray:
        return self.inner.scores(self.matrix @ theta)

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ self.inner.weighted_sum(residual))

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ self.inner.gram(weights) @ self.matrix)

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        return np.diagonal(self.gram(weights))

    def row_norms(self) -> np.ndarray:
        return self.inner.row_norms()  # S lengthens none

    def in_memory(self) -> ClippedDesign:
        rows = self.inner.scores(self.matrix)
        return ClippedDesign(rows, np.ones(self.n_samples), targets=self.targets)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, TransformedRows]]:
        for rows, block in self.inner.blocks(most_rows):
            yield rows, TransformedRows(block, self.matrix)


def _in_coordinates(function: OfBlock[T], matrix: np.ndarray, block: MemoryDesign) -> T:
    """Return a function of the transformed rows of a block."""
    return function(TransformedRows(block, matrix))


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

    def parts(self, function: OfBlock[T], most_rows: int | None = None) -> Iterator[T]:
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
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        return self.inner.exact_total(function, grid, rows)

    def exact_sum(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
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
    most = rows_at_once(design.n_features)

    def product(block: MemoryDesign) -> np.ndarray:
        return block.gram(block.targets["weight"] / largest)

    if grid is not None:
        return design.exact_sum(methodcaller("total", product, most), grid)
    return np.asarray(design.total(product, most))
