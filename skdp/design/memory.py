"""Rows clipped to a public norm, without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from skdp.design.base import ROWS_SUMMED, ByCache, MemoryDesign, OfBlock, RowNumbers, SumGrid
from skdp.support.types import MatrixLike

_LEAST_MARGIN = 1e-12
_UNIT = 2.0**-53
_COPY_BYTES = 1 << 21  # of rows that are copied at a time
_ROWS_OF_PRODUCTS = 3  # per column, at least: products of fewer rows take a fifth longer
_BLOCK_BYTES = 1 << 22  # a dense block that is read twice should still be in a cache
_MOST_ENTRIES = 1 << 18  # of a block of a matrix, or more: `_ENTRIES_PER_SUM` per entry of a sum
_ENTRIES_PER_SUM = 4
_FEWEST_ROWS = 256  # of a block: with fewer rows the overhead of calls would dominate


def _norm_margin(n_columns: int) -> float:
    """Return the relative margin of computed row norms, on which every sensitivity rests.

    A sum of d squares is off by d + 1 units of 2⁻⁵³ in any order, its root by half of that and a
    unit, and scaling by two more. Up to 9000 columns this is below 1e-12, the least margin.
    """
    return max(_LEAST_MARGIN, (n_columns + 8) * _UNIT)


def clip_factors(X: MatrixLike, norm: float) -> np.ndarray:
    """Return s with s_i·|x_i| ≤ `norm`, rounding included; one read of X, no copy.

    s_i is 1, to within 1e-12 or so, for rows that are short enough.
    """
    return factors_of(_row_norms(_without_duplicates(X)), X.shape[1], norm)


def factors_of(norms: np.ndarray, n_columns: int, norm: float) -> np.ndarray:
    """Return s with s_i·norms_i ≤ `norm` for norms computed from so many squares each."""
    np.maximum(norms, norm, out=norms)
    return np.divide(norm * (1.0 - _norm_margin(n_columns)), norms, out=norms)


def _row_norms(X: MatrixLike) -> np.ndarray:
    """Return the norms of rows, computed in float64 whatever X is stored as."""
    if X.dtype == np.float64:
        return np.asarray(row_norms(X))
    norms = np.empty(X.shape[0])
    for rows, part in _float_parts(X):
        norms[rows] = row_norms(part)
    return norms


def _squared_norms(X: MatrixLike) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _float_parts(X: MatrixLike, step: int = 0) -> Iterator[tuple[slice, MatrixLike]]:
    """Yield consecutive rows as float64, which holds every number of a narrower type exactly.

    Rows that are converted are overwritten by the next ones.
    """
    n, step = X.shape[0], step or _block_rows(X, X.shape[1])
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    if sparse.issparse(X) or X.dtype == np.float64 or not X.flags.c_contiguous:
        for rows in parts:
            yield rows, _float_rows(X, rows)
        return
    with _space(min(step, n), X.shape[1]) as space:
        for rows in parts:
            part = space[: rows.stop - rows.start]
            part[...] = X[rows]
            yield rows, part


_SPACES: list[np.ndarray] = []
_MOST_SPACES = 4  # of threads that read at the same time


@contextmanager
def _space(n_rows: int, n_columns: int) -> Iterator[np.ndarray]:
    """Lend memory for a block. New memory would be cleared for each, which takes as long as it."""
    try:
        space = _SPACES.pop()
    except IndexError:
        space = np.empty(0)
    if space.size < n_rows * n_columns:
        space = np.empty(n_rows * n_columns)
    try:
        yield space[: n_rows * n_columns].reshape(n_rows, n_columns)
    finally:
        if len(_SPACES) < _MOST_SPACES:
            _SPACES.append(space)


def _float_rows(X: MatrixLike, rows: RowNumbers) -> MatrixLike:
    """Return rows of X in float64; a slice of float64 is a view.

    `ndarray.take` is faster than indexing, but it copies the whole of an array that is not in C
    order, such as a pandas frame.
    """
    if sparse.issparse(X) and isinstance(rows, slice):
        return _slice(X, rows).astype(np.float64, copy=False)
    by_number = isinstance(rows, np.ndarray) and isinstance(X, np.ndarray)
    taken = X.take(rows, axis=0) if by_number and X.flags.c_contiguous else X[rows]
    return taken.astype(np.float64, copy=False)


def _slice(X: MatrixLike, rows: slice) -> MatrixLike:
    """Return a view of consecutive rows of a CSR matrix."""
    start, stop, _ = rows.indices(X.shape[0])
    ends = X.indptr[start : max(start, stop) + 1]
    data, indices = X.data[ends[0] : ends[-1]], X.indices[ends[0] : ends[-1]]
    shape = ends.size - 1, X.shape[1]
    return sparse.csr_matrix((data, indices, ends - ends[0]), shape=shape, copy=False)


def _block_rows(X: MatrixLike, n_features: int) -> int:
    """Return the number of rows that fit into a cache, with a float64 copy of other types."""
    if not sparse.issparse(X):
        size = 8 if X.dtype == np.float64 else 16
        return max(_FEWEST_ROWS, _BLOCK_BYTES // (size * n_features))
    most = max(_MOST_ENTRIES, _ENTRIES_PER_SUM * n_features)
    return max(_FEWEST_ROWS, most * X.shape[0] // max(1, X.nnz))


def _without_duplicates(X: MatrixLike) -> MatrixLike:
    """Return X with each cell stored once: two entries 1 in a cell are a 2, not a √2."""
    if not sparse.issparse(X):
        return X
    fresh = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if not fresh.has_canonical_format:  # found out anew: the flag that X carries may be stale
        fresh = fresh.astype(np.float64)  # a copy; sums of small integers would overflow
        fresh.sum_duplicates()
    return fresh


@dataclass(frozen=True, eq=False, repr=False)
class ClippedDesign(MemoryDesign):
    """*Private.* The linear operator θ ↦ Aθ, where row i of A is (s_i·x_i, b₀).

    X is never copied nor written: clipping is one factor per row, and the intercept column is
    virtual. X keeps its type. A few rows at a time are converted to float64, so that the result is
    that of the same numbers in float64.
    """

    X: MatrixLike  # *Private.* Finite values, of any real type, of shape (n_samples, d)
    factors: np.ndarray  # *Private.* s, from `clip_factors`, of shape (n_samples,)
    intercept_scaling: float = 0.0  # *Public.* Size b₀ of the intercept column; 0 for no intercept
    # *Private.* Of shape (n_samples,), as the loss takes them; None if no loss is evaluated
    targets: Any = None

    def __post_init__(self) -> None:
        if self.factors.shape != (self.X.shape[0],):
            raise ValueError(f"factors must have shape ({self.X.shape[0]},).")

    @classmethod
    def clip(
        cls,
        X: MatrixLike,
        data_norm: float,
        intercept_scaling: float = 0.0,
        targets: np.ndarray | None = None,
    ) -> ClippedDesign:
        """Return the design of rows clipped to `data_norm`, before the intercept is appended."""
        X = _without_duplicates(X)
        return cls(X, clip_factors(X, data_norm), intercept_scaling, targets)

    @classmethod
    def joined(cls, designs: Sequence[ClippedDesign]) -> ClippedDesign:
        """Return the rows of several designs with the same columns as one design."""
        if len(designs) == 1:
            return designs[0]
        parts = [one.X for one in designs]
        X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
        factors = np.concatenate([one.factors for one in designs])
        targets = np.concatenate([one.targets for one in designs])
        return cls(X, factors, designs[0].intercept_scaling, targets)

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1] + (self.intercept_scaling > 0.0)

    def row_norms(self) -> np.ndarray:
        norms = _row_norms(self.X) * self.factors
        return np.hypot(norms, self.intercept_scaling) * (1.0 + _norm_margin(self.X.shape[1]))

    def squares(self) -> np.ndarray:
        """Return |s_i·x_i|², without the intercept and without a margin for rounding."""
        return (_row_norms(self.X) * self.factors) ** 2

    def norms_of_sums(self, residual: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the norms of Σ a_i ⊗ residual_i over groups of consecutive rows; no margin."""
        indptr = np.append(starts, self.n_samples)
        squares = np.zeros(len(starts))
        for own in residual.reshape(self.n_samples, -1).T:
            entries = own * self.factors, np.arange(self.n_samples), indptr
            sums = sparse.csr_matrix(entries, shape=(len(starts), self.n_samples)) @ self.X
            squares += _squared_norms(sums)
            squares += (self.intercept_scaling * np.add.reduceat(own, starts)) ** 2
        return np.sqrt(squares)

    def group_sums(self, residual: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return Σ residual_i·a_i over groups of consecutive rows."""
        return np.add.reduceat(residual[:, None] * self._dense(), starts, axis=0)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        slopes = theta[: self.X.shape[1]]
        if self.X.dtype == np.float64:
            z = np.asfortranarray(self.X @ slopes)  # scores of a class adjoin
        else:
            z = np.empty((self.n_samples, *theta.shape[1:]), order="F")
            for rows, part in _float_parts(self.X):
                z[rows] = part @ slopes
        z.T[...] *= self.factors
        if self.intercept_scaling > 0.0:
            z += self.intercept_scaling * theta[-1]
        return z

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, *residual.shape[1:]))
        d, weighted = self.X.shape[1], (residual.T * self.factors).T
        if self.X.dtype == np.float64:
            total[:d] = self._transpose @ weighted
        else:
            for rows, part in _float_parts(self.X):
                total[:d] += part.T @ weighted[rows]
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * residual.sum(axis=0)
        return total

    @cached_property
    def _transpose(self) -> MatrixLike:
        return self.X.T  # a view, but a sparse one takes time to set up

    @cached_property
    def most_entries(self) -> int:
        if not sparse.issparse(self.X):
            return self.n_features
        return int(np.diff(self.X.indptr).max(initial=0)) + (self.intercept_scaling > 0.0)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        A = self._dense()
        return (A.T * weights) @ A

    def _dense(self, out: np.ndarray | None = None) -> np.ndarray:
        A = np.empty((self.n_samples, self.n_features)) if out is None else out
        A[:, self.X.shape[1] :] = self.intercept_scaling
        X = self.X.toarray() if sparse.issparse(self.X) else self.X
        np.multiply(X, self.factors[:, None], out=A[:, : X.shape[1]])
        return A

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        if grid is not None:
            return super().cross_product(grid)
        d, most = self.n_features, max(1, self.most_entries)
        total, step = np.zeros((d, d)), max(_ROWS_OF_PRODUCTS * d, _COPY_BYTES // (8 * most))
        step = max(1, min(step, self.n_samples))
        with _space(step, 0 if sparse.issparse(self.X) else d) as space:
            for start in range(0, self.n_samples, step):
                rows = slice(start, start + step)
                block = ClippedDesign(self.X[rows], self.factors[rows], self.intercept_scaling)
                if sparse.issparse(self.X):
                    total += block._sparse_gram()
                else:
                    A = block._dense(space[: block.n_samples])
                    total += A.T @ A  # of one array with itself: half the work of another product
        return total

    def _sparse_gram(self) -> np.ndarray:
        """Return AᵀA without storing the zeros of X."""
        A = self.X.copy()
        A.data = A.data * np.repeat(self.factors, np.diff(A.indptr))
        total = np.empty((self.n_features, self.n_features))
        total[: A.shape[1], : A.shape[1]] = (A.T @ A).toarray()
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * self.weighted_sum(np.ones(self.n_samples))
            total[:-1, -1] = total[-1, :-1]
        return total

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        total, w = np.zeros(self.n_features), weights * self.factors**2
        for rows, part in _float_parts(self.X):
            square = part.multiply(part) if sparse.issparse(part) else part * part
            total[: self.X.shape[1]] += square.T @ w[rows]
        total[self.X.shape[1] :] = self.intercept_scaling**2 * weights.sum()
        return total

    def take(self, rows: RowNumbers) -> ClippedDesign:
        targets = None if self.targets is None else self.targets[rows]
        X = _float_rows(self.X, rows)
        return ClippedDesign(X, self.factors[rows], self.intercept_scaling, targets)

    def exact_sum(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        if rows is None or sparse.issparse(self.X) or not isinstance(function, ByCache):
            return super().exact_sum(function, grid, rows)
        if rows.size > ROWS_SUMMED:
            several = (rows[at : at + ROWS_SUMMED] for at in range(0, rows.size, ROWS_SUMMED))
            sums = (grid.integers(self.exact_sum(function, grid, own)) for own in several)
            return grid.floats(reduce(add, sums))
        step = self.take(rows[:0])._step  # each copy of so many rows stays in the cache
        starts = range(0, max(1, rows.size), step)
        return reduce(add, (function.of_part(self.take(rows[at : at + step])) for at in starts))

    def view(self, rows: slice) -> ClippedDesign:
        targets = None if self.targets is None else self.targets[rows]
        X = _slice(self.X, rows) if sparse.issparse(self.X) else self.X[rows]
        return ClippedDesign(X, self.factors[rows], self.intercept_scaling, targets)

    def in_memory(self) -> ClippedDesign:
        return self

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, ClippedDesign]]:
        if most_rows is None and self.X.dtype == np.float64:
            is_one = sparse.issparse(self.X) or self.n_samples <= self._step
            yield from [(slice(None), self)] if is_one else self._views
        else:
            yield from self._cut(most_rows or self._step)

    @property
    def _step(self) -> int:
        return _block_rows(self.X, self.n_features)

    @cached_property
    def _views(self) -> list[tuple[slice, ClippedDesign]]:
        """Views of several blocks, kept because descents read them in each step.

        A design that kept itself would stay in memory until the garbage collection.
        """
        return list(self._cut(self._step))

    def _cut(self, step: int) -> Iterator[tuple[slice, ClippedDesign]]:
        if not self.n_samples:
            yield slice(0, step), self
        for rows, part in _float_parts(self.X, step):
            targets = None if self.targets is None else self.targets[rows]
            yield rows, ClippedDesign(part, self.factors[rows], self.intercept_scaling, targets)
