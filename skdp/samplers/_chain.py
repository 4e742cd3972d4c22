"""A proximal chain, cut to measure: its step fits the data, its length the distance asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skdp.samplers._length import Length, cheapest

__all__ = ["Place", "chain", "measured"]

_PILOT_STEPS, _PILOT_TRIES = 16, 30
_MOST_DOUBLINGS = 30


class Step(Protocol):
    """Draws exactly from exp(−V(θ) − |θ − center|²/(2σ²))."""

    n_tries: int

    @property
    def n_queries(self) -> int:
        """How many times a record was looked at, at one point each time."""

    def attempt(self, center: np.ndarray, most_tries: int = ...) -> np.ndarray | None:
        """Return one draw for a center, or None if none is found within so many tries."""


class Place(Protocol):
    """A start for chains in a potential that is α-strongly convex there."""

    start: np.ndarray
    """The first state."""

    precision: float
    """α."""

    curvatures: np.ndarray
    """About the eigenvalues of the Hessian beyond α, in units of α."""

    distance: float
    """Upper bound of W·√α, W a bound of the mean distance from the start to the target."""

    n_queries: int
    """How many times a record was looked at, at one point each time."""

    def step(self, variance: float) -> Step:
        """Return what draws the states."""


@dataclass(frozen=True)
class _Steps:
    step_size: float
    q: float

    @classmethod
    def of(cls, place: Place, length: Length) -> _Steps:
        return cls(length.precision_step / place.precision, 1.0 / (1.0 + length.precision_step))

    @property
    def variance(self) -> float:
        return self.q * self.step_size

    def forward(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the center that the next state is drawn for."""
        return self.q * (theta + math.sqrt(self.step_size) * rng.standard_normal(theta.shape))


def measured(place: Place, tv: float, rng: np.random.Generator) -> Length:
    """Return a chain within `tv` of which the draws are found soon.

    That is tried out on a few states, which are then forgotten. The curvatures, which are known
    at one point only, are doubled until it is so.
    """
    curvatures = place.curvatures
    for _ in range(_MOST_DOUBLINGS):
        length = cheapest(curvatures, place.distance, tv)
        if _is_quick(place, length, rng):
            break
        curvatures = 2.0 * curvatures
    return length


def _is_quick(place: Place, length: Length, rng: np.random.Generator) -> bool:
    steps, theta = _Steps.of(place, length), place.start
    step = place.step(steps.variance)
    for _ in range(_PILOT_STEPS):
        found = step.attempt(steps.forward(theta, rng), _PILOT_TRIES)
        if found is None:
            break
        theta = found
    place.n_queries += step.n_queries
    return found is not None


def chain(place: Place, length: Length, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return the last state of a chain, and the number of tries."""
    steps, theta = _Steps.of(place, length), place.start
    step = place.step(steps.variance)
    for _ in range(length.n_steps):
        center = steps.forward(theta, rng)
        while (found := step.attempt(center)) is None:
            pass
        theta = found
    place.n_queries += step.n_queries
    return theta, step.n_tries
