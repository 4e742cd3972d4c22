"""Piecewise-linear bounds on curves and trade-off functions, as the masses of finite pairs.

p and q are arrays with the masses of P and Q on the same points; see `skdp.privacy.curve`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.special import expit

from skdp.support.rounding import ROOT, down, up
from skdp.support.types import Number

__all__ = [
    "TABLE_ERROR",
    "chords_above",
    "hockey_stick",
    "hockey_stick_above",
    "is_tradeoff",
    "iterate_tests",
    "lines_below",
    "privacy_losses",
]

TABLE_ERROR = 1e-9
"""Largest accepted error of a distribution or a trade-off function."""

_UNIT = 2.0**-53
_LARGEST_EPSILON = 700.0  # e^ε is a double up to here
_CHUNK = 2_000_000

# Where a curve is replaced by its chords. No guarantee rests on these: chords lie above it anyway.
_CHORDS = np.sinh(np.linspace(0.0, 4.0, 3001)) / math.sinh(4.0)
_NEGLIGIBLE = 1e-20
_WIDEST, _NARROWEST = 300.0, 0.01  # closer knots would measure rounding

# Where a trade-off function is evaluated. No guarantee rests on these either.
_HALF = expit(np.linspace(-27.6, 0.0, 3000))  # β is 1 − O(α) below 1e-12: no digits are left
_TINY = np.geomspace(1e-300, 1e-12, 4000, endpoint=False)  # for β that falls steeply at 0
_LEVELS = np.concatenate([_HALF, 1.0 - _HALF[-2::-1], [1.0]])

Masses = tuple[np.ndarray, np.ndarray]


class _Curve(Protocol):
    def delta(self, epsilon: Number) -> Number: ...

    def epsilon(self, delta: float) -> float: ...

    def reversed(self) -> _Curve: ...


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


def chords_above(curve: _Curve) -> Masses:
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


def _half(curve: _Curve) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the knots ε > 0, the changes of slope there, the slope at 0 and the last knot's δ.

    Slopes are made monotone against rounding, from the right and downwards: the masses still sum
    to 1, and the chords do not fall.
    """
    epsilon = _CHORDS * _farthest(curve)
    delta = np.minimum.accumulate(curve.delta(epsilon))
    slope = np.append(np.diff(delta) / np.diff(np.exp(epsilon)), 0.0)
    slope = np.minimum.accumulate(slope[::-1])[::-1]
    return epsilon[1:], np.diff(slope), float(slope[0]), float(delta[-1])


def _farthest(curve: _Curve) -> float:
    """Return the ε beyond which the curve stays within 1e-20 of its limit."""
    limit = up(curve.delta(_WIDEST), ROOT) + _NEGLIGIBLE
    if limit >= 1.0:
        return 1.0
    return float(np.clip(curve.epsilon(limit) + 1e-9, _NARROWEST, _WIDEST))


def lines_below(tradeoff: Callable[[np.ndarray], np.ndarray]) -> Masses:
    """Return a pair whose trade-off function is nowhere above a convex one.

    It is evaluated on a fine grid. Between two points a convex function lies above the
    continuations of the neighboring chords. Where rounding made it rise, it is lowered.
    """
    visible = _TINY[tradeoff(_TINY) < down(1.0, ROOT)]
    alpha = np.concatenate([[0.0], visible, _LEVELS])
    beta = np.minimum.accumulate(np.clip(tradeoff(alpha), 0.0, 1.0 - alpha))
    width, fall = np.diff(alpha), -np.diff(beta)
    slope = fall / width
    steep = np.concatenate([[np.inf], slope[:-1]])  # continued from the left
    flat = np.concatenate([slope[1:], [0.0]])  # continued from the right
    # They meet after a part t of the cell: steep·t + flat·(width − t) = fall.
    is_bent = steep > up(flat, ROOT)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(is_bent, (fall - flat * width) / (steep - flat), 0.5 * width)
    part = np.clip(part, 0.0, width)
    drop = np.where(is_bent, np.clip(fall - flat * (width - part), 0.0, fall), 0.5 * fall)
    q = np.ravel(np.column_stack([part, width - part]))
    p = np.ravel(np.column_stack([drop, fall - drop]))
    return np.append(1.0 - beta[0], p), np.append(0.0, q)


def is_tradeoff(alpha: np.ndarray, beta: np.ndarray) -> bool:
    """Return whether the points lie on a trade-off function, within `TABLE_ERROR`."""
    if alpha.size != beta.size or alpha.size < 2 or alpha[0] != 0.0 or beta[-1] != 0.0:
        return False
    width, fall = np.diff(alpha), -np.diff(beta)
    cross = fall[:-1] * width[1:] - fall[1:] * width[:-1]  # slopes, steepest first
    ordered = np.all(width >= 0.0) and np.all(fall >= 0.0) and np.all(cross >= -TABLE_ERROR)
    return bool(ordered and alpha[-1] == 1.0 and np.all(beta <= 1.0 - alpha + TABLE_ERROR))


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
