"""What the estimators that are named after stochastic gradient descent share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp._several_fits import together
from skdp.linear_model._base import PrivateLinearModel
from skdp.privacy import PrivacyGuarantee
from skdp.solvers import DPSGD

__all__ = ["PrivateSGD", "is_private"]


class PrivateSGD(PrivateLinearModel):
    """A linear model learned by `skdp.solvers.DPSGD`, whose settings are its own parameters."""

    def _resolve_solver(self) -> DPSGD:
        return DPSGD(
            n_steps=self.n_steps,
            sampling_rate=self.sampling_rate,
            clip_norm=self.clip_norm,
            step_size=self.step_size,
            momentum=self.momentum,
            average=self.average,
        )

    def _resume(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, known_task: Any = None
    ) -> Any:
        """Run once more, from where the last run ended, and add what it costs to `privacy_`."""
        resume = hasattr(self, "coef_")
        more = {"sample_weight": sample_weight, "groups": groups, "known_task": known_task}
        return self._fit_privately(X, y, resume=resume, **more)

    def _promised(self, parameters: ReleaseParameters, plan: Any, records: Any) -> PrivacyGuarantee:
        now = super()._promised(parameters, plan, records)
        return now if records.facts.start is None else together(self.privacy_, now)

    def _resumed(self, task: Any) -> dict[str, Any]:
        earlier = self.privacy_.neighboring
        if earlier != self.neighboring:
            raise ValueError(
                f"The model was learned under {str(earlier)!r}; neighboring may not "
                f"change to {self.neighboring!r} in partial_fit."
            )
        return {"start": self._start(task), "n_iter": self.n_iter_}

    def _start(self, task: Any) -> np.ndarray:
        """Return the released coefficients as the solver wants them."""
        coef, intercept = self._learned_coefficients(task)
        if self.fit_intercept:
            coef = np.column_stack([coef, intercept / self.intercept_scaling])
        return coef.ravel() if len(coef) == 1 else coef.T


def is_private(model: Any) -> bool:
    """Return whether `epsilon` is finite; without privacy scikit-learn's own class resumes."""
    return not math.isinf(model.epsilon)
