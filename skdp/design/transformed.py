"""A design in other coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.design.base import Design
from skdp.design.clipped import ClippedDesign

__all__ = ["TransformedDesign"]

_NORM_MARGIN = 1e-10  # relative; a guarantee rests on it: 10·d·2⁻⁵³ and more, for d ≤ 10⁴ columns


@dataclass(frozen=True, eq=False)
class TransformedDesign(Design):
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
        """Return the design with S = `matrix`, scaled down where it would lengthen a row.

        Parameters
        ----------
        inner : Design
            *Private.* The rows a.
        matrix : ndarray of shape (n_features, n_features)
            *Public or released.* Symmetric.

        Returns
        -------
        design : TransformedDesign
            Its rows are no longer than those of `inner`, rounding included.
        """
        norm = float(np.linalg.norm(matrix, 2)) * (1.0 + _NORM_MARGIN)
        return cls(inner, matrix / max(1.0, norm))

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.inner.matvec(self.matrix @ theta)

    def rmatvec(self, residual: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ self.inner.rmatvec(residual))

    def reach(self, delta: np.ndarray) -> float:
        return self.inner.reach(self.matrix @ delta)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ self.inner.gram(weights) @ self.matrix)

    def cross_product(self) -> np.ndarray:
        return np.asarray(self.matrix @ self.inner.cross_product() @ self.matrix)

    def row_norms(self) -> np.ndarray:
        return self.inner.row_norms()  # S lengthens none

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        return np.diagonal(self.gram(weights))

    def in_memory(self) -> ClippedDesign:
        inner = self.inner.in_memory()
        return ClippedDesign(inner.matvec(self.matrix), np.ones(self.n_samples))

    def take(self, rows: Any) -> TransformedDesign:
        return TransformedDesign(self.inner.take(rows), self.matrix)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, TransformedDesign]]:
        for rows, block in self.inner.blocks(most_rows):
            yield rows, TransformedDesign(block, self.matrix)
