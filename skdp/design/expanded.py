"""The rows of a feature map, expanded block by block and clipped there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skdp._feature_maps import FeatureMap
from skdp.design.base import Design
from skdp.design.clipped import ClippedDesign, clip_factors, longest_reach

__all__ = ["ExpandedDesign", "expanded_scores"]

_IN_MEMORY = 1 << 26  # bytes of features that are rather made once than in each pass


@dataclass(frozen=True, eq=False)
class ExpandedDesign(Design):
    """The linear operator θ ↦ Aθ, where row i of A is (s_i·Φ(x_i), b₀).

    Of the features Φ(x_i) only a block at a time is there; one factor a row is kept.

    Parameters
    ----------
    X : object of length n_samples
        *Private.* What the map's `prepare` returned, which is indexed by rows.
    feature_map : FeatureMap
        *Public.* Φ.
    factors : ndarray of shape (n_samples,)
        *Private.* s, from `clip_factors` of the features.
    intercept_scaling : float
        *Public.* Size b₀ of the intercept column; 0 for no intercept.
    """

    X: Any
    feature_map: FeatureMap
    factors: np.ndarray
    intercept_scaling: float = 0.0

    @classmethod
    def clip(
        cls, X: np.ndarray, feature_map: FeatureMap, data_norm: float, intercept_scaling: float = 0
    ) -> Design:
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

        Returns
        -------
        design : ClippedDesign or ExpandedDesign
            The former where all features take little memory.
        """
        rows = feature_map.prepare(X)
        if _is_small(feature_map, len(rows)):
            return ClippedDesign.clip(feature_map.whole(rows), data_norm, intercept_scaling)
        factors = np.empty(len(rows))
        for where, features in feature_map.blocks(rows):
            factors[where] = clip_factors(features, data_norm)
        return cls(rows, feature_map, factors, intercept_scaling)

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.feature_map.n_features_out + (self.intercept_scaling > 0.0)

    def row_norms(self) -> np.ndarray:
        return np.concatenate([block.row_norms() for _, block in self._made()])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        scores = np.empty((self.n_samples, *theta.shape[1:]), order="F")
        for rows, block in self.blocks():
            scores[rows] = block.matvec(theta)
        return scores

    def rmatvec(self, residual: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, *residual.shape[1:]))
        for rows, block in self.blocks():
            total += block.rmatvec(residual[rows])
        return total

    def reach(self, delta: np.ndarray) -> float:
        entries = self.feature_map.n_entries + (self.intercept_scaling > 0.0)
        return longest_reach(delta, entries)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, self.n_features))
        for rows, block in self._made():
            total += block.gram(weights[rows])
        return total

    def cross_product(self) -> np.ndarray:
        total = np.zeros((self.n_features, self.n_features))
        for _, block in self._made():
            total += block.cross_product()
        return total

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        for rows, block in self._made():
            total += block.gram_diagonal(weights[rows])
        return total

    def take(self, rows: Any) -> Design:
        taken = type(self)(
            _rows(self.X, rows), self.feature_map, self.factors[rows], self.intercept_scaling
        )
        return taken.in_memory() if _is_small(self.feature_map, taken.n_samples) else taken

    def in_memory(self) -> ClippedDesign:
        features = self.feature_map.whole(self.X)
        return ClippedDesign(features, self.factors, self.intercept_scaling)

    def _made(self) -> Iterator[tuple[slice, Design]]:
        """Yield blocks of rows whose features are there."""
        return self.blocks(self.feature_map.rows_at_once)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, Design]]:
        step = most_rows or self.feature_map.rows_at_once
        for start in range(0, self.n_samples, step):
            rows = slice(start, start + step)
            if step > self.feature_map.rows_at_once:
                yield rows, self.take(rows)
            else:
                features = self.feature_map.expand(self.X[rows])
                yield rows, ClippedDesign(features, self.factors[rows], self.intercept_scaling)


def expanded_scores(
    X: np.ndarray, feature_map: FeatureMap, data_norm: float, coef: np.ndarray
) -> np.ndarray:
    """Return Φ(x_i)·coef with rows of features clipped to `data_norm`, a block at a time.

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
    scores : ndarray of shape (n_samples, n_scores)
        *Private.*
    """
    rows = feature_map.prepare(X)
    scores = np.empty((len(rows), coef.shape[1]))
    for where, features in feature_map.blocks(rows):
        scores[where] = safe_sparse_dot(features, coef, dense_output=True)
        if not math.isinf(data_norm):
            scores[where] *= clip_factors(features, data_norm)[:, None]
    return scores


def _is_small(feature_map: FeatureMap, n_rows: int) -> bool:
    return 8 * n_rows * feature_map.n_entries <= _IN_MEMORY * feature_map.cost


def _rows(X: Any, rows: Any) -> Any:
    if isinstance(X, np.ndarray) and isinstance(rows, np.ndarray) and X.flags.c_contiguous:
        return X.take(rows, axis=0)
    return X[rows]
