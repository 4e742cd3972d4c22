"""scikit-learn transformers that read one row at a time, as the features of a linear model."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from skdp.data.column import Column, as_float, is_missing
from skdp.data.columns import Columns
from skdp.features.auto import AutoFeatures, AutoMap
from skdp.features.base import FeatureMap
from skdp.features.public_features import PublicFeatures
from skdp.features.row_wise_conditions import check_row_wise
from skdp.support.public_words import public_words
from skdp.support.types import MatrixLike

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
        *Public.* Fitted; `check_row_wise` admits it.
    names : list
        *Public.* Names of the columns; empty if they have none.
    none : ndarray or CSR matrix of shape (0, n_features_out)
        *Public.* The features of no rows, which transformers reject.
    """

    transformer: BaseEstimator
    names: Sequence[Hashable]
    none: MatrixLike

    @property
    def n_features_out(self) -> int:
        """*Public.* Number of features."""
        return int(self.none.shape[1])

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the features, if the transformer names them."""
        return self.transformer.get_feature_names_out()

    @classmethod
    def of(
        cls, transformer: BaseEstimator, table: MatrixLike, names: Sequence[Hashable]
    ) -> RowWiseMap:
        """Return the map for tables with these names and kinds of columns."""
        check_row_wise(transformer)
        columns = Columns.of(table, "X")
        n_rows = 3 if columns.n_columns == 2 else 2  # not one for each column, nor a single one
        for unknown in ("", 0.0):  # for an object column with missing values only
            row = [_made_up(part, unknown) for part in columns.parts]
            rows = _frame(np.array([row] * n_rows, dtype=object), names)
            try:
                with warnings.catch_warnings(action="ignore"):
                    fitted = clone(transformer).fit(rows)
                    found = _one_a_row(fitted.transform(rows), n_rows)
                return cls(fitted, names, _matrix(found)[:0])
            except (TypeError, ValueError, AttributeError) as error:
                reason = str(error)
        raise ValueError(f"features cannot be fitted to columns such as those of X: {reason}")

    def features(self, X: MatrixLike) -> MatrixLike:
        """Return the features of a table, one row for each of its rows: *private*."""
        columns = Columns.of(X, "X")
        if not columns.n_rows:
            return self.none
        rows = np.empty((columns.n_rows, columns.n_columns), dtype=object)
        for j, part in enumerate(columns.parts):
            rows[:, j] = _objects(part)
        with (
            public_words(),
            warnings.catch_warnings(action="ignore"),
        ):  # a warning could reveal values, as an error could
            found = self.transformer.transform(_frame(rows, self.names))
        is_whole = ~np.logical_or.reduce([part.missing() for part in columns.parts])
        return _finite(_matrix(_one_a_row(found, columns.n_rows)), is_whole)


def feature_map_of(
    features: BaseEstimator, table: MatrixLike, names: Sequence[Hashable]
) -> FeatureMap | AutoMap | RowWiseMap:
    """Return the map of a transformer, from public facts about the columns of a table.

    Only the number of columns is read and, for transformers of scikit-learn, which columns hold
    text.
    """
    if isinstance(features, str):
        raise ValueError(
            f"features cannot be a string, got {features!r}. To let the model choose, "
            "pass features=AutoFeatures(bounds=..., categories=...), or use DPTabularClassifier or "
            "DPTabularRegressor."
        )
    if isinstance(features, AutoFeatures):
        return features.auto_map(table.shape[1], names)
    if isinstance(features, PublicFeatures):
        return features.feature_map(table.shape[1], names)
    return RowWiseMap.of(features, table, names)


def _one_a_row(found: MatrixLike, n_rows: int) -> MatrixLike:
    """Return features, after a check of their number: a text vectorizer iterates over columns."""
    if found.shape[0] != n_rows:
        raise ValueError(
            "features must return one row for each row of X. To transform a column of strings, "
            "give its name to a ColumnTransformer."
        )
    return found


def _matrix(features: MatrixLike) -> MatrixLike:
    if sparse.issparse(features):
        return sparse.csr_matrix(features, dtype=np.float64)
    return np.asarray(features, dtype=np.float64)


def _finite(features: MatrixLike, is_whole: np.ndarray) -> MatrixLike:
    """Return features clipped to ±1e100, with 0 for NaN computed from values that are not missing.

    An error for these would reveal, without cost, whether a chosen value occurs.
    """
    values = features.data if sparse.issparse(features) else features
    rows = np.repeat(is_whole, np.diff(features.indptr)) if values is not features else is_whole
    is_made = np.isnan(values) & rows.reshape(-1, *[1] * (values.ndim - 1))
    values = np.clip(np.where(is_made, 0.0, values), -_LARGEST_VALUE, _LARGEST_VALUE)
    if values.ndim == 2:
        return values
    return sparse.csr_matrix((values, features.indices, features.indptr), shape=features.shape)


def _made_up(part: Column, unknown: str | float) -> str | float:
    """Return a value of the kind that a column holds."""
    if part.kind in "biuf":
        return 0.0
    if part.holds_text():
        return ""
    return 0.0 if part.types() else unknown


def _objects(part: Column) -> np.ndarray:
    """Return the values of a column as objects that do not depend on its type."""
    found = part.objects()
    for i, value in enumerate(found):
        found[i] = _object(value)
    return found


def _object(value: object) -> object:
    """Return a number as a float and a time as one of Python, to the microsecond."""
    if is_missing(value):
        return np.nan
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value.astype(f"{value.dtype.kind}8[us]").item()
    # A category of 0 may also stand for −0.0: pandas keeps the first that it finds.
    return as_float(value) + 0.0 if isinstance(value, Real) else value


def _frame(rows: np.ndarray, names: Sequence[Hashable]) -> MatrixLike:
    if not names:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names), dtype=object)
