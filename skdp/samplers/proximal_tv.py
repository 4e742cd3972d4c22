"""The proximal sampler as near to its target as is asked for, its step chosen by the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp._validation import check_real
from skdp.exceptions import IncompatibleSolverError
from skdp.samplers._inner import TangentStep
from skdp.samplers._tangent import TangentPoint
from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target

__all__ = ["ProximalTVSampler", "n_steps_to"]

_PRECISION_STEPS = np.geomspace(1e-7, 1e15, 150)
_GRADIENTS, _PROPOSAL = 1.3, 0.6  # passes a step, and a try


@dataclass(frozen=True)
class ProximalTVSampler(Sampler):
    """Run the proximal sampler from near the mode until it is close to the target.

    It alternates θ' = θ + √η·ξ with an exact draw from exp(−U(θ) − |θ − θ'|²/(2η)). Start, step
    size and number of steps fit the data, so none of them is released: what counts is the distance
    between the last state and the target, which is proved for every data set.

    Parameters
    ----------
    max_condition : float
        *Public.* Where a row count is public, settings are refused in which the Hessian of U for
        the worst data may have a trace of more than this many α: steps are about as many.

    Notes
    -----
    **Certificate: tv.** After T steps from θ₀, with q = 1/(1 + αη) and θ* the mode, the total
    variation is at most q^(T−1)·W/√(2πη), W = √(d/α) + \\|θ₀ − θ*\\|, where \\|θ₀ − θ*\\| is at
    most \\|g\\|/α for any subgradient g of U at θ₀: Theorem B (*Samplers* in the documentation). T
    is the least for which that is small enough.
    """

    certifies: ClassVar[Certificate] = "tv"
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Theorem B"
    counts_rows: ClassVar[bool] = False
    takes_domain: ClassVar[bool] = True

    max_condition: float = 1e5

    def __post_init__(self) -> None:
        check_real("max_condition", self.max_condition, low=0.0)

    def check(self, setting: Setting) -> None:  # noqa: D102
        super().check(setting)
        condition = 0.0 if setting.n_samples is None else setting.C * setting.worst_trace
        if condition > self.max_condition:
            raise IncompatibleSolverError(
                f"ProximalTVSampler may need {condition:.3g} steps and more for the worst data; "
                f"max_condition={self.max_condition!r} is the limit. Lower C, or take "
                "sampler='proximal', which takes any. Nothing was spent."
            )

    def run(self, setting: Setting, tv: float) -> Run:  # noqa: D102
        return Run(1, setting.C, 1.0, setting.C, tv, 0.0)

    def sample(  # noqa: D102
        self, target: Target, run: Run, rng: np.random.Generator, progress: Progress
    ) -> Draw:
        alpha = target.prior_precision
        mode = TangentPoint(target, 1.0 / alpha, rng)
        mode.follow(np.zeros(target.shape))
        distance = _distance(target, mode.point) * (1.0 + 1e-9)
        eta, T = _cheapest(mode.curvatures, alpha, distance, run.tv)
        q = 1.0 / (1.0 + alpha * eta)
        inner, theta = TangentStep(target, q * eta, rng), mode.point
        for _ in range(T):
            theta = inner.draw(q * (theta + math.sqrt(eta) * rng.standard_normal(target.shape)))
        progress(1, 1)
        n_queries = mode.n_queries + target.design.n_samples + inner.n_queries
        found = {"n_tries": inner.n_tries, "n_queries": n_queries}
        return Draw(theta, {**found, "n_steps": T, "step_size": eta})


def _distance(target: Target, start: np.ndarray) -> float:
    """Return an upper bound W of the mean distance between the start and a draw."""
    alpha, slope = target.prior_precision, target.gradient(start)
    spread, error = math.sqrt(start.size / alpha), float(np.linalg.norm(slope)) / alpha
    if target.domain is None:
        return spread + error
    error = min(error, _error_on_ball(target.domain.radius, alpha, slope, start))
    return min(spread + error, 2.0 * target.domain.radius)


def _error_on_ball(radius: float, alpha: float, slope: np.ndarray, start: np.ndarray) -> float:
    """Return a bound of |θ₀ − θ*| in which the ball holds θ₀ against the slope outwards."""
    length = float(np.linalg.norm(start))
    if not length:
        return math.inf
    push = max(0.0, -float(np.vdot(slope, start)) / length**2)
    inside = max(0.0, length * (radius - length))
    error = float(np.linalg.norm(slope + push * start)) / alpha
    return error + math.sqrt(push * inside / alpha)


def n_steps_to(tv: float, alpha: float, eta: float, distance: float) -> int:
    """Return the least T with q^(T−1)·W/√(2πη) ≤ `tv`, W = `distance`."""
    log_ratio = math.log(distance) - 0.5 * math.log(2.0 * math.pi * eta) - math.log(tv)
    return 1 + max(0, math.ceil(log_ratio / math.log1p(alpha * eta) * (1.0 + 1e-12)))


def _cheapest(
    curvatures: np.ndarray, alpha: float, distance: float, tv: float
) -> tuple[float, int]:
    """Return the step size, and its T, that cost least if the law is about Gaussian."""
    variance = _PRECISION_STEPS / (1.0 + _PRECISION_STEPS)  # times 1/α
    log_tries = 0.5 * np.log1p(np.outer(variance, curvatures / alpha)).sum(axis=1)
    steps = [n_steps_to(tv, alpha, eta, distance) for eta in _PRECISION_STEPS / alpha]
    passes = steps * (_GRADIENTS + _PROPOSAL * np.exp(np.minimum(log_tries, 600.0)))
    best = int(np.argmin(passes))
    return float(_PRECISION_STEPS[best] / alpha), steps[best]
