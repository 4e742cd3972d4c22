"""Common base of the private linear classifiers."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records, labels_of
from skdp.linear_model._base import PrivateLinearModel, dense
from skdp.linear_model._records import AnyMap
from skdp.losses import ClassWeightedLoss, Loss
from skdp.support.types import MatrixLike
from skdp.support.validation import check_size

FactsT = TypeVar("FactsT")


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel[np.ndarray]):
    """A linear classifier, learned privately. Its task is the array of classes."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight must be None or a dict of public weights, got "
                f"{self.class_weight!r}. Weights computed from the data, such as 'balanced', would "
                "reveal class counts."
            )
        self._loss(2)
        for weight in (self.class_weight or {}).values():
            check_size("class_weight", weight)

    def _with_targets(
        self, records: Records[AnyMap], known_task: np.ndarray | None
    ) -> tuple[Records[AnyMap], np.ndarray]:
        """Return the targets as −1/+1 (two classes) or 0..K−1; without privacy unchanged."""
        known = self.classes if known_task is None else known_task
        coded, classes = labels_of(records, type(self).__name__, known)
        if self._is_reference:
            return records, classes
        return (coded.mapped(_signed) if classes.size == 2 else coded), classes

    def _loss_of(self, classes: np.ndarray) -> Loss:
        loss = self._loss(classes.size)
        if self.class_weight is None:
            return loss
        unknown = set(self.class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(
                f"Unknown labels in class_weight: {unknown}. The labels are {classes.tolist()}."
            )
        weights = (float(self.class_weight.get(label, 1.0)) for label in classes.tolist())
        return ClassWeightedLoss(loss, tuple(weights))

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray
    ) -> None:
        self.classes_, self.coef_, self.intercept_ = classes, coef, intercept

    def _publish_reference(self, reference: BaseEstimator, classes: np.ndarray) -> None:
        if not np.array_equal(reference.classes_, classes):
            raise ValueError("With epsilon=inf every label of `classes` must occur in y.")
        intercept = np.atleast_1d(reference.intercept_)
        self._publish_coefficients(reference.coef_, intercept, classes)

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """Return the loss of a private fit without class weights."""

    @lazy_on_blocks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the scores of rows, clipped as in `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more
            Scores; for two classes, the scores of the second.
        """
        scores = self._scores(X)
        return scores.ravel() if self.classes_.size == 2 else scores

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the label with the highest score for each row.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from `classes_`. They are as private as X.
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _plain(self) -> list[BaseEstimator]:
        from skdp.linear_model._plain.steps import plain_classifier

        norm = 0.0 if math.isinf(self.data_norm_) else self.data_norm_  # the link is then linear
        lengths = np.linalg.norm(dense(self.coef_), axis=1)
        reach = float((norm * lengths + np.abs(self.intercept_)).max())
        return plain_classifier(self.classes_, getattr(self, "_probabilities_", None), reach)

    def sparsify(self) -> Self:
        """Store `coef_` as a sparse matrix, which predicts faster if most entries are 0.

        Returns
        -------
        self
            The estimator. No privacy is spent.
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Store `coef_` as an array again, after `sparsify`.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self, "coef_")
        self.coef_ = dense(self.coef_)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.epsilon != math.inf  # noise, on tiny data
        return tags


def _signed(records: Records[FactsT]) -> Records[FactsT]:
    """Return targets 0 and 1 as −1 and +1."""
    return replace(records, y=np.where(records.y > 0, 1.0, -1.0))
