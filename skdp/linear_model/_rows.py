"""The rows that a linear model reads: those of a matrix, or of a public map of a table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skdp._data_validation import column_names, remember_names, validated_table
from skdp._feature_maps import FeatureMap
from skdp.design import ClippedDesign, Design, ExpandedDesign, clip_factors, expanded_scores
from skdp.privacy import PrivacyGuarantee

__all__ = ["MappedModel", "MappedRows", "MatrixRows", "Rows"]


class Rows(Protocol):
    """Validated rows, as many as there are targets."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns, the intercept's aside; public."""

    def design(self, data_norm: float, intercept_scaling: float) -> Design:
        """Return the clipped rows, as a solver sees them."""

    def matrix(self) -> Any:
        """Return all rows, not clipped."""

    def products(self, coef: Any, data_norm: float) -> np.ndarray:
        """Return the products of the clipped rows and coefficients (n_columns, n_scores)."""


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """The rows of X, an array or CSR matrix."""

    X: Any

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def design(self, data_norm: float, intercept_scaling: float) -> Design:
        return ClippedDesign.clip(self.X, data_norm, intercept_scaling)

    def matrix(self) -> Any:
        return self.X

    def products(self, coef: Any, data_norm: float) -> np.ndarray:
        scores = safe_sparse_dot(self.X, coef, dense_output=True)
        if not math.isinf(data_norm):
            scores *= clip_factors(self.X, data_norm)[:, None]
        return np.asarray(scores)


@dataclass(frozen=True, eq=False)
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

    def design(self, data_norm: float, intercept_scaling: float) -> Design:
        return ExpandedDesign.clip(self.X, self.feature_map, data_norm, intercept_scaling)

    def matrix(self) -> Any:
        return self.feature_map.whole(self.feature_map.prepare(self.X))

    def products(self, coef: Any, data_norm: float) -> np.ndarray:
        return expanded_scores(self.X, self.feature_map, data_norm, coef)


class MappedModel:
    """A linear model of the features of a public map, for tables of numbers and categories.

    Among the bases of a class it stands before the linear model.
    """

    feature_map_: FeatureMap

    @abstractmethod
    def _feature_map(self, n_columns: int, names: Sequence[Any]) -> FeatureMap:
        """Return the map by the parameters, all of them public, for columns of these names."""

    def _rows(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """Return the rows of a table, and y if it is given."""
        given = () if y is None else (y,)
        checked = validated_table(self, X, *given, reset=reset)
        if reset:
            remember_names(self, X)
        found = self._new_map() if reset else self.feature_map_
        table = checked[0] if given else checked
        rows = MappedRows(found.facts.coded(table, column_names(self)), found)
        return (rows, checked[1]) if given else rows

    def _new_map(self) -> FeatureMap:
        return self._feature_map(vars(self)["n_features_in_"], column_names(self))

    def _publish(self, plan: Any, records: Any, released: Any, guarantee: PrivacyGuarantee) -> Any:
        self.feature_map_ = records.rows.feature_map
        return super()._publish(plan, records, released, guarantee)  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags
