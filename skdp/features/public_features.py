"""The base class of transformers by a public feature map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in

from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.validation import (
    column_names,
    remember_names,
    validated_table,
)
from skdp.features.base import FeatureMap
from skdp.features.table import TableFacts
from skdp.support.types import Bounds, Categories, MatrixLike, Transformation, VectorLike

__all__ = ["PublicFeatures"]


class PublicFeatures(TransformerMixin, BaseEstimator):
    """A transformer that learns nothing: each row of its output is a public function of a row."""

    bounds: Bounds | None
    categories: Categories | None
    transformation: Transformation | None
    missing: str

    @abstractmethod
    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> FeatureMap:
        """Return the lazy map that the parameters describe, from public facts alone.

        Parameters
        ----------
        n_columns : int
            *Public.* Number of columns of the table.
        names : sequence, default ()
            *Public.* Names of the columns; empty if they have none.

        Returns
        -------
        FeatureMap
            *Public.* What a linear model expands rows with.
        """

    def _facts(self, n_columns: int, names: Sequence[Hashable]) -> TableFacts:
        return TableFacts.of(
            n_columns,
            names,
            bounds=self.bounds,
            categories=self.categories,
            transformation=self.transformation,
            missing=self.missing,
        )

    @fit_of_columns
    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Check the parameters against the columns; nothing is learned.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            *Private.* Only its columns matter, and missing values if ``missing="error"``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.
        """
        self._mapped(X, reset=True)
        return self

    def _check_columns(self) -> FeatureMap:
        """Return the map, after checks of the parameters against the columns."""
        return self.feature_map(self.n_features_in_, column_names(self))

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> MatrixLike:
        """Return the features of the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            *Private.* Numbers outside their bounds are clipped; an unknown category has no column.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features_out)
            *Private.* Of single precision if X is an array or frame of such numbers.
        """
        found, coded = self._mapped(X, reset=not hasattr(self, "n_features_in_"))
        dtype = np.float32 if coded.dtype == np.float32 else np.float64
        return found.whole(found.prepare(coded), dtype)

    def get_feature_names_out(self, input_features: VectorLike = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the columns of X. ``None``: those of `fit`, or x0, x1, and so on.

        Returns
        -------
        ndarray of str
            One for each column.
        """
        names, found = _check_feature_names_in(self, input_features), self._check_columns()
        known = names.tolist() if found.facts.encoding is None else found.facts.names
        return np.array(found.names(known), dtype=object)

    def _mapped(self, X: MatrixLike, *, reset: bool) -> tuple[FeatureMap, np.ndarray]:
        """Return the map and the coded table."""
        checked = validated_table(self, X, reset=reset)
        if reset:
            remember_names(self, X)
        found = self._check_columns()
        return found, found.coded(checked, column_names(self))

    def _takes_missing(self) -> bool:
        return bool(self.missing == "indicator")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = self._takes_missing()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
