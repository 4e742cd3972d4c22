"""Output perturbation: the minimiser of the regularised loss, plus Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.privacy import GDPEvent
from skdp.samplers import Progress
from skdp.solvers._minimiser import Objective, minimise
from skdp.solvers._rounding import check_problem, rounded
from skdp.solvers.base import Plan, Problem, Solution, Solver

__all__ = ["OutputPerturbation", "OutputPerturbationPlan"]

_SCORE_NOISE = 0.3  # noise in a score over the loss's own scale, by which `C="auto"` is chosen
_TOLERANCE = 1e-3  # of G; it adds twice that to the sensitivity
_ROUNDING = 1e-12


@dataclass(frozen=True)
class OutputPerturbationPlan(Plan):
    """A plan with the ridge λ, the tolerance τ of the gradient and the noise's scale σ."""

    ridge: float
    tolerance: float
    noise: float


@dataclass(frozen=True)
class OutputPerturbation(Solver):
    """Minimise Σ ℓ + |θ|²/(2C) to a public tolerance and add Gaussian noise.

    Notes
    -----
    **Guarantee.** One record moves the minimiser by at most C·G (Chaudhuri, Monteleoni and
    Sarwate 2011, Lemma 7), and a gradient of length τ puts the point at most C·τ beside it. With
    noise N(0, σ²·I), σ = C·(G + 2τ)/μ, the release is μ-Gaussian DP, under both relations.
    """

    def plan(self, problem: Problem, epsilon: float, delta: float) -> OutputPerturbationPlan:
        check_problem("output_perturbation", problem, delta)
        mu, loss, G = gdp_mu(epsilon, delta), problem.loss, problem.lipschitz_difference
        tolerance = _TOLERANCE * G
        moved = (G + 2.0 * tolerance) * (1.0 + _ROUNDING)
        if problem.C == "auto":
            ridge = problem.row_norm * moved / (mu * _SCORE_NOISE * loss.noise_scale)
        else:
            ridge = 1.0 / float(problem.C)
        theorem = "output perturbation of a certified minimiser"
        noise = moved / (ridge * mu)
        return OutputPerturbationPlan(problem, GDPEvent(mu), theorem, ridge, tolerance, noise)

    def solve(
        self,
        plan: OutputPerturbationPlan,
        design: ClippedDesign,
        y: np.ndarray,
        rng: np.random.Generator,
        progress: Progress,
        start: np.ndarray | None = None,
    ) -> Solution:
        problem = plan.problem
        tilt = np.zeros(problem.shape(design.n_features))
        objective = Objective(design, y, problem.loss, problem.row_norm, plan.ridge, tilt)
        found = minimise(objective, plan.tolerance)
        theta = rounded(found.theta + plan.noise * rng.normal(size=tilt.shape), plan.noise)
        progress(1, 1)
        seen = {"passes": objective.passes[0], "gradient": found.length}
        return Solution(theta, 1, seen, plan.noise)
