"""Fits of features without privacy: the minimum that private fits tend to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from skdp.design import Design
from skdp.privacy import Event, NonPrivateEvent
from skdp.solvers._minimizer import Objective, minimize
from skdp.solvers.base import Problem, Solution

_PRECISION = 1e-4  # of the loss's noise scale, in scores; far below any effect of the model
_MOST_C = 1e6  # in units of 1/curvature of a row; beyond, rounding hides the minimum


@dataclass(frozen=True)
class MinimumPlan:
    """The minimum of Σ ℓ + |θ|²/(2C) over the rows of a private fit, at ``epsilon=inf``.

    Rows, targets and loss are the same as in a private fit, and C is the largest value of "auto".
    Private fits therefore approach this minimum as ε grows.
    """

    problem: Problem
    event: Event = field(default_factory=NonPrivateEvent)
    theorem: str = "none, epsilon=inf"
    exact: bool = False

    @property
    def ridge(self) -> float:
        """λ = 1/C."""
        problem = self.problem
        most = _MOST_C / (problem.loss.smoothness * problem.row_norm**2)
        return 1.0 / min(problem.inverse_regularization(np.inf), most)

    def read(self, design: Design) -> Solution:
        problem, R, C = self.problem, self.problem.row_norm, 1.0 / self.ridge
        start = np.zeros(problem.shape(design.n_features))
        objective = Objective.of(problem, design, self.ridge, start)
        found = minimize(objective, _PRECISION * problem.loss.noise_scale / (R * C))
        return Solution(found.theta, objective.passes[0], solver="minimizer", noise_bound=0.0)
