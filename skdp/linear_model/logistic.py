"""Differentially private logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.linear_model import LogisticRegression

from skdp.linear_model._private_classifier import PrivateLinearClassifier
from skdp.losses import ClippedLogisticLoss, LogisticLoss, Loss, MultinomialLoss, PairwiseLoss

__all__ = ["DPLogisticRegression"]


class DPLogisticRegression(PrivateLinearClassifier):
    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        solver: Any = "regularized_exponential",
        sampler: Any = "auto",
        C: Any = "auto",
        loss_clip: float | None = 0.5,
        data_norm: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        neighboring: str = "replace_one",
        n_samples_hint: int | None = None,
        budget: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        diagnostics: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.solver = solver
        self.sampler = sampler
        self.C = C
        self.loss_clip = loss_clip
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.classes = classes
        self.class_weight = class_weight
        self.neighboring = neighboring
        self.n_samples_hint = n_samples_hint
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.diagnostics = diagnostics

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, of shape (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    def _loss(self, n_classes: int) -> Loss:
        if n_classes == 2:
            return LogisticLoss() if self.loss_clip is None else ClippedLogisticLoss(self.loss_clip)
        if self.loss_clip is None:
            return MultinomialLoss(n_classes)
        return PairwiseLoss(ClippedLogisticLoss(self.loss_clip), n_classes)

    def _reference(self) -> LogisticRegression:
        return LogisticRegression(
            C=1.0 if self.C == "auto" else self.C,
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            random_state=self.random_state,
            max_iter=10_000,
        )
