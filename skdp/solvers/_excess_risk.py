"""Parameters for the optimal excess risk of a sample, and the proved bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import GradientDirections
from skdp.samplers import Ball
from skdp.solvers.base import Problem

# No privacy guarantee rests on these; the bound of the risk holds for any values.
_REACH = 2.5  # in units of the loss's noise scale
_SHARE = 0.01  # of the excess, allowed for a chain that has not converged
_FEWEST = 32.0  # steps of the chain


def reach_of(problem: Problem) -> float:
    """Return the norm of coefficients whose scores reach a few times the loss's noise scale."""
    return _REACH * problem.loss.noise_scale / problem.row_norm


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Ridge and temperature that balance the terms of a bound of the excess risk.

    With L = L_ℓ·R the Lipschitz constant of one record's loss, a sample at c and α = c/C exceeds,
    in Σ ℓ and on average, the best θ with |θ| ≤ B by at most d/c + B²/(2C) + V·C. V = 0 for the
    rows at hand; V = 2n·L² for n times the population that they come from. A μ-Gaussian DP sample
    has c = (mu/G)²/C.
    """

    dimension: int  # d, of the space in which the losses vary
    size: int  # number of coefficients
    reach: float  # B; 0 if the ridge is part of the objective
    lipschitz: float  # L
    lipschitz_difference: float  # G
    n_samples: int | None
    population: bool

    @classmethod
    def of(cls, problem: Problem, domain: Ball | None, n: int | None, population: bool) -> Balance:
        """Return the balance for a problem; without a domain, B is the reach of the loss."""
        if problem.n_features is None:
            raise IncompatibleSolverError(
                "A sample from the density itself needs n_features in the problem, or a number C."
            )
        loss, R = problem.loss, problem.row_norm
        reach = reach_of(problem) if domain is None else domain.radius
        directions = GradientDirections.of(loss).dimension if domain is None else loss.n_scores
        return cls(
            dimension=problem.n_features * directions,
            size=problem.n_features * loss.n_scores,
            reach=reach if isinstance(problem.C, str) else 0.0,
            lipschitz=loss.lipschitz * R,
            lipschitz_difference=problem.lipschitz_difference,
            n_samples=n,
            population=population,
        )

    @property
    def variation(self) -> float:  # V
        return 2.0 * (self.n_samples or 0) * self.lipschitz**2 if self.population else 0.0

    def C(self, mu: float) -> float:
        """Return C = c/α that minimizes the bound."""
        private = self.dimension * (self.lipschitz_difference / mu) ** 2
        return self.reach / math.sqrt(2.0 * (private + self.variation))

    def excess(self, temperature: float, C: float) -> float:
        """Return the bound for an exact sample, summed over the rows."""
        excess = self.dimension / temperature + 0.5 * self.reach**2 / C + self.variation * C
        if self.reach:
            return excess
        return excess + 0.5 * (self.size - self.dimension) / temperature  # from the ridge alone

    def second_moment(self, C: float, alpha: float, domain: Ball | None) -> float:
        """Return an upper bound of E|θ|², θ an exact sample."""
        if domain is not None:
            return domain.radius**2
        assert self.n_samples is not None, "the number of rows bounds the norm of the mode"
        mode = self.n_samples * self.lipschitz * C
        return (math.sqrt(self.size / alpha) + mode) ** 2

    def loss_of(self, distance: float, C: float, second_moment: float) -> float:
        """Return the largest increase of Σ ℓ if a sample moves by `distance` in quadratic mean."""
        assert self.n_samples is not None, "each of n losses can increase"
        moved = self.n_samples * self.lipschitz * distance
        if not self.reach:
            moved += distance * (0.5 * distance + math.sqrt(second_moment)) / C
        return moved

    def relaxations(self, mu: float, C: float, domain: Ball | None) -> float:
        """Return the run time in units of 1/α in which a chain from 0 approaches the density."""
        if self.n_samples is None:
            return _FEWEST
        alpha = (mu / (self.lipschitz_difference * C)) ** 2
        moment = self.second_moment(C, alpha, domain) + self.size / alpha
        lost = self.loss_of(math.sqrt(moment), C, moment)
        needed = math.log(max(lost / (_SHARE * self.excess(alpha * C, C)), math.e))
        return _FEWEST * math.expm1(needed / _FEWEST)
