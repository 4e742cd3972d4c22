"""Discrete laws of the privacy loss whose privacy curve is provably above, or below, a given one.

A privacy curve H(c) = δ(log c) is convex and nonincreasing in c. A law of the loss that sits on
the grid g_0 < ... < g_n has a curve that is linear in c between the grid points, and its survival
function S_i = P(L ≥ g_i) is read off the values H_i = H(e^g_i):

    S_i = H_i + (H_{i−1} − H_i) / (1 − e^(g_{i−1} − g_i)),                             (*)

since −H' is Q(L > g) and H = P(L > g) − c·Q(L > g). Conversely the curve of a law is the
expectation of (1 − c·e^−L)_+, which rises with L: a larger S gives a larger curve, for *any*
numbers S_0 ≥ S_1 ≥ ... ≥ 0. That is all the safety there is in this file: round S upwards for an
upper bound and downwards for a lower one. Laws may have a mass other than 1. Curves of products
are monotone in each factor's curve, H_c(P₁×P₂‖Q₁×Q₂) = ∫ p₂·H_{c·q₂/p₂}(P₁‖Q₁), so what holds
for one step holds for the composition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from skdp.accounting._loss_pairs import LossPair

__all__ = ["LARGEST_LOSS", "Pmf", "optimistic", "pessimistic", "survival"]

UNIT = 2.0**-53  # unit roundoff
LARGEST_LOSS = 700.0  # e^loss is a double up to here
_STRIDES = 6 * (1, 2, 4, 8, 16, 32, 16, 8, 4, 2)
_REACH = 128


@dataclass(frozen=True, eq=False)
class Pmf:
    """Masses at origin + step·first, origin + step·(first + 1), ..., and `infinite` at +inf."""

    step: float
    origin: float
    first: int
    masses: np.ndarray
    infinite: float

    @property
    def losses(self) -> np.ndarray:
        """The grid."""
        return self.origin + self.step * np.arange(self.first, self.first + self.masses.size)

    def log_moment(self, order: float) -> float:
        """Return log Σ p·e^(order·loss) over the finite losses, rounded upwards."""
        exponents = order * self.losses
        peak = float(exponents.max())
        total = float(self.masses @ np.exp(exponents - peak))
        total = max(total, 1e-300)  # no mass at all: any bound will do
        size = abs(float(exponents[0])) + abs(float(exponents[-1]))
        return peak + math.log(total) + UNIT * (4.0 * size + self.masses.size + 8.0)


def survival(values: np.ndarray, widths: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return S_1, ..., S_n of (*) and a bound on their rounding error."""
    drop = (values[:-1] - values[1:]) / -np.expm1(-np.asarray(widths))
    error = 8.0 * UNIT * (np.abs(values[:-1]) + np.abs(drop))
    return values[1:] + drop, np.where(drop == 0.0, 0.0, error)


def pessimistic(pair: LossPair, step: float, first: int, last: int) -> Pmf:
    """Return a law on cells first to last and +inf whose curve lies above the pair's.

    Connect the dots (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022): the chords of the
    convex H lie above it; so do the chord from H(0) = 1 to the first dot and the constant after
    the last. Rounding: the values are upper bounds, (*) is rounded up, and the running maximum
    from the right makes S nonincreasing by raising it.
    """
    values = pair.above(pair.origin + step * np.arange(first, last + 1))
    inner, error = survival(values, step)
    s = np.concatenate([[1.0], inner + error, values[-1:]])
    s = np.minimum(np.maximum.accumulate(s[::-1])[::-1], 1.0)
    return _trimmed(Pmf(step, pair.origin, first, s[:-1] - s[1:], float(s[-1])))


def optimistic(pair: LossPair, step: float, first: int, last: int) -> Pmf:
    """Return a law on cells first to last whose curve, plus the atom at +inf, is below the pair's.

    `pair.below` gives for each cell of the grid the values of a line below H at the two ends.
    K_i, the lesser of the values of the two lines that meet at g_i, makes every chord of K lie
    below the line of its cell, hence below H (tangents at the middles of the cells: an error of
    h²/24 in the second moment). `_anchored` sees to the two ends. Running minima make K, then S,
    nonincreasing by lowering them.
    """
    last = min(last, int(LARGEST_LOSS / step))
    losses = pair.origin + step * np.arange(first, last + 1)
    lines = [part - pair.infinite for part in pair.below(losses)]
    dots, total = _anchored(lines, np.exp(losses), 1.0 - pair.infinite)
    if dots is None:
        return Pmf(step, pair.origin, first, np.zeros(1), pair.infinite)
    inner, error = survival(np.minimum.accumulate(_convex(dots, step)), step)
    s = np.concatenate([[min(total, 1.0 - pair.infinite)], np.maximum(inner - error, 0.0), [0.0]])
    s = np.minimum.accumulate(s)
    return _trimmed(Pmf(step, pair.origin, first, s[:-1] - s[1:], pair.infinite))


def _trimmed(pmf: Pmf) -> Pmf:
    """Return the law without the empty cells at its ends."""
    filled = np.flatnonzero(pmf.masses)
    if not filled.size:
        return replace(pmf, masses=pmf.masses[:1])
    start, end = int(filled[0]), int(filled[-1]) + 1
    return replace(pmf, first=pmf.first + start, masses=pmf.masses[start:end])


def _anchored(
    lines: list[np.ndarray], c: np.ndarray, mass: float
) -> tuple[np.ndarray | None, float]:
    """Return K at the dots and at c = 0, joined to the lines 0 and b = mass − c below H.

    Above: from the first K_m ≤ 0 on K is 0, and at m − 1 too if the line of the cell before m
    ends below 0: each chord is then lowered, or part of 0. Below: with m the last K_m ≤ b_m, the
    chord from b at c = 0 to K_m lies below b. If there is none, the first cell's line, a tangent,
    goes on to c = 0.
    """
    left, right, zero = lines
    dots = np.minimum(np.append(left, 0.0), np.insert(right, 0, 1.0))
    end = int(np.argmax(dots <= 0.0))
    dots[max(end - int(end > 0 and right[end - 1] < 0.0), 0) :] = 0.0
    base = mass - c - 4.0 * UNIT
    start = int(np.max(np.flatnonzero((dots <= base) & (base > 0.0)), initial=-1))
    total = mass
    if start < 0:
        if dots[0] <= 0.0:
            return None, 0.0
        start, total = 0, float(zero[0])
    dots[:start] = total - (total - dots[start]) * c[:start] / c[start]
    return dots, total


def _convex(dots: np.ndarray, step: float) -> np.ndarray:
    """Return K lowered towards chords between its dots, near and far, where it is not convex.

    Lowering a K_i lowers both its chords, so any number of passes is safe. Only the stretch of
    real dents is worked on, not the noise of the last digit.
    """
    right = 1.0 / (1.0 + math.exp(step))
    dents = dots[1:-1] - (1.0 - right) * dots[:-2] - right * dots[2:]
    deep = np.flatnonzero(dents > 1e-13 * dots[1:-1])
    if not deep.size:
        return dots
    start, end = max(int(deep[0]) - _REACH, 0), int(deep[-1]) + _REACH + 3
    part = dots[start:end].copy()
    for stride in _STRIDES:
        right = 1.0 / (1.0 + math.exp(stride * step))
        chords = (1.0 - right) * part[: -2 * stride] + right * part[2 * stride :]
        inner = part[stride : part.size - stride]
        np.minimum(inner, chords, out=inner)
    return np.concatenate([dots[:start], part, dots[end:]])
