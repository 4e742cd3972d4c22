"""Predictions of classifiers that compute the joint probability of a row and a class."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

from skdp.data.lazy import lazy_on_blocks
from skdp.support.types import MatrixLike

__all__ = ["JointClassifier", "log_proba"]

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
