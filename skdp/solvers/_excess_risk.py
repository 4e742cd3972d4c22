"""Parameters with which a sample has the optimal excess risk, and what is proved of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers import AlternatingSchedule, Ball, SamplerPlan
from skdp.solvers._rounding import SCALE_MARGIN, grid_width
from skdp.solvers.base import Problem

__all__ = ["Balance", "Schedule", "reach_of"]

# No guarantee of privacy rests on these; the bound of the risk holds for whatever they say.
_REACH = 2.5  # in units of the loss's noise scale
_SHARE = 0.01  # of the excess, left to a chain that has not quite arrived
_FEWEST = 32.0  # steps of the chain


def reach_of(problem: Problem) -> float:
    """Return how long coefficients are whose scores reach a few times the loss's noise scale."""
    return _REACH * problem.loss.noise_scale / problem.row_norm


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Ridge and temperature that balance the terms of a bound of the excess risk.

    With L = L_ℓ·R the Lipschitz constant of one record's loss, a sample at c and α = c/C exceeds,
    in Σ ℓ and on average, the best θ with |θ| ≤ B by at most d/c + B²/(2C) + V·C. V = 0 for the
    rows at hand; V = 2n·L² for n times the population that they come from. A μ-Gaussian DP sample
    has c = (mu/G)²/C.

    Parameters
    ----------
    dimension : int
        d, of the space in which the losses vary.
    size : int
        Number of coefficients.
    reach : float
        B; 0 if the ridge belongs to what is minimised.
    lipschitz, lipschitz_difference : float
        L and G.
    n_samples : int or None
    population : bool
    """

    dimension: int
    size: int
    reach: float
    lipschitz: float
    lipschitz_difference: float
    n_samples: int | None
    population: bool

    @classmethod
    def of(cls, problem: Problem, domain: Ball | None, n: int | None, population: bool) -> Balance:
        """Return the balance for a problem; without a domain, B is the reach of the loss."""
        if problem.n_features is None:
            raise IncompatibleSolverError(
                "A sample from the density itself needs n_features in the problem, or a C by "
                "which to regularise."
            )
        loss, R = problem.loss, problem.row_norm
        reach = reach_of(problem) if domain is None else domain.radius
        directions = loss.n_directions if domain is None else loss.n_scores
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
    def variation(self) -> float:
        """V."""
        return 2.0 * (self.n_samples or 0) * self.lipschitz**2 if self.population else 0.0

    def C(self, mu: float) -> float:
        """Return C = c/α of the least bound."""
        private = self.dimension * (self.lipschitz_difference / mu) ** 2
        return self.reach / math.sqrt(2.0 * (private + self.variation))

    def excess(self, temperature: float, C: float) -> float:
        """Return the bound for an exact sample, summed over the rows."""
        excess = self.dimension / temperature + 0.5 * self.reach**2 / C + self.variation * C
        if self.reach:
            return excess
        return excess + 0.5 * (self.size - self.dimension) / temperature  # the ridge's alone

    def second_moment(self, C: float, alpha: float, domain: Ball | None) -> float:
        """Return an upper bound of E|θ|², θ an exact sample."""
        if domain is not None:
            return domain.radius**2
        assert self.n_samples is not None, "it bounds how far away the mode may be"
        mode = self.n_samples * self.lipschitz * C
        return (math.sqrt(self.size / alpha) + mode) ** 2

    def loss_of(self, distance: float, C: float, second_moment: float) -> float:
        """Return what the sum can gain if a sample moves by `distance`, in the quadratic mean."""
        assert self.n_samples is not None, "each of n losses can gain"
        moved = self.n_samples * self.lipschitz * distance
        if not self.reach:
            moved += distance * (0.5 * distance + math.sqrt(second_moment)) / C
        return moved

    def relaxations(self, mu: float, C: float, domain: Ball | None) -> float:
        """Return for how many times 1/α a chain from 0 should run to come near the density."""
        if self.n_samples is None:
            return _FEWEST
        alpha = (mu / (self.lipschitz_difference * C)) ** 2
        moment = self.second_moment(C, alpha, domain) + self.size / alpha
        lost = self.loss_of(math.sqrt(moment), C, moment)
        needed = math.log(max(lost / (_SHARE * self.excess(alpha * C, C)), math.e))
        return _FEWEST * math.expm1(needed / _FEWEST)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Numbers of one sample from the density; all of them public.

    Parameters
    ----------
    sampler_plan : SamplerPlan
        What the sampler does.
    temperature, prior_precision : float
        c, in units of 1/loss, and α of the density.
    domain : Ball or None
        To which it is restricted.
    balance : Balance or None
        The bound by which c and α were chosen, if any.
    """

    sampler_plan: SamplerPlan
    temperature: float
    prior_precision: float
    domain: Ball | None = None
    balance: Balance | None = None

    @property
    def noise(self) -> float:
        """Standard deviation of a sample in a direction where the data say nothing, roughly."""
        noise = math.sqrt(self.sampler_plan.spread / self.temperature)
        return noise if self.domain is None else min(noise, self.domain.radius)

    @property
    def excess_risk_bound(self) -> float:
        """Upper bound of the expected excess risk: a record's mean loss less the least there is.

        Least over all \\|θ\\| ≤ B, the radius of the domain or else the reach of the loss; on the
        rows at hand for "erm", on the population for "sco". inf without an `objective`, without
        a row count, and where nothing is proved of how near the sample is to the density.
        """
        balance, c, alpha = self.balance, self.temperature, self.prior_precision
        if (
            balance is None
            or balance.n_samples is None
            or math.isinf(self.sampler_plan.contraction)
        ):
            return math.inf
        if self.sampler_plan.tv and self.domain is None:
            return math.inf  # the little that is missing may lie anywhere
        C, size = c / alpha, balance.size
        moment = balance.second_moment(C, alpha, self.domain)
        distance = self.sampler_plan.contraction * math.sqrt(
            moment + size * self.sampler_plan.step / c
        )
        distance += math.sqrt(size) * grid_width(self.noise)
        excess = balance.excess(c, C) + balance.loss_of(distance, C, moment)
        if self.domain is not None:
            excess += self.sampler_plan.tv * balance.loss_of(2.0 * self.domain.radius, C, moment)
        return excess / balance.n_samples * (1.0 + SCALE_MARGIN)

    def expected_evaluations(self, tv: float) -> float:
        """Return how many losses of single records "zeroth_order" evaluates on average, at most.

        Parameters
        ----------
        tv : float
            *Public.* Total variation within which its sample is to be of the density.

        Returns
        -------
        expected : float
            An upper bound of the mean over the sampler's randomness, for the worst data.
        """
        balance = self.balance
        if balance is None or balance.n_samples is None:
            raise ValueError("expected_evaluations needs an objective and a row count.")
        return AlternatingSchedule.within(
            tv,
            lipschitz=balance.n_samples * self.temperature * balance.lipschitz,
            prior_precision=self.prior_precision,
            dimension=balance.size,
            radius=math.inf if self.domain is None else self.domain.radius,
        ).expected_evaluations
