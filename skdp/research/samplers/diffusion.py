"""Langevin steps, and how far they are from a density after finitely many of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import Certificate, Progress, Sample, Sampler, SamplerPlan, Setting, Target
from skdp.support.root_search import first_to_hold
from skdp.support.validation import check_count, make_plain

__all__ = ["DiffusionBounds", "DiffusionSampler"]

_SHARE_OF_START = 0.1
_FINER = 0.98
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class DiffusionBounds:
    """Bounds in total variation for V + (α/2)·|θ|², V convex and Γ-Lipschitz, started at 0.

    Parameters
    ----------
    alpha, beta : float
        Least and largest curvature of the potential.
    lipschitz : float
        Γ.
    dimension : int
        k.
    """

    alpha: float
    beta: float
    lipschitz: float
    dimension: int

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
        """Return the constants of the density whose diffusion is followed.

        Parameters
        ----------
        setting : Setting
            *Public.*
        tv : float
            *Public.* Total variation that is asked for.

        Returns
        -------
        DiffusionBounds
            *Public.*
        """

    @abstractmethod
    def error(self, bounds: DiffusionBounds, h: float, t: float) -> float:
        """Return a bound of the distance due to steps of size h, up to time t.

        Parameters
        ----------
        bounds : DiffusionBounds
            *Public.*
        h : float
            Step size.
        t : float
            Time.

        Returns
        -------
        float
            Bound of the total variation.
        """

    @abstractmethod
    def gradient_estimate(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return g; a call evaluates each record once.

        Parameters
        ----------
        target : Target
            *Private.*
        plan : SamplerPlan
            *Public.*
        rng : numpy Generator
            *Secret.*

        Returns
        -------
        callable
            Of θ, the gradient of the potential or an unbiased estimate of it.
        """

    share_of_steps: ClassVar[float]
    """The share of the total variation for `error`; a tenth is for the start."""

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        """Return the longest steps that come within `tv`, or raise if they are too many.

        Parameters
        ----------
        setting : Setting
            *Public.*
        tv : float
            *Public.* Total variation that is asked for.

        Returns
        -------
        SamplerPlan
            *Public.*
        """
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
        step_size, drift = plan.step / target.temperature, self.gradient_estimate(target, plan, rng)
        theta = np.zeros(target.shape)
        for step in range(1, plan.n_steps + 1):
            noise = math.sqrt(2.0 * step_size) * rng.standard_normal(target.shape)
            theta = theta - step_size * drift(theta) + noise
            progress(step, plan.n_steps)
        return Sample(theta, {"n_evaluations": plan.n_steps * target.design.n_samples})
