"""The base of private choices from a list."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.mechanisms._grid import grid_step, to_steps
from skdp.mechanisms.base import Mechanism, least
from skdp.privacy import Event, PureDPEvent
from skdp.support.rounding import SUM, up
from skdp.support.validation import check_real, check_size

_EPSILONS = 2.0**-20, 2.0**20


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """A choice of one of finitely many candidates that depends on gaps between utilities only.

    Neighbors change a gap by at most 2Δ, or by Δ if they change all utilities in one direction
    (`monotonic`). Rounding to the grid keeps both bounds, in whole steps.
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
        cls, epsilon: float, delta: float, sensitivity: float, *, monotonic: bool = False
    ) -> Self:
        """Return the most accurate choice for which one release is (ε, δ)-DP.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of one choice; δ = 0 is allowed.
        sensitivity : float
            *Public.* The most that the utility of one candidate differs between neighbors.
        monotonic : bool, default False
            *Public.* Whether all utilities differ in the same direction, for every pair of
            neighbors.

        Returns
        -------
        Mechanism

        Raises
        ------
        OutOfRangeError
            If no choice of this kind has the guarantee.
        """

        return least(
            lambda x: cls(sensitivity=sensitivity, epsilon=1.0 / x, monotonic=monotonic),
            (1.0 / _EPSILONS[1], 1.0 / _EPSILONS[0]),
            epsilon,
            delta,
        )

    @property
    def event(self) -> Event:
        return PureDPEvent(self._loss)

    @property
    def _loss(self) -> float:
        """Largest change of the logarithm of a probability, rounded upwards."""
        return up(self._gap / self._scale, SUM)

    @property
    def _gap(self) -> int:
        """Largest change of a gap between neighbors, in steps."""
        steps = math.ceil(self.sensitivity / grid_step(self.sensitivity))
        return steps if self.monotonic else 2 * steps

    @property
    def _scale(self) -> int:
        """Growth of a gap, in steps, that divides a probability by e; rounded up."""
        return math.ceil(self._gap / self.epsilon)

    @abstractmethod
    def release(self, value: ArrayLike, rng: np.random.Generator) -> int:
        """Return the index of the chosen candidate.

        Parameters
        ----------
        value : array-like of shape (n_candidates,)
            *Private.* Utilities; larger is better. ``nan`` counts as 0. Their number is public.
        rng : numpy.random.Generator
            *Secret.*

        Returns
        -------
        int
        """

    def _utilities(self, value: ArrayLike) -> np.ndarray:
        """Return an array of utilities, or raise ValueError if the shape is wrong."""
        utilities = np.asarray(value, dtype=float)
        if utilities.ndim != 1 or not utilities.size:
            raise ValueError(
                "value must have shape (n_candidates,) with at least one candidate, got the shape "
                f"{utilities.shape}."
            )
        return utilities

    def _gaps(self, utilities: np.ndarray) -> np.ndarray:
        """Return the gap of each utility to the best, in steps."""
        steps = to_steps(utilities, grid_step(self.sensitivity))
        return np.asarray(steps.max() - steps)
