"""Proximal chains whose step is chosen by the data and whose length by the total variation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import (
    Certificate,
    Effort,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
    plan_at_once,
)
from skdp.samplers.proximal import TangentSearch, TangentStep
from skdp.support.validation import check_real, make_plain

# These choose among chains that are all within the distance. No guarantee rests on them.
_PRECISION_STEPS = np.geomspace(1e-7, 1e15, 150)
_GRADIENTS, _PROPOSAL = 1.3, 0.6  # passes per step, and per proposal
_MOST = 600.0  # e^600 passes are as good as infinitely many
_START = 1.0  # of a start near the mode, in standard deviations of the ridge
_PILOT_STEPS, _PILOT_TRIES = 16, 30
_MOST_DOUBLINGS = 30

# Bounds behind a certificate are rounded to the safe side. A distance is a norm of at most 10⁶
# numbers, divided and added to: exact to a relative (10⁶ + 9)·2⁻⁵³ < 1e-9. A number of steps is a
# quotient of two logarithms: exact to a few units of 2⁻⁵³.
_DISTANCE_MARGIN = 1e-9
_STEPS_MARGIN = 1e-12


@dataclass(frozen=True, kw_only=True)
class Length:
    """Step size and length of a chain."""

    precision_step: float  # α·η
    n_steps: int  # T
    passes: float  # expected number of passes for an approximately Gaussian target


def n_steps_to(tv: float, precision_step: float, distance: float) -> int:
    """Return the least T with q^(T−1)·W/√(2πη) ≤ `tv`, W = `distance`/√α: Theorem B."""
    log_ratio = math.log(distance) - 0.5 * math.log(2.0 * math.pi * precision_step) - math.log(tv)
    return 1 + max(0, math.ceil(log_ratio / math.log1p(precision_step) * (1.0 + _STEPS_MARGIN)))


def cheapest(curvatures: np.ndarray, distance: float, tv: float, repeated: int = 1) -> Length:
    """Return the cheapest chain within `tv`.

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

    The worst data have a Hessian of the largest trace, spread evenly over all its directions.
    """
    rank = setting.worst_rank
    worst = np.full(1, setting.C * setting.worst_trace / rank)
    n_coefficients = setting.loss.n_scores * (setting.n_features or rank)
    distance = math.sqrt(n_coefficients) + _START
    passes = cheapest(worst, distance, tv, repeated=rank).passes
    if passes > limit:
        raise IncompatibleSolverError(
            f"{name} may take {passes:.3g} passes over the data, more than max_passes={limit!r}. "
            "Lower C or epsilon, or use sampler='proximal'."
        )


class Step(Protocol):
    """Exact sampler of exp(−V(θ) − |θ − center|²/(2σ²)); `effort` is the total so far."""

    effort: Effort

    def attempt(self, center: np.ndarray, most_tries: int = ...) -> np.ndarray | None:
        """Return one sample for a center, or None after `most_tries` rejections."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ChainStart:
    """The start of chains in a potential that is α-strongly convex there."""

    start: np.ndarray  # the first state
    precision: float  # α
    curvatures: np.ndarray  # approximate eigenvalues of the Hessian beyond α, in units of α
    distance: float  # bound of W·√α, W one of the mean distance from the start to the target
    step: Callable[[float], Step]  # returns the sampler of the next state for a variance
    theta: Callable[[np.ndarray], np.ndarray]  # returns the coefficients of a state
    effort: Effort = field(default_factory=Effort)  # of the search for the start
    facts: Mapping[str, float] = field(default_factory=dict)  # additional diagnostics


@dataclass(frozen=True)
class StepParameters:
    """η, and q = 1/(1 + αη)."""

    step_size: float
    q: float

    @classmethod
    def of(cls, start: ChainStart, length: Length) -> StepParameters:
        return cls(length.precision_step / start.precision, 1.0 / (1.0 + length.precision_step))

    @property
    def variance(self) -> float:
        """σ² = q·η, of the proposals."""
        return self.q * self.step_size

    def forward(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the center of the next inner step."""
        return self.q * (theta + math.sqrt(self.step_size) * rng.standard_normal(theta.shape))


def tune_chain(start: ChainStart, tv: float, rng: np.random.Generator) -> tuple[Length, Effort]:
    """Return a chain within `tv` whose states are found quickly, and the effort of the search.

    A pilot run of a few states, which are then discarded, tests the speed. The curvatures are known
    at one point only; they are doubled until the pilot run is quick.
    """
    curvatures, effort = start.curvatures, Effort()
    for _ in range(_MOST_DOUBLINGS):
        length = cheapest(curvatures, start.distance, tv)
        quick, spent = _is_quick(start, length, rng)
        effort += spent
        if quick:
            break
        curvatures = 2.0 * curvatures
    return length, effort


def _is_quick(start: ChainStart, length: Length, rng: np.random.Generator) -> tuple[bool, Effort]:
    parameters, theta = StepParameters.of(start, length), start.start
    step = start.step(parameters.variance)
    for _ in range(_PILOT_STEPS):
        found = step.attempt(parameters.forward(theta, rng), _PILOT_TRIES)
        if found is None:
            return False, step.effort
        theta = found
    return True, step.effort


def run_chain(
    start: ChainStart, length: Length, rng: np.random.Generator
) -> tuple[np.ndarray, Effort]:
    """Return the last state of a chain, and its effort."""
    parameters, theta = StepParameters.of(start, length), start.start
    step = start.step(parameters.variance)
    for _ in range(length.n_steps):
        center = parameters.forward(theta, rng)
        while (found := step.attempt(center)) is None:
            pass
        theta = found
    return theta, step.effort


def sample_by_chain(
    start: ChainStart, length: Length, rng: np.random.Generator, earlier: Effort
) -> Sample:
    """Return a chain's last state; its diagnostics include the `earlier` evaluations."""
    state, effort = run_chain(start, length, rng)
    facts = {
        "n_tries": effort.n_tries,
        "n_evaluations": (earlier + effort).n_evaluations,
        "n_steps": length.n_steps,
        "step_size": length.precision_step / start.precision,
    }
    return Sample(start.theta(state), {**facts, **start.facts})


def near_mode(target: Target, rng: np.random.Generator) -> ChainStart:
    """Return a start near the mode, for chains on the whole domain of the target."""
    alpha = target.prior_precision
    search = TangentSearch(target, 1.0 / alpha, rng)
    first = search.start()
    tangent = search.follow(first, np.zeros(target.shape))
    distance = _distance(target, tangent.point) * math.sqrt(alpha)
    n_evaluations = first.n_evaluations + tangent.n_evaluations + target.design.n_samples
    return ChainStart(
        start=tangent.point,
        precision=alpha,
        curvatures=search.curvatures(tangent) / alpha,
        distance=distance * (1.0 + _DISTANCE_MARGIN),
        step=lambda variance: TangentStep(target, variance, rng),
        theta=lambda state: state,
        effort=Effort(n_evaluations=n_evaluations),
    )


def _distance(target: Target, start: np.ndarray) -> float:
    """Return an upper bound W of the mean distance between the start and the target."""
    alpha, gradient = target.prior_precision, target.gradient(start)
    spread, error = math.sqrt(start.size / alpha), float(np.linalg.norm(gradient)) / alpha
    if target.domain is None:
        return spread + error
    error = min(error, _error_on_ball(target.domain.radius, alpha, gradient, start))
    return min(spread + error, 2.0 * target.domain.radius)


def _error_on_ball(radius: float, alpha: float, gradient: np.ndarray, start: np.ndarray) -> float:
    """Return a bound of |θ₀ − θ*| for θ₀ at which U falls toward the outside of the ball."""
    length = float(np.linalg.norm(start))
    if not length:
        return math.inf
    push = max(0.0, -float(np.vdot(gradient, start)) / length**2)
    inside = max(0.0, length * (radius - length))
    error = float(np.linalg.norm(gradient + push * start)) / alpha
    return error + math.sqrt(push * inside / alpha)


@dataclass(frozen=True)
class ProximalTVSampler(Sampler):
    """Proximal sampler that starts near the mode and runs until it is close to the target.

    It alternates θ' = θ + √η·ξ with an exact sample from exp(−U(θ) − |θ − θ'|²/(2η)). Start, step
    size and number of steps depend on the data and are not released. The distance between the last
    state and the target is proved for every data set.

    Parameters
    ----------
    max_passes : float
        *Public.* Largest allowed number of passes, predicted for the worst data.

    Notes
    -----
    **Certificate: tv.** After T steps from θ₀, the total variation is at most q^(T−1)·W/√(2πη),
    with q = 1/(1 + αη), W = √(d/α) + \\|θ₀ − θ*\\| and θ* the mode (Theorem B, *Samplers* in the
    documentation). \\|θ₀ − θ*\\| is at most \\|g\\|/α for any subgradient g of U at θ₀. T is the
    least number for which the bound is small enough.
    """

    certifies: ClassVar[Certificate] = Certificate.TV
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Theorem B"
    requires: ClassVar[frozenset[Requirement]] = frozenset({Requirement.ROW_COUNT})
    counts_rows: ClassVar[bool] = False
    takes_domain: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_passes: float = 1e6

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_passes", self.max_passes, low=0.0)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        refuse_endless("ProximalTVSampler", setting, tv, self.max_passes)
        return plan_at_once(setting.C, tv)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        start = near_mode(target, rng)
        length, tuning = tune_chain(start, plan.tv, rng)
        sample = sample_by_chain(start, length, rng, start.effort + tuning)
        progress(1, 1)
        return sample
