"""The rows of a tabulated feature map, whose sums are taken table by table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skdp.design.base import MemoryDesign
from skdp.design.expanded import ExpandedDesign
from skdp.features.tabulated import TabulatedMap

__all__ = ["TabulatedDesign"]

_BLOCK_ROWS = 1 << 16  # for which it pays to multiply whole tables
_FEWEST_ROWS = 1 << 12


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedDesign(ExpandedDesign):
    """The linear operator θ ↦ Aθ for rows (s_i·Φ(x_i), b₀) whose features stand in tables.

    A score is the sum of one number per column, looked up in the product of its table with its
    coefficients. A sum of rows comes from one weighted histogram per column. No features are made.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_blocks)
        *Private.* Places in the tables, from the map's `prepare`.
    feature_map : TabulatedMap
        *Public.* Φ.
    factors : ndarray of shape (n_samples,)
        *Private.* s, from `clip_factors` of the features.
    intercept_scaling : float
        *Public.* Size b₀ of the intercept column; 0 for no intercept.
    targets : ndarray of shape (n_samples,) or None
        *Private.* In the form that the loss takes; None if no loss is evaluated.
    """

    feature_map: TabulatedMap

    def scores(self, theta: np.ndarray) -> np.ndarray:
        if self.n_samples < _FEWEST_ROWS:
            return self.in_memory().scores(theta)
        z = np.zeros((self.n_samples, *theta.shape[1:]), order="F")
        for k, (_, span) in enumerate(self.feature_map.spans):
            z += (self.feature_map.tables[k] @ theta[span]).take(self.X[:, k], axis=0)
        z.T[...] *= self.factors
        if self.intercept_scaling > 0.0:
            z += self.intercept_scaling * theta[-1]
        return z

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        if self.n_samples < _FEWEST_ROWS:
            return self.in_memory().weighted_sum(residual)
        total = np.empty((self.n_features, *residual.shape[1:]))
        weighted = np.atleast_2d(residual.T * self.factors)
        for k, (_, span) in enumerate(self.feature_map.spans):
            table, places = self.feature_map.tables[k], self.X[:, k].astype(np.intp)
            sums = [np.bincount(places, row, table.shape[0]) for row in weighted]
            total[span] = (np.stack(sums) @ table).T.reshape(total[span].shape)
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * residual.sum(axis=0)
        return total

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        if most_rows is not None:
            yield from super().blocks(most_rows)
            return
        for start in range(0, max(1, self.n_samples), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            yield rows, self._of(rows)
