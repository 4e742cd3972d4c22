"""Base class of the estimators named after stochastic gradient descent."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from skdp._private_fit import ReleaseParameters
from skdp._several_fits import together
from skdp.linear_model._base import PrivateLinearModel, is_auto
from skdp.linear_model._records import LinearRecords, TaskT
from skdp.linear_model._sample import FitPlan
from skdp.privacy import PrivacyGuarantee
from skdp.solvers import DPSGD
from skdp.support.types import MatrixLike, VectorLike


class PrivateSGD(PrivateLinearModel[TaskT]):
    """A linear model learned by `skdp.solvers.DPSGD`, whose settings are its own parameters."""

    center = False  # the cost of stochastic steps is not that of one Gaussian release
    subsample = None

    def _resolve_solver(self) -> DPSGD:
        return DPSGD(
            n_steps=self.n_steps,
            sampling_rate=self.sampling_rate,
            clip_norm=self.clip_norm,
            step_size=self.step_size,
            momentum=self.momentum,
            average=self.average,
        )

    @property
    def _is_reference(self) -> bool:
        return math.isinf(self.epsilon)  # which resumes, unlike a minimizer

    def _resume(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None,
        groups: VectorLike | None,
        known_task: TaskT | None = None,
    ) -> Self:
        """Run again from the released coefficients, and add the cost to `privacy_`."""
        resume = hasattr(self, "coef_")
        more = {"sample_weight": sample_weight, "groups": groups, "known_task": known_task}
        return self._fit_privately(X, y, resume=resume, **more)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        y: VectorLike,
        *,
        resume: bool = False,
        **more: Any,
    ) -> LinearRecords[TaskT]:
        records = super()._check_data(parameters, X, y, resume=resume, **more)
        if not resume:
            return records
        earlier = self.privacy_.neighboring
        if earlier != self.neighboring:
            raise ValueError(
                "neighboring may not change in partial_fit: earlier calls used "
                f"{str(earlier)!r}, got {self.neighboring!r}."
            )
        start = self._start(records.facts.task)
        return records.with_facts(replace(records.facts, start=start, n_iter=self.n_iter_))

    def _published_guarantee(
        self, parameters: ReleaseParameters, plan: FitPlan, records: LinearRecords[TaskT]
    ) -> PrivacyGuarantee:
        now = super()._published_guarantee(parameters, plan, records)
        return now if records.facts.start is None else together(self.privacy_, now)

    def _start(self, task: TaskT) -> np.ndarray:
        """Return the released coefficients as the solver takes them."""
        coef, intercept = self._learned_coefficients(task)
        if self.fit_intercept:
            coef = np.column_stack([coef, intercept / self.intercept_scaling])
        return coef.ravel() if len(coef) == 1 else coef.T

    @abstractmethod
    def _learned_coefficients(self, task: TaskT) -> tuple[np.ndarray, np.ndarray]:
        """Invert `_publish_coefficients`."""

    def _reference_alpha(self, n_samples: int) -> float:
        """Return the regularization of scikit-learn's estimator."""
        return 1e-4 if is_auto(self.C) else 1.0 / (self.C * n_samples)


def is_private(model: BaseEstimator) -> bool:
    """Return whether `epsilon` is finite; without privacy scikit-learn's own class resumes."""
    return not math.isinf(model.epsilon)
