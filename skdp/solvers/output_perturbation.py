"""Output perturbation: the minimizer of the regularized loss, plus Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import GDPEvent
from skdp.samplers import Progress
from skdp.solvers._minimizer import (
    Objective,
    certified_tolerance,
    check_problem,
    longest,
    minimize,
    of_projection,
)
from skdp.solvers.base import SCALE_MARGIN, Plan, Problem, Solution, Solver, rounded

__all__ = ["OutputPerturbation", "OutputPerturbationPlan"]

# noise in a score over the loss's own scale, for `C="auto"`; no guarantee rests on it
_SCORE_NOISE = 0.3
_TOLERANCE = 1e-3  # of G; it adds twice that to the sensitivity


@dataclass(frozen=True, kw_only=True)
class OutputPerturbationPlan(Plan):
    """Public numbers of a certified minimum with noise."""

    ridge: float  # λ = 1/C
    tolerance: float  # τ, the length of the gradient
    moved: float  # largest distance of the computed coefficients of neighbors

    def release(self, size: int) -> GridGaussian:
        """Return the noise in `size` coefficients."""
        return GridGaussian.at(self.event.gdp_mu(self.problem.neighboring), self.moved, size)

    @property
    def noise(self) -> float:
        """σ, the standard deviation of the noise in a coefficient."""
        return self.release(1).scale


@dataclass(frozen=True)
class OutputPerturbation(Solver[OutputPerturbationPlan]):
    """Output perturbation: the minimizer of Σ ℓ + |θ|²/(2C), to a public tolerance, plus noise.

    Notes
    -----
    **Guarantee.** One record moves the minimizer by at most C·G (Chaudhuri, Monteleoni and
    Sarwate 2011, Lemma 7). A point whose gradient has length τ, rounding included, is within C·τ of
    the minimizer. Both are projected on a public ball, wider than any meaningful scores. With noise
    N(0, σ²·I), σ = C·(G + 2τ)/μ, the release is μ-Gaussian DP, under both relations.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate, "Differentially private empirical risk minimization",
    Journal of Machine Learning Research 12, 2011, Lemma 7.
    """

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> OutputPerturbationPlan:
        check_problem("output_perturbation", problem, delta)
        mu, loss, G = gdp_mu(epsilon, delta), problem.loss, problem.lipschitz_difference
        if problem.C == "auto":
            moved = _moved(G, _TOLERANCE * G)
            ridge = problem.row_norm * moved / (mu * _SCORE_NOISE * loss.noise_scale)
        else:
            ridge = 1.0 / float(problem.C)
        tolerance = certified_tolerance("output_perturbation", problem, ridge, _TOLERANCE * G)
        moved = _moved(G, tolerance) / ridge + of_projection(problem)
        return OutputPerturbationPlan(
            problem=problem,
            event=GDPEvent(mu),
            theorem="output perturbation of a certified minimizer",
            exact=problem.rows_are_exact,
            ridge=ridge,
            tolerance=tolerance,
            moved=moved,
        )

    def solve(
        self,
        plan: OutputPerturbationPlan,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        problem = plan.problem
        tilt = np.zeros(problem.shape(design.n_features))
        objective = Objective.of(problem, design, plan.ridge, tilt)
        found = minimize(objective, plan.tolerance, longest(problem))
        noise = plan.release(tilt.size)
        theta = rounded(noise.release(found.theta, rng), noise.scale)
        progress(1, 1)
        seen = {"passes": objective.passes[0], "gradient": found.length}
        return Solution(theta, 1, seen, plan.noise, noise_bound=plan.noise)


def _moved(G: float, tolerance: float) -> float:
    """Return a bound of the length of the neighbor's gradient at the point, plus its own τ."""
    return (G + 2.0 * tolerance) * (1.0 + SCALE_MARGIN)
