"""Rows shifted by a center and stretched, so that they differ by more beside the same noise."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skdp.design.memory import clip_factors
from skdp.features.base import FeatureMap
from skdp.support.types import MatrixLike

__all__ = ["Center", "CenteredMap"]


@dataclass(frozen=True, eq=False)
class Center:
    """A point m, and a radius r to which rows are clipped around it.

    Parameters
    ----------
    point : ndarray of shape (n_features,)
        *Released.* m, in the units of the rows.
    radius : float
        *Released.* r, positive.
    data_norm : float
        *Public.* R, to which rows are clipped before they are shifted.
    """

    point: np.ndarray
    radius: float
    data_norm: float

    @property
    def stretch(self) -> float:
        """R/r, by which shifted rows are longer."""
        return self.data_norm / self.radius

    def shifted(self, rows: MatrixLike) -> np.ndarray:
        """Return (ã − m)·R/r, with ã the rows clipped to R. They are not yet clipped to r.

        Parameters
        ----------
        rows : ndarray or CSR matrix of shape (n_samples, n_features)
            *Private.*

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            *Private.*
        """
        dense = rows.toarray() if sparse.issparse(rows) else rows
        clipped = dense * clip_factors(rows, self.data_norm)[:, None]
        clipped -= self.point
        clipped *= self.stretch
        return clipped

    def affine(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for rows from those for shifted rows.

        Scores are the same for rows that neither clip changes.

        Parameters
        ----------
        coef : ndarray of shape (n_scores, n_features)
            Coefficients of shifted rows.
        intercept : ndarray of shape (n_scores,)
            Intercepts of shifted rows.

        Returns
        -------
        coef, intercept : ndarray
            Of the same shapes.
        """
        coef = coef * self.stretch
        return coef, intercept - coef @ self.point


@dataclass(frozen=True, eq=False)
class CenteredMap(FeatureMap):
    """The features of another map, shifted by a center.

    A shifted row depends on the row itself and on public or released numbers only.

    Parameters
    ----------
    inner : FeatureMap or None
        *Public or released.* None for the columns themselves.
    center : Center
        *Released.*
    """

    inner: FeatureMap | None
    center: Center

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
        inner = None if self.inner is None else self.inner.for_fits()
        return self if inner is None or inner.is_sparse else replace(self, inner=inner)

    def clipped(self, X: MatrixLike) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the rows of a coded table after both clips, in the units of `inner`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            *Private.*

        Yields
        ------
        slice, ndarray of shape (n_rows, n_features_out)
            *Private.* Consecutive rows, as many at a time as a cache holds.
        """
        center = self.center
        for where, shifted in self.pieces(self.prepare(X)):
            shifted *= clip_factors(shifted, center.data_norm)[:, None] / center.stretch
            yield where, shifted + center.point
