"""Dominating pairs of output distributions, each as its privacy curve with a bound on its rounding.

(P, Q) dominates a mechanism if H_c(M(D)‖M(D')) ≤ H_c(P‖Q) for all c ≥ 0 and all neighbors
D, D' in this order, H_c(P‖Q) = sup over S of P(S) − c·Q(S) (Zhu, Dong and Wang 2022, Def. 7).
The other order is dominated by `backward`. Dominating pairs fixed beforehand compose as products
(the same, Theorem 10), each order by itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

__all__ = [
    "LARGEST_LOSS",
    "ApproximatePair",
    "CurvePair",
    "LaplacePair",
    "LossPair",
    "Pmf",
    "TangentPair",
    "mirrored",
    "optimistic",
    "pessimistic",
    "survival",
]

UNIT = 2.0**-53  # unit roundoff
LARGEST_LOSS = 700.0  # e^loss is a double up to here
_STRIDES = 6 * (1, 2, 4, 8, 16, 32, 16, 8, 4, 2)
_REACH = 128
_SHARES = np.append(0.0, 2.0 ** -np.arange(24.0, 0.0, -1.0))  # of a cell
_WEIGHED = 30.0
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
Lines = tuple[np.ndarray, np.ndarray, np.ndarray]
_Numbers = float | np.ndarray


class LossPair(ABC):
    """A pair (P, Q), seen through the loss L = log dP/dQ under P."""

    infinite: float = 0.0  # P(L = inf), or a little less
    lattice: float = 0.0  # most atoms lie at multiples of this; 0: there are none
    origin: float = 0.0  # a corner that the grid should go through

    @property
    def backward(self) -> LossPair:
        """A pair that dominates the other order of neighbors."""
        return self

    @abstractmethod
    def above(self, losses: np.ndarray) -> np.ndarray:
        """Return values not below δ at increasing losses."""

    @abstractmethod
    def below(self, losses: np.ndarray) -> Lines:
        """Return, for each cell of a uniform grid, values at its ends of a line below δ.

        The line is straight in e^loss, the tangent at a point of the cell or lower. Last come
        values not above those tangents at e^loss = 0.
        """


class TangentPair(LossPair):
    """A pair with a closed curve and derivative."""

    @abstractmethod
    def evaluate(self, losses: np.ndarray) -> Triple:
        """Return δ(ε), e^ε·Q(L > ε) = −∂δ/∂ε, and a bound on δ's rounding, ε increasing."""

    def above(self, losses: np.ndarray) -> np.ndarray:
        value, _, error = self.evaluate(losses)
        return np.clip(value + error, 0.0, 1.0)

    def below(self, losses: np.ndarray) -> Lines:
        """Return the tangents in the middle m of each cell: δ(m) − (c − e^m)·Q(L > m).

        Where that falls below δ(∞), as it may beside an atom, the tangent at the cell's own end
        serves better; where it falls below 1 − c, one chosen by `_gentlest`.
        """
        half = 0.5 * (losses[1] - losses[0])
        left, right, zero = self._tangents(losses[:-1], half, half)
        high = np.flatnonzero(right < self.infinite)[:1]
        if high.size:
            left[high], right[high], zero[high] = self._tangents(losses[high], 2.0 * half, 0.0)
        base = -np.expm1(losses[:-1])
        corners = np.flatnonzero(left < base - 8.0 * UNIT)[-1:]
        if corners.size and not np.array_equal(corners, high):
            lines = self._tangents(
                losses[corners], 2.0 * half * _SHARES, 2.0 * half * (1.0 - _SHARES)
            )
            best = self._gentlest(
                lines, float(base[corners[0]]), losses[corners[0] + 1 : -1], left[corners[0] + 1 :]
            )
            left[corners], right[corners], zero[corners] = (part[best] for part in lines)
        return left, right, zero

    @staticmethod
    def _gentlest(lines: Lines, base: float, losses: np.ndarray, beyond: np.ndarray) -> int:
        """Return the index of the best line in the cell where δ leaves 1 − c."""
        # At the cell's left end a line below 1 − c costs all smaller losses, at its right end one
        # below δ costs all larger ones for which δ is larger.
        left, right, _ = lines
        weights = np.exp(np.minimum(losses, _WEIGHED))
        lost = [weights @ np.maximum(beyond - end, 0.0) for end in right]
        width = float(losses[1] - losses[0]) if losses.size > 1 else 0.0
        return int(np.argmin(base - left + 2.0 * width * np.array(lost)))

    def _tangents(self, starts: np.ndarray, before: _Numbers, after: _Numbers) -> Lines:
        """Return the lines that touch δ at starts + before, at their two ends and at c = 0."""
        at = starts + before
        value, derivative, error = self.evaluate(at)
        safe = value - 2.0 * error - 8.0 * UNIT * (1.0 + np.abs(at)) * derivative
        left, right = safe - np.expm1(-before) * derivative, safe - np.expm1(after) * derivative
        return left, right, safe + derivative


def mirrored(forward: Callable[[np.ndarray], Triple], losses: np.ndarray) -> Triple:
    """Return the triple of a pair that is its own mirror image, from its values at ε ≥ 0."""
    # δ(−ε) = 1 − e^−ε + e^−ε·δ(ε); its derivative follows.
    zero = int(np.searchsorted(losses, 0.0))
    value, derivative, error = _by_reflection(forward, losses, zero)
    c = np.exp(losses[:zero])
    derivative[:zero] = c * (1.0 - value[:zero] - derivative[:zero])
    value[:zero] = c * value[:zero] - np.expm1(losses[:zero])
    error[:zero] = c * error[:zero] + 8.0 * UNIT
    return value, derivative, error


def _by_reflection(
    forward: Callable[[np.ndarray], Triple], losses: np.ndarray, zero: int
) -> Triple:
    """Return forward(|losses|), computing each |loss| of a symmetric grid once."""
    positive, negative = losses[zero:], -losses[:zero][::-1]
    skip = int(positive.size > 0 and positive[0] == 0.0)
    common = min(positive.size - skip, negative.size)
    if np.allclose(positive[skip : skip + common], negative[:common], rtol=4e-16, atol=0.0):
        longer = np.concatenate([positive, negative[common:]])
        parts = forward(longer)
        mirrored = [part[skip : skip + negative.size][::-1] for part in parts]
        heads = [part[: positive.size] for part in parts]
    else:
        mirrored = [part[::-1] for part in forward(negative)]
        heads = list(forward(positive))
    a, b, c = (np.concatenate(both) for both in zip(mirrored, heads, strict=True))
    return a, b, c


@dataclass(frozen=True)
class LaplacePair(TangentPair):
    """Laplace noise of scale Δ/ε₀ on a number of sensitivity Δ.

    δ(ε) = 1 − e^((ε − ε₀)/2) for |ε| ≤ ε₀; atoms at ±ε₀.
    """

    pure_epsilon: float

    @property
    def lattice(self) -> float:  # type: ignore[override]
        return self.pure_epsilon

    def evaluate(self, losses: np.ndarray) -> Triple:
        return mirrored(self._forward, losses)

    def _forward(self, losses: np.ndarray) -> Triple:
        gap = np.minimum(losses - self.pure_epsilon, 0.0)
        derivative = np.where(gap < 0.0, 0.5 * np.exp(0.5 * gap), 0.0)
        error = np.where(gap < 0.0, 4.0 * UNIT * (self.pure_epsilon - 2.0 * gap), 0.0)
        return -np.expm1(0.5 * gap), derivative, error


@dataclass(frozen=True)
class ApproximatePair(TangentPair):
    """Any (ε₀, δ₀)-DP mechanism: randomized response, or with probability δ₀ no privacy at all.

    Kairouz, Oh and Viswanath 2015, Theorem 3.4. With δ₀ = 0 any ε₀-DP mechanism.
    """

    pure_epsilon: float
    infinite: float = 0.0  # δ₀

    @property
    def lattice(self) -> float:  # type: ignore[override]
        return self.pure_epsilon

    def evaluate(self, losses: np.ndarray) -> Triple:
        value, derivative, error = mirrored(self._forward, losses)
        rest = 1.0 - self.infinite
        return self.infinite + rest * value, rest * derivative, error + 2.0 * UNIT * self.infinite

    def _forward(self, losses: np.ndarray) -> Triple:
        gap = np.minimum(losses - self.pure_epsilon, 0.0)
        tail = 1.0 / (1.0 + math.exp(-self.pure_epsilon))
        derivative = np.where(gap < 0.0, tail * np.exp(gap), 0.0)
        error = np.where(gap < 0.0, 4.0 * UNIT * (self.pure_epsilon - 2.0 * gap), 0.0)
        return -tail * np.expm1(gap), derivative, error


@dataclass(frozen=True)
class CurvePair(LossPair):
    """A pair known by its curve alone, such as a discrete mechanism's or a stitched one.

    Every convex nonincreasing H with H(0) = 1 and (1 − c)_+ ≤ H ≤ 1 is the curve of some pair
    (Zhu, Dong and Wang 2022, Proposition 8).
    """

    curve: Callable[[np.ndarray], np.ndarray]  # δ(ε) of an increasing array of real ε
    opposite: CurvePair | None = None  # the pair of the other order; by default the same
    rounding: float = 4e-12  # relative error of δ for ε ≥ 0, absolute error for ε < 0
    infinite: float = 0.0  # a lower bound of δ(∞)
    lattice: float = 0.0
    origin: float = 0.0

    @property
    def backward(self) -> LossPair:
        if self.opposite is None:
            return self
        return replace(self.opposite, opposite=replace(self, opposite=None))

    def above(self, losses: np.ndarray) -> np.ndarray:
        values = self.curve(losses - self._shift(losses))
        return np.clip(values * (1.0 + self.rounding), 0.0, 1.0)

    @staticmethod
    def _shift(losses: np.ndarray) -> np.ndarray:
        """Return a bound of the rounding error of a loss and of numbers computed from it."""
        return 16.0 * UNIT * (32.0 + np.abs(losses))

    def below(self, losses: np.ndarray) -> Lines:
        """Return a line through the middle of each cell, steep enough at its right end.

        The tangent at the middle has a slope between those of the two half chords; each end
        takes the half chord that makes it lower.
        """
        half = 0.5 * (losses[1] - losses[0])
        middle, ends = self.curve(losses[:-1] + half), self.curve(losses)
        left = middle + (middle - ends[1:]) * math.exp(-half)
        right = middle - (ends[:-1] - middle) * math.exp(half)
        error = 4.0 * (self.rounding + 8.0 * UNIT) * ends[:-1]
        steepest = np.maximum(ends[:-1] - middle, 0.0) / -math.expm1(-half)
        error = error + 4.0 * self._shift(losses[:-1]) * steepest
        flat = middle + (middle - ends[1:]) / math.expm1(half)
        return left - error, right - error, flat - error / math.expm1(half)


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
        return self.origin + self.step * np.arange(self.first, self.first + self.masses.size)

    def log_moment(self, order: float) -> float:
        """Return log Σ p·e^(order·loss) over the finite losses, rounded upwards."""
        exponents = order * self.losses
        peak = float(exponents.max())
        total = float(self.masses @ np.exp(exponents - peak))
        total = max(total, 1e-300)  # no mass at all: any bound will do
        size = abs(float(exponents[0])) + abs(float(exponents[-1]))
        return peak + math.log(total) + UNIT * (4.0 * size + self.masses.size + 8.0)


def pessimistic(pair: LossPair, step: float, first: int, last: int) -> Pmf:
    """Return a distribution on cells first to last and +inf whose curve lies above the pair's.

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
    """Return a distribution on cells first to last whose curve, with the atom, is below the pair's.

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


def survival(values: np.ndarray, widths: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return S_1, ..., S_n of (*) and a bound on their rounding error."""
    drop = (values[:-1] - values[1:]) / -np.expm1(-np.asarray(widths))
    error = 8.0 * UNIT * (np.abs(values[:-1]) + np.abs(drop))
    return values[1:] + drop, np.where(drop == 0.0, 0.0, error)


def _trimmed(pmf: Pmf) -> Pmf:
    """Return the distribution without the empty cells at its ends."""
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
    """Return K lowered toward chords between its dots, near and far, where it is not convex."""
    # Lowering a K_i lowers both its chords, so any number of passes is safe. Only the stretch of
    # real dents is lowered, not the noise of the last digit.
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
