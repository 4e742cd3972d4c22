"""The rows of a feature map, expanded a few rows at a time and clipped there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skdp.design.base import MemoryDesign, RowNumbers
from skdp.design.exact_total import SumGrid
from skdp.design.memory import ClippedDesign, clip_factors, longest_reach
from skdp.features.base import FeatureMap

__all__ = ["ExpandedDesign", "expanded_scores"]

_IN_MEMORY = 1 << 26  # bytes of features that are rather made once than in each pass


@dataclass(frozen=True, eq=False, repr=False)
class ExpandedDesign(MemoryDesign):
    """The linear operator θ ↦ Aθ, where row i of A is (s_i·Φ(x_i), b₀).

    The features Φ(x_i) are computed a few rows at a time; one factor per row is kept.

    Parameters
    ----------
    X : object of length n_samples
        *Private.* What the map's `prepare` returned, indexed by rows.
    feature_map : FeatureMap
        *Public.* Φ.
    factors : ndarray of shape (n_samples,)
        *Private.* s, from `clip_factors` of the features.
    intercept_scaling : float
        *Public.* Size b₀ of the intercept column; 0 for no intercept.
    targets : ndarray of shape (n_samples,) or None
        *Private.* In the form that the loss takes; None if no loss is evaluated.
    """

    X: Any
    feature_map: FeatureMap
    factors: np.ndarray
    intercept_scaling: float = 0.0
    targets: Any = None

    @classmethod
    def clip(
        cls,
        X: np.ndarray,
        feature_map: FeatureMap,
        data_norm: float,
        intercept_scaling: float = 0.0,
        targets: np.ndarray | None = None,
    ) -> MemoryDesign:
        """Return the design whose rows of features are clipped to `data_norm`.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_columns)
            *Private.* A coded table.
        feature_map : FeatureMap
            *Public.* Φ.
        data_norm : float
            *Public.* Bound of the l2 norms of the rows of features.
        intercept_scaling : float
            *Public.* Size b₀ of the intercept column; 0 for no intercept.
        targets : ndarray of shape (n_samples,) or None
            *Private.* In the form that the loss takes.

        Returns
        -------
        ClippedDesign or ExpandedDesign
            *Private.* The former if all features take little memory.
        """
        rows = feature_map.prepare(X)
        if cls._keeps(feature_map, len(rows)):
            features = feature_map.whole(rows, _dtype(feature_map, len(rows)))
            return ClippedDesign.clip(features, data_norm, intercept_scaling, targets)
        factors = cls._factors(rows, feature_map, data_norm)
        return cls(rows, feature_map, factors, intercept_scaling, targets)

    @classmethod
    def _keeps(cls, feature_map: FeatureMap, n_rows: int) -> bool:
        """Return whether the features of all rows are made once and kept."""
        return _is_small(feature_map, n_rows)

    @classmethod
    def _factors(cls, rows: Any, feature_map: FeatureMap, norm: float) -> np.ndarray:
        """Return the factors of prepared rows whose features are not kept."""
        factors = np.empty(len(rows))
        for where, features in feature_map.pieces(rows):
            factors[where] = clip_factors(features, norm)
        return factors

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.feature_map.n_features_out + (self.intercept_scaling > 0.0)

    def row_norms(self) -> np.ndarray:
        return np.concatenate([block.row_norms() for _, block in self._made()])

    def scores(self, theta: np.ndarray) -> np.ndarray:
        scores = np.empty((self.n_samples, *theta.shape[1:]), order="F")
        for rows, block in self.blocks():
            scores[rows] = block.scores(theta)
        return scores

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, *residual.shape[1:]))
        for rows, block in self.blocks():
            total += block.weighted_sum(residual[rows])
        return total

    @property
    def most_entries(self) -> int:
        """Number of entries of a row of A that may differ from 0."""
        return self.feature_map.n_entries + (self.intercept_scaling > 0.0)

    def reach(self, delta: np.ndarray) -> float:
        return longest_reach(delta, self.most_entries)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, self.n_features))
        for rows, block in self._made():
            total += block.gram(weights[rows])
        return total

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        if grid is not None:
            return super().cross_product(grid)
        total = np.zeros((self.n_features, self.n_features))
        step = max(self.n_features, self.feature_map.rows_at_once)  # for fast matrix products
        for start in range(0, self.n_samples, step):
            total += self._of(slice(start, start + step)).in_memory().cross_product()
        return total

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        for rows, block in self._made():
            total += block.gram_diagonal(weights[rows])
        return total

    def take(self, rows: RowNumbers) -> MemoryDesign:
        taken = self._of(rows)
        return taken.in_memory() if _is_small(self.feature_map, taken.n_samples) else taken

    def view(self, rows: slice) -> MemoryDesign:
        return self._of(rows)

    def in_memory(self) -> ClippedDesign:
        features = self.feature_map.whole(self.X, _dtype(self.feature_map, self.n_samples))
        return ClippedDesign(features, self.factors, self.intercept_scaling, self.targets)

    def _of(self, rows: RowNumbers) -> ExpandedDesign:
        """Return the design of some rows, without their features."""
        targets = None if self.targets is None else self.targets[rows]
        X, factors = _rows(self.X, rows), self.factors[rows]
        return replace(self, X=X, factors=factors, targets=targets)

    def _made(self) -> Iterator[tuple[slice, MemoryDesign]]:
        """Yield the rows with their features, as many as a cache holds."""
        return self.blocks(self.feature_map.rows_at_once)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        step = most_rows or self.feature_map.rows_at_once
        for start in range(0, max(1, self.n_samples), step):
            rows = slice(start, start + step)
            if step > self.feature_map.rows_at_once:
                yield rows, self.take(rows)
            else:
                yield rows, self._of(rows)._expanded()

    def _expanded(self) -> ClippedDesign:
        """Return the same few rows with their features."""
        features = self.feature_map.expand(self.X)
        return ClippedDesign(features, self.factors, self.intercept_scaling, self.targets)


def expanded_scores(
    X: np.ndarray, feature_map: FeatureMap, data_norm: float, coef: np.ndarray
) -> np.ndarray:
    """Return Φ(x_i)·coef for rows of features that are clipped to `data_norm`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        *Private.* A coded table.
    feature_map : FeatureMap
        *Public.* Φ.
    data_norm : float
        *Public.* Bound of the l2 norms of the rows of features; inf for none.
    coef : ndarray of shape (n_features_out, n_scores)
        Coefficients.

    Returns
    -------
    ndarray of shape (n_samples, n_scores)
        *Private.*
    """
    rows = feature_map.prepare(X)
    scores = np.empty((len(rows), coef.shape[1]))
    for where, features in feature_map.pieces(rows):
        scores[where] = safe_sparse_dot(features, coef, dense_output=True)
        if not math.isinf(data_norm):
            scores[where] *= clip_factors(features, data_norm)[:, None]
    return scores


def _is_small(feature_map: FeatureMap, n_rows: int) -> bool:
    """Return whether features are kept: in up to 64 MB, or 3 GB if they take long to compute.

    The number of rows may be private. Features are the same numbers, kept or not, in either type.
    """
    size = np.dtype(_dtype(feature_map, n_rows)).itemsize
    return size * n_rows * feature_map.n_entries <= _IN_MEMORY * feature_map.cost


def _dtype(feature_map: FeatureMap, n_rows: int) -> type[np.floating[Any]]:
    """Return the type of kept features. Both hold them exactly; double is faster for few rows."""
    is_much = 8 * n_rows * feature_map.n_entries > _IN_MEMORY
    return np.float32 if feature_map.is_single and is_much else np.float64


def _rows(X: Any, rows: RowNumbers) -> Any:
    if isinstance(X, np.ndarray) and isinstance(rows, np.ndarray) and X.flags.c_contiguous:
        return X.take(rows, axis=0)
    return X[rows]
