"""The Metropolis-adjusted Langevin algorithm, a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from skdp.research.samplers.potential import Density
from skdp.research.samplers.reference import ReferenceSampler
from skdp.samplers.base import Progress, Sample, SamplerPlan, Target
from skdp.support.validation import check_real

__all__ = ["MALASampler"]


@dataclass(frozen=True)
class MALASampler(ReferenceSampler):
    """Metropolis-adjusted Langevin: propose θ' = θ − h·M⁻¹∇U(θ) + √(2h)·M^(−1/2)·ξ, then test.

    M = c·w·AᵀA + α·I is fixed, w a typical curvature of the loss, and h = step_scale/k^(1/3) for k
    coefficients. The density is invariant for any loss, smooth or not. A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    step_scale : float
        Length of a step; around 1 for a smooth loss.

    Notes
    -----
    **Certificate: asymptotic.** Proofs of rapid mixing exist without usable constants.

    References
    ----------
    Roberts and Tweedie, "Exponential convergence of Langevin distributions and their discrete
    approximations", Bernoulli 2, 1996.
    """

    theorem: ClassVar[str] = "Metropolis-adjusted Langevin algorithm: right in the limit only"

    step_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("step_scale", self.step_scale, low=0.0)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        chain = _Chain(Density(target), np.zeros(target.shape), self.step_scale, rng)
        for step in range(1, plan.n_steps + 1):
            chain.move()
            progress(step, plan.n_steps)
        found = {"n_evaluations": (1 + plan.n_steps) * target.design.n_samples}
        return Sample(chain.theta, {**found, "acceptance_rate": chain.n_accepted / plan.n_steps})


class _Chain:
    """The state θ, with what is known of U there."""

    def __init__(
        self, density: Density, start: np.ndarray, step_scale: float, rng: np.random.Generator
    ) -> None:
        self._density, self._rng = density, rng
        self._factor = linalg.cholesky(density.typical_hessian(), lower=True)
        self.theta = start
        self._h = step_scale / math.cbrt(self.theta.size)
        self._energy, self._gradient = self._value_and_scaled_gradient(self.theta)
        self.n_accepted = 0

    def move(self) -> None:
        """Propose, and accept or stay; in v = Lᵀθ, M = LLᵀ, proposals have covariance 2h·I."""
        noise = math.sqrt(2.0 * self._h) * self._rng.standard_normal(self.theta.shape)
        step = noise - self._h * self._gradient
        theta = self.theta + linalg.solve_triangular(self._factor, step, lower=True, trans="T")
        energy, gradient = self._value_and_scaled_gradient(theta)
        back = step - self._h * gradient  # −(noise of the way back)
        gain = self._energy - energy
        gain += float(np.vdot(noise, noise) - np.vdot(back, back)) / (4.0 * self._h)
        if self._rng.standard_exponential() > -gain:
            self.theta, self._energy, self._gradient = theta, energy, gradient
            self.n_accepted += 1

    def _value_and_scaled_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return U(θ) and L⁻¹∇U(θ), the gradient in v."""
        energy, gradient = self._density.value_and_gradient(theta)
        return energy, linalg.solve_triangular(self._factor, gradient, lower=True)
