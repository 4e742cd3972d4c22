"""Directions and scales of public rows."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import gdp_mu
from skdp.data.lazy import lazy_on_blocks
from skdp.data.validation import column_names, refuse_collections, refuse_missing, validated_numbers
from skdp.support.types import MatrixLike
from skdp.support.validation import check_count, check_real

__all__ = ["PublicDirections"]

# No guarantee rests on these numbers. Measurements: *Public rows as a prior* in the documentation.
_SIGNAL = 12.0  # n·μ for each direction that is kept
_FEWEST = 8  # directions: fewer of them depend much on which rows are public
_DELTA = 1e-5  # typical; μ hardly depends on it
_LONG = 0.1  # share of the public rows whose image is shorter than 1
_CONSTANT = 1e-6  # of the largest deviation, below which a direction has no scale


class PublicDirections(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project rows on the principal directions of public rows, for a private model with few rows.

    It learns from *public* rows only: an earlier extract, a published sample, rows of volunteers.
    Freeze it after `fit`, so that a pipeline does not fit it to private rows::

        prior = PublicDirections(n_samples_hint=1000).fit(X_public)
        model = DPLogisticRegression(n_samples_hint=1000)
        make_private_pipeline(FrozenEstimator(prior), model, epsilon=1.0)

    Rows of X_public must not be of persons in the private rows.

    Parameters
    ----------
    n_components : "auto" or int, default "auto"
        *Public.* Number of directions. ``"auto"`` keeps n·μ/12 of them, at least 8. Rows are left
        as they are where this gains little: if these are more than half of the columns, there are
        fewer than 24 columns, or most columns have at most two public values, as categories have.
    n_samples_hint : float or None, default None
        *Public.* Expected number n of private rows. Required for ``"auto"``. If n is private, pass
        a guess, never the number itself.
    epsilon_hint : float, default 1.0
        *Public.* ε of the private fit, for ``"auto"``. It spends nothing. With δ = 1e-5 it gives
        the Gaussian-DP parameter μ.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,) or None
        *Public.* Mean of the public rows. ``None`` if rows are left as they are.
    components_ : ndarray of shape (n_components_, n_features_in_)
        *Public.* Directions, each divided by the root of its standard deviation, all by one number
        that gives most public rows a norm above 1.
    n_components_ : int
        *Public.* Number of columns of the output.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the column names of X_public are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public rows, so
    neighboring inputs give neighboring outputs. Public rows have no protection.
    `skdp.pipeline.check_pipeline` reports an instance that is not frozen, and
    `make_private_pipeline` rejects it.

    Columns should have comparable units: put `BoundsScaler` in front, and fit to public rows that
    it has scaled. Private models clip rows to `data_norm`, which should be 1, the default.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skdp import DPLogisticRegression
    >>> from skdp.pipeline import make_private_pipeline
    >>> from skdp.preprocessing import PublicDirections
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(700, 40)) * np.geomspace(1.0, 0.01, 40)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> prior = PublicDirections(n_samples_hint=500).fit(X[:200])
    >>> prior.n_components_
    12
    >>> model = make_private_pipeline(FrozenEstimator(prior), DPLogisticRegression(), epsilon=1.0)
    >>> bool(model.fit(X[200:], y[200:]).score(X[:200], y[:200]) > 0.8)
    True
    """

    def __init__(
        self,
        *,
        n_components: int | str = "auto",
        n_samples_hint: float | None = None,
        epsilon_hint: float = 1.0,
    ) -> None:
        self.n_components = n_components
        self.n_samples_hint = n_samples_hint
        self.epsilon_hint = epsilon_hint

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Learn the mean and the directions of public rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Public*, never private rows. Finite numbers; at least two rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If a parameter is wrong, or X has missing values or fewer than two different rows.
        """
        refuse_collections(self, X)
        wanted = self._wanted()
        X = self._numbers(X, reset=True)
        if len(X) < 2:
            raise ValueError("X must have at least two public rows, got one sample or none.")
        if self.n_components == "auto" and not _gains(X, wanted):
            self.mean_, self.components_ = None, np.eye(X.shape[1])
        else:
            self.mean_ = X.mean(axis=0)
            self.components_ = _scaled(X - self.mean_, wanted)
            if not len(self.components_):
                raise ValueError("All public rows are equal, so they show no direction.")
        self.n_components_ = len(self.components_)
        return self

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the rows along the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            *Private.*
        """
        check_is_fitted(self, "components_")
        X = self._numbers(X, reset=False)
        return X if self.mean_ is None else (X - self.mean_) @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _numbers(self, X: MatrixLike, *, reset: bool) -> np.ndarray:
        X = validated_numbers(self, X, reset=reset)
        refuse_missing(X, column_names(self))
        return X

    def _wanted(self) -> int:
        """Return the number of directions to keep, if there are as many."""
        if self.n_components != "auto":
            return check_count("n_components", self.n_components)
        epsilon = check_real("epsilon_hint", self.epsilon_hint, low=0.0)
        if self.n_samples_hint is None:
            raise ValueError(
                "n_components='auto' needs n_samples_hint, the expected number of private rows. "
                "Otherwise pass a number of directions."
            )
        n = check_real("n_samples_hint", self.n_samples_hint, low=0.0)
        return max(_FEWEST, math.ceil(n * gdp_mu(epsilon, _DELTA) / _SIGNAL))


def _gains(X: np.ndarray, wanted: int) -> bool:
    """Return whether few directions of many columns are kept, and most columns are measurements."""
    n_columns = X.shape[1]
    n_values = np.array([np.unique(column).size for column in X.T])
    few = 2 * wanted <= n_columns and n_columns >= 3 * _FEWEST
    return few and bool(np.mean(n_values > 2) >= 0.5)


def _scaled(centered: np.ndarray, n: int) -> np.ndarray:
    """Return at most n principal directions, each divided by the root of its deviation."""
    _, singular, directions = np.linalg.svd(centered, full_matrices=False)
    deviations = singular / np.sqrt(len(centered) - 1)
    n = min(n, int(np.sum(deviations > _CONSTANT * deviations[0])))
    scaled = directions[:n] / np.sqrt(deviations[:n, None])
    lengths = np.linalg.norm(centered @ scaled.T, axis=1)
    return scaled / np.quantile(lengths[lengths > 0.0], _LONG) if n else scaled
