"""A design in other coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic

import numpy as np

from skdp.design.base import (
    Design,
    MemoryDesign,
    Pointwise,
    RowNumbers,
    T,
    Wrapper,
    prefetch,
    scored,
)
from skdp.design.exact_total import SumGrid
from skdp.design.memory import ClippedDesign

__all__ = ["TransformedDesign"]

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
    """The rows S·a of another design's rows a, for a symmetric S that lengthens none.

    Nothing is copied: S is applied to coefficients and to sums of rows.

    Parameters
    ----------
    inner : Design
        *Private.* The rows a.
    matrix : ndarray of shape (n_features, n_features)
        *Public or released.* S.
    """

    inner: Design
    matrix: np.ndarray

    @classmethod
    def shortening(cls, inner: Design, matrix: np.ndarray) -> TransformedDesign:
        """Return the design with S = `matrix`, scaled down if it would lengthen a row.

        Parameters
        ----------
        inner : Design
            *Private.* The rows a.
        matrix : ndarray of shape (n_features, n_features)
            *Public or released.* Symmetric.

        Returns
        -------
        TransformedDesign
            Its rows are at most as long as those of `inner`, rounding included.
        """
        norm = float(np.linalg.norm(matrix, 2)) * (1.0 + _NORM_MARGIN)
        return cls(inner, matrix / max(1.0, norm))

    def parts(
        self, function: Callable[[MemoryDesign], T], most_rows: int | None = None
    ) -> Iterator[T]:
        yield from self.inner.parts(_InCoordinates(function, self.matrix), most_rows)

    def total(
        self,
        function: Callable[[MemoryDesign], T],
        most_rows: int | None = None,
        rows: np.ndarray | None = None,
    ) -> T:
        return self.inner.total(_InCoordinates(function, self.matrix), most_rows, rows)

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
        """Return the rows with their scores if they are in memory, and `slope_sum`.

        Parameters
        ----------
        derivative : callable
            Of targets and scores, such as a method of a loss.
        theta : ndarray of shape (n_features,) or (n_features, k)
            Coefficients; the last row is the intercept.

        Returns
        -------
        design : TransformedDesign
            *Private.*
        total : ndarray of the shape of θ
            *Private.*
        """
        inner, total = scored(self.inner, derivative, self.matrix @ theta)
        return TransformedDesign(inner, self.matrix), np.asarray(self.matrix @ total)

    def prefetch(self, rows: np.ndarray) -> None:
        """Fetch these rows with the next read, if they are not in memory.

        Parameters
        ----------
        rows : ndarray of int
            Row numbers.
        """
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


@dataclass(frozen=True, eq=False, repr=False)
class _InCoordinates(Generic[T]):
    """A function of rows, applied to the transformed rows."""

    function: Callable[[MemoryDesign], T]
    matrix: np.ndarray

    def __call__(self, block: MemoryDesign) -> T:
        return self.function(TransformedRows(block, self.matrix))
