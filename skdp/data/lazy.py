"""Methods of fitted estimators, lazy on Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from operator import attrgetter
from typing import TypeVar, cast

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin

from skdp.data.batches import Batches
from skdp.data.blocks import Blocks, for_workers, stacked
from skdp.data.column import is_collection, received
from skdp.data.columns import is_frame
from skdp.data.dask import by_rows
from skdp.data.validation import column_names, remember_columns
from skdp.support.types import MatrixLike, VectorLike

MethodT = TypeVar("MethodT", bound=Callable[..., object])


def lazy_on_blocks(method: MethodT) -> MethodT:
    """Make a method of rows, of a fitted estimator, lazy on dask collections.

    For an array it returns a dask array. For a frame it returns a series with the frame's index if
    a row has one value. Otherwise ``transform`` returns a frame with the names of
    `get_feature_names_out`, and other methods an array of unknown chunk sizes. For Arrow batches it
    reads the columns of the fit, and returns what it returns for rows in memory.
    """

    @wraps(method)
    def on_any(self: BaseEstimator, X: MatrixLike, *args: object) -> MatrixLike:
        X = received(X)
        if not is_collection(X):
            return method(self, X, *args)
        if isinstance(X, Batches):
            return _in_memory(method.__name__, for_workers(self), X, args)
        return _lazily(method.__name__, for_workers(self), X, args)

    return cast(MethodT, on_any)


def fit_of_columns(fit: MethodT) -> MethodT:
    """Make `fit` of a transformer that learns nothing store the columns of dask collections.

    Their values are not read. The method `_check_columns` checks parameters against the columns.
    """

    @wraps(fit)
    def on_any(self: BaseEstimator, X: MatrixLike, y: object = None) -> BaseEstimator:
        X = received(X)
        if not is_collection(X):
            return fit(self, X, y)
        remember_columns(self, X)
        self._check_columns()
        return self

    return cast(MethodT, on_any)


def summed_over_blocks(method: Callable[..., float]) -> Callable[..., float]:
    """Make a method that returns a sum over rows accept dask collections; it computes at once."""

    @wraps(method)
    def on_any(self: BaseEstimator, X: MatrixLike, y: object = None) -> float:
        X = received(X)
        if not is_collection(X):
            return method(self, X, y)
        some = partial(_of_rows, for_workers(self), method.__name__, (), 0.0)
        return float(sum(Blocks.of(X).map(attrgetter("X")).gather(some)))

    return on_any


def _in_memory(
    name: str, estimator: BaseEstimator, X: Batches, args: tuple[object, ...]
) -> MatrixLike:
    if not X.has_order:
        raise ValueError(
            f"{name} cannot return the rows of a Spark data frame, because they have no order. "
            f"Call {name} in a function of mapInArrow or mapInPandas, which keeps other columns."
        )
    fitted = [str(one) for one in column_names(estimator)]
    X = X[fitted] if fitted and {*fitted} < {*X.columns} else X  # the others are targets or weights
    tables = Blocks.of(X).map(attrgetter("X"))
    return stacked(tables.gather(partial(_of_rows, estimator, name, args, [])))


def _lazily(
    name: str, estimator: BaseEstimator, X: MatrixLike, args: tuple[object, ...]
) -> MatrixLike:
    config = getattr(estimator, "_sklearn_output_config", {})
    if name == "transform" and config.get("transform", "default") != "default":
        raise ValueError(
            "set_output is not for dask collections: transform of a dask dataframe returns one."
        )
    X = by_rows("X", X)
    rows = _two_rows(X)
    example = getattr(estimator, name)(rows, *args)
    function = partial(_of_rows, estimator, name, args, example[:0])
    if not is_frame(X):
        chunks = (X.chunks[0], *((size,) for size in example.shape[1:]))
        more = list(range(X.ndim, example.ndim))
        axes = {"drop_axis": [1]} if example.ndim < X.ndim else {"new_axis": more} if more else {}
        return X.map_blocks(function, dtype=example.dtype, chunks=chunks, meta=example[:0], **axes)
    if example.ndim > 1 and name != "transform":
        return X.map_partitions(function, meta=example[:0])
    columns = estimator.get_feature_names_out() if example.ndim > 1 else None
    labeled = partial(_labeled, function, columns)
    return X.map_partitions(labeled, meta=labeled(rows).iloc[:0])


def _two_rows(X: MatrixLike) -> MatrixLike:
    """Return made-up rows of the types of a collection."""
    if not is_frame(X):
        return np.zeros((2, *X.shape[1:]), dtype=X.dtype)
    from dask.dataframe.utils import meta_nonempty

    return meta_nonempty(X._meta)


def _of_rows(
    estimator: BaseEstimator, name: str, args: tuple[object, ...], empty: MatrixLike, X: MatrixLike
) -> MatrixLike:
    """Return the result of a method for a block; `empty` for no rows, which it may reject."""
    return getattr(estimator, name)(X, *args) if X.shape[0] else empty


def _labeled(
    function: Callable[[MatrixLike], MatrixLike], columns: VectorLike, X: MatrixLike
) -> MatrixLike:
    """Return the result of a function for a frame's rows, with its index."""
    import pandas as pd

    values = function(X)
    if sparse.issparse(values):
        return pd.DataFrame.sparse.from_spmatrix(values, index=X.index, columns=columns)
    if columns is None:
        return pd.Series(values, index=X.index)
    return pd.DataFrame(values, index=X.index, columns=columns)


_LEAST_LOG = -700.0  # e to this power is a double


def log_proba(joint: np.ndarray) -> np.ndarray:
    """Return log p(class | x), at least −700, from log p(x, class)."""
    return np.asarray(np.maximum(joint - logsumexp(joint, axis=1, keepdims=True), _LEAST_LOG))


class JointClassifier(ClassifierMixin):
    """Predictions from log p(x, class), which a subclass has as `predict_joint_log_proba`."""

    classes_: np.ndarray

    def _joint(self, X: MatrixLike) -> np.ndarray:
        """Return log p(x, class), (n_samples, n_classes), up to a number for each row."""
        return np.asarray(self.predict_joint_log_proba(X))  # type: ignore[attr-defined]

    @lazy_on_blocks
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return log p(class | x), at least −700.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Rows, treated as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. As private as X.
        """
        return log_proba(self._joint(X))

    @lazy_on_blocks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return p(class | x).

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Rows, treated as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. As private as X.
        """
        return np.exp(self.predict_log_proba(X))

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Rows, treated as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from `classes_`. As private as X.
        """
        joint = self._joint(X)  # first: it raises NotFittedError
        return self.classes_[joint.argmax(axis=1)]
