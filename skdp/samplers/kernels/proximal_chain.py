"""A proximal chain, cut to measure: its step fits the data, its length the distance asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import Sample, Setting, Target
from skdp.samplers.kernels.tangent_rejection import TangentPoint, TangentStep

__all__ = [
    "Length",
    "NearMode",
    "Place",
    "chain",
    "cheapest",
    "measured",
    "n_steps_to",
    "refuse_endless",
]

_PRECISION_STEPS = np.geomspace(1e-7, 1e15, 150)
_GRADIENTS, _PROPOSAL = 1.3, 0.6  # passes a step, and a try
_MOST = 600.0  # e^600 passes are as good as infinitely many
_START = 1.0  # of a start near the mode, in standard deviations of the ridge


@dataclass(frozen=True, kw_only=True)
class Length:
    """A chain's numbers.

    Parameters
    ----------
    precision_step : float
        α·η.
    n_steps : int
        T.
    passes : float
        About how often the data are read, if the law is about Gaussian.
    """

    precision_step: float
    n_steps: int
    passes: float


def n_steps_to(tv: float, precision_step: float, distance: float) -> int:
    """Return the least T with q^(T−1)·W/√(2πη) ≤ `tv`, W = `distance`/√α: Theorem B."""
    log_ratio = math.log(distance) - 0.5 * math.log(2.0 * math.pi * precision_step) - math.log(tv)
    return 1 + max(0, math.ceil(log_ratio / math.log1p(precision_step) * (1.0 + 1e-12)))


def cheapest(curvatures: np.ndarray, distance: float, tv: float, repeated: int = 1) -> Length:
    """Return the chain within `tv` that costs least.

    `curvatures`, in units of α, are the eigenvalues of the Hessian of c·Σ ℓ, each `repeated`.
    """
    variance = _PRECISION_STEPS / (1.0 + _PRECISION_STEPS)  # times 1/α
    log_tries = 0.5 * repeated * np.log1p(np.outer(variance, curvatures)).sum(axis=1)
    steps = [n_steps_to(tv, step, distance) for step in _PRECISION_STEPS]
    passes = steps * (_GRADIENTS + _PROPOSAL * np.exp(np.minimum(log_tries, _MOST)))
    best = int(np.argmin(passes))
    return Length(
        precision_step=float(_PRECISION_STEPS[best]),
        n_steps=steps[best],
        passes=float(passes[best]),
    )


def refuse_endless(name: str, setting: Setting, tv: float, limit: float) -> None:
    """Raise if the cheapest chain for the worst data takes more than `limit` passes.

    Their Hessian has the largest trace, spread evenly over all the directions that it can have.
    """
    rank = setting.worst_rank
    worst = np.full(1, setting.C * setting.worst_trace / rank)
    n_coefficients = setting.loss.n_scores * (setting.n_features or rank)
    distance = math.sqrt(n_coefficients) + _START
    passes = cheapest(worst, distance, tv, repeated=rank).passes
    if passes > limit:
        raise IncompatibleSolverError(
            f"{name} may take {passes:.3g} passes over the worst data, and max_passes={limit!r} is "
            "the limit: lower C or epsilon, or take sampler='proximal', which takes any."
        )


_PILOT_STEPS, _PILOT_TRIES = 16, 30
_MOST_DOUBLINGS = 30


class Step(Protocol):
    """Draws exactly from exp(−V(θ) − |θ − center|²/(2σ²))."""

    n_tries: int

    @property
    def n_queries(self) -> int:
        """How many times a record was looked at, at one point each time."""

    def attempt(self, center: np.ndarray, most_tries: int = ...) -> np.ndarray | None:
        """Return one draw for a center, or None if none is found within so many tries."""


class Place(Protocol):
    """A start for chains in a potential that is α-strongly convex there."""

    start: np.ndarray
    """The first state."""

    precision: float
    """α."""

    curvatures: np.ndarray
    """About the eigenvalues of the Hessian beyond α, in units of α."""

    distance: float
    """Upper bound of W·√α, W a bound of the mean distance from the start to the target."""

    n_queries: int
    """How many times a record was looked at, at one point each time."""

    def step(self, variance: float) -> Step:
        """Return what draws the states."""


@dataclass(frozen=True)
class _Steps:
    step_size: float
    q: float

    @classmethod
    def of(cls, place: Place, length: Length) -> _Steps:
        return cls(length.precision_step / place.precision, 1.0 / (1.0 + length.precision_step))

    @property
    def variance(self) -> float:
        return self.q * self.step_size

    def forward(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the center that the next state is drawn for."""
        return self.q * (theta + math.sqrt(self.step_size) * rng.standard_normal(theta.shape))


def measured(place: Place, tv: float, rng: np.random.Generator) -> Length:
    """Return a chain within `tv` of which the draws are found soon.

    That is tried out on a few states, which are then forgotten. The curvatures, which are known
    at one point only, are doubled until it is so.
    """
    curvatures = place.curvatures
    for _ in range(_MOST_DOUBLINGS):
        length = cheapest(curvatures, place.distance, tv)
        if _is_quick(place, length, rng):
            break
        curvatures = 2.0 * curvatures
    return length


def _is_quick(place: Place, length: Length, rng: np.random.Generator) -> bool:
    steps, theta = _Steps.of(place, length), place.start
    step = place.step(steps.variance)
    for _ in range(_PILOT_STEPS):
        found = step.attempt(steps.forward(theta, rng), _PILOT_TRIES)
        if found is None:
            break
        theta = found
    place.n_queries += step.n_queries
    return found is not None


def chain(place: Place, length: Length, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return the last state of a chain, and the number of tries."""
    steps, theta = _Steps.of(place, length), place.start
    step = place.step(steps.variance)
    for _ in range(length.n_steps):
        center = steps.forward(theta, rng)
        while (found := step.attempt(center)) is None:
            pass
        theta = found
    place.n_queries += step.n_queries
    return theta, step.n_tries


class NearMode:
    """A point near the mode, and what is known of the target from there."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        self._target, self._rng = target, rng
        self.precision = target.prior_precision
        tangent = TangentPoint(target, 1.0 / self.precision, rng)
        tangent.follow(np.zeros(target.shape))
        self.start, self.curvatures = tangent.point, tangent.curvatures / self.precision
        distance = _distance(target, self.start) * math.sqrt(self.precision)
        self.distance = distance * (1.0 + 1e-9)
        self.n_queries = tangent.n_queries + target.design.n_samples

    def step(self, variance: float) -> TangentStep:
        """Return what draws the states."""
        return TangentStep(self._target, variance, self._rng)

    def length(self, tv: float) -> Length:
        """Return a chain that is within `tv` of the target."""
        return measured(self, tv, self._rng)

    def draw(self, length: Length) -> Sample:
        """Run a chain."""
        theta, n_tries = chain(self, length, self._rng)
        facts = {"n_tries": n_tries, "n_queries": self.n_queries, "n_steps": length.n_steps}
        return Sample(theta, {**facts, "step_size": length.precision_step / self.precision})


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
