"""What private choices from a list share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from skdp.mechanisms._grid import grid_step, to_steps
from skdp.mechanisms.base import Mechanism, least
from skdp.privacy import Event, PureDPEvent
from skdp.support.rounding import SUM, up
from skdp.support.validation import check_real, check_size

__all__ = ["Selection"]

_EPSILONS = 2.0**-20, 2.0**20
_Choice = TypeVar("_Choice", bound="Selection")


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """A choice of one of finitely many candidates that depends on gaps between utilities only.

    Neighbors change a gap by at most 2Δ. If they change all utilities in one direction it is Δ,
    which is what `monotonic` says. Utilities are rounded to the grid, which keeps both: equal
    bounds in whole steps, and one direction.
    """

    sensitivity: float
    epsilon: float
    monotonic: bool = False

    def __post_init__(self) -> None:
        low, high = _EPSILONS
        epsilon = check_real("epsilon", self.epsilon, low=low, high=high, closed="[]")
        self._set(sensitivity=check_size("sensitivity", self.sensitivity), epsilon=epsilon)
        if not isinstance(self.monotonic, bool):
            raise ValueError(f"monotonic must be True or False, got {self.monotonic!r}.")

    @classmethod
    def calibrate(
        cls: type[_Choice],
        epsilon: float,
        delta: float,
        sensitivity: float,
        *,
        monotonic: bool = False,
    ) -> _Choice:
        """Return the most accurate choice of which one release is (ε, δ)-DP.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of one choice; δ = 0 is allowed.
        sensitivity : float
            *Public.* The farthest that any one candidate's utility differs between neighbors.
        monotonic : bool, default False
            *Public.* Whether all utilities differ in the same direction, for every pair of
            neighbors.

        Returns
        -------
        Mechanism
            Of the class that was asked.

        Raises
        ------
        OutOfRangeError
            If no choice of this kind has the guarantee.
        """

        def make(x: float) -> _Choice:
            return cls(sensitivity=sensitivity, epsilon=1.0 / x, monotonic=monotonic)

        return least(make, (1.0 / _EPSILONS[1], 1.0 / _EPSILONS[0]), epsilon, delta)

    @property
    def event(self) -> Event:
        return PureDPEvent(self._loss)

    @property
    def _loss(self) -> float:
        """The farthest that the logarithm of a chance moves, rounded upwards."""
        return up(self._gap / self._scale, SUM)

    @property
    def _gap(self) -> int:
        """By how many steps neighbors change a gap."""
        steps = math.ceil(self.sensitivity / grid_step(self.sensitivity))
        return steps if self.monotonic else 2 * steps

    @property
    def _scale(self) -> int:
        """By how many steps a gap has to grow for a chance to fall by e; rounded up."""
        return math.ceil(self._gap / self.epsilon)

    @abstractmethod
    def _choose(self, gaps: np.ndarray, rng: np.random.Generator) -> int:
        """Return a candidate, given how many steps each lies below the best."""

    def release(self, value: Any, rng: np.random.Generator) -> int:
        """Return the index of the chosen candidate.

        Parameters
        ----------
        value : array-like of shape (n_candidates,)
            *Private.* Utilities, more is better. ``nan`` counts as 0. Their number is public.
        rng : numpy.random.Generator
            *Secret.*

        Returns
        -------
        int
        """
        utilities = np.asarray(value, dtype=float)
        if utilities.ndim != 1 or not utilities.size:
            raise ValueError(
                "value must hold one utility for each of at least one candidate, got the shape "
                f"{utilities.shape}."
            )
        steps = to_steps(utilities, grid_step(self.sensitivity))
        return self._choose(steps.max() - steps, rng)
