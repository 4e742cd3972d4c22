"""Hit-and-run in a ball, a reference that needs only values of the potential."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.design import in_memory
from skdp.research.samplers.potential import Density
from skdp.research.samplers.reference import ReferenceSampler
from skdp.samplers.base import Progress, Sample, SamplerPlan, Target
from skdp.support.validation import check_real

__all__ = ["HitAndRunSampler"]


@dataclass(frozen=True)
class HitAndRunSampler(ReferenceSampler):
    """Hit-and-run: move along the chord of the ball |θ| ≤ r through θ in a uniform direction.

    The move draws a level below the density at θ, then points of the chord, uniform on an interval
    that shrinks toward θ, until one is above the level. It keeps the density on the chord
    invariant, hence the density on the ball. Values of U suffice. A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    radius : float or None
        r. With None the ball holds all but 2e-14 of the mass (*Reference samplers* in the
        documentation).

    Notes
    -----
    **Certificate: asymptotic.** Proofs of mixing in a convex body exist without usable constants.

    References
    ----------
    Lovász and Vempala, "Hit-and-run from a corner", SIAM Journal on Computing 35, 2006.
    Neal, "Slice sampling", Annals of Statistics 31, 2003.
    """

    theorem: ClassVar[str] = "hit-and-run in a ball: right in the limit only"
    takes_domain: ClassVar[bool] = True

    radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            check_real("radius", self.radius, low=0.0)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        density = Density(target)
        theta, n_points = np.zeros(target.shape), int(self.radius is None)
        radius = density.radius if self.radius is None else self.radius
        if target.domain is not None:
            radius = min(radius, target.domain.radius)
        for step in range(1, plan.n_steps + 1):
            direction = rng.standard_normal(theta.shape)
            direction /= np.linalg.norm(direction)
            theta, more = _along_chord(density, theta, direction, radius, rng)
            n_points += more
            progress(step, plan.n_steps)
        n_evaluations = n_points * target.design.n_samples
        return Sample(theta, {"n_evaluations": n_evaluations, "radius": radius})


def _along_chord(
    density: Density,
    theta: np.ndarray,
    direction: np.ndarray,
    radius: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Return the next state, and of how many points the potential was asked for."""
    design = in_memory(density.target.design)
    scores, rates = design.scores(theta), design.scores(direction)
    level = density.potential(theta, scores) + rng.standard_exponential()
    along = float(np.vdot(theta, direction))
    half = math.sqrt(max(along**2 + radius**2 - float(np.vdot(theta, theta)), 0.0))
    low, high, n_points = -along - half, -along + half, 1
    while True:
        t = rng.uniform(low, high)
        n_points += 1
        if density.potential(theta + t * direction, scores + t * rates) <= level:
            return theta + t * direction, n_points
        low, high = (t, high) if t < 0.0 else (low, t)
