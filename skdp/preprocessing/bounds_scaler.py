"""Scaling by bounds that are known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from skdp._columns import column_bounds

__all__ = ["BoundsScaler"]


class BoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map each feature from its public bounds to [−1, 1]; values outside are clipped.

    It learns nothing: `fit` looks at the columns, and that values are finite, and keeps none of
    it, so that a pipeline which begins with it is as private as the estimator at its end. (A
    `StandardScaler` or `MinMaxScaler` measures the data, and keeps that without noise.)

    Parameters
    ----------
    bounds : pair (low, high), or one pair per feature
        *Public.* Either two numbers or arrays of shape (n_features,), in the units of X; or, for
        other than two features, an array of shape (n_features, 2). They must come from knowledge
        about the features, never from the data.

    Raises
    ------
    ValueError
        If a bound is missing, not finite, or low ≥ high.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighbouring inputs give neighbouring outputs.

    Examples
    --------
    >>> from skdp.preprocessing import BoundsScaler
    >>> BoundsScaler(bounds=([0, 10], [100, 20])).fit_transform([[25.0, 15.0], [200.0, 20.0]])
    array([[-0.5,  0. ],
           [ 1. ,  1. ]])
    """

    def __init__(self, bounds: Any) -> None:
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None) -> BoundsScaler:
        """Check the bounds against the number of columns; the values of X are not used."""
        X = validate_data(self, X)
        column_bounds(self.bounds, X.shape[1])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scaled rows, of shape (n_samples, n_features)."""
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], reset=not hasattr(self, "n_features_in_")
        )
        low, high = column_bounds(self.bounds, X.shape[1])
        scaled = np.clip(X, low.astype(X.dtype), high.astype(X.dtype))
        scaled -= 0.5 * (low + high)
        scaled /= 0.5 * (high - low)
        return np.clip(scaled, -1.0, 1.0, out=scaled)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
