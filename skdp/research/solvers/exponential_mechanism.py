"""The exponential mechanism on a ball: a sample from exp(−c·Σ loss), without any δ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Minorant
from skdp.losses.base import oscillation
from skdp.privacy.noise_events import BoundedRangeEvent
from skdp.samplers import SAMPLERS, Target
from skdp.samplers.base import Ball, Progress, plan_at_once
from skdp.solvers.base import (
    SCALE_MARGIN,
    Plan,
    Problem,
    Solution,
    Solver,
    rounded_inwards,
)
from skdp.solvers.regularized_exponential import reach_of
from skdp.support.validation import check_real, make_plain

_SHRINKINGS = np.geomspace(1e-9, 1.0, 400)  # a bound holds at each; no guarantee rests on which


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanismPlan(Plan):
    """Public numbers of a sample from a density on a ball."""

    domain: Ball
    temperature: float  # c, in units of 1/loss
    prior_precision: float  # α
    noise: float  # scale of the sample, which sets the public grid

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        target = Target(
            design=design,
            loss=self.problem.loss,
            row_norm=self.problem.row_norm,
            temperature=self.temperature,
            prior_precision=self.prior_precision,
            domain=self.domain,
        )
        run = plan_at_once(1.0)
        draw = SAMPLERS["exact"]().sample(target, run, rng, progress)
        return Solution(rounded_inwards(draw.theta, self.noise), 1, draw.diagnostics)


@dataclass(frozen=True)
class ExponentialMechanismSolver(Solver):
    """Draw the coefficients from exp(−c·Σ ℓ) on a ball, exactly, by rejection.

    For few coefficients, or few rows, and a δ of 0. A number C of your own adds a ridge |θ|²/(2C)
    to Σ ℓ.

    Parameters
    ----------
    domain : Ball or None
        *Public.* Where the coefficients lie. With None the radius is 2.5·`noise_scale`/R, of
        scores that reach a few times that scale.
    max_exponent : float
        *Public.* Settings whose worst-case expected number of proposals is more than
        e^max_exponent raise ValueError.

    Notes
    -----
    **Guarantee.** (ε, 0)-DP, and of ε-bounded range. Let ℓ vary by at most Δ on the ball, for any
    record; Δ ≤ 2·L_ℓ·R·r. Σ ℓ then changes by a function that varies by at most k·Δ, k = 2 if a
    record is replaced and 1 if one is added or removed. The logarithm of the ratio of densities
    lies in an interval of length c·k·Δ around 0, for the normalizing constants differ by a mean of
    that function. So c = ε/(k·Δ).

    References
    ----------
    McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007, Theorem 6.
    """

    domain: Ball | None = None
    max_exponent: float = 14.0

    is_pure = True
    takes_blocks = True
    takes_persons = True

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_exponent", self.max_exponent, low=0.0)
        if not (self.domain is None or isinstance(self.domain, Ball)):
            raise ValueError(f"domain must be a Ball or None, got {self.domain!r}.")

    def plan(self, problem: Problem, epsilon: float, delta: float) -> ExponentialMechanismPlan:
        loss, R, n = problem.loss, problem.row_norm, problem.n_samples
        if n is None:
            raise IncompatibleSolverError(
                "solver='exponential_mechanism' needs n_samples_hint, about the number of rows, to "
                "bound the expected number of proposals beforehand."
            )
        if not math.isfinite(loss.lipschitz):
            raise IncompatibleSolverError(
                "solver='exponential_mechanism' needs a loss with a bounded derivative, got "
                f"{loss!r}."
            )
        domain = Ball(reach_of(problem)) if self.domain is None else self.domain
        change = problem.neighboring.n_changed * oscillation(loss, R * domain.radius)
        c = epsilon / change * (1.0 - SCALE_MARGIN)
        alpha = 0.0 if isinstance(problem.C, str) else c / float(problem.C)
        exponent = log_of_tries(problem, domain, c, n)
        if exponent > self.max_exponent:
            raise IncompatibleSolverError(
                f"solver='exponential_mechanism': the worst-case expected number of proposals is "
                f"e^{exponent:.3g} for {n} rows of {problem.loss!r}, and "
                f"max_exponent={self.max_exponent!r} allows e^{self.max_exponent:.3g}: take fewer "
                "features, a lower epsilon or a smaller domain, or another solver with delta > 0."
            )
        theorem = "exponential mechanism on a ball, McSherry and Talwar 2007, Theorem 6"
        noise = min(domain.radius, 1.0 / (c * n * loss.lipschitz * R))
        return ExponentialMechanismPlan(
            problem=problem,
            event=BoundedRangeEvent(epsilon),
            theorem=theorem,
            domain=domain,
            temperature=c,
            prior_precision=alpha,
            noise=noise,
        )


def log_of_tries(problem: Problem, domain: Ball, c: float, n: int) -> float:
    """Return a bound of the logarithm of the worst-case expected number of proposals.

    Proposals are drawn under affine minorants at the mode p. Points p + b·x with p + x in the ball
    make up at least b^d of what is proposed, and c·Σ D is at most c·n·`excess_bound`(2·R·r·b)
    there.
    """
    loss, width = problem.loss, 2.0 * problem.row_norm * domain.radius
    minorant, surplus = Minorant.of(loss), 0.5  # of the proposal's ridge
    if problem.n_features is None:
        return c * n * minorant.excess_bound(width) + surplus
    d = problem.n_features * loss.n_scores
    rejected = np.array([minorant.excess_bound(width * b) for b in _SHRINKINGS])
    return float(np.min(c * n * rejected - d * np.log(_SHRINKINGS))) + surplus
