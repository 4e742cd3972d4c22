"""Designs in other coordinates: rows times a matrix, and rows around a center."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np
from scipy import sparse

from skdp.design.base import (
    Design,
    MemoryDesign,
    Pointwise,
    RowNumbers,
    SumGrid,
    T,
    Wrapper,
    prefetch,
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

    @property
    def keeps_zeros(self) -> bool:
        """Whether the center is subtracted from sums of rows instead of rows."""
        return self.inner is not None and self.inner.is_sparse

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


@dataclass(frozen=True, eq=False, repr=False)
class _InCoordinates(Generic[T]):
    """A function of rows, applied to the transformed rows."""

    function: Callable[[MemoryDesign], T]
    matrix: np.ndarray

    def __call__(self, block: MemoryDesign) -> T:
        return self.function(TransformedRows(block, self.matrix))
