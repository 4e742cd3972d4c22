"""Transformers that learn nothing from private rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import gdp_mu
from skdp.data.column_facts import ColumnBounds
from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.schema import TableSchema
from skdp.data.validation import (
    bounds_of_columns,
    column_names,
    model_columns,
    refuse_collections,
    refuse_missing,
    validated,
    validated_numbers,
    validated_table,
)
from skdp.design import clip_factors
from skdp.features.additive import AdditiveFeatures, AdditiveMap
from skdp.features.plain import additive_steps, linear, minus
from skdp.support.types import Bounds, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count, check_real, check_size, parameters

_MISSING = ("error", "middle", "indicator")
_OF_TEXT = (
    " Instead of this scaler, pass features=AdditiveFeatures(bounds=..., categories=...) to a "
    "linear model."
)


@dataclass(frozen=True)
class _Columns:
    """Columns of a scaled table as linear functions of the straight features of its schema.

    Feature `kept` of each column is multiplied by 2 and reduced by 1 in indicators of missing
    values, and reduced by the feature `less`, if this is not −1, in columns of booleans.
    """

    features: AdditiveMap  # *public*
    kept: np.ndarray  # *public*
    less: np.ndarray  # *public*
    n_indicators: int  # *public*; the last columns

    @classmethod
    def of_lines(cls, features: AdditiveMap, has_indicators: bool) -> Self:
        """Return a column for each number, boolean and category, in the order of the schema."""
        facts, kept, less = features.facts, list[int](), list[int]()
        spans = sorted((j, place) for (j,), place in features.spans)
        for j, place in spans:
            last = place.stop - facts.has_missing
            is_boolean = j in facts.categories and facts.categories[j].dtype == bool
            kept += [place.start + 1] if is_boolean else range(place.start, last)
            less += [place.start if is_boolean else -1] * (1 if is_boolean else last - place.start)
        more = [place.stop - 1 for _, place in spans] if has_indicators else []
        both = np.array([*kept, *more]), np.array([*less, *[-1] * len(more)])
        return cls(features, *both, len(more))

    @property
    def _places(self) -> np.ndarray:
        """The features of numbers."""
        spans = self.features.spans[: self.features.facts.numbers.size]
        return np.array([place.start for _, place in spans], dtype=int)

    @property
    def names(self) -> np.ndarray:
        names = self.features.get_feature_names_out()[self.kept]
        is_boolean = self.less >= 0
        names[is_boolean] = [name.removesuffix("_True") for name in names[is_boolean]]
        return names

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the *private* columns of coded rows."""
        facts, lines = self.features.facts, self.features.whole(rows, rows.dtype)
        numbers = facts.bounds.unit(rows[:, facts.numbers])  # the bits of bounds without a schema
        is_linear = np.isinf(facts.units)
        lines[:, self._places[is_linear]] = numbers[:, is_linear]
        found, is_boolean = lines[:, self.kept], self.less >= 0
        found[:, is_boolean] -= lines[:, self.less[is_boolean]]
        indicators = found[:, found.shape[1] - self.n_indicators :]
        indicators *= 2.0
        indicators -= 1.0
        return np.asarray(found)

    def steps(self) -> list[BaseEstimator]:
        """Return steps of scikit-learn to the columns."""
        eye = np.eye(self.features.n_features_out)
        matrix = eye[self.kept] - np.where(self.less[:, None] < 0, 0.0, eye[self.less])
        bias = np.arange(self.kept.size) >= self.kept.size - self.n_indicators
        return [
            *additive_steps(self.features, None),
            linear((matrix.T * (1.0 + bias)).T),
            minus(1.0 * bias),
        ]

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the center and the scale of the columns."""
        facts, shape = self.features.facts, self.features.n_features_out
        center, scale = np.zeros(shape), np.ones(shape)
        places, is_linear = self._places, np.isinf(facts.units)
        center[places] = np.where(is_linear, facts.bounds.middle, 0.0)
        scale[places] = np.where(is_linear, facts.bounds.half, 1.0)
        boolean = 0.5 * (self.less >= 0)
        return center[self.kept] + boolean, scale[self.kept] - boolean


@parameters
class BoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map each feature from its public bounds to [−1, 1]; values outside are clipped.

    It learns nothing from the data, so that a pipeline is as private with it as without. (A
    `StandardScaler` or `MinMaxScaler` learns from the data without noise.) Numbers and
    dates of a `TableSchema` are on their scales, booleans are −1 or 1, and a category is a 1 in a
    column of its own.

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
    >>> import pandas as pd
    >>> from skdp import TableSchema
    >>> table = pd.DataFrame({"age": [25, 80], "smoker": ["no", None]})
    >>> schema = TableSchema({"age": (0, 100), "smoker": ["yes", "no"]})
    >>> scaler = BoundsScaler(bounds=schema, missing="middle").fit(table)
    >>> pd.DataFrame(scaler.transform(table), columns=scaler.get_feature_names_out())
       age  smoker_yes  smoker_no
    0 -0.5         0.0        1.0
    1  0.6         0.0        0.0
    """

    bounds: Bounds | None = None
    missing: str = "error"

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
        if isinstance(self.bounds, TableSchema):
            self._of_schema(X, reset=True)
        else:
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
        first = not hasattr(self, "n_features_in_")
        if isinstance(self.bounds, TableSchema):
            return self._of_schema(X, reset=first)
        X, bounds = self._rows(X, reset=first)
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

    def _of_schema(self, X: MatrixLike, *, reset: bool) -> np.ndarray:
        """Return the rows as columns of the schema."""
        validated_table(self, X, reset=reset)
        columns = self._columns()
        rows = columns.features.facts.coded(X)
        return columns.of(rows)

    def _columns(self) -> _Columns:
        """Return the columns that a schema has in the output."""
        check_choice("missing", self.missing, _MISSING)
        missing = "error" if self.missing == "error" else "indicator"
        lines = AdditiveFeatures(bounds=self.bounds, missing=missing, linear_share=1.0)
        found = lines.feature_map(self.n_features_in_, column_names(self))
        return _Columns.of_lines(found, self.missing == "indicator")

    def get_feature_names_out(self, input_features: VectorLike | None = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the features. ``None``: the names in `fit`, or x0, x1, and so on.

        Returns
        -------
        ndarray of str
            The names of the features, and of indicators, such as ``missing_x0``.
        """
        names = super().get_feature_names_out(input_features)
        if isinstance(self.bounds, TableSchema):
            return self._columns().names
        if self.missing != "indicator":
            return names
        return np.concatenate([names, [f"missing_{name}" for name in names]]).astype(object)

    def to_sklearn(self) -> Pipeline:
        """Return the fitted scaler as a pipeline of scikit-learn's own objects.

        Returns
        -------
        Pipeline
            *Public.* A `MinMaxScaler` that clips, with ``missing="middle"`` followed by a
            `SimpleImputer`; with a schema, steps of pandas before them. See *Deployment without
            skdp* in the user guide.

        Raises
        ------
        ValueError
            If `missing` is "indicator" without a schema, or scikit-learn cannot read a column.
        """
        check_is_fitted(self, "n_features_in_")
        if isinstance(self.bounds, TableSchema):
            return make_pipeline(*self._columns().steps())
        if self.missing == "indicator":
            raise ValueError("to_sklearn is for missing='error' or 'middle', got 'indicator'.")
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
            *Public.* A feature is center + scale·(its scaled column). Indicators, categories and
            logarithms are their own units.
        """
        check_is_fitted(self, "n_features_in_")
        if isinstance(self.bounds, TableSchema):
            return self._columns().units()
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
        return bounds_of_columns(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@parameters
class RowClipper(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale rows down to an l2 norm of at most `max_norm`; it learns nothing.

    Private estimators clip rows themselves. Use this class to see the same rows, or to pass them to
    a non-private model. (`sklearn.preprocessing.Normalizer` also scales short rows up.)

    Parameters
    ----------
    max_norm : float, default 1.0
        *Public.* In units of X.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on `max_norm`
    only, so neighboring inputs give neighboring outputs.

    Examples
    --------
    >>> from skdp.preprocessing import RowClipper
    >>> RowClipper(max_norm=5.0).fit_transform([[6.0, 8.0], [1.0, 0.0]]).round(6)
    array([[3., 4.],
           [1., 0.]])
    """

    max_norm: float = 1.0

    @fit_of_columns
    def fit(self, X: MatrixLike, y: None = None) -> RowClipper:
        """Check the parameter; nothing is learned.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Only its columns matter, and whether values are finite.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The clipper.
        """
        self._check_columns()
        validated(self, X, accept_sparse="csr")
        return self

    def _check_columns(self) -> float:
        return check_size("max_norm", self.max_norm)

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> MatrixLike:
        """Return the clipped rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Finite values.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            *Private.* Rows with norms of at most `max_norm`; CSR if X is sparse.
        """
        first = not hasattr(self, "n_features_in_")
        X = validated(self, X, accept_sparse="csr", reset=first)
        factors = clip_factors(X, self._check_columns())
        if sparse.issparse(X):
            return sparse.csr_matrix(sparse.diags(factors) @ X)
        return X * factors[:, None]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags


# No guarantee rests on these numbers. Measurements: *Public rows as a prior* in the documentation.
_SIGNAL = 12.0  # n·μ for each direction that is kept
_FEWEST = 8  # directions: fewer of them depend much on which rows are public
_DELTA = 1e-5  # typical; μ hardly depends on it
_LONG = 0.1  # share of the public rows whose image is shorter than 1
_CONSTANT = 1e-6  # of the largest deviation, below which a direction has no scale


@parameters
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

    n_components: int | str = "auto"
    n_samples_hint: float | None = None
    epsilon_hint: float = 1.0

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
