"""Additive features beside others, each with a public share of the squared norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skdp.features.additive import AdditiveMap
from skdp.features.base import FeatureMap
from skdp.features.fourier import FourierMap
from skdp.features.table import TableFacts
from skdp.features.trees import TreeMap

__all__ = ["MixtureMap"]


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Rows of what two maps have prepared."""

    additive: np.ndarray
    other: np.ndarray

    def __len__(self) -> int:
        return len(self.other)

    def __getitem__(self, rows: Any) -> _Rows:
        return _Rows(self.additive[rows], self.other[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureMap(FeatureMap):
    """[√s·a/max(1, |a|), √(1 − s)·b], of additive features a and of features b of norm 1.

    Parameters
    ----------
    additive : AdditiveMap
        *Public.*
    other : FourierMap or TreeMap
        *Public.* Of the same table.
    additive_share : float in [0, 1]
        *Public.* s. At 0 and 1 there are no features of share 0.
    """

    additive: AdditiveMap
    other: FourierMap | TreeMap
    additive_share: float

    @property
    def facts(self) -> TableFacts:  # type: ignore[override]
        return self.other.facts

    @property
    def n_features_out(self) -> int:
        return self.additive.n_features_out + self.other.n_features_out

    @property
    def n_entries(self) -> int:
        return self.additive.n_features_out + self.other.n_entries

    @property
    def is_sparse(self) -> bool:
        return self.other.is_sparse

    @property
    def cost(self) -> int:
        return 8

    def prepare(self, X: np.ndarray) -> Any:
        return _Rows(self.additive.prepare(X), self.other.prepare(X))

    def expand(self, rows: Any) -> Any:
        first, second = self.additive.expand(rows.additive), self.other.expand(rows.other)
        first = first * (math.sqrt(self.additive_share) / _lengths(first))[:, None]
        second = second * math.sqrt(1.0 - self.additive_share)
        if self.is_sparse:
            return _side_by_side(first, second, self.other.n_entries)
        return np.concatenate([first.T, second.T]).T

    def names(self, columns: Sequence[Any]) -> list[str]:
        return self.additive.names(columns) + self.other.names(columns)


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Return max(1, |row|)."""
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", rows, rows), 1.0))


def _side_by_side(
    first: np.ndarray, second: sparse.csr_matrix, n_entries: int
) -> sparse.csr_matrix:
    """Return dense columns and, behind them, sparse ones with `n_entries` in each row."""
    n, m = first.shape
    indices = np.tile(np.arange(m, dtype=np.int32), (n, 1))
    indices = np.hstack([indices, second.indices.reshape(n, n_entries) + np.int32(m)])
    entries = np.hstack([first, second.data.reshape(n, n_entries)])
    starts = np.arange(0, entries.size + 1, entries.shape[1])
    shape = (n, m + second.shape[1])
    return sparse.csr_matrix((entries.ravel(), indices.ravel(), starts), shape=shape, copy=False)
