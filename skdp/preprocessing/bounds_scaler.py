"""Scaling by public bounds."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp.data.column_facts import ColumnBounds
from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.validation import (
    bounds_of_columns,
    encoding_for,
    model_columns,
    refuse_missing,
    validated_numbers,
)
from skdp.support.types import Bounds, MatrixLike, VectorLike
from skdp.support.validation import check_choice

__all__ = ["BoundsScaler"]

_MISSING = ("error", "middle", "indicator")
_OF_TEXT = (
    " Instead of this scaler, pass features=AdditiveFeatures(bounds=..., categories=...) to a "
    "linear model."
)


class BoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map each feature from its public bounds to [−1, 1]; values outside are clipped.

    It learns nothing from the data, so that a pipeline is as private with it as without. (A
    `StandardScaler` or `MinMaxScaler` learns from the data without noise.)

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    missing : {"error", "middle", "indicator"}, default "error"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``. ``"error"`` raises ValueError.
        ``"middle"`` replaces them by the middle of the bounds, 0 in the output. ``"indicator"``
        also appends a column for each feature, 1 if the value is missing and −1 if not.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs. The error of ``missing="error"`` reveals that a
    value is missing; the other two options reveal nothing.

    Examples
    --------
    >>> from skdp.preprocessing import BoundsScaler
    >>> BoundsScaler(bounds=([0, 10], [100, 20])).fit_transform([[25.0, 15.0], [200.0, 20.0]])
    array([[-0.5,  0. ],
           [ 1. ,  1. ]])
    >>> BoundsScaler(bounds={0: (0, 100)}, missing="indicator").fit_transform([[25.0], [None]])
    array([[-0.5, -1. ],
           [ 0. ,  1. ]])
    """

    def __init__(self, *, bounds: Bounds | None = None, missing: str = "error") -> None:
        self.bounds = bounds
        self.missing = missing

    @fit_of_columns
    def fit(self, X: MatrixLike, y: None = None) -> BoundsScaler:
        """Check the bounds against the columns; nothing is learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Only its columns matter, and with ``missing="error"`` missing values.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The scaler.
        """
        self._rows(X, reset=True)
        return self

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the scaled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside of the bounds are clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or twice as many features
            *Private.* In [−1, 1]; with ``missing="indicator"`` the second half are indicators.
        """
        X, bounds = self._rows(X, reset=not hasattr(self, "n_features_in_"))
        middle, half = bounds.middle, bounds.half
        scaled = np.clip(X, bounds.low.astype(X.dtype), bounds.high.astype(X.dtype))
        scaled -= middle
        scaled /= half
        np.clip(scaled, -1.0, 1.0, out=scaled)
        if self.missing == "error":
            return scaled
        unknown = np.isnan(X)
        scaled[unknown] = 0.0
        if self.missing == "middle":
            return scaled
        return np.hstack([scaled, np.where(unknown, 1.0, -1.0).astype(X.dtype)])

    def get_feature_names_out(self, input_features: VectorLike | None = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the features. ``None``: the names in `fit`, or x0, x1, and so on.

        Returns
        -------
        ndarray of str
            The names of the features, and of indicators, such as ``missing_x0``. Columns that a
            schema leaves out have no names.
        """
        names = super().get_feature_names_out(input_features)
        if (encoding := encoding_for(self)) is not None:
            names = np.array(encoding.encoded_names, dtype=object)
        if self.missing != "indicator":
            return names
        return np.concatenate([names, [f"missing_{name}" for name in names]]).astype(object)

    def to_sklearn(self) -> Pipeline:
        """Return the fitted scaler as a pipeline of scikit-learn's own objects.

        Returns
        -------
        Pipeline
            *Public.* A `MinMaxScaler` that clips, with ``missing="middle"`` followed by a
            `SimpleImputer`. See *Deployment without skdp* in the user guide.

        Raises
        ------
        ValueError
            If `missing` is "indicator", or `bounds` is a TableSchema.
        """
        check_is_fitted(self, "n_features_in_")
        if self.missing == "indicator":
            raise ValueError("to_sklearn is for missing='error' or 'middle', got 'indicator'.")
        if encoding_for(self) is not None:
            raise ValueError("to_sklearn needs bounds that are not a TableSchema.")
        bounds = self._check_columns()
        scaler = MinMaxScaler(feature_range=(-1, 1), clip=True).fit([bounds.low, bounds.high])
        if hasattr(self, "feature_names_in_"):
            scaler.feature_names_in_ = self.feature_names_in_
        if self.missing == "error":
            return make_pipeline(scaler)
        middle = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
        return make_pipeline(scaler, middle.fit(np.zeros((1, self.n_features_in_))))

    def output_units(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the center and the scale of the columns of the output.

        Returns
        -------
        center, scale : ndarray of shape (n_features_out,)
            *Public.* A feature is center + scale·(its scaled column). Indicators are their own
            units.
        """
        check_is_fitted(self, "n_features_in_")
        bounds = self._check_columns()
        n = len(bounds.half) if self.missing == "indicator" else 0
        return np.append(bounds.middle, np.zeros(n)), np.append(bounds.half, np.ones(n))

    def _rows(self, X: MatrixLike, *, reset: bool) -> tuple[np.ndarray, ColumnBounds]:
        """Return the rows as floats and the bounds, after all checks."""
        X = validated_numbers(self, X, reset=reset, dtype=[np.float64, np.float32], advice=_OF_TEXT)
        bounds = self._check_columns()
        if self.missing == "error":
            refuse_missing(X, model_columns(self)[1])
        return X, bounds

    def _check_columns(self) -> ColumnBounds:
        check_choice("missing", self.missing, _MISSING)
        encoding = encoding_for(self)
        if self.missing == "error" and encoding is not None:
            encoding.check_none_missing()
        return bounds_of_columns(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
