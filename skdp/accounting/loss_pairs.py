"""Dominating pairs of output distributions, each as its privacy curve with a bound on its rounding.

(P, Q) dominates a mechanism if H_c(M(D)‖M(D')) ≤ H_c(P‖Q) for all c ≥ 0 and all neighbors
D, D' in this order, H_c(P‖Q) = sup over S of P(S) − c·Q(S) (Zhu, Dong and Wang 2022, Def. 7).
The other order is dominated by `backward`. Dominating pairs fixed beforehand compose as products
(the same, Theorem 10), each order by itself.

For Gaussian noise, in both neighboring relations, μ is 1/s, s the noise multiplier relative to the
clipping norm of one record's contribution, and q is the sampling rate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import erfcx, ndtr

from skdp.privacy import GaussianCurve, PrivacyCurve
from skdp.privacy.combined import MixtureCurve, PoissonSampledCurve, SubstitutedGaussianCurve
from skdp.privacy.composed_events import ApproximatedCurve
from skdp.privacy.gaussian import DiscreteGaussianCurve
from skdp.privacy.noise_events import ApproxDPCurve, DiscreteLaplaceCurve, LaplaceCurve
from skdp.support.safe_numbers import CURVE, down

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

    curve: PrivacyCurve
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
        values = self.curve.delta(losses - self._shift(losses))
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
        middle, ends = self.curve.delta(losses[:-1] + half), self.curve.delta(losses)
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


_FAR = 600.0  # e^600/q is a float for every rate q above 1e-48; 1 − c is δ below −600
_STEEP = 40.0  # arcsinh(e^x/2) exceeds x by e^(−2x) at most: by nothing in floats from here on


def _gaussian(losses: np.ndarray, mu: float) -> Triple:
    """Return P(L > ε), e^ε·Q(L > ε) and a relative rounding bound for N(μ, 1) against N(0, 1).

    With u = ε/μ − μ/2 these are Φ(−u) and e^ε·Φ(−u − μ) = φ(u)·M(u + μ), M Mills' ratio: the
    second form neither overflows nor cancels. The bound: a relative error of a few units in ε
    and μ moves u by a few units times |u| + μ, hence the tails by that times |u|.
    """
    # In units of 2⁻⁵³ and with x = |u| + μ: two roundings move u by 2|u| + μ/2. The logarithm of a
    # tail has the derivative 1/M(u) ≤ |u| + 1, so the tails move by 2x² + 2x at most. The exponent
    # u²/2 in ndtr is off by 4 units of itself, 2x². Functions and products add less than 10. That
    # is 5x² + 11 at most. The rest of 8x² + 32 is for an ε that is itself off by 2 units.
    u = losses / mu - 0.5 * mu
    split = int(np.searchsorted(u, -4.0 - mu))
    low = np.exp(losses[:split]) * ndtr(-mu - u[:split])
    high = u[split:]
    high = 0.5 * np.exp(-0.5 * high * high) * erfcx((high + mu) * math.sqrt(0.5))
    return ndtr(-u), np.concatenate([low, high]), UNIT * (32.0 + 8.0 * (np.abs(u) + mu) ** 2)


@dataclass(frozen=True)
class GaussianPair(TangentPair):
    """N(μ, 1) against N(0, 1): a sum of sensitivity Δ plus noise of deviation Δ/μ."""

    mu: float

    def evaluate(self, losses: np.ndarray) -> Triple:
        first, second, relative = _gaussian(losses, self.mu)
        return first - second, second, relative * (first + second)


def _amplified(losses: np.ndarray, rate: float) -> np.ndarray:
    """Return log(1 + (e^ε − 1)/q), −inf where that is log of a number ≤ 0."""
    near = np.minimum(losses, _FAR)
    inside = np.maximum(np.expm1(near) / rate, -1.0)
    with np.errstate(divide="ignore"):
        return np.log1p(inside) + (losses - near)


@dataclass(frozen=True)
class PoissonGaussianPair(TangentPair):
    """A Poisson-sampled Gaussian under add/remove, in the order "record removed".

    ((1 − q)·N(0, s²) + q·N(1, s²), N(0, s²)) (Zhu, Dong and Wang 2022, Theorem 11). Given the
    sample S of the other records, of the same distribution under D and D', and the extra record x,
    for c ≥ 1 − q and events E

        (1 − q)·M(S)(E) + q·M(S + x)(E) − c·M(S)(E) = q·(M(S + x)(E) − c'·M(S)(E)),

    c' = (c − 1 + q)/q, so that the curve is at most q·g(log c'), g the Gaussian one with μ = 1/s;
    for c < 1 − q it is 1 − c. Joint convexity of H_c carries this over to the mixture over S.
    """

    mu: float
    rate: float

    @property
    def backward(self) -> LossPair:
        return _PoissonGaussianAdded(self.mu, self.rate)

    @property
    def origin(self) -> float:  # type: ignore[override]
        return math.log1p(-self.rate)

    def evaluate(self, losses: np.ndarray) -> Triple:
        base = _amplified(losses, self.rate)
        start = int(np.searchsorted(base, -_FAR))
        bottom, top, base = losses[:start], losses[start:], base[start:]
        first, second, relative = _gaussian(base, self.mu)
        value = self.rate * (first - second)
        # c' is off by 3 units of |c' − 1|. If c' > 1, the curve q·g(c') moves by 3 of q·second.
        # Else it moves by 3 units of q, and `first` is at least 1/2: 6 of q·first. The logarithm is
        # off by one unit of `base`, which `_gaussian` allows, and by one of ε.
        error = self.rate * (first + second) * (relative + 8.0 * UNIT * (1.0 + np.abs(top)))
        c = np.exp(bottom)
        return (
            np.concatenate([-np.expm1(bottom), value]),
            np.concatenate([c, np.exp(top - base) * second]),
            np.concatenate([np.full(start, 8.0 * UNIT), error]),
        )


@dataclass(frozen=True)
class _PoissonGaussianAdded(TangentPair):
    """The pair of `PoissonGaussianPair` in the order "record added": its loss is bounded.

    With w = 1 − e^ε·(1 − q), the curve is w·g(ε'') with e^ε'' = q·e^ε/w, and 0 where w ≤ 0, since
    M(S)(E) − c·(1 − q)·M(S)(E) − c·q·M(S + x)(E) = w·(M(S)(E) − (c·q/w)·M(S + x)(E)).
    """

    mu: float
    rate: float

    @property
    def backward(self) -> LossPair:
        return PoissonGaussianPair(self.mu, self.rate)

    @property
    def origin(self) -> float:  # type: ignore[override]
        return -math.log1p(-self.rate)

    def evaluate(self, losses: np.ndarray) -> Triple:
        largest = -math.log1p(-self.rate)
        end = int(np.searchsorted(losses, largest))
        inner, rest = losses[:end], np.zeros(losses.size - end)
        w = -np.expm1(inner - largest)
        base = inner + math.log(self.rate) - np.log(w)
        first, second, relative = _gaussian(base, self.mu)
        value = w * (first - second)
        slope = (1.0 - w) * first + w * second
        # The roundings of log q and log w move `base` by 3·|log q| units, and the curve by as many
        # units of w·second. That is within 32·(first + second) ≥ 64·second for q ≥ 1e-9; smaller
        # rates are not proved. The exponent of w is off by 3·largest + |ε| units, which moves w by
        # 1 − w times that. The curve moves by `first` times what w moves.
        error = w * (first + second) * relative
        error += 8.0 * UNIT * (largest + np.abs(inner) + w) * np.exp(inner - largest) * first
        # The float `largest` is within 4 units of the end, up to which δ is at most w.
        beyond = np.maximum(largest * (1.0 + 4.0 * UNIT) - losses[end:], 0.0)
        value, slope = np.append(value, rest), np.append(slope, rest)
        return value, slope, np.append(error, beyond)


@dataclass(frozen=True)
class ReplaceOneGaussianPair(TangentPair):
    """A Poisson-sampled Gaussian under replace-one: its own mirror image.

    ((1 − q)·N(0, s²) + q·N(1, s²), (1 − q)·N(0, s²) + q·N(−1, s²)), which is attained by the
    contributions +C·e and −C·e, s relative to C (Zhu, Dong and Wang 2022, appendix on
    substitution). The loss exceeds ε > 0 where x/s² > arcsinh(A·sinh(ε/2)) + ε/2,
    A = e^(1/(2s²))·(1 − q)/q. An error in this x is harmless to first order: the event {L > ε} is
    where P − e^ε·Q is largest.
    """

    mu: float
    rate: float

    def evaluate(self, losses: np.ndarray) -> Triple:
        return mirrored(self._forward, losses)

    def _forward(self, losses: np.ndarray) -> Triple:
        near, x = np.minimum(losses, LARGEST_LOSS), self._threshold(losses)
        none, plus, minus = ndtr(-x), ndtr(self.mu - x), ndtr(-self.mu - x)
        c, more = np.exp(near), np.expm1(near) * (1.0 - self.rate) * none
        slope = c * ((1.0 - self.rate) * none + self.rate * minus)
        value = self.rate * (plus - c * minus) - more
        size = self.rate * (plus + c * minus) + more
        # In units of 2⁻⁵³ and with X = |x| + μ: the three arguments are off by X, which moves the
        # tails by X·(X + 1). The exponents in ndtr are off by 2X², and e^ε by ε if ε is off by one
        # unit. All of this is relative to `size`, the sum of the sizes of the terms. For x > 37
        # Φ(−x) underflows. Then δ is too large, which an upper bound may be.
        far = losses > LARGEST_LOSS  # where P(L > ε) is above δ and enough
        value[far] = ((1.0 - self.rate) * none + self.rate * plus)[far]
        return value, slope, UNIT * (32.0 + 8.0 * (np.abs(x) + self.mu) ** 2 + losses) * size

    def _threshold(self, losses: np.ndarray) -> np.ndarray:
        """Return x/s for losses ≥ 0, without overflow."""
        log_a = 0.5 * self.mu**2 + math.log1p(-self.rate) - math.log(self.rate)
        with np.errstate(divide="ignore"):
            log_double = log_a + 0.5 * losses + np.log(-np.expm1(-losses))
        near = np.arcsinh(0.5 * np.exp(np.minimum(log_double, _STEEP)))
        return (np.where(log_double < _STEEP, near, log_double) + 0.5 * losses) / self.mu


_MEMORY = 256  # pairs kept
_ENDLESS = 1e35  # a loss beyond all finite ones


@lru_cache(maxsize=_MEMORY)
def loss_pair(curve: PrivacyCurve) -> LossPair:
    """Return a pair with this curve; its `backward` has the reversed one."""
    return PAIRS.get(type(curve), _by_curve)(curve)


def _by_curve(curve: PrivacyCurve, lattice: float = 0.0, origin: float = 0.0) -> LossPair:
    """Return the pair of any curve. The limit of δ(ε) becomes an atom at loss +inf."""

    def one_way(one: PrivacyCurve, origin: float) -> CurvePair:
        infinite = down(one.delta(_ENDLESS), CURVE)
        return CurvePair(one, None, infinite=infinite, lattice=lattice, origin=origin)

    pair, reverse = one_way(curve, origin), curve.reversed()
    return pair if reverse == curve else replace(pair, opposite=one_way(reverse, -origin))


def _poisson(curve: PoissonSampledCurve) -> LossPair:
    if type(curve.curve) is GaussianCurve:
        return PoissonGaussianPair(curve.curve.mu, curve.rate)
    return _by_curve(curve, origin=math.log1p(-curve.rate))


def _discrete_gaussian(curve: DiscreteGaussianCurve) -> LossPair:
    """The losses are (2x − D)·D/2s² for integers x."""
    lattice = (2 - curve.shift % 2) * curve.shift / (2.0 * curve.scale**2)
    return _by_curve(curve, lattice)


PAIRS: dict[type, Callable[[Any], LossPair]] = {
    GaussianCurve: lambda curve: GaussianPair(curve.mu),
    LaplaceCurve: lambda curve: LaplacePair(curve.shift),
    ApproxDPCurve: lambda curve: ApproximatePair(curve.bound, curve.failure),
    ApproximatedCurve: lambda curve: _by_curve(curve, loss_pair(curve.curve).lattice),
    DiscreteGaussianCurve: _discrete_gaussian,
    # The losses are (2x − D)/t for integers x.
    DiscreteLaplaceCurve: lambda curve: _by_curve(curve, (2 - curve.shift % 2) / curve.scale),
    MixtureCurve: lambda curve: _by_curve(curve, loss_pair(curve.curves[0]).lattice),
    PoissonSampledCurve: _poisson,
    SubstitutedGaussianCurve: lambda curve: ReplaceOneGaussianPair(1.0 / curve.scale, curve.rate),
}
"""Pairs by curve, if more is known than the curve."""
