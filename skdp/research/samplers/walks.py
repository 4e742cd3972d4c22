"""Metropolis walks on a grid and in a ball, references that evaluate the potential only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.research.samplers.potential import Density
from skdp.research.samplers.reference import ReferenceSampler
from skdp.samplers.base import Progress, Sample, SamplerPlan, Target
from skdp.support.validation import check_real

__all__ = ["BallWalkSampler", "GridWalkSampler", "log_ratio_bound"]


@dataclass(frozen=True)
class GridWalkSampler(ReferenceSampler):
    """Metropolis walk on the points s·z of a cube |θ_j| ≤ r, z integer, by steps along one axis.

    With probability 1/2 the state stays. Otherwise a uniform neighbor is proposed, rejected outside
    the cube, and accepted with the Metropolis probability. The distribution with weights exp(−U) on
    the grid is invariant; the sample is a point of the grid. A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    spacing_scale : float
        s·√λ, λ = α + c·w·n·R²/k a typical curvature of U, for k coefficients and w a curvature
        that is typical of the loss.
    radius : float or None
        r, rounded up to a multiple of s. With None the cube holds all but 2e-14 of the mass
        (*Reference samplers* in the documentation).

    Notes
    -----
    **Certificate: asymptotic.** The weights of the last state's distribution are between e^(−b) and
    e^b times those of the grid's, b the diagnostic ``log_ratio_bound``: a multiplicative bound, as
    pure differential privacy needs it, with explicit constants. With one coefficient and five
    records it is infinite for less than 10⁹ steps, and it is not of a kind that a solver can
    count.

    References
    ----------
    Applegate and Kannan, "Sampling and integration of near log-concave functions", STOC 1991.
    Bassily, Smith and Thakurta, "Private empirical risk minimization: efficient algorithms and
    tight error bounds", FOCS 2014, Section 3.
    """

    theorem: ClassVar[str] = "walk on a grid: right in the limit only"

    n_steps: int = 2000
    spacing_scale: float = 0.5
    radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("spacing_scale", self.spacing_scale, low=0.0)
        if self.radius is not None:
            check_real("radius", self.radius, low=0.0)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        density = Density(target)
        spacing = self.spacing_scale / math.sqrt(density.typical_precision)
        radius = density.radius if self.radius is None else self.radius
        walk = _GridWalk(density, spacing, math.ceil(radius / spacing), rng)
        for step in range(1, plan.n_steps + 1):
            walk.move()
            progress(step, plan.n_steps)
        passes = walk.n_passes + (self.radius is None)
        found = {"n_evaluations": passes * target.design.n_samples, "spacing": spacing}
        bound = log_ratio_bound(target, spacing, walk.half_width, plan.n_steps)
        return Sample(
            walk.theta, {**found, "half_width": walk.half_width, "log_ratio_bound": bound}
        )


def log_ratio_bound(target: Target, spacing: float, half_width: int, n_steps: int) -> float:
    """Return b: after `n_steps` from 0 all weights are within e^(±b) of the grid's.

    The grid has 2·`half_width` + 1 points along each axis.
    """
    k, alpha = math.prod(target.shape), target.prior_precision
    lipschitz = target.temperature * target.design.n_samples * target.loss.lipschitz
    lipschitz *= target.row_norm
    reach = spacing * half_width * math.sqrt(k)
    corner = reach + 0.5 * spacing * math.sqrt(k)
    within_cell = 0.5 * spacing * math.sqrt(k) * (lipschitz + alpha * corner)
    conductance = spacing * math.exp(-2.0 * within_cell) / (4.0 * k * corner)
    log_least = -2.0 * lipschitz * reach - 0.5 * alpha * reach**2
    log_least -= k * math.log(2 * half_width + 1)
    log_error = n_steps * math.log1p(-0.5 * conductance**2) - log_least
    return -math.log1p(-math.exp(log_error)) if log_error < 0.0 else math.inf


class _GridWalk:
    """The state θ = s·z, with U there."""

    def __init__(
        self, density: Density, spacing: float, half_width: int, rng: np.random.Generator
    ) -> None:
        self._density, self._rng, self._spacing = density, rng, spacing
        self.half_width = half_width
        self.place = np.zeros(density.target.shape, dtype=np.int64)
        self._energy = density.potential(self.theta)
        self.n_passes = 1

    @property
    def theta(self) -> np.ndarray:
        """The point of the grid."""
        return self._spacing * self.place

    def move(self) -> None:
        """Rest, or propose a neighbor, and go or stay."""
        axis, way = divmod(int(self._rng.integers(4 * self.place.size)), 4)
        if way > 1:
            return
        before = self.place.flat[axis]
        after = before + 2 * way - 1
        if abs(after) > self.half_width:
            return
        self.place.flat[axis] = after
        energy = self._density.potential(self.theta)
        self.n_passes += 1
        if energy - self._energy <= self._rng.standard_exponential():
            self._energy = energy
        else:
            self.place.flat[axis] = before


@dataclass(frozen=True)
class BallWalkSampler(ReferenceSampler):
    """Metropolis walk with uniform proposals in a ball around θ.

    Proposals outside the ball |θ| ≤ r are rejected. The density on that ball is invariant. A run
    starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    reach_scale : float
        The reach times √λ, λ = α + c·w·n·R²/k a typical curvature of U, for k coefficients and w a
        curvature that is typical of the loss: standard deviations, where the rows take all
        directions alike.
    radius : float or None
        r. With None the ball holds all but 2e-14 of the mass (*Reference samplers* in the
        documentation).

    Notes
    -----
    **Certificate: asymptotic.** The walk mixes in about k³ steps from a warm start in isotropic
    position; the proofs have no usable constants.

    References
    ----------
    Kannan, Lovász and Simonovits, "Random walks and an O*(n⁵) volume algorithm for convex bodies",
    Random Structures and Algorithms 11, 1997.
    Jia, Laddha, Lee and Vempala, "Reducing isotropy and volume to KLS", STOC 2021.
    """

    theorem: ClassVar[str] = "ball walk in a ball: right in the limit only"

    n_steps: int = 500
    reach_scale: float = 2.0
    radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("reach_scale", self.reach_scale, low=0.0)
        if self.radius is not None:
            check_real("radius", self.radius, low=0.0)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        density = Density(target)
        radius = density.radius if self.radius is None else self.radius
        reach = self.reach_scale / math.sqrt(density.typical_precision)
        walk = _BallWalk(density, np.zeros(target.shape), reach, radius, rng)
        for step in range(1, plan.n_steps + 1):
            walk.move()
            progress(step, plan.n_steps)
        passes = walk.n_passes + (self.radius is None)
        found = {
            "n_evaluations": passes * target.design.n_samples,
            "radius": radius,
            "reach": reach,
        }
        return Sample(walk.theta, {**found, "acceptance_rate": walk.n_accepted / plan.n_steps})


class _BallWalk:
    """The state θ, with U there."""

    def __init__(
        self,
        density: Density,
        start: np.ndarray,
        reach: float,
        radius: float,
        rng: np.random.Generator,
    ) -> None:
        self._density, self._rng = density, rng
        self._reach, self._radius = reach, radius
        self.theta, self._energy = start, density.potential(start)
        self.n_passes, self.n_accepted = 1, 0

    def move(self) -> None:
        """Propose, and go or stay."""
        theta = self.theta + self._reach * self._in_unit_ball()
        if float(np.linalg.norm(theta)) > self._radius:
            return
        energy = self._density.potential(theta)
        self.n_passes += 1
        if energy - self._energy <= self._rng.standard_exponential():
            self.theta, self._energy = theta, energy
            self.n_accepted += 1

    def _in_unit_ball(self) -> np.ndarray:
        direction = self._rng.standard_normal(self.theta.shape)
        length = float(self._rng.random()) ** (1.0 / direction.size)
        return length / float(np.linalg.norm(direction)) * direction
