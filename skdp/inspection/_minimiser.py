"""The least loss on clipped rows: what a private solver would find if noise were free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from skdp.design import ClippedDesign
from skdp.privacy import NonPrivateEvent
from skdp.samplers import Progress
from skdp.solvers import Plan, Problem, Solution, Solver

__all__ = ["Minimiser"]

_NEXT_TO_NONE = 1e-4
_LIMITS = {"maxiter": 5000, "maxfun": 10_000}


@dataclass(frozen=True)
class Minimiser(Solver):
    """Minimise Σ ℓ + |θ|²/(2C) over clipped rows, without any privacy.

    C = "auto" is next to no ridge: the solvers regularise by stopping then, and this never stops.
    """

    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
        return Plan(problem, NonPrivateEvent(), "none, minimised without noise")

    def solve(
        self,
        plan: Plan,
        design: ClippedDesign,
        y: np.ndarray,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        loss, shape = plan.problem.loss, plan.problem.shape(design.n_features)
        ridge = _NEXT_TO_NONE if isinstance(plan.problem.C, str) else 1.0 / plan.problem.C

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            theta = flat.reshape(shape)
            z = design.matvec(theta)
            gradient = design.rmatvec(loss.gradient(y, z)) + ridge * theta
            return loss.value(y, z).sum() + 0.5 * ridge * (flat @ flat), gradient.ravel()

        least = minimize(
            objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=_LIMITS
        )
        return Solution(least.x.reshape(shape), int(least.nit))
