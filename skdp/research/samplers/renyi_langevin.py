"""Langevin sampler whose step size and number of steps suit a distance to a smooth density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.research.samplers.diffusion import DiffusionBounds, DiffusionSampler
from skdp.samplers.base import Requirement, SamplerPlan, Setting, Target

__all__ = ["RenyiLangevinSampler"]


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
