"""Full-batch gradient descent with noise in every step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp._validation import check_count, check_real, check_size, make_plain
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.privacy import GDPEvent
from skdp.samplers import Progress
from skdp.solvers._descent import (
    Descent,
    flow_time,
    inverse_regularisation,
    longest_step,
    require_stable,
    worst_curvature,
)
from skdp.solvers.base import Plan, Problem, RowCount, Solution, Solver, composed, require_delta

__all__ = ["NoisyGD", "NoisyGDPlan"]

_FEWEST_STEPS = 100  # no guarantee rests on it
_LONGEST_STEP = 2.0  # in units of 1/curvature, by which steps are counted; nor on this
_SHARE_MARGIN = 1e-14  # a guarantee rests on it: some forty operations, each off by 2⁻⁵³ at most
_NO_CONTRACTION = 1e-300  # below, what follows would underflow; 1 is always a valid answer
_THEOREM = "noisy full-batch gradient steps, composed as Gaussian DP"
_LAST_ITERATE = "last iterate of noisy gradient descent by shifted interpolation"


@dataclass(frozen=True, kw_only=True)
class NoisyGDPlan(Plan):
    """Noisy gradient steps; all of it public.

    Parameters
    ----------
    count : RowCount
        The number of rows by which step sizes are chosen.
    mu : float
        Gaussian-DP parameter of the steps.
    """

    count: RowCount
    mu: float


@dataclass(frozen=True)
class NoisyGD(Solver):
    r"""Descend along the gradient of all rows, with noise.

    Parameters
    ----------
    n_steps : int or None
        *Public.* T; None: 100, or more where longer steps would not be stable.
    step_size : float or None
        *Public.* h, for the gradient of the *sum* over all rows. None: such that the noise in a
        score ends as wide as the loss's `noise_scale`.
    momentum : float in [0, 1)
        *Public.* Heavy-ball momentum β. With 0 the last iterate has a bound of its own.
    average : float in [0, 1]
        *Public.* Share of the run, its end, over which iterates are averaged; 0: the last one.
    domain_radius : float or None
        *Public.* Iterates are projected on the ball of this radius; None: nowhere.

    Notes
    -----
    **Guarantee.** G bounds the change of Σ∇ℓ when a record changes. T steps with noise N(0, s²·I)
    in the gradient are √T·G/s-Gaussian DP, all iterates together (Dong, Roth and Su 2022,
    Corollary 2). With β = 0 and no averaging, for a smooth loss, a ridge m = 1/C and a public row
    count, the last iterate alone is (G/s)·√((1 − c^T)/(1 + c^T)·(1 + c)/(1 − c))-Gaussian DP with
    c = max(\|1 − h·m\|, \|1 − h·M\|) < 1 and M = m + n·R²·smoothness (Bok, Su and Altschuler 2024),
    and s is chosen by that, the smaller one.
    """

    n_steps: int | None = None
    step_size: float | None = None
    momentum: float = 0.9
    average: float = 0.0
    domain_radius: float | None = None

    takes_start = True
    is_gaussian = True

    def __post_init__(self) -> None:
        make_plain(self)
        if self.n_steps is not None:
            check_count("n_steps", self.n_steps)
        for name in ("step_size", "domain_radius"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        check_real("momentum", self.momentum, low=0.0, high=1.0, closed="[")
        check_real("average", self.average, low=0.0, high=1.0, closed="[]")

    @classmethod
    def theorem_2(
        cls, *, n: int, d: int, domain_radius: float, lipschitz: float, epsilon: float, delta: float
    ) -> NoisyGD:
        """Return noisy gradient descent with a proved excess risk: Tian 2024, Theorem 2.

        Parameters
        ----------
        n, d : int
            *Public.* Rows, and coefficients with the intercept's.
        domain_radius : float
            *Public.* R of the theorem: a ball that holds the minimiser.
        lipschitz : float
            *Public.* L of the theorem: of one record's loss, in the coefficients.
        epsilon, delta : float
            *Public.* As in `fit`, with ε at most 2·log(1/δ).

        Returns
        -------
        solver : NoisyGD
            Without momentum; it releases the average of all iterates.

        Notes
        -----
        The average of the iterates is within 8·L·R·√(d·log(1/δ))/(ε·n) of the least mean loss, in
        expectation. The noise is calibrated exactly and so is less than the theorem's
        σ = 4·L·√(T·log(1/δ))/(ε·n), for which the bound is stated; for larger ε it is not.
        """
        n, d = check_count("n", n), check_count("d", d)
        check_size("domain_radius", domain_radius)
        check_size("lipschitz", lipschitz)
        log = -math.log(check_real("delta", delta, low=0.0, high=1.0))
        check_real("epsilon", epsilon, low=0.0, high=2.0 * log, closed="]")
        T = math.ceil((n * epsilon) ** 2 / (32.0 * d * log))
        scale = 2.0 * T + 32.0 * d * T**2 * log / (epsilon * n) ** 2
        step = domain_radius / lipschitz / math.sqrt(scale) / n
        return cls(T, step, momentum=0.0, average=1.0, domain_radius=domain_radius)

    def plan(self, problem: Problem, epsilon: float, delta: float) -> NoisyGDPlan:
        require_delta(delta, "noisy_gd")
        require_stable(problem, self.step_size, self.momentum)
        count = RowCount.plan(problem, epsilon, delta)
        mu = count.rest(gdp_mu(epsilon, delta))
        event = composed((*count.events, GDPEvent(mu)))
        theorem = _LAST_ITERATE if self._is_contractive(problem) else _THEOREM
        return NoisyGDPlan(problem=problem, event=event, theorem=theorem, count=count, mu=mu)

    def solve(
        self,
        plan: NoisyGDPlan,
        design: ClippedDesign,
        y: np.ndarray,
        rng: np.random.Generator,
        progress: Progress,
        start: np.ndarray | None = None,
    ) -> Solution:
        descent = self.descent(plan, plan.count.release(design, rng))
        if start is None:
            start = np.zeros(plan.problem.shape(design.n_features))

        def gradient(theta: np.ndarray) -> np.ndarray:
            total = np.zeros_like(theta)
            for rows, block in design.blocks():
                total += block.rmatvec(plan.problem.loss.gradient(y[rows], block.matvec(theta)))
            return total

        return Solution(descent.run(start, gradient, rng, progress), descent.n_steps)

    def descent(self, plan: NoisyGDPlan, n: int) -> Descent:
        """Return the numbers of a run.

        Parameters
        ----------
        plan : NoisyGDPlan
            *Public.*
        n : int
            *Public or released.* About how many rows there are.

        Returns
        -------
        descent : Descent
            Steps, noise and ridge.
        """
        problem, G = plan.problem, plan.problem.lipschitz_difference
        t = flow_time(problem, n, G / plan.mu)
        T, h = self._steps(problem, n, t * (1.0 - self.momentum))
        C = inverse_regularisation(problem, h * T / (1.0 - self.momentum))
        noise = G * math.sqrt(T) / plan.mu
        if self._is_contractive(problem):
            noise *= _last_iterate(h / C, h * n * problem.loss.smoothness * problem.row_norm**2, T)
        radius = math.inf if self.domain_radius is None else self.domain_radius
        return Descent(
            n_steps=T,
            step_size=h,
            noise=noise,
            ridge=1.0 / C,
            momentum=self.momentum,
            average=self.average,
            radius=radius,
        )

    def _steps(self, problem: Problem, n: int, length: float) -> tuple[int, float]:
        """Return T and h with T·h = `length`, unless one is given or the ridge wants shorter h."""
        least = math.ceil(length * worst_curvature(problem, n) / _LONGEST_STEP)
        T = self.n_steps or max(_FEWEST_STEPS, least)
        return T, self.step_size or min(length / T, longest_step(problem, n))

    def _is_contractive(self, problem: Problem) -> bool:
        """Return whether the last iterate's own bound applies: all of it public facts."""
        last = self.momentum == 0.0 and self.average == 0.0
        public = problem.neighboring.count_is_public and problem.n_samples is not None
        return last and public and math.isfinite(problem.loss.smoothness)


def _last_iterate(pull: float, curvature: float, n_steps: int) -> float:
    """Return by how much the last iterate costs less than all: c from h·m and h·(M − m)."""
    gap = min(pull, 2.0 - pull - curvature)  # 1 − c
    if gap < _NO_CONTRACTION:
        return 1.0
    log_power = n_steps * math.log1p(-gap) if gap < 1.0 else -math.inf
    share = -math.expm1(log_power) / (1.0 + math.exp(log_power)) * (2.0 - gap) / gap / n_steps
    return math.sqrt(min(share * (1.0 + _SHARE_MARGIN), 1.0))
