"""What every design offers: the linear operator of a fit, and sums over its rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "Design",
    "LossSum",
    "MemoryDesign",
    "Pointwise",
    "RowNumbers",
    "ScoredDesign",
    "SlopeSum",
    "T",
    "in_memory",
    "prefetch",
    "scored",
]

T = TypeVar("T")

RowNumbers = np.ndarray | slice
"""Which rows: their numbers, or consecutive ones."""

Pointwise = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of targets y and scores z, one number or derivative in z each. A method of a loss is one."""


class Design(ABC):
    """The linear operator θ ↦ Aθ of n rows, and their targets: all that is read of the data.

    A solver knows a public bound R of the rows' norms, and not where the rows are. What it wants of
    all of them it asks for as a sum over blocks of rows.
    """

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of rows; public under ``replace_one`` only."""

    @property
    def n_records(self) -> int:
        """Number of records, which is that of rows unless some have several; public likewise."""
        return self.n_samples

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns of A, the intercept's included."""

    @abstractmethod
    def parts(
        self, function: Callable[[MemoryDesign], T], most_rows: int | None = None
    ) -> Iterator[T]:
        """Yield a function of each of consecutive blocks of rows that cover the data once.

        There is one block at least, without rows if there are none.

        Parameters
        ----------
        function : callable
            Of a block, a `MemoryDesign`. It may be called elsewhere, and has to be picklable.
        most_rows : int or None
            *Public.* Rows of a block. None: as many as a cache holds, or all where X is sparse.

        Yields
        ------
        part : object
            *Private.* What the function returned.
        """

    def total(
        self,
        function: Callable[[MemoryDesign], T],
        most_rows: int | None = None,
        rows: np.ndarray | None = None,
    ) -> T:
        """Return the sum of a function of blocks over all rows, in their order, or over some.

        Parameters
        ----------
        function : callable
            Of a block, a `MemoryDesign`; it returns what can be added up. It may be called
            elsewhere, and has to be picklable.
        most_rows : int or None
            *Public.* Rows of a block. None: as many as a cache holds, or all where X is sparse.
        rows : ndarray of int or None
            Numbers of the rows that count, rising, in one block for each place; None: all.

        Returns
        -------
        total : object
            *Private.*
        """
        if rows is not None:
            return function(self.take(rows))
        return reduce(add, self.parts(function, most_rows))

    def slope_sum(
        self,
        derivative: Pointwise,
        theta: np.ndarray,
        longest: float = math.inf,
        records: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return Σ a_i ⊗ derivative(y_i, a_i·θ): one read of X.

        Parameters
        ----------
        derivative : callable
            A method of a loss, say; picklable.
        theta : ndarray of shape (n_features,) or (n_features, k)
            Coefficients, the intercept's last.
        longest : float
            *Public.* Longest part of a record, rounding included; longer parts are scaled down.
        records : ndarray of int or None
            Numbers of the records that count, rising; None: all.

        Returns
        -------
        total : ndarray of the shape of θ
            *Private.*
        """
        slopes = SlopeSum(derivative, theta)
        if longest < math.inf:
            slopes = _ClippedSlopeSum(derivative, theta, longest)
        return np.asarray(self.total(slopes, rows=records))

    def cross_product(self) -> np.ndarray:
        """Return AᵀA: one read of X, of which a few megabytes at a time are copied.

        Returns
        -------
        product : ndarray of shape (n_features, n_features)
            *Private.*
        """
        return np.asarray(self.total(_cross_product))

    @abstractmethod
    def reach(self, delta: np.ndarray) -> float:
        """Return a bound of |δᵀa|/|a| over the rows a of A, for δ of the shape of θ.

        It is the spectral norm of δ or, if less, that of as many entries of δ as a sparse row has.

        Parameters
        ----------
        delta : ndarray of shape (n_features,) or (n_features, k)
            A change of coefficients.

        Returns
        -------
        reach : float
            *Private* where X is sparse.
        """

    @abstractmethod
    def take(self, rows: RowNumbers) -> MemoryDesign:
        """Return some rows, with their targets, in memory.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Numbers of rows, which are copied, or a slice, which is a view where X is a dense array.

        Returns
        -------
        design : MemoryDesign
            *Private.*
        """


def scored(design: Design, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
    """Return the same rows, with known scores at θ if they are in memory, and `slope_sum`.

    Parameters
    ----------
    design : Design
        *Private.* Rows that can be kept together with their scores have a method `scored`.
    derivative : callable
        A method of a loss, say; picklable.
    theta : ndarray of shape (n_features,) or (n_features, k)
        Coefficients, the intercept's last.

    Returns
    -------
    design : Design
        *Private.* To ask these rows, or blocks of them, for `scores` at an equal θ is free.
    total : ndarray of the shape of θ
        *Private.*
    """
    remembering: Callable[..., tuple[Design, np.ndarray]] | None = getattr(design, "scored", None)
    if remembering is None:
        return design, design.slope_sum(derivative, theta)
    return remembering(derivative, theta)


def prefetch(design: Design, rows: np.ndarray) -> None:
    """Say that `take` will be asked for some of these rows; in memory, nothing happens.

    Parameters
    ----------
    design : Design
        *Private.* Rows that are elsewhere have a method `prefetch`: those that are named come along
        with the next sum over all, or with the next to be fetched, until others are named.
    rows : ndarray of int
        Numbers of rows.
    """
    fetching: Callable[[np.ndarray], None] | None = getattr(design, "prefetch", None)
    if fetching is not None:
        fetching(rows)


def in_memory(design: Design) -> Any:
    """Return the same rows as a `ClippedDesign` of a matrix, for what reads its columns.

    Parameters
    ----------
    design : Design
        *Private.*

    Returns
    -------
    design : ClippedDesign
        *Private.* As large as n × d numbers, if X is not the matrix itself.
    """
    local: Callable[[], Any] | None = getattr(design, "in_memory", None)
    return design.take(slice(None)).in_memory() if local is None else local()


class MemoryDesign(Design):
    """A design whose rows, or what makes them, are in memory."""

    @property
    @abstractmethod
    def targets(self) -> np.ndarray:
        """Targets (n_samples,), as the loss wants them. *Private.*"""

    @abstractmethod
    def scores(self, theta: np.ndarray) -> np.ndarray:
        """Return Aθ, one row or number a record.

        Parameters
        ----------
        theta : ndarray of shape (n_features,) or (n_features, k)
            Coefficients, the intercept's last.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, k)
            *Private.*
        """

    @abstractmethod
    def in_memory(self) -> Any:
        """Return the same rows as a `ClippedDesign` of a matrix.

        Returns
        -------
        design : ClippedDesign
            *Private.*
        """

    @abstractmethod
    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        """Return Aᵀr, a weighted sum of rows: one read of X.

        Parameters
        ----------
        residual : ndarray of shape (n_samples,) or (n_samples, k)
            *Private.* r.

        Returns
        -------
        total : ndarray of shape (n_features,) or (n_features, k)
            *Private.*
        """

    @abstractmethod
    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return Aᵀdiag(w)A; copies A, so `take` rows first.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            *Private.* w.

        Returns
        -------
        gram : ndarray of shape (n_features, n_features)
            *Private.*
        """

    @abstractmethod
    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        """Return the diagonal of `gram`, for designs of many columns.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            *Private.* w.

        Returns
        -------
        diagonal : ndarray of shape (n_features,)
            *Private.*
        """

    @abstractmethod
    def cross_product(self) -> np.ndarray: ...

    @abstractmethod
    def row_norms(self) -> np.ndarray:
        """Return upper bounds of the norms of the rows of A, rounding included.

        Returns
        -------
        norms : ndarray of shape (n_samples,)
            *Private.*
        """

    @abstractmethod
    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        """Yield consecutive blocks of rows that cover the data once.

        Parameters
        ----------
        most_rows : int or None
            *Public.* Rows of a block. None: as many as a cache holds, and all where X is sparse.

        Yields
        ------
        rows : slice
            Which rows they are.
        block : MemoryDesign
            A view of them, or a copy where X is sparse.
        """

    def parts(
        self, function: Callable[[MemoryDesign], T], most_rows: int | None = None
    ) -> Iterator[T]:
        for _, block in self.blocks(most_rows):
            yield function(block)

    def scored(self, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the same rows with their scores, and `slope_sum`.

        Parameters
        ----------
        derivative : callable
            A method of a loss, say.
        theta : ndarray of shape (n_features,) or (n_features, k)
            Coefficients, the intercept's last.

        Returns
        -------
        design : ScoredDesign
            *Private.*
        total : ndarray of the shape of θ
            *Private.*
        """
        scores = np.empty((self.n_samples, *theta.shape[1:]), order="F")
        total = np.zeros_like(theta)
        for rows, block in self.blocks():
            scores[rows] = z = block.scores(theta)
            total += block.weighted_sum(derivative(block.targets, z))
        return ScoredDesign(self, theta, scores), total


@dataclass(frozen=True, eq=False, repr=False)
class ScoredDesign(MemoryDesign):
    """The rows of a design in memory, whose scores at one θ are known.

    Parameters
    ----------
    inner : MemoryDesign
        *Private.* The rows.
    theta : ndarray of shape (n_features,) or (n_features, k)
        θ.
    known : ndarray of shape (n_samples,) or (n_samples, k)
        *Private.* Aθ.
    """

    inner: MemoryDesign
    theta: np.ndarray
    known: np.ndarray

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    @property
    def targets(self) -> np.ndarray:
        return self.inner.targets

    def scores(self, theta: np.ndarray) -> np.ndarray:
        return self.known if np.array_equal(theta, self.theta) else self.inner.scores(theta)

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        return self.inner.weighted_sum(residual)

    def reach(self, delta: np.ndarray) -> float:
        return self.inner.reach(delta)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self.inner.gram(weights)

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        return self.inner.gram_diagonal(weights)

    def cross_product(self) -> np.ndarray:
        return self.inner.cross_product()

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
    """Σ a_i ⊗ derivative(y_i, a_i·θ) of a block, which can be pickled.

    Parameters
    ----------
    derivative : callable
        A method of a loss, say.
    theta : ndarray of shape (n_features,) or (n_features, k)
        Coefficients, the intercept's last.
    """

    derivative: Pointwise
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        scores = block.scores(self.theta)
        return block.weighted_sum(self.derivative(block.targets, scores))


@dataclass(frozen=True, eq=False, repr=False)
class _ClippedSlopeSum(SlopeSum):
    """The sum of the gradients derivative·row, each scaled down to `longest`; none is formed."""

    longest: float

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        slopes = self.derivative(block.targets, block.scores(self.theta))
        sizes = np.abs(slopes) if slopes.ndim == 1 else np.linalg.norm(slopes, axis=1)
        factors = self.longest / np.maximum(sizes * block.row_norms(), self.longest)
        return block.weighted_sum((slopes.T * factors).T)


@dataclass(frozen=True, eq=False, repr=False)
class LossSum:
    """Σ value(y_i, a_i·θ) of a block, which can be pickled.

    Parameters
    ----------
    value : callable
        A method of a loss, say, which returns a number a record.
    theta : ndarray of shape (n_features,) or (n_features, k)
        Coefficients, the intercept's last.
    """

    value: Pointwise
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> float:
        return float(self.value(block.targets, block.scores(self.theta)).sum())


def _cross_product(block: MemoryDesign) -> np.ndarray:
    return block.cross_product()
