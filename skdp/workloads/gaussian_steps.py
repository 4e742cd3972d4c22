"""Gaussian releases one after another, of which each may be asked for after seeing the last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skdp.accounting import gdp_mu
from skdp.exceptions import OutOfRangeError
from skdp.mechanisms import Gaussian
from skdp.privacy import ComposedEvent, Event
from skdp.support.rounding import SERIES, down

__all__ = ["GaussianPlan", "GaussianStep", "plan_steps"]

# A guarantee rests on it: what rounding may add to the sum of the squares of μ, a few units of
# 2⁻⁵³ for each step.
_MARGIN = down(1.0, SERIES)


@dataclass(frozen=True)
class GaussianStep:
    """Numbers that are asked for in one step.

    Parameters
    ----------
    name : str
        *Public.* By which the plan finds its noise.
    size : int
        *Public.* How many numbers there are at most.
    l2_sensitivity : float
        *Public.* How far the numbers of two neighbors may be apart, whatever was released before.
    share : float in (0, 1]
        *Public.* Of μ², in proportion to the shares of the other steps.
    """

    name: str
    size: int
    l2_sensitivity: float
    share: float


@dataclass(frozen=True)
class GaussianPlan:
    """The noise of each step, fixed before any data are read.

    Parameters
    ----------
    steps : tuple of GaussianStep
        *Public.*
    mechanisms : tuple of Gaussian
        *Public.* One for each step.
    """

    steps: tuple[GaussianStep, ...]
    mechanisms: tuple[Gaussian, ...]

    theorem: ClassVar[str] = "Gaussian mechanism, adaptive composition"

    @property
    def event(self) -> Event:
        """What all steps together are."""
        return ComposedEvent(tuple(mechanism.event for mechanism in self.mechanisms))

    def scale(self, name: str) -> float:
        """Return the standard deviation of the noise of a step.

        Parameters
        ----------
        name : str
            *Public.* Of the step.

        Returns
        -------
        float
            *Public.*
        """
        return self._mechanism(name).scale

    def release(self, name: str, values: Any, rng: np.random.Generator) -> np.ndarray:
        """Return the numbers of a step with noise; each step is to be released once.

        Parameters
        ----------
        name : str
            *Public.* Of the step.
        values : array-like
            *Private*, but for its shape: as many numbers as were planned, or fewer.
        rng : numpy.random.Generator
            *Secret.* Source of the noise.

        Returns
        -------
        ndarray
            *Released.* Of the shape of `values`.
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
    owner: str, steps: Sequence[GaussianStep], epsilon: float, delta: float
) -> GaussianPlan:
    """Return noise with which all steps together are (ε, δ)-DP, also where one follows another.

    Parameters
    ----------
    owner : str
        *Public.* Who asks, for the error's message.
    steps : sequence of GaussianStep
        *Public.* What is asked. Shares that do not sum to 1 are scaled so that they do.
    epsilon, delta : float
        *Public.* The guarantee of all steps together.

    Returns
    -------
    GaussianPlan
        *Public.*

    Raises
    ------
    OutOfRangeError
        If δ is 0, or the noise would be smaller or larger than what can be sampled exactly.
    """
    if delta == 0.0:
        raise OutOfRangeError(f"{owner} needs delta > 0, for its noise is Gaussian.")
    mu, total = gdp_mu(epsilon, delta) * _MARGIN, math.fsum(step.share for step in steps)
    return GaussianPlan(
        tuple(steps), tuple(_gaussian(step, mu * math.sqrt(step.share / total)) for step in steps)
    )


def _gaussian(step: GaussianStep, mu: float) -> Gaussian:
    """Return noise that is μ-Gaussian DP at most, the rounding to its grid included."""
    l2 = step.l2_sensitivity
    first = Gaussian(sensitivity=l2, scale=l2 / mu, dimension=step.size)
    scale = first.scale * max(first.event.mu / mu, 1.0)
    while (found := replace(first, scale=scale)).event.mu > mu:
        scale += found.step
    return found
