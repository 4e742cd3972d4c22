"""The base class of transformers by a public feature map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.validation import (
    column_names,
    remember_names,
    validated_table,
)
from skdp.features.base import FeatureMap
from skdp.features.table import TableFacts

__all__ = ["PublicFeatures"]


class PublicFeatures(TransformerMixin, BaseEstimator):
    """A transformer that learns nothing: each row of its output is a public function of a row."""

    bounds: Any
    categories: Any
    transformation: Any
    missing: Any

    @abstractmethod
    def feature_map(self, n_columns: int, names: Sequence[Any] = ()) -> FeatureMap:
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

    def _facts(self, n_columns: int, names: Sequence[Any]) -> TableFacts:
        """Check the parameters, and return the public facts about the columns."""
        return TableFacts.of(
            n_columns,
            names,
            bounds=self.bounds,
            categories=self.categories,
            transformation=self.transformation,
            missing=self.missing,
        )

    @fit_of_columns
    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the parameters against the columns; nothing is learned.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            *Private.* Only its columns matter, and whether values are missing where that is
            refused.
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
    def transform(self, X: Any) -> Any:
        """Return the features of the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            *Private.* Numbers outside of their bounds are clipped; a category that is not known
            has no column.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features_out)
            *Private.* Of single precision where X is an array or frame of such numbers.
        """
        found, coded = self._mapped(X, reset=not hasattr(self, "n_features_in_"))
        dtype = np.float32 if coded.dtype == np.float32 else np.float64
        return found.whole(found.prepare(coded), dtype)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the features. ``None`` takes those of the frame in `fit`, or x0,
            x1, and so on.

        Returns
        -------
        ndarray of str
            One for each column.
        """
        names = _check_feature_names_in(self, input_features)
        return np.array(self._check_columns().names(names.tolist()), dtype=object)

    def _mapped(self, X: Any, *, reset: bool) -> tuple[FeatureMap, np.ndarray]:
        """Return the map and the coded table."""
        checked = validated_table(self, X, reset=reset)
        if reset:
            remember_names(self, X)
        found = self._check_columns()
        return found, found.coded(checked, column_names(self))

    def _takes_missing(self) -> bool:
        return bool(self.missing == "indicator")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = self._takes_missing()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
