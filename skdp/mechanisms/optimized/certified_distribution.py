"""Distributions with integer weights on cells: drawn exactly, and certified with rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from skdp.exceptions import UncertifiedNoiseError

__all__ = [
    "TOTAL",
    "CellDistribution",
    "Triple",
    "cell_steps",
    "certify",
    "exact_delta",
    "integer_weights",
]

Triple = tuple[int, int, int]
"""Distributions k and m, and a shift s in cells: p_k(i) is compared with p_m(i − s)."""

TOTAL = 2**53  # the sum of the weights: each weight and its share are exact doubles
_BITS = 80


@dataclass(frozen=True, kw_only=True)
class CellDistribution:
    """A mixture of uniform distributions on consecutive cells, and of an atom at 0."""

    weights: tuple[int, ...]  # sum to 2^53 with `atom`
    start: int  # left end of the first cell, in half cells
    atom: int = 0  # weight of 0 itself

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Exact masses of the cells."""
        return np.array(self.weights) / TOTAL

    @property
    def atom_mass(self) -> float:
        """Probability of 0 itself."""
        return self.atom / TOTAL

    @property
    def edges(self) -> np.ndarray:
        """Ends of the cells, in cells."""
        return 0.5 * self.start + np.arange(len(self.weights) + 1)

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.cumsum((self.atom, *self.weights))

    def draw(self, size: int, rng: np.random.Generator, steps: int) -> np.ndarray:
        """Return noise in steps, rounded down, where a cell has `steps` of them; exact.

        `steps` is even if `start` is odd. The atom is 0.
        """
        cells = np.searchsorted(self._sums, rng.integers(TOTAL, size=size), side="right") - 1
        within = cells * steps + rng.integers(steps, size=size)
        return np.where(cells < 0, 0, within + self.start * steps // 2)


def cell_steps(sensitivity: float, step: float, cells: int) -> int:
    """Return the even number of grid steps of a cell for which `cells` cells hold the sensitivity.

    Values at most a sensitivity apart are then at most `cells` cells apart on the grid.
    """
    return 2 * math.ceil(math.ceil(sensitivity / step) / (2 * cells))


def integer_weights(masses: np.ndarray, atom: float = 0.0) -> tuple[tuple[int, ...], int]:
    """Return weights of the cells and of the atom that sum to 2^53.

    All are rounded down, and the rest goes to the middle: symmetric masses stay symmetric,
    monotone ones monotone.
    """
    shares = np.floor(masses * TOTAL).astype(np.int64)
    own = int(atom * TOTAL)
    left = TOTAL - own - int(shares.sum())
    shares[(shares.size - 1) // 2] += left // 2
    shares[shares.size // 2] += left - left // 2
    return tuple(shares.tolist()), own


def certify(
    weights: Sequence[tuple[int, ...]],
    triples: Sequence[Triple],
    epsilon: float,
    delta: float,
    atom: int = 0,
) -> None:
    """Raise if the weights are not (ε, δ)-private for every triple, by exact arithmetic."""
    found = exact_delta(weights, triples, epsilon, atom)
    if found > Fraction(delta):
        raise UncertifiedNoiseError(
            f"The noise has delta={float(found)!r} by exact arithmetic, more than {delta!r}. Use a "
            "larger delta or fewer cells."
        )


def exact_delta(
    weights: Sequence[Sequence[int]], triples: Sequence[Triple], epsilon: float, atom: int = 0
) -> Fraction:
    """Return the largest Σ_i (p_k(i) − E·p_m(i − s))_+ + atom, with E a little below e^ε: no error.

    A smaller E only makes it larger, so this is a proof that the weights are (ε, δ)-private.
    """
    growth, unit = _exp_below(epsilon), 1 << _BITS
    most = max(_hockey_stick(weights[k], weights[m], s, growth, unit) for k, m, s in triples)
    return Fraction(most + atom * unit, TOTAL * unit)


def _hockey_stick(p: Sequence[int], q: Sequence[int], shift: int, growth: int, unit: int) -> int:
    n = len(q)
    others = (q[i - shift] if 0 <= i - shift < n else 0 for i in range(n))
    return sum(max(0, unit * own - growth * other) for own, other in zip(p, others, strict=True))


def _exp_below(epsilon: float) -> int:
    """Return a number below 2^80·e^ε, from its series, all terms rounded down."""
    top, bottom = epsilon.as_integer_ratio()
    term, total, n = 1 << _BITS, 0, 0
    while term:
        total, n = total + term, n + 1
        term = term * top // (bottom * n)
    return total
