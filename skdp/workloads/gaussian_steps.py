"""Gaussian releases one after another; each may depend on the earlier ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skdp.accounting import gdp_mu
from skdp.exceptions import OutOfRangeError
from skdp.mechanisms import Gaussian
from skdp.privacy import ComposedEvent, Event
from skdp.support.rounding import SERIES, down

__all__ = ["GaussianPlan", "GaussianStep", "plan_steps"]

# A guarantee rests on this factor: rounding may add a few units of 2⁻⁵³ per step to the sum of the
# squares of μ.
_MARGIN = down(1.0, SERIES)


@dataclass(frozen=True)
class GaussianStep:
    """Numbers that are released in one step.

    Parameters
    ----------
    name : str
    size : int
        Largest number of numbers.
    l2_sensitivity : float
        Largest distance of the numbers of two neighbors, whatever was released before.
    share : float in (0, 1]
        Share of μ², relative to the shares of the other steps.
    """

    name: str
    size: int
    l2_sensitivity: float
    share: float


@dataclass(frozen=True)
class GaussianPlan:
    """The steps of a fit and the noise of each, fixed before any data are read."""

    steps: tuple[GaussianStep, ...]
    mechanisms: tuple[Gaussian, ...]

    theorem: ClassVar[str] = "Gaussian mechanism, adaptive composition"
    exact: ClassVar[bool] = True

    @property
    def event(self) -> Event:
        """The event of all steps together."""
        return ComposedEvent(tuple(mechanism.event for mechanism in self.mechanisms))

    def scale(self, name: str) -> float:
        """Return the standard deviation of the noise of a step."""
        return self._mechanism(name).scale

    def release(self, name: str, values: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Return the *private* numbers of a step with noise; release each step once.

        Their number is public, and at most the size of the step.
        """
        mechanism, values = self._mechanism(name), np.asarray(values, dtype=float)
        if values.size > mechanism.dimension:
            raise ValueError(
                f"step {name!r} was planned for {mechanism.dimension} numbers, got {values.size}. "
                "Nothing was released."
            )
        return np.asarray(replace(mechanism, dimension=values.size).release(values, rng))

    def _mechanism(self, name: str) -> Gaussian:
        return dict(zip((step.name for step in self.steps), self.mechanisms, strict=True))[name]


def plan_steps(
    owner: str, steps: Sequence[GaussianStep], epsilon: float, delta: float, *, rest: float = 0.0
) -> GaussianPlan:
    """Return noise with which all steps together are (ε, δ)-DP, even if chosen adaptively.

    `owner` is the name in error messages. `rest` is a share of μ² left for other releases. Raises
    OutOfRangeError if δ is 0, or if the noise would be too small or too large to be sampled
    exactly.
    """
    if delta == 0.0:
        raise OutOfRangeError(f"{owner} needs delta > 0, because its noise is Gaussian.")
    mu = gdp_mu(epsilon, delta) * _MARGIN
    total = math.fsum([rest, *(step.share for step in steps)])
    return GaussianPlan(
        tuple(steps), tuple(_gaussian(step, mu * math.sqrt(step.share / total)) for step in steps)
    )


def _gaussian(step: GaussianStep, mu: float) -> Gaussian:
    """Return noise that is at most μ-Gaussian DP, including the rounding to its grid."""
    l2 = step.l2_sensitivity
    first = Gaussian(sensitivity=l2, scale=l2 / mu, dimension=step.size)
    scale = first.scale * max(first.event.mu / mu, 1.0)
    while (found := replace(first, scale=scale)).event.mu > mu:
        scale += found.step
    return found
