"""What a statistic returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp._validation import check_real
from skdp.privacy import PrivacyGuarantee
from skdp.workloads import QueryPlan

__all__ = ["NoisyNumbers", "Statistic", "half_width", "risk_of", "shown"]


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """A released number, or an array of them.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* What the release promises; of all numbers together.
    """

    value: Any
    privacy: PrivacyGuarantee

    @abstractmethod
    def _ends(self, risk: float) -> tuple[Any, Any]:
        """Return ends of intervals, each of which misses its number with probability `risk`."""

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Any, Any]:
        """Return where the statistic of the same data lies, as it would be without noise.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* The probability, over the noise, that an interval holds its number; more
            where the statistic is a function of several noisy numbers (a union bound).
        simultaneous : bool, default False
            *Public.* Whether all intervals hold at once with that probability, by a union bound,
            instead of each by itself.

        Returns
        -------
        low, high : float or ndarray
            Of the shape of `value`, computed from what was released and from public numbers.
        """
        low, high = self._ends(risk_of(level, np.size(self.value) if simultaneous else 1))
        return shown(low), shown(high)

    def __repr__(self) -> str:
        if np.size(self.value) > 1:
            return f"{np.array2string(np.asarray(self.value), precision=6)}\n{self.privacy}"
        low, high = (float(np.ravel(end)[0]) for end in self.interval())
        number = float(np.ravel(self.value)[0])
        return f"{number:.6g}, 95 % interval [{low:.6g}, {high:.6g}]\n{self.privacy}"


@dataclass(frozen=True, eq=False, repr=False)
class NoisyNumbers(Statistic):
    """Numbers plus noise: counts, sums, the cells of a histogram.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* What the release promises; of all numbers together.
    _plan : QueryPlan
        *Public.* The noise, of which `interval` is computed.
    _unit : float or ndarray
        *Public.* What the noise is multiplied by.
    """

    _plan: QueryPlan = field(kw_only=True)
    _unit: Any = field(default=1.0, kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        (query,) = self._plan.queries
        width = self._unit * half_width(self._plan, query.name, risk)
        return self.value - width, self.value + width


def half_width(plan: QueryPlan, name: str, risk: float) -> float:
    """Return what the noise of a query exceeds in size with probability at most `risk`.

    Two steps of the grid are added where the release is a rounded one.
    """
    mechanism = plan.mechanism(name)
    on_integers = mechanism.step == 1.0
    return float(mechanism.quantile(1.0 - 0.5 * risk)) + (
        0.0 if on_integers else mechanism.step * 2
    )


def risk_of(level: float, n_intervals: int = 1) -> float:
    """Return the probability with which one of `n_intervals` may miss."""
    return (1.0 - check_real("level", level, low=0.0, high=1.0)) / n_intervals


def shown(values: Any) -> Any:
    """Return a float for a single number, and an array as it is."""
    return values if np.ndim(values) else float(values)
