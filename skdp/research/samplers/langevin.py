"""Langevin steps, and how far they are from a density after finitely many of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import (
    Certificate,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
)
from skdp.support.safe_numbers import first_to_hold
from skdp.support.validation import check_count, check_real, make_plain

# Covers five floating-point operations, each exact to 2⁻⁵³. Without it a step could be longer than
# the theorem allows.
_STEPS_MARGIN = 1e-12


@dataclass(frozen=True)
class LangevinSampler(Sampler):
    """Langevin sampler: θ' = θ − η·∇U(θ) + √(2η)·ξ from θ = 0, one pass over the data per step.

    On a domain, each step ends with the projection onto it. Running time depends on public numbers
    only. Even after many steps the distribution differs from the target's: in a direction of
    curvature κ the variance is 2/(2 − η·κ) times too large.

    Parameters
    ----------
    max_curvature : float in (0, 2]
        *Public.* Bound on η·(α + β), β ≥ α the largest curvature of U for the worst data.
    min_steps : int
        *Public.* Minimum number of steps.
    max_steps : int
        *Public.* Maximum number of steps; `check` rejects settings that need more.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η ≤ 2/(α + β), with q = 1 − αη,
    f² = (1 − αη/2)·(1 − q^T)/(1 + q^T): Theorem L (*Samplers* in the documentation; Bok, Su and
    Altschuler 2024). The proof needs β = α + c·n·w·R² for both neighbors: a loss with a
    w-Lipschitz gradient, and a public number of rows n.
    """

    certifies: ClassVar[Certificate] = Certificate.STABLE
    theorem: ClassVar[str] = "Langevin sampler after finitely many steps, Theorem L"
    requires: ClassVar[frozenset[Requirement]] = frozenset(
        {Requirement.SMOOTH_LOSS, Requirement.SHARED_ROW_COUNT}
    )
    takes_domain: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_curvature: float = 0.5
    min_steps: int = 32
    max_steps: int = 200_000

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_curvature", self.max_curvature, low=0.0, high=2.0, closed="]")
        check_count("min_steps", self.min_steps)
        check_count("max_steps", self.max_steps)

    def check(self, setting: Setting) -> None:
        super().check(setting)
        n_steps = self.n_steps(setting)
        if n_steps > self.max_steps:
            raise IncompatibleSolverError(
                f"LangevinSampler needs {n_steps} steps, more than max_steps={self.max_steps!r}. "
                "Raise C, or use sampler='proximal'."
            )

    def n_steps(self, setting: Setting) -> int:
        """Return T, the least number of steps that are short enough for the worst data."""
        largest = 2.0 / setting.C + setting.worst_curvature
        needed = setting.flow_time * largest / self.max_curvature * (1.0 + _STEPS_MARGIN)
        return max(self.min_steps, math.ceil(needed))

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        t, T = setting.flow_time, self.n_steps(setting)
        h = t / T
        return SamplerPlan(
            n_steps=T, step=h, stability=self.stability(h / setting.C, T), spread=2.0 * t
        )

    def stability(self, precision_step: float, n_steps: int) -> float:
        """Return f of Theorem L, in (0, 1], for α·η ≤ 1 and T ≥ 1."""
        last = (1.0 - precision_step) ** n_steps
        moved = -math.expm1(n_steps * math.log1p(-precision_step)) if precision_step < 1.0 else 1.0
        return math.sqrt((1.0 - 0.5 * precision_step) * moved / (1.0 + last))

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        return _run(target, plan, target.gradient, rng, progress)


def _run(
    target: Target,
    plan: SamplerPlan,
    drift: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    progress: Progress,
) -> Sample:
    """Return the end of Langevin steps from θ = 0, each projected on the domain if there is one."""
    step_size, theta = plan.step / target.temperature, np.zeros(target.shape)
    for step in range(1, plan.n_steps + 1):
        noise = math.sqrt(2.0 * step_size) * rng.standard_normal(target.shape)
        theta = theta - step_size * drift(theta) + noise
        if target.domain is not None:
            theta = target.domain.project(theta)
        progress(step, plan.n_steps)
    return Sample(theta, {"n_evaluations": plan.n_steps * target.design.n_samples})


_SHARE_OF_START = 0.1
_FINER = 0.98
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class DiffusionBounds:
    """Bounds in total variation for V + (α/2)·|θ|², V convex and Γ-Lipschitz, started at 0."""

    alpha: float  # least curvature of the potential
    beta: float  # largest curvature of the potential
    lipschitz: float  # Γ
    dimension: int  # k

    def duration(self, tv: float) -> float:
        """Return t after which the diffusion is within `tv` of the density."""
        alpha = self.alpha
        distance = math.sqrt(self.dimension / alpha) + self.lipschitz / alpha
        return 0.5 * math.log1p(alpha * (distance / tv) ** 2 / (2.0 * math.pi)) / alpha

    def discretization(self, h: float, t: float) -> float:
        """Return the distance of steps of size h ≤ 1/β from the diffusion at time t."""
        alpha, beta, k = self.alpha, self.beta, self.dimension
        drift = self.lipschitz**2 / alpha + 2.0 * beta * k * t
        return beta * math.sqrt((h**2 / 3.0 * drift + h * k * t) / 8.0)

    def random_points(self, h: float, t: float) -> float:
        """Return the distance between steps along a random gradient of V and along its mean."""
        square = self.lipschitz**2
        return 0.25 * square * math.sqrt(t * h) * math.exp(min(h * square, 700.0))


@dataclass(frozen=True)
class DiffusionSampler(Sampler):
    """Repeat θ' = θ − η·g(θ) + √(2η)·ξ from θ = 0, g a gradient or an estimate of it."""

    certifies: ClassVar[Certificate] = Certificate.TV

    max_steps: int = 1_000_000

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("max_steps", self.max_steps)

    @abstractmethod
    def bounds(self, setting: Setting, tv: float) -> DiffusionBounds:
        """Return the constants of the density whose diffusion is followed."""

    @abstractmethod
    def error(self, bounds: DiffusionBounds, h: float, t: float) -> float:
        """Return a bound of the distance due to steps of size h, up to time t."""

    @abstractmethod
    def gradient_estimate(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return g; a call evaluates each record once."""

    share_of_steps: ClassVar[float]
    """The share of the total variation for `error`; a tenth is for the start."""

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        """Return the longest steps that come within `tv`, or raise if they are too many."""
        bounds = self.bounds(setting, tv)
        t = bounds.duration(_SHARE_OF_START * tv * (1.0 - _ROUNDING))
        limit, longest = self.share_of_steps * tv * (1.0 - _ROUNDING), 1.0 / bounds.beta
        h, _ = first_to_hold(
            lambda h: self.error(bounds, h, t) <= limit, math.inf, longest, lambda h: h * _FINER
        )
        n_steps = math.ceil(t / h)
        if n_steps > self.max_steps:
            raise IncompatibleSolverError(
                f"{type(self).__name__} would take {n_steps:.3g} steps to come within {tv:.3g} of "
                f"the density in total variation, and max_steps={self.max_steps!r} is the limit. "
                "sampler='proximal' needs no such distance."
            )
        return SamplerPlan(
            n_steps=n_steps,
            step=setting.C * setting.prior_precision * t / n_steps,
            stability=1.0,
            spread=setting.C,
            tv=tv,
        )

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        return _run(target, plan, self.gradient_estimate(target, plan, rng), rng, progress)


@dataclass(frozen=True)
class RenyiLangevinSampler(DiffusionSampler):
    """Repeat θ' = θ − η·∇U(θ) + √(2η)·ξ from θ = 0 until its density is nearly the target's.

    Step size and number of steps follow from a bound of the Rényi divergence, of order 1, between
    the steps and the diffusion that they imitate. They are about (β/α)²·k·ln²(1/tv)/tv², so only a
    large distance can be asked for. For a release take `LangevinSampler`, whose certificate needs
    no distance to the density.

    Parameters
    ----------
    max_steps : int
        *Public.* A run with more steps is rejected in advance.

    Notes
    -----
    **Certificate: tv.** Let t = Tη, W = √(k/α) + Γ/α, Γ = c·n·R·L, and β the largest curvature of U
    for the worst data. The bound is the sum of W·√(α/(2π(e^(2αt) − 1))) and
    β·√((η²(Γ²/α + 2βkt)/3 + ηkt)/8). Proof: *Reference samplers* in the documentation.

    References
    ----------
    Ganesh and Talwar, "Faster differentially private samplers via Rényi divergence analysis of
    discretized Langevin MCMC", NeurIPS 2020.
    """

    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Langevin steps by Theorem D"
    requires: ClassVar[frozenset[Requirement]] = frozenset(
        {
            Requirement.SMOOTH_LOSS,
            Requirement.FEATURE_COUNT,
            Requirement.SHARED_ROW_COUNT,
        }
    )
    share_of_steps: ClassVar[float] = 0.9

    def bounds(self, setting: Setting, tv: float) -> DiffusionBounds:
        alpha = setting.prior_precision
        beta = alpha * (1.0 + setting.C * setting.worst_curvature)
        return DiffusionBounds(
            alpha=alpha, beta=beta, lipschitz=setting.lipschitz, dimension=setting.dimension
        )

    def error(self, bounds: DiffusionBounds, h: float, t: float) -> float:
        return bounds.discretization(h, t)

    def gradient_estimate(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator
    ) -> Callable[[np.ndarray], np.ndarray]:
        return target.gradient


_SHARE_OF_SMOOTHING = 0.45


@dataclass(frozen=True)
class SmoothedLangevinSampler(DiffusionSampler):
    """Repeat θ' = θ − η·(αθ + g) + √(2η)·ξ, g a gradient of c·Σ ℓ at θ + r·ζ, ξ and ζ Gaussian.

    On average g is the gradient of c·Σ ℓ smoothed by a Gaussian of radius r, which is smooth.
    Radius, step size and number of steps follow from the distance that is asked for. There are
    about (Γ²/α)²·k²·ln²(1/tv)/tv⁴ steps, so only a large distance can be asked for.

    Parameters
    ----------
    max_steps : int
        *Public.* A run with more steps is rejected in advance.

    Notes
    -----
    **Certificate: tv.** Let t = Tη, Γ = c·n·R·L, W = √(k/α) + Γ/α and
    β = α + min(√(2/π)·Γ/r, c·n·w·R²). The bound is the sum of Γr√k/4, (Γ²/4)·√(tη)·e^(ηΓ²),
    β·√((η²(Γ²/α + 2βkt)/3 + ηkt)/8) and W·√(α/(2π(e^(2αt) − 1))). Proof: *Reference samplers* in
    the documentation.

    References
    ----------
    Chatterji, Diakonikolas, Jordan and Bartlett, "Langevin Monte Carlo without smoothness",
    AISTATS 2020.
    """

    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and smoothed steps by Theorem D"
    requires: ClassVar[frozenset[Requirement]] = frozenset(
        {Requirement.FEATURE_COUNT, Requirement.SHARED_ROW_COUNT}
    )
    share_of_steps: ClassVar[float] = 0.45

    def bounds(self, setting: Setting, tv: float) -> DiffusionBounds:
        alpha, lipschitz, k = setting.prior_precision, setting.lipschitz, setting.dimension
        smoothed = math.sqrt(2.0 / math.pi) * lipschitz / _radius(tv, lipschitz, k)
        beta = alpha + min(smoothed, alpha * setting.C * setting.worst_curvature)
        return DiffusionBounds(alpha=alpha, beta=beta, lipschitz=lipschitz, dimension=k)

    def error(self, bounds: DiffusionBounds, h: float, t: float) -> float:
        return bounds.discretization(h, t) + bounds.random_points(h, t)

    def gradient_estimate(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator
    ) -> Callable[[np.ndarray], np.ndarray]:
        lipschitz = target.temperature * target.design.n_samples * target.loss.lipschitz
        radius = _radius(plan.tv, lipschitz * target.row_norm, math.prod(target.shape))

        def at_random(theta: np.ndarray) -> np.ndarray:
            move = radius * rng.standard_normal(theta.shape)
            return target.gradient(theta + move) - target.prior_precision * move

        return at_random


def _radius(tv: float, lipschitz: float, dimension: int) -> float:
    """Return r whose smoothing costs a fixed share of `tv`."""
    return 4.0 * _SHARE_OF_SMOOTHING * tv / (lipschitz * math.sqrt(dimension))
