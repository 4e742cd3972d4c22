"""The rows of a table, of which a public feature map makes features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp.design import Design, ExpandedDesign, TabulatedDesign, expanded_scores
from skdp.features.base import FeatureMap
from skdp.features.tabulated import TabulatedMap

__all__ = ["MappedRows"]


@dataclass(frozen=True, eq=False, repr=False)
class MappedRows:
    """The features of a coded table X by a public map."""

    X: np.ndarray
    feature_map: FeatureMap

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        return self.feature_map.n_features_out

    def design(self, data_norm: float, intercept_scaling: float, targets: Any) -> Design:
        read = self.feature_map.for_fits()
        kind = TabulatedDesign if isinstance(read, TabulatedMap) else ExpandedDesign
        return kind.clip(self.X, read, data_norm, intercept_scaling, targets)

    def take(self, rows: np.ndarray, targets: Any) -> tuple[MappedRows, np.ndarray]:
        return replace(self, X=self.X[rows]), targets[rows]

    def joined(self, others: Sequence[MappedRows]) -> MappedRows:
        """Return these rows and those of others."""
        return replace(self, X=np.concatenate([self.X, *(one.X for one in others)]))

    def matrix(self) -> Any:
        return self.feature_map.whole(self.feature_map.prepare(self.X))

    def mapped(self, feature_map: FeatureMap) -> MappedRows:
        """Return the features of the same rows by another map, which codes tables alike."""
        return replace(self, feature_map=feature_map)

    def total(self, function: Callable[[np.ndarray], Any]) -> Any:
        """Return a function of the coded table."""
        return function(self.X)

    def products(self, coef: Any, data_norm: float) -> np.ndarray:
        return expanded_scores(self.X, self.feature_map, data_norm, coef)
