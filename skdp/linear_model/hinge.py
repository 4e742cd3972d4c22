"""A differentially private support vector classifier."""

from __future__ import annotations

from typing import Any

from sklearn.svm import LinearSVC

from skdp.linear_model._private_classifier import PrivateLinearClassifier
from skdp.losses import HingeLoss, Loss, PairwiseLoss, SmoothedHingeLoss

__all__ = ["DPHingeClassifier"]


class DPHingeClassifier(PrivateLinearClassifier):
    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        solver: Any = "regularized_exponential",
        sampler: Any = "auto",
        C: Any = "auto",
        smoothing: float = 1.0,
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
        self.smoothing = smoothing
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

    def _loss(self, n_classes: int) -> Loss:
        loss = HingeLoss() if self.smoothing == 0.0 else SmoothedHingeLoss(self.smoothing)
        return loss if n_classes == 2 else PairwiseLoss(loss, n_classes)

    def _reference(self) -> LinearSVC:
        return LinearSVC(
            loss="hinge",
            C=1.0 if self.C == "auto" else self.C,
            fit_intercept=self.fit_intercept,
            intercept_scaling=1.0,
            class_weight=self.class_weight,
            random_state=self.random_state,
            max_iter=100_000,
        )
