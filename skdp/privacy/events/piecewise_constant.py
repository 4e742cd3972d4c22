"""Noise with a density that is constant on cells, such as optimized and staircase noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.privacy.combined import MaximumCurve, SymmetrizedCurve
from skdp.privacy.curve import DiscretePairCurve, PrivacyCurve
from skdp.privacy.events.base import AdditiveEvent
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.piecewise_linear import hockey_stick_above
from skdp.support.validation import check_count, check_real

__all__ = ["CellNoiseCurve", "PiecewiseConstantNoiseEvent"]


@dataclass(frozen=True)
class CellNoiseCurve(DiscretePairCurve):
    """The curve of a finite pair, rounded upwards.

    In optimized noise many cells have a loss of just ε, where the digits of δ cancel.
    """

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick_above(np.array(self.p), np.array(self.q), epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick_above(np.array(self.q), np.array(self.p), epsilon)


@dataclass(frozen=True)
class PiecewiseConstantNoiseEvent(AdditiveEvent):
    """One number plus noise that has mass `probabilities[i]`, evenly spread, on the i-th cell.

    All cells have the same width. A record moves the number by at most `sensitivity` cells under
    add/remove, twice that under replace-one, in either direction. A shift by a fraction of a cell
    is a mixture of its two neighbors, so the envelope over whole shifts is exact. It is rounded
    upwards. See *Optimized noise* in the user guide.

    Parameters
    ----------
    probabilities : tuple of float
        *Public.* Masses of consecutive cells; with the atom they sum to 1.
    sensitivity : int
        *Public.* Size of one record's contribution, in cells.
    atom : float
        *Public.* Probability of no noise at all, which gives the record away.
    """

    version: ClassVar[int] = 2

    probabilities: tuple[float, ...]
    sensitivity: int
    atom: float = 0.0

    def __post_init__(self) -> None:
        probabilities = _checked(self.probabilities)
        atom = check_real("atom", self.atom, low=0.0, high=1.0, closed="[]")
        sensitivity = check_count("sensitivity", self.sensitivity)
        self._set(probabilities=probabilities, sensitivity=sensitivity, atom=atom)
        DiscretePairCurve((*probabilities, atom), (*probabilities, atom))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        farthest = Neighboring(neighboring).n_changed * self.sensitivity
        shifts = range(1, farthest + 1)
        return SymmetrizedCurve(MaximumCurve(tuple(self._shifted(m) for m in shifts)))

    def _shifted(self, cells: int) -> CellNoiseCurve:
        mass, atom, gap = np.array(self.probabilities), [self.atom], np.zeros(cells)
        p, q = np.concatenate([gap, mass, atom, [0.0]]), np.concatenate([mass, gap, [0.0], atom])
        return CellNoiseCurve(tuple(p), tuple(q))


def _checked(probabilities: Iterable[float]) -> tuple[float, ...]:
    try:
        masses = tuple(probabilities)
    except TypeError:
        raise ValueError(
            f"probabilities must be a sequence of numbers that sum to 1, got {probabilities!r}."
        ) from None
    return tuple(
        check_real(f"probabilities[{i}]", mass, low=-math.inf) for i, mass in enumerate(masses)
    )
