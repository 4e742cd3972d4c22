"""Noise with a density that is constant on cells, such as optimised and staircase noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._validation import check_count, check_real
from skdp.privacy.combined import MaximumCurve, SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.discrete import DiscretePairCurve
from skdp.privacy.events.base import Event
from skdp.privacy.neighboring import Neighboring

__all__ = ["PiecewiseConstantNoiseEvent"]


@dataclass(frozen=True)
class PiecewiseConstantNoiseEvent(Event):
    """One number plus noise that has mass `probabilities[i]`, evenly spread, on the i-th cell.

    All cells have the same width. A record moves the number by at most `sensitivity` cells under
    add/remove, twice that under replace-one, in either direction. A shift by a fraction of a cell
    is a mixture of its two neighbours, so the envelope over whole shifts is exact, and piecewise
    linear in e^ε (optimised-noise, sections 2 and 7.3).

    Parameters
    ----------
    probabilities : tuple of float
        *Public.* Masses of consecutive cells; they sum to 1.
    sensitivity : int
        *Public.* Size of one record's contribution, in cells.
    """

    probabilities: tuple[float, ...]
    sensitivity: int

    def __post_init__(self) -> None:
        probabilities = _checked(self.probabilities)
        sensitivity = check_count("sensitivity", self.sensitivity)
        self._set(probabilities=probabilities, sensitivity=sensitivity)
        DiscretePairCurve(probabilities, probabilities)

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:  # noqa: D102
        farthest = Neighboring(neighboring).n_changed * self.sensitivity
        shifts = range(1, farthest + 1)
        return SymmetrizedCurve(MaximumCurve(tuple(self._shifted(m) for m in shifts)))

    def _shifted(self, cells: int) -> DiscretePairCurve:
        mass, gap = np.array(self.probabilities) / sum(self.probabilities), np.zeros(cells)
        p, q = np.concatenate([gap, mass]), np.concatenate([mass, gap])
        return DiscretePairCurve(tuple(p), tuple(q))


def _checked(probabilities: Any) -> tuple[float, ...]:
    try:
        masses = tuple(probabilities)
    except TypeError:
        raise ValueError(
            f"probabilities must be a sequence of numbers that sum to 1, got {probabilities!r}. "
            "Nothing was spent."
        ) from None
    return tuple(
        check_real(f"probabilities[{i}]", mass, low=-math.inf) for i, mass in enumerate(masses)
    )
