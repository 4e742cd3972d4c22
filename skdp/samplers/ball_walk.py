"""The ball walk in a ball, a reference that asks for values only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp._validation import check_count, check_real, make_plain
from skdp.samplers._density import Density
from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target

__all__ = ["BallWalkSampler"]


@dataclass(frozen=True)
class BallWalkSampler(Sampler):
    """Propose a uniform point at most a reach from θ; go there or stay, as Metropolis does.

    Proposals outside of the ball |θ| ≤ r are refused unseen. The density on that ball is invariant.
    A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    reach_scale : float
        The reach times √λ, λ = α + c·w·n·R²/k a typical curvature of U, for k coefficients and w a
        curvature that is typical of the loss: standard deviations, where the rows take all
        directions alike.
    radius : float or None
        r. With None the ball holds all but 2e-14 of the law (*Reference samplers* in the
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

    certifies: ClassVar[Certificate] = "asymptotic"
    theorem: ClassVar[str] = "ball walk in a ball: right in the limit only"
    counts_rows: ClassVar[bool] = False

    n_steps: int = 500
    reach_scale: float = 2.0
    radius: float | None = None

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_steps", self.n_steps)
        check_real("reach_scale", self.reach_scale, low=0.0)
        if self.radius is not None:
            check_real("radius", self.radius, low=0.0)

    def run(self, setting: Setting, tv: float) -> Run:  # noqa: D102
        return Run(self.n_steps, setting.C, 1.0, setting.C)

    def sample(  # noqa: D102
        self, target: Target, run: Run, rng: np.random.Generator, progress: Progress
    ) -> Draw:
        density = Density(target)
        radius = density.radius if self.radius is None else self.radius
        reach = self.reach_scale / math.sqrt(density.typical_precision)
        walk = _Walk(density, np.zeros(target.shape), reach, radius, rng)
        for step in range(1, run.n_steps + 1):
            walk.move()
            progress(step, run.n_steps)
        looks = walk.n_looks + (self.radius is None)
        found = {"n_queries": looks * target.design.n_samples, "radius": radius, "reach": reach}
        return Draw(walk.theta, {**found, "acceptance_rate": walk.n_accepted / run.n_steps})


class _Walk:
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
        self.n_looks, self.n_accepted = 1, 0

    def move(self) -> None:
        """Propose, and go or stay."""
        theta = self.theta + self._reach * self._in_unit_ball()
        if float(np.linalg.norm(theta)) > self._radius:
            return
        energy = self._density.potential(theta)
        self.n_looks += 1
        if energy - self._energy <= self._rng.standard_exponential():
            self.theta, self._energy = theta, energy
            self.n_accepted += 1

    def _in_unit_ball(self) -> np.ndarray:
        direction = self._rng.standard_normal(self.theta.shape)
        length = float(self._rng.random()) ** (1.0 / direction.size)
        return length / float(np.linalg.norm(direction)) * direction
