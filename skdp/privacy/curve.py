"""Pairs of distributions, as privacy curves and as trade-off functions.

P and Q are the distributions of a release under two neighboring data sets. A `PrivacyCurve` says
how far apart they are by δ(ε), a trade-off function by the errors of tests between them. Each is
the convex dual of the other (Dong, Roth and Su 2022, section 2). A finite pair has both exactly,
and every other one is covered by a finite pair whose curve is nowhere below its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self

import numpy as np
from scipy.special import logsumexp

from skdp.support.safe_numbers import CURVE, ROOT, arithmetic, bisect, minimize_from_grid, up
from skdp.support.types import Number
from skdp.support.validation import check_count, check_delta, check_real, set_checked

_LARGEST_EPSILON = 700.0  # e^ε is a double up to here
_CAPS = (1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 36.0)  # 1 + e^−36 is 1 in floats

# Lines below a trade-off function. No guarantee rests on these: every line is valid.
_SLOPES = np.linspace(-60.0, 60.0, 241)  # ε of the first lines
_FINER = np.linspace(-1.0, 1.0, 33)  # around the best line, in units of the last spacing
_ROUNDS = 4


Tradeoff = Callable[[Number], Number]
"""Type I errors to the least type II errors of tests."""


class PrivacyCurve(ABC):
    r"""Privacy curve of two distributions P, Q: δ(ε) = sup over S of P(S) − e^ε·Q(S).

    The curve is defined for every real ε; negative values describe the reversed pair. It is
    nonincreasing, convex in e^ε, lies above max(0, 1 − e^ε) and below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.privacy import GDPEvent
    >>> curve = GDPEvent(1.0).curve("replace_one")
    >>> curve.delta(np.array([0.0, 1.0, 2.0])).round(4)
    array([0.3829, 0.1269, 0.0209])
    >>> round(curve.epsilon(1e-5), 3), round(curve.tradeoff()(0.05), 3)
    (4.377, 0.74)
    """

    def delta(self, epsilon: Number) -> Number:
        """Return δ(ε).

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return _entrywise(self._delta, epsilon)

    @abstractmethod
    def _delta(self, epsilon: np.ndarray) -> np.ndarray: ...

    def log_delta(self, epsilon: Number) -> Number:
        """Return log δ(ε), which is finite where δ itself is too small for a float.

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return _entrywise(self._log_delta, epsilon)

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._delta(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        """Return the δ(ε) of the reversed pair, 1 − e^ε + e^ε·δ(−ε), rounded upwards."""
        # The difference cancels for large ε, where the value at a smaller ε may be the better
        # bound. Subclasses override this if they have a more exact form.
        return np.min([self._canceling(np.minimum(epsilon, cap)) for cap in _CAPS], axis=0)

    def _canceling(self, epsilon: np.ndarray) -> np.ndarray:
        excess = self._delta(-epsilon) + np.expm1(-epsilon)
        rounding = np.where(epsilon > 0.0, 4.0 * np.finfo(float).eps, 0.0)
        return np.clip(np.exp(epsilon) * (excess + rounding), 0.0, 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least ε ≥ 0 with δ(ε) ≤ `delta`, rounded upwards.

        Parameters
        ----------
        delta : float in [0, 1)
            *Public.*

        Returns
        -------
        float
            ``inf`` if there is none.
        """
        delta = check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if self.delta(_LARGEST_EPSILON) > delta:
            return math.inf
        return bisect(lambda x: self.delta(x) <= delta, _LARGEST_EPSILON, 0.0, arithmetic())

    def reversed(self) -> PrivacyCurve:
        """Return the curve of the pair (Q, P).

        Returns
        -------
        PrivacyCurve
            δ'(ε) = 1 − e^ε + e^ε·δ(−ε).
        """
        return ReversedCurve(self)

    def tradeoff(self) -> Tradeoff:
        """Return the trade-off function with the same content, the convex dual of the curve.

        Returns
        -------
        callable
            From type I errors α = Q(reject Q) in [0, 1], a number or an array, to the least type II
            errors β of a test of Q against P; nowhere above the true ones. The closer to 1 − α, the
            more private.
        """
        return partial(_entrywise, self._beta)

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        """Return the trade-off function β(α), at most sup over real ε of 1 − δ(ε) − e^ε·α."""
        # Every line in the supremum lies below β, so a grid of ε suffices, and ever finer ones
        # around its best point.
        flat, spacing = np.ravel(alpha)[:, None], float(_SLOPES[1] - _SLOPES[0])
        epsilon = _SLOPES[np.argmax(self._lines(_SLOPES, flat), axis=1)]
        for _ in range(_ROUNDS):
            lines = self._lines(found := epsilon[:, None] + spacing * _FINER, flat)
            best = np.argmax(lines, axis=1)[:, None]
            epsilon = np.take_along_axis(found, best, axis=1)[:, 0]
            spacing *= float(_FINER[1] - _FINER[0])
        highest = np.take_along_axis(lines, best, axis=1)
        return np.maximum(highest, 0.0).reshape(alpha.shape)

    def _lines(self, epsilon: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return 1.0 - self._delta(epsilon) - np.exp(epsilon) * alpha

    def group(self, size: int) -> PrivacyCurve:
        """Return the curve for data sets that are several changes apart.

        Parameters
        ----------
        size : int
            *Public.* How many changes.

        Returns
        -------
        PrivacyCurve
            Nowhere below the true one; see `GroupCurve`. Exact for Gaussian curves.
        """
        return GroupCurve(self, size)

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of P from Q, rounded upwards.

        Parameters
        ----------
        order : float
            *Public.* Above 1.

        Returns
        -------
        float
            ``inf`` if the divergence is not finite, or no bound is known.
        """
        return renyi_divergence(self, order)

    def _mirrored_renyi(self, order: float) -> float:
        """Return the Rényi divergence of Q from P."""
        return renyi_divergence(ReversedCurve(self), order)

    def dominating_pair(self) -> DiscretePairCurve:
        """Return a pair of distributions on finitely many points that covers this one.

        Returns
        -------
        DiscretePairCurve
            Nowhere below this curve, in both orders, and equal to it at 6001 values of ε.
        """
        return DiscretePairCurve(*map(tuple, chords_above(self)))


def _entrywise(function: Callable[[np.ndarray], np.ndarray], x: Number) -> Number:
    """Apply a function of arrays to an array or a number."""
    values = function(np.asarray(x, dtype=float))
    return values if values.ndim else float(values)  # type: ignore[return-value]


def both_orders(curve: PrivacyCurve) -> tuple[PrivacyCurve, ...]:
    """Return the curve, and that of the reversed pair unless it is the same."""
    backwards = curve.reversed()
    return (curve,) if backwards == curve else (curve, backwards)


@dataclass(frozen=True)
class ReversedCurve(PrivacyCurve):
    """The curve of (Q, P): δ'(ε) = 1 − e^ε + e^ε·δ(−ε)."""

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._mirrored(epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon)

    def reversed(self) -> PrivacyCurve:
        return self.curve

    def renyi(self, order: float) -> float:
        return self.curve._mirrored_renyi(order)


class SymmetricCurve(PrivacyCurve):
    """The curve of a pair that is its own mirror image, known by its values at ε ≥ 0."""

    @abstractmethod
    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        """Return δ(ε) for ε ≥ 0."""

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        size = np.abs(epsilon)
        forward = np.clip(self._forward(size), 0.0, 1.0)
        mirrored = -np.expm1(-size) + np.exp(-size) * forward
        return np.where(epsilon >= 0.0, forward, np.minimum(mirrored, 1.0))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._delta(epsilon)

    def reversed(self) -> Self:
        return self


class HullCurve(SymmetricCurve):
    """The largest curve below a bound F(ε) that holds for ε ≥ 0 and both orders of a pair.

    A true curve is convex in e^ε and lies below F and its mirror image, so it lies below the convex
    hull of the two. F is convex in e^ε, and near 0 it may come close to 1. There it is replaced by
    the largest randomized-response line implied by any (ε, F(ε)), 1 − B·(1 + e^ε) with
    B = max (1 − F)/(1 + e^ε), up to the point where they touch. That line is its own mirror image,
    so the negative half follows by symmetry.
    """

    @abstractmethod
    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε) for ε ≥ 0; it may be positive."""

    @property
    @abstractmethod
    def _farthest(self) -> float:
        """An ε not below the one where the line touches F."""

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        if np.all(epsilon >= self._farthest):  # the line takes longer to find than F
            return np.exp(np.minimum(self._log_bound(epsilon), 0.0))
        start, log_slope = self._line
        return np.where(
            epsilon >= start,
            np.exp(np.minimum(self._log_bound(np.maximum(epsilon, start)), 0.0)),
            -np.expm1(log_slope + np.logaddexp(0.0, np.minimum(epsilon, start))),
        )

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        start, _ = self._line
        found = np.asarray(np.minimum(self._log_bound(np.maximum(epsilon, start)), 0.0))
        near = epsilon < start
        found[near] = super()._log_delta(epsilon[near])
        return found

    @cached_property
    def _line(self) -> tuple[float, float]:
        """Return the ε at which the line touches F, and log B; any point gives a valid line."""
        grid = np.linspace(0.0, self._farthest, 200)

        def steepness(x: float) -> float:
            return -max(float(self._log_slope(np.asarray(x))), -1e9)

        best, _ = minimize_from_grid(steepness, grid, -self._log_slope(grid))
        points = np.array([0.0, best])
        slopes = self._log_slope(points)
        return float(points[np.argmax(slopes)]), float(slopes.max())

    def _log_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log of (1 − F(ε))/(1 + e^ε); −inf where F ≥ 1."""
        with np.errstate(divide="ignore"):
            gain = np.log(-np.expm1(np.minimum(self._log_bound(epsilon), 0.0)))
        return gain - np.logaddexp(0.0, epsilon)


@dataclass(frozen=True)
class GroupCurve(PrivacyCurve):
    """The curve of a group: G(a) = sup{P(S): Q(S) ≤ a} of one change, iterated `size` times.

    G is replaced by that of a finite pair, which is piecewise linear and above it, and functions
    of that kind compose exactly. Valid, and tight for a black-box curve: Dong, Roth and Su 2022,
    Theorem 2.14.
    """

    curve: PrivacyCurve  # of one change
    size: int

    def __post_init__(self) -> None:
        check_count("size", self.size)

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon) if self.size == 1 else self._pair._delta(epsilon)

    def reversed(self) -> PrivacyCurve:
        backwards = self.curve.reversed()
        return self if backwards == self.curve else GroupCurve(backwards, self.size)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    @cached_property
    def _pair(self) -> DiscretePairCurve:
        pair = self.curve.dominating_pair().ordered()
        return DiscretePairCurve(*map(tuple, iterate_tests(*pair, self.size)))


@dataclass(frozen=True)
class DiscretePairCurve(PrivacyCurve):
    r"""The curve of two distributions on finitely many points: δ(ε) = Σ max(0, pᵢ − e^ε·qᵢ).

    Every term is pᵢ·(1 − e^(ε − ℓᵢ)) with ℓᵢ = log pᵢ/qᵢ, so nothing cancels and both orders are
    accurate in the tails. δ is piecewise linear in e^ε, with knots at the likelihood ratios.

    Parameters
    ----------
    p, q : tuples of float
        *Public.* Masses of the two distributions; each sums to 1.

    Examples
    --------
    >>> round(DiscretePairCurve((0.75, 0.25), (0.25, 0.75)).delta(0.0), 12)
    0.5
    """

    p: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        set_checked(self, p=tuple(map(float, self.p)), q=tuple(map(float, self.q)))
        if len(self.p) != len(self.q):
            raise ValueError(f"p and q need the same length, got {len(self.p)} and {len(self.q)}.")
        for masses in (self.p, self.q):
            if not (masses and min(masses) >= 0.0 and abs(sum(masses) - 1.0) <= TABLE_ERROR):
                raise ValueError(
                    "The masses of a distribution must be at least 0 and sum to 1, got a minimum "
                    f"of {min(masses, default=0.0)!r} and a sum of {sum(masses)!r}."
                )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick(np.array(self.p), np.array(self.q), epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick(np.array(self.q), np.array(self.p), epsilon)

    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the masses, from the largest loss log p/q to the least."""
        p, q = np.array(self.p), np.array(self.q)
        order = np.argsort(-privacy_losses(p, q), kind="stable")
        return p[order], q[order]

    def dominating_pair(self) -> DiscretePairCurve:
        return self

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        # Randomized likelihood-ratio tests are best (Neyman-Pearson), and straight between them.
        p, q = self.ordered()
        levels = np.concatenate([[0.0], np.cumsum(q)])
        errors = np.concatenate([np.cumsum(p[::-1])[::-1], [0.0]])
        start = int(np.flatnonzero(levels == 0.0)[-1])  # a jump, if P has mass where Q has none
        return np.interp(alpha, levels[start:] / levels[-1], errors[start:] / errors[0])


TABLE_ERROR = 1e-9
"""Largest accepted error of a distribution or a trade-off function."""

_UNIT = 2.0**-53
_CHUNK = 2_000_000

# Where a curve is replaced by its chords. No guarantee rests on these: chords lie above it anyway.
_CHORDS = np.sinh(np.linspace(0.0, 4.0, 3001)) / math.sinh(4.0)
_NEGLIGIBLE = 1e-20
_WIDEST, _NARROWEST = 300.0, 0.01  # closer knots would measure rounding

Masses = tuple[np.ndarray, np.ndarray]


def privacy_losses(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return log p/q of each point, −inf where p is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0.0, np.log(p) - np.log(q), -np.inf)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return Σ max(0, p − e^ε·q), without cancellation, for an array of any shape."""
    p, losses = p[p > 0.0], privacy_losses(p, q)[p > 0.0]
    flat = np.ravel(epsilon)
    parts = np.array_split(flat, max(1, flat.size * p.size // _CHUNK))
    sums = [-np.expm1(np.minimum(part[:, None] - losses, 0.0)) @ p for part in parts]
    return np.minimum(np.concatenate(sums).reshape(np.shape(epsilon)), 1.0)


def hockey_stick_above(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return numbers not below Σ max(0, p/Σp − e^ε·q/Σq), for an array of any shape.

    Terms p − c·q are rounded by at most the unit of the widest float the machine has, and c is
    lowered by more than its own rounding: with units of `eps`, e^ε errs by 2 and the product by
    1/2, so 3 are taken off. What is left are relative errors of a positive sum of n terms.
    """
    eps, ratio = np.finfo(np.longdouble).eps, 1.0
    total, other = math.fsum(p), math.fsum(q)
    if total != other:
        ratio = total / other * (1.0 - 4.0 * _UNIT)  # two sums and a quotient
    c = np.exp(np.minimum(np.ravel(epsilon), _LARGEST_EPSILON).astype(np.longdouble))
    c *= ratio * (1.0 - 3.0 * eps)
    parts = np.array_split(c[:, None], max(1, c.size * p.size // _CHUNK))
    sums = np.concatenate([np.maximum(p - part * q, 0.0).sum(axis=1) for part in parts])
    found = (sums * (1.0 + (p.size + 4.0) * eps)).astype(float) / total * (1.0 + 4.0 * _UNIT)
    return np.minimum(found.reshape(np.shape(epsilon)), 1.0)


def chords_above(curve: PrivacyCurve) -> Masses:
    """Return a finite pair whose curve is `curve` at 6001 values of ε and above it elsewhere.

    δ is convex in c = e^ε, so its chords lie above it; the chords' curve belongs to the pair whose
    masses under Q are the changes of slope (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
    Each half is taken from the order of the pair in which it is small, so that nothing cancels.
    """
    up, q_up, right, p_top = _half(curve)
    down, p_down, left, q_bottom = _half(curve.reversed())
    middle = max(0.0, 1.0 - curve.delta(0.0) + right + left)  # the change of slope at ε = 0
    p = [p_top, *(q_up * np.exp(up)), middle, *p_down, 0.0]
    q = [0.0, *q_up, middle, *(p_down * np.exp(down)), q_bottom]
    return np.array(p), np.array(q)


def _half(curve: PrivacyCurve) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the knots ε > 0, the changes of slope there, the slope at 0 and the last knot's δ.

    Slopes are made monotone against rounding, from the right and downwards: the masses still sum
    to 1, and the chords do not fall.
    """
    epsilon = _CHORDS * _farthest(curve)
    delta = np.minimum.accumulate(curve.delta(epsilon))
    slope = np.append(np.diff(delta) / np.diff(np.exp(epsilon)), 0.0)
    slope = np.minimum.accumulate(slope[::-1])[::-1]
    return epsilon[1:], np.diff(slope), float(slope[0]), float(delta[-1])


def _farthest(curve: PrivacyCurve) -> float:
    """Return the ε beyond which the curve stays within 1e-20 of its limit."""
    limit = up(curve.delta(_WIDEST), ROOT) + _NEGLIGIBLE
    if limit >= 1.0:
        return 1.0
    return float(np.clip(curve.epsilon(limit) + 1e-9, _NARROWEST, _WIDEST))


def iterate_tests(p: np.ndarray, q: np.ndarray, size: int) -> Masses:
    """Return a pair whose most powerful tests are those of (p, q), iterated.

    The points of (p, q) come from the largest ratio p/q to the least; then the power G(a), the
    largest P-mass of a test of Q-mass a, is piecewise linear, and so is its `size`-fold iterate.
    """
    levels, powers = _power(p, q)
    a, g = levels, powers
    for _ in range(size - 1):
        # G∘g has its knots where g has them, and where g meets a knot of G.
        knots = np.unique(np.concatenate([a, np.interp(levels[levels > g[0]], g, a)]))
        a, g = knots, np.interp(np.interp(knots, a, g), levels, powers)
    return np.maximum(np.diff(g, prepend=0.0), 0.0), np.diff(a, prepend=0.0)


def _power(p: np.ndarray, q: np.ndarray) -> Masses:
    """Return the knots (a, G(a)), from a = 0 to a = 1."""
    at_once = p[q == 0.0].sum()
    p, q = p[q > 0.0], q[q > 0.0]
    a, g = np.cumsum(q), at_once + np.cumsum(p)
    return np.append(0.0, a / a[-1]), np.append(at_once, np.minimum(g / g[-1], 1.0))


_CELLS = 5_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LARGEST_LOSS = 1e6
_TINIEST = -700.0  # log δ: below it, a curve without a log form has underflowed
_NEGLIGIBLE_LOG = 60.0
_SMALL_LOSS = 1e-2


def renyi_divergence(curve: PrivacyCurve, order: float) -> float:
    r"""Return the Rényi divergence of P from Q of an order above 1, from δ(ε) alone.

    With f(c) = c^α in the hockey-stick representation of f-divergences and δ' the reversed curve,

    .. math:: E_Q (P/Q)^α = 1 + α(α-1)·\left[\int_0^∞ e^{(α-1)ε} δ(ε) dε
              + \int_0^∞ e^{-αε} δ'(ε) dε\right].

    Between grid points δ is replaced by its chord in e^ε, which lies above it, and the chord is
    integrated exactly. So the result is never below the truth, up to rounding. It is ``inf`` if the
    integral diverges, or cannot be bounded because δ underflows where the weight is still large.

    Examples
    --------
    >>> from skdp.privacy import GaussianCurve
    >>> round(renyi_divergence(GaussianCurve(1.0), 4.0), 3)
    2.0
    """
    order = check_real("order", order, low=1.0)
    if curve.delta(_LARGEST_LOSS) > 0.0:
        return math.inf
    parts = [0.0]
    for one, power in ((curve, order - 1.0), (curve.reversed(), -order)):
        start, end = _range(one, power)
        if math.isinf(end):
            return math.inf
        integral = _log_integral(one, power, start, end)
        parts.append(integral + math.log(order) + math.log(order - 1.0))
    return float(logsumexp(parts)) / (order - 1.0)


def _range(curve: PrivacyCurve, power: float) -> tuple[float, float]:
    """Return where e^(power·ε)·δ(ε) is not negligible; the end is ``inf`` if that is not known."""
    coarse = _alive(curve, power, np.concatenate([[0.0], np.geomspace(1e-6, _LARGEST_LOSS, 2000)]))
    return coarse if math.isinf(coarse[1]) else _alive(curve, power, np.linspace(*coarse, 1000))


def _alive(curve: PrivacyCurve, power: float, epsilon: np.ndarray) -> tuple[float, float]:
    """Return the neighbors of the first and the last grid point that matter."""
    log_delta = curve.log_delta(epsilon)
    values = power * epsilon + log_delta
    if np.isneginf(values.max()):
        return 0.0, 1.0
    alive = np.flatnonzero(values >= values.max() - _NEGLIGIBLE_LOG)
    first, last = int(alive[0]), int(alive[-1])
    if last + 1 >= epsilon.size:
        is_open = epsilon[-1] == _LARGEST_LOSS
    else:  # whether δ vanishes right after a value that hardly fits into a float
        is_open = log_delta[last] < _TINIEST and np.isneginf(log_delta[last + 1])
    if is_open:
        return 0.0, math.inf
    return float(epsilon[max(first - 1, 0)]), float(epsilon[min(last + 1, epsilon.size - 1)])


def _log_integral(curve: PrivacyCurve, power: float, start: float, end: float) -> float:
    """Return the log of an upper bound on the integral of e^(power·ε)·δ(ε) over [0, end]."""
    # Before `start` the integrand is below e^−60 of its peak: cells may lose e^25 there.
    pieces = int(min(max(500.0, start * abs(power) / 25.0), 40_000.0)) if start else 0
    rest = np.linspace(0.0, start, pieces, endpoint=False)
    epsilon = np.concatenate([rest, np.linspace(start, end, _CELLS + 1)])
    h, log_delta = np.diff(epsilon), curve.log_delta(epsilon)
    log_whole, far = power * epsilon[:-1] + _log_cell(power, h), _far_share(power, h)
    with np.errstate(divide="ignore"):
        terms = [log_whole + np.log1p(-far) + log_delta[:-1]]
        terms.append(log_whole + np.log(far) + log_delta[1:])
    return float(logsumexp(np.concatenate(terms)))


def _log_cell(power: float, h: np.ndarray) -> np.ndarray:
    """Return the log of the integral of e^(power·u) over [0, h]."""
    x = power * h
    return np.maximum(x, 0.0) + np.log(-np.expm1(-np.abs(x))) - math.log(abs(power))


def _far_share(power: float, h: np.ndarray) -> np.ndarray:
    """Return the share of a cell's weight that the chord gives to the far end.

    It is the mean of (e^u − 1)/(e^h − 1) under e^(power·u), and 0, which is safe, in coarse cells.
    """
    h, cell = np.unique(h, return_inverse=True)  # few: the grids have equal steps
    coarse = np.maximum(np.abs(power), 1.0) * h > 20.0
    width = np.where(coarse, 0.0, h)[:, None]
    u = 0.5 * width * (_NODES + 1.0)
    weights = _WEIGHTS * np.exp(power * u)
    share = np.expm1(u) / np.where(coarse[:, None], 1.0, np.expm1(width))
    return np.asarray((weights * share).sum(axis=1) / weights.sum(axis=1))[cell]


def log_excess(loss: np.ndarray, order: float) -> np.ndarray:
    """Return the log of ψ(L) = e^(αL) − 1 − α(e^L − 1), whose mean under Q is E_Q (P/Q)^α − 1.

    By its series where αL is small, and scaled by e^(αL) where L is positive: no digits are lost.
    """
    less = (order - 1.0) * loss
    with np.errstate(all="ignore"):
        up = np.exp(-less) * (order - 1.0) * np.expm1(-loss) - np.expm1(-less)
        down = np.exp(loss) * np.expm1(less) - (order - 1.0) * np.expm1(loss)
        far = np.where(loss > 0.0, order * loss + np.log(up), np.log(down))
        near = 2.0 * np.log(np.abs(loss)) + np.log(_series(order * loss, order))
        near += math.log(order) + math.log(order - 1.0)
        return np.where(np.abs(order * loss) < _SMALL_LOSS, near, far)


def _series(scaled: np.ndarray, order: float) -> np.ndarray:
    """Return ψ/(α(α − 1)L²) = Σ_{k≥2} (1 + 1/α + ... + 1/α^(k−2))·(αL)^(k−2)/k! up to k = 8."""
    sums = np.cumsum(order ** -np.arange(7.0))
    coefficients = sums / [math.factorial(k) for k in range(2, 9)]
    return np.asarray(np.polynomial.polynomial.polyval(scaled, coefficients))


def randomized_response_divergence(epsilon: float, order: float) -> float:
    """Return the Rényi divergence of randomized response, the largest of any ε-DP release.

    log[cosh((α − ½)ε)/cosh(ε/2)]/(α − 1) (Mironov 2017, Proposition 5), from the excess at the two
    losses ±ε, rounded upwards. It is 0 at ε = 0 and ``inf`` at ε = inf.
    """
    order = check_real("order", order, low=1.0)
    if not 0.0 < epsilon < math.inf:
        return epsilon
    losses = np.array([epsilon, -epsilon])
    log_less = logsumexp(log_excess(losses, order) - np.logaddexp(0.0, losses))
    moment = up(float(np.logaddexp(0.0, log_less)), CURVE)
    return min(epsilon, moment / (order - 1.0))
