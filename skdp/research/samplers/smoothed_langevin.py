"""Langevin steps for non-smooth losses, by gradients at randomly moved points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.research.samplers.diffusion import DiffusionBounds, DiffusionSampler
from skdp.samplers.base import Requirement, SamplerPlan, Setting, Target

__all__ = ["SmoothedLangevinSampler"]

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
