"""What the estimators that are named after stochastic gradient descent share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skdp.linear_model._private_linear import PrivateLinearModel
from skdp.solvers import DPSGD

__all__ = ["PrivateSGD", "is_private"]


class PrivateSGD(PrivateLinearModel):
    """A linear model learnt by `skdp.solvers.DPSGD`, whose settings are its own parameters."""

    def _resolve_solver(self) -> DPSGD:
        return DPSGD(
            n_steps=self.n_steps,
            sampling_rate=self.sampling_rate,
            clip_norm=self.clip_norm,
            step_size=self.step_size,
            momentum=self.momentum,
            average=self.average,
        )

    def _resume(self, X: Any, y: Any, known_task: Any = None) -> Any:
        """Run once more, from where the last run ended, and add what it costs to `privacy_`."""
        if not hasattr(self, "coef_"):
            return self._learn(X, y, {}, known_task=known_task)
        earlier, n_iter = self.privacy_, self.n_iter_
        if earlier.neighboring != self.neighboring:
            raise ValueError(
                f"The model was learnt under {str(earlier.neighboring)!r}; neighboring may not "
                f"change to {self.neighboring!r} in partial_fit. Nothing was spent."
            )
        self._learn(X, y, {}, earlier=earlier.event, known_task=known_task)
        self.n_iter_ += n_iter
        return self

    def _start(self, task: Any) -> dict[str, Any]:
        """Return the released coefficients as the solver wants them."""
        coef, intercept = self._learnt_coefficients(task)
        if self.fit_intercept:
            coef = np.column_stack([coef, intercept / self.intercept_scaling])
        return {"start": coef.ravel() if len(coef) == 1 else coef.T}


def is_private(model: Any) -> bool:
    """Return whether `epsilon` is finite; without privacy scikit-learn's own class resumes."""
    return not math.isinf(model.epsilon)
