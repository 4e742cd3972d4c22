"""What every accountant answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._validation import check_delta
from skdp.accounting._leaf import Leaf
from skdp.privacy import Event, Neighboring, NoClosedCurveError, NonPrivateEvent

__all__ = ["Accountant", "UnpricedEventError"]

_LOG_TINIEST = -700.0


class UnpricedEventError(ValueError):
    """An accountant has no proved bound for a leaf of an event."""


@dataclass(frozen=True)
class Accountant(ABC):
    """A composition theorem: what an event costs whose parameters were fixed beforehand.

    An accountant reads the leaves of an event and nothing else, so nesting and order do not
    matter. What it cannot price it refuses; an answer is never below the truth.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Relation under which all leaves are priced.
    """

    neighboring: Neighboring | str = Neighboring.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighboring", Neighboring(self.neighboring))

    def epsilon(self, event: Event, delta: float) -> float:
        """Return an ε ≥ 0 for which `event` is (ε, `delta`)-DP; ``inf`` if none is proved.

        Parameters
        ----------
        event : Event
            *Public.*
        delta : float in [0, 1)
            *Public.*

        Raises
        ------
        UnpricedEventError
            If a leaf has no bound in this accountant's terms.
        """
        delta = check_delta(delta)
        leaves = self._leaves(event)
        if not leaves:
            return 0.0
        if _is_open(leaves):
            return math.inf
        return self._guarded(leaves, lambda: max(0.0, float(self._epsilon(leaves, delta))))

    def delta(self, event: Event, epsilon: Any) -> Any:
        """Return a δ in [0, 1] for which `event` is (`epsilon`, δ)-DP; arrays are welcome."""
        leaves = self._leaves(event)
        wanted = np.asarray(epsilon, dtype=float)
        values = np.array([self._one_delta(leaves, one) for one in wanted.ravel().tolist()])
        return values.reshape(wanted.shape) if wanted.ndim else float(values[0])

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:
        """Return (lower, upper): ε of the leaves' dominating pairs lies between them.

        Raises
        ------
        UnpricedEventError
            If this accountant has an upper side only.
        """
        raise UnpricedEventError(
            f"{type(self).__name__} has no lower side; PLDAccountant and, for Gaussian leaves, "
            "GDPAccountant have one. Nothing was spent."
        )

    @abstractmethod
    def _epsilon(self, leaves: tuple[Leaf, ...], delta: float) -> float:
        """Return ε for at least one leaf, all of them private."""

    def _delta(self, leaves: tuple[Leaf, ...], epsilon: float) -> float:
        """Return the least δ found with ε(δ) ≤ `epsilon`, by bisection of log δ."""
        if self._epsilon(leaves, 0.0) <= epsilon:
            return 0.0
        low, high = _LOG_TINIEST, 0.0
        while high - low > 1e-12 * max(1.0, -high):
            middle = 0.5 * (low + high)
            enough = self._epsilon(leaves, math.exp(middle)) <= epsilon
            low, high = (low, middle) if enough else (middle, high)
        return math.exp(high)

    def _one_delta(self, leaves: tuple[Leaf, ...], epsilon: float) -> float:
        if not epsilon >= 0.0:
            raise ValueError(f"epsilon must lie in [0, inf], got {epsilon!r}. Nothing was spent.")
        if not leaves:
            return 0.0
        if _is_open(leaves):
            return 1.0
        return self._guarded(leaves, lambda: min(1.0, float(self._delta(leaves, float(epsilon)))))

    def _leaves(self, event: Event) -> tuple[Leaf, ...]:
        if not isinstance(event, Event):
            raise UnpricedEventError(f"{event!r} is not an Event. Nothing was spent.")
        counts: Counter[Event] = Counter()
        for leaf, count in event.leaves():
            counts[leaf] += count
        relation = Neighboring(self.neighboring)
        merged = [Leaf(leaf, count, relation) for leaf, count in counts.items() if count]
        return tuple(sorted(merged, key=lambda leaf: repr(leaf.event)))

    def _guarded(self, leaves: tuple[Leaf, ...], answer: Any) -> Any:
        try:
            return answer()
        except NoClosedCurveError as error:
            culprit = next((leaf for leaf in leaves if not _has_curve(leaf)), leaves[0])
            raise self._refusal(culprit, "a privacy curve") from error

    def _refusal(self, leaf: Leaf, needed: str) -> UnpricedEventError:
        return UnpricedEventError(
            f"{type(self).__name__} cannot price {leaf.event!r} under {self.neighboring}: it needs "
            f"{needed}, which this event does not have. Nothing was spent."
        )


def _is_open(leaves: tuple[Leaf, ...]) -> bool:
    return any(leaf.event == NonPrivateEvent() for leaf in leaves)


def _has_curve(leaf: Leaf) -> bool:
    try:
        return bool(leaf.curves)
    except NoClosedCurveError:
        return False
