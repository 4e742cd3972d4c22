"""The linear operator of a fit, and sums over its rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add, methodcaller
from typing import Any, TypeVar

import numpy as np

ROWS_SUMMED = 1 << 14
"""Rows whose numbers are added in floating point, in any order.

A number passes through fewer additions that are not exact, also in a design that sums over cells of
a table before and after it multiplies them: each adds numbers of at least one other row to it.
"""

_BITS = 61  # of the coarse steps: the sum of all blocks is within 2^61 of them
_FINE_BITS = 31  # of the rest, in fine steps: up to 2^31 blocks add to less than 2^62 of them
_END, _PARTS = 2.0**_BITS, 2.0 ** (_FINE_BITS + 1)
_LEAST_EXPONENT = -900


@dataclass(frozen=True, kw_only=True)
class SumGrid:
    """Two integers for each number: coarse steps, and the rest in steps 2^−32 as wide.

    Sums of such integers do not depend on the order of the blocks.
    """

    exponent: int  # the coarse step is 2^exponent

    @classmethod
    def of(cls, largest: float) -> SumGrid:
        """Return the grid on which sums up to `largest` fit."""
        return cls(exponent=max(math.frexp(largest)[1] - _BITS, _LEAST_EXPONENT))

    @property
    def fine_step(self) -> float:
        """A block's number is rounded to a multiple of this."""
        return math.ldexp(1.0, self.exponent) / _PARTS

    def integers(self, block: np.ndarray) -> np.ndarray:
        """Return the numbers of a block, of shape (2, ...): within half a fine step of it.

        Division by a power of two is exact, and so is the rest after rounding: it is a multiple of
        the last digit of the number and not larger than the number. Nothing raises: ``nan`` and
        numbers beyond the grid, which no plan allows for, count as its ends.
        """
        end, found = math.ldexp(_END, self.exponent), np.empty((2, *block.shape), dtype=np.int64)
        scaled = np.fmin(np.fmax(block, -end), end) * math.ldexp(1.0, -self.exponent)
        coarse = np.rint(scaled)
        found[0] = coarse
        found[1] = np.rint((scaled - coarse) * _PARTS)
        return found

    def floats(self, total: np.ndarray) -> np.ndarray:
        """Return sums of integers as floats, rounded three times."""
        return np.asarray((total[0] + total[1] / _PARTS) * math.ldexp(1.0, self.exponent))


T = TypeVar("T")

RowNumbers = np.ndarray | slice

Pointwise = Callable[[np.ndarray, np.ndarray], np.ndarray]
OfBlock = Callable[["MemoryDesign"], T]
"""A function of targets and scores, row by row, such as a method of a loss."""


class Design(ABC):
    """The linear operator θ ↦ Aθ of n rows, and their targets: all that a fit reads of the data.

    A solver uses a public bound R of the norms of the rows, wherever the rows are stored. It reads
    them by sums over blocks of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.design import ClippedDesign
    >>> X = np.array([[3.0, 4.0], [0.3, 0.4]])
    >>> rows = ClippedDesign.clip(X, data_norm=1.0, targets=np.array([1.0, -1.0]))
    >>> rows.row_norms().round(2)
    array([1. , 0.5])
    >>> rows.slope_sum(lambda y, z: y, np.zeros(2))
    array([0.3, 0.4])
    >>> rows.cross_product()
    array([[0.45, 0.6 ],
           [0.6 , 0.8 ]])
    """

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of rows; public under ``replace_one`` only."""

    @property
    def n_records(self) -> int:
        """Number of records: of rows, or of persons. Public under ``replace_one`` only."""
        return self.n_samples

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns of A, with the intercept's."""

    @abstractmethod
    def parts(self, function: OfBlock[T], most_rows: int | None = None) -> Iterator[T]:
        """Yield a function of each block of rows, in order; there is at least one block.

        Parameters
        ----------
        function : callable
            Of a `MemoryDesign`; picklable, because it may run on another machine.
        most_rows : int or None
            *Public.* Rows of a block. None: as many as a cache holds, or all if X is sparse.

        Yields
        ------
        object
            *Private.*
        """

    def total(
        self, function: OfBlock[T], most_rows: int | None = None, rows: np.ndarray | None = None
    ) -> T:
        """Return the sum of a function over all blocks of rows, in their order, or over some rows.

        Parameters
        ----------
        function : callable
            Of a `MemoryDesign`; picklable, because it may run on another machine.
        most_rows : int or None
            *Public.* Rows of a block. None: as many as a cache holds, or all if X is sparse.
        rows : ndarray of int or None
            Increasing row numbers; one block has all that are in one place. None: all rows.

        Returns
        -------
        object
            *Private.*
        """
        if rows is not None:
            return function(self.take(rows))
        return reduce(add, self.parts(function, most_rows))

    def exact_total(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the sum of a function over blocks of at most `ROWS_SUMMED` rows, on a grid.

        Parameters
        ----------
        function : callable
            Of a `MemoryDesign`, additive over rows; picklable. Rounding errors of the sum over a
            block are bounded for any order of its rows.
        grid : SumGrid
            *Public.* The results of the blocks are added on it as integers.
        rows : ndarray of int or None
            Increasing row numbers. None: all rows.

        Returns
        -------
        ndarray of int of shape (2, ...)
            *Private.* See `SumGrid`.
        """
        of_block = methodcaller("exact_total", function, grid)
        return np.asarray(self.total(of_block, ROWS_SUMMED, rows))

    def exact_sum(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `exact_total` as floats. A single block is not rounded to the grid.

        Parameters
        ----------
        function, grid, rows : callable, SumGrid, ndarray of int or None
            See `exact_total`.

        Returns
        -------
        ndarray
            *Private.* The sum with the rounding errors of each block, up to three more.
        """
        return grid.floats(self.exact_total(function, grid, rows))

    def slope_sum(
        self,
        derivative: Pointwise,
        theta: np.ndarray,
        longest: float = math.inf,
        records: np.ndarray | None = None,
        grid: SumGrid | None = None,
    ) -> np.ndarray:
        """Return Σ a_i ⊗ derivative(y_i, a_i·θ): one read of X.

        Parameters
        ----------
        derivative : callable
            Of targets and scores, such as a method of a loss; picklable.
        theta : ndarray of shape (n_features,) or (n_features, k)
            Coefficients; the last row is the intercept.
        longest : float
            *Public.* Each record's part is scaled down to this norm, rounding included.
        records : ndarray of int or None
            Increasing numbers of the records to add up. None: all.
        grid : SumGrid or None
            *Public.* Where to add blocks without rounding errors. None: in floating point.

        Returns
        -------
        ndarray of the shape of θ
            *Private.*
        """
        slopes: OfBlock[np.ndarray] = SlopeSum(derivative, theta)
        if longest < math.inf:
            slopes = partial(_clipped_slope_sum, derivative, theta, longest)
        if grid is not None:
            return self.exact_sum(ByCache(slopes), grid, records)
        return np.asarray(self.total(slopes, rows=records))

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        """Return AᵀA: one read of X, of which a few megabytes at a time are copied.

        Parameters
        ----------
        grid : SumGrid or None
            *Public.* Where to add blocks without rounding errors. None: in floating point.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            *Private.*
        """
        product = methodcaller("cross_product")
        if grid is not None:
            return self.exact_sum(product, grid)
        return np.asarray(self.total(product))

    @property
    def most_entries(self) -> int:
        """Number of entries of a row of A that may differ from 0. *Private* where X is sparse."""
        return self.n_features

    def reach(self, delta: np.ndarray) -> float:
        """Return a bound of |δᵀa|/|a| over the rows a of A: at most the spectral norm of δ.

        Parameters
        ----------
        delta : ndarray of shape (n_features,) or (n_features, k)
            A change of coefficients.

        Returns
        -------
        float
            *Private* if X is sparse.
        """
        # the norm of the largest rows of δ, or its spectral norm if less
        squares = delta * delta if delta.ndim == 1 else (delta * delta).sum(axis=1)
        if self.most_entries < squares.size:
            squares = np.partition(squares, -self.most_entries)[-self.most_entries :]
        square = float(squares.sum())
        if delta.ndim == 2:
            square = min(square, float(np.linalg.eigvalsh(delta.T @ delta)[-1]))
        return math.sqrt(square)

    @abstractmethod
    def take(self, rows: RowNumbers) -> MemoryDesign:
        """Return some rows, with their targets, in memory.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Row numbers, which copy the rows, or a slice, which is a view if X is a dense array.

        Returns
        -------
        MemoryDesign
            *Private.*
        """


def scored(design: Design, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
    """Return the design with its scores at θ, if it can keep them, and `Design.slope_sum`."""
    remembering: Callable[..., tuple[Design, np.ndarray]] | None = getattr(design, "scored", None)
    if remembering is None:
        return design, design.slope_sum(derivative, theta)
    return remembering(derivative, theta)


def prefetch(design: Design, rows: np.ndarray) -> None:
    """Announce that `Design.take` will need some of these rows, in place of those announced before.

    Rows elsewhere come with the next sum or the next rows. Rows in memory need no announcement.
    """
    fetching: Callable[[np.ndarray], None] | None = getattr(design, "prefetch", None)
    if fetching is not None:
        fetching(rows)


def in_memory(design: Design) -> Any:
    """Return the same rows as a matrix, for code that reads single columns."""
    local: Callable[[], Any] | None = getattr(design, "in_memory", None)
    return design.take(slice(None)).in_memory() if local is None else local()


class MemoryDesign(Design):
    """A design whose rows, or what they are computed from, are in memory."""

    @property
    @abstractmethod
    def targets(self) -> np.ndarray:
        """*Private.* Targets (n_samples,), in the form that the loss takes."""

    @abstractmethod
    def scores(self, theta: np.ndarray) -> np.ndarray:
        """Return Aθ."""

    @abstractmethod
    def in_memory(self) -> Any:
        """Return the same rows as a matrix."""

    @abstractmethod
    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        """Return Aᵀr, a weighted sum of rows: one read of X."""

    @abstractmethod
    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return Aᵀdiag(w)A; copies A, so `take` some rows first."""

    @abstractmethod
    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        """Return the diagonal of `gram`, for designs with many columns."""

    @abstractmethod
    def row_norms(self) -> np.ndarray:
        """Return upper bounds of the norms of the rows of A, rounding included."""

    @abstractmethod
    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        """Yield consecutive blocks of rows that cover the data once.

        The memory of a block may be written to when the next one is made.
        """

    def parts(self, function: OfBlock[T], most_rows: int | None = None) -> Iterator[T]:
        for _, block in self.blocks(most_rows):
            yield function(block)

    def view(self, rows: slice) -> MemoryDesign:
        """Return consecutive rows without converting or computing any."""
        return self.take(rows)

    def exact_total(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        if rows is not None:
            return self.take(rows).exact_total(function, grid)
        return reduce(add, (grid.integers(function(block)) for block in self._summed))

    def exact_sum(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        if rows is not None:
            return self.take(rows).exact_sum(function, grid)
        if self.n_samples <= ROWS_SUMMED:
            return function(self)
        return super().exact_sum(function, grid)

    @cached_property
    def _summed(self) -> list[MemoryDesign]:
        """Views of the blocks that are summed, kept because descents read them in each step."""
        starts = range(0, max(1, self.n_samples), ROWS_SUMMED)
        return [self.view(slice(start, start + ROWS_SUMMED)) for start in starts]

    def scored(self, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the same rows with their scores, and `slope_sum`."""
        scores = np.empty((self.n_samples, *theta.shape[1:]), order="F")
        total = np.zeros_like(theta)
        for rows, block in self.blocks():
            scores[rows] = z = block.scores(theta)
            total += block.weighted_sum(derivative(block.targets, z))
        return ScoredDesign(self, theta, scores), total


class Wrapper(Design):
    """A design with a row and a column for each of another design."""

    inner: Design

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    @property
    def n_features(self) -> int:
        return self.inner.n_features


@dataclass(frozen=True, eq=False, repr=False)
class ScoredDesign(Wrapper, MemoryDesign):
    """The rows of a design in memory, whose scores at one θ are known."""

    inner: MemoryDesign
    theta: np.ndarray
    known: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        return self.inner.targets

    def scores(self, theta: np.ndarray) -> np.ndarray:
        is_known = theta is self.theta or bool((theta == self.theta).all())
        return self.known if is_known else self.inner.scores(theta)

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        return self.inner.weighted_sum(residual)

    def reach(self, delta: np.ndarray) -> float:
        return self.inner.reach(delta)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self.inner.gram(weights)

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        return self.inner.gram_diagonal(weights)

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        return self.inner.cross_product(grid)

    def row_norms(self) -> np.ndarray:
        return self.inner.row_norms()

    def in_memory(self) -> Any:
        return self.inner.in_memory()

    def take(self, rows: RowNumbers) -> MemoryDesign:
        return ScoredDesign(self.inner.take(rows), self.theta, self.known[rows])

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        for rows, block in self.inner.blocks(most_rows):
            yield rows, ScoredDesign(block, self.theta, self.known[rows])


@dataclass(frozen=True, eq=False, repr=False)
class SlopeSum:
    """Σ a_i ⊗ derivative(y_i, a_i·θ) of a block; picklable."""

    derivative: Pointwise  # of targets and scores, such as a method of a loss
    # coefficients; the last row is the intercept, of shape (n_features,) or (n_features, k)
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        scores = block.scores(self.theta)
        return block.weighted_sum(self.derivative(block.targets, scores))


def _clipped_slope_sum(
    derivative: Pointwise, theta: np.ndarray, longest: float, block: MemoryDesign
) -> np.ndarray:
    """Return the sum of the gradients derivative·row, each scaled down to `longest`."""
    slopes = derivative(block.targets, block.scores(theta))
    sizes = np.abs(slopes) if slopes.ndim == 1 else np.linalg.norm(slopes, axis=1)
    factors = longest / np.maximum(sizes * block.row_norms(), longest)
    return block.weighted_sum((slopes.T * factors).T)


@dataclass(frozen=True, eq=False, repr=False)
class ByCache:
    """The sum of a function over the parts of a block that a cache holds; picklable."""

    of_part: OfBlock[np.ndarray]

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        return block.total(self.of_part)


@dataclass(frozen=True, eq=False, repr=False)
class LossSum:
    """Σ value(y_i, a_i·θ) of a block; picklable."""

    value: Pointwise  # of targets and scores, such as a method of a loss
    # coefficients; the last row is the intercept, of shape (n_features,) or (n_features, k)
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> float:
        return float(self.value(block.targets, block.scores(self.theta)).sum())


_VALUES_AT_ONCE = 1 << 18  # of rows that are copied for a weighted matrix
_FEWEST_COPIED = 256


def rows_at_once(n_features: int) -> int:
    """Return the number of rows that are copied together for a matrix."""
    return max(_FEWEST_COPIED, _VALUES_AT_ONCE // n_features)


def row_products(design: Design, weights: Pointwise, theta: np.ndarray) -> np.ndarray:
    """Return Σ w(y_i, a_i·θ)·a_i·a_iᵀ: one read of X."""
    products = partial(_products, weights, theta)
    return np.asarray(design.total(products, rows_at_once(design.n_features)))


def slope_products(design: Design, derivative: Pointwise, theta: np.ndarray) -> np.ndarray:
    """Return Σ ggᵀ over records, where g is the sum of derivative(y_i, a_i·θ)·a_i over its rows."""
    of_records: Callable[[Pointwise, np.ndarray], np.ndarray] | None
    of_records = getattr(design, "slope_products", None)
    if of_records is not None:
        return of_records(derivative, theta)
    return row_products(design, lambda y, z: derivative(y, z) ** 2, theta)


def _products(weights: Pointwise, theta: np.ndarray, block: MemoryDesign) -> np.ndarray:
    """Return Σ w·aaᵀ of a block."""
    return block.gram(weights(block.targets, block.scores(theta)))
