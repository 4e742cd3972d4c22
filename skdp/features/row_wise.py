"""Transformers of scikit-learn that read one row at a time, as the features of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skdp.data.column import Column, is_missing
from skdp.data.columns import Columns
from skdp.features.base import FeatureMap
from skdp.features.public_features import PublicFeatures
from skdp.features.verdicts import check_row_wise
from skdp.support.public_words import public_words, unheard

__all__ = ["RowWiseMap", "feature_map_of"]

_LARGEST_VALUE = 1e100  # as of X itself


@dataclass(frozen=True, eq=False)
class RowWiseMap:
    """A transformer that was fitted to made-up rows, because it learns nothing from rows.

    Its input is a table of objects: numbers as floats, NaN for missing values, and all other values
    unchanged. So its output does not depend on the types of columns, which other rows can change.

    Parameters
    ----------
    transformer : object
        *Public.* As `check_row_wise` admits it, fitted.
    names : list
        *Public.* Names of the columns; empty if they have none.
    none : ndarray or CSR matrix of shape (0, n_features_out)
        *Public.* The features of no rows, for which transformers raise errors.
    """

    transformer: Any
    names: Sequence[Any]
    none: Any

    @property
    def n_features_out(self) -> int:
        """Number of features; public."""
        return int(self.none.shape[1])

    @classmethod
    def of(cls, transformer: Any, table: Any, names: Sequence[Any]) -> RowWiseMap:
        """Return the map for tables with these names and kinds of columns."""
        check_row_wise(transformer)
        columns = Columns.of(table, "X")
        n_rows = 3 if columns.n_columns == 2 else 2  # not one for each column, nor a single one
        for unknown in ("", 0.0):  # for an object column with missing values only
            row = [_made_up(part, unknown) for part in columns.parts]
            rows = _frame(np.array([row] * n_rows, dtype=object), names)
            try:
                with unheard():
                    fitted = clone(transformer).fit(rows)
                    found = _one_a_row(fitted.transform(rows), n_rows)
                return cls(fitted, names, _matrix(found)[:0])
            except (TypeError, ValueError, AttributeError) as error:
                reason = str(error)
        raise ValueError(f"features cannot be fitted to columns such as those of X: {reason}")

    def features(self, X: Any) -> Any:
        """Return the features of a table.

        Parameters
        ----------
        X : ndarray or frame of shape (n_samples, n_columns)
            *Private.*

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features_out)
            *Private.*
        """
        columns = Columns.of(X, "X")
        if not columns.n_rows:
            return self.none
        rows = np.empty((columns.n_rows, columns.n_columns), dtype=object)
        for j, part in enumerate(columns.parts):
            rows[:, j] = _objects(part)
        with public_words(), unheard():  # a warning would tell of values, as an error would
            found = self.transformer.transform(_frame(rows, self.names))
        is_whole = ~np.logical_or.reduce([part.read().missing() for part in columns.parts])
        return _finite(_matrix(_one_a_row(found, columns.n_rows)), is_whole)


def feature_map_of(features: Any, table: Any, names: Sequence[Any]) -> FeatureMap | RowWiseMap:
    """Return the map of a transformer, from public facts about the columns of a table.

    Parameters
    ----------
    features : object
        *Public.* One of `skdp.features`, or what `check_row_wise` admits.
    table : ndarray or frame of shape (n_samples, n_columns)
        *Private.* Only the number of its columns is read and, for transformers of scikit-learn,
        which of them hold text.
    names : sequence
        *Public.* Names of the columns; empty if they have none.

    Returns
    -------
    FeatureMap or RowWiseMap
        *Public.*
    """
    if isinstance(features, PublicFeatures):
        return features.feature_map(table.shape[1], names)
    return RowWiseMap.of(features, table, names)


def _one_a_row(found: Any, n_rows: int) -> Any:
    """Return features if there are as many as rows: a vectorizer of texts iterates over columns."""
    if found.shape[0] != n_rows:
        raise ValueError(
            "features must return one row for each row of X. To transform a column of strings, "
            "give its name to a ColumnTransformer."
        )
    return found


def _matrix(features: Any) -> Any:
    if sparse.issparse(features):
        return sparse.csr_matrix(features, dtype=np.float64)
    return np.asarray(features, dtype=np.float64)


def _finite(features: Any, is_whole: np.ndarray) -> Any:
    """Return features clipped to ±1e100, 0 in place of NaN that was made of values that are there.

    To refuse these instead would tell, at no cost, whether a value of one's choice occurs.
    """
    values = features.data if sparse.issparse(features) else features
    rows = np.repeat(is_whole, np.diff(features.indptr)) if values is not features else is_whole
    is_made = np.isnan(values) & rows.reshape(-1, *[1] * (values.ndim - 1))
    values = np.clip(np.where(is_made, 0.0, values), -_LARGEST_VALUE, _LARGEST_VALUE)
    if values.ndim == 2:
        return values
    return sparse.csr_matrix((values, features.indices, features.indptr), shape=features.shape)


def _made_up(part: Column, unknown: Any) -> Any:
    """Return a value of the kind that a column holds."""
    if part.kind in "biuf":
        return 0.0
    if part.holds_text():
        return ""
    return 0.0 if part.types() else unknown


def _objects(part: Column) -> Any:
    """Return values that do not depend on the type of the column."""
    if part.kind in "biuf":
        return part.floats().astype(object)
    values, nulls = part.read()
    found = np.array([_object(value) for value in values.tolist()] + [None], dtype=object)[:-1]
    if nulls is not None:
        found[nulls] = np.nan
    return found


def _object(value: Any) -> Any:
    if is_missing(value):
        return np.nan
    return float(value) if isinstance(value, Real) else value


def _frame(rows: np.ndarray, names: Sequence[Any]) -> Any:
    if not names:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names), dtype=object)
