"""Numbers that guarantees rest on: outward rounding, and searches that try what they return.

Outward rounding makes a computed bound also bound the exact number. Searches in one variable find
where a condition begins to hold, or where a function is least.

A condition is *monotone* if it holds on one side of some edge and not on the other. The `inside`
that `first_to_hold`, `bisect` and `next_to_root` return was tried and found to hold, whether or not
the condition is monotone: callers rest guarantees on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar

_Number = TypeVar("_Number", float, np.ndarray)

# Relative errors of computed numbers in units of 2⁻⁵³, the error of one operation that rounds to
# the nearest float (IEEE 754). A library function counts as several operations.
SUM = 9
"""A few products, and a sum by `math.fsum`, which rounds once however many terms it has."""
FORMULA = 90
"""A closed formula of tens of operations without cancellation. `exp`, `log` and `sqrt` of the C
library are right within one unit in the last place, and count as two operations each."""
SERIES = 9_000
"""A sum of hundreds of such terms, and `log_ndtr`, `erfcx` and `logsumexp` of SciPy, which
tests/test_rounding.py compares with 50 digits."""
CURVE = 90_000
"""δ(ε) of a privacy curve: eleven digits, as tests/privacy compares it with exact values."""
THERE_AND_BACK = 900_000
"""ε(δ(ε)): a root search on a curve, which ends after ten digits."""
ROOT = 9_000_000
"""A root search that ends early; the margin exceeds what the search leaves."""


_POWERS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)


@cache
def margin(n_operations: int) -> float:
    """Return the relative error of `n_operations`, rounded up to a power of ten."""
    error = n_operations * 2.0**-53
    return min(power for power in _POWERS if power >= error)


def up(x: _Number, n_operations: int) -> _Number:
    """Return an upper bound of the exact number ≥ 0 that `n_operations` computed as `x`."""
    return x * (1.0 + margin(n_operations))


def down(x: _Number, n_operations: int) -> _Number:
    """Return a lower bound of the exact number ≥ 0 that `n_operations` computed as `x`."""
    return x * (1.0 - margin(n_operations))


Condition = Callable[[float], bool]
Middle = Callable[[float, float], float | None]
"""Two numbers to one strictly between them, or None if they are close enough."""


def first_to_hold(
    holds: Condition,
    outside: float,
    first: float,
    after: Callable[[float], float],
    last: float = math.inf,
) -> tuple[float, float]:
    """Return (inside, outside): where `holds` was first found true, and the point before.

    `outside`, where the condition is known not to hold, is not tried; `first` is. `after` maps a
    point to the next one. If no point up to `last` in size holds, `inside` is ``inf``.
    """
    inside = first
    while not holds(inside):
        outside, inside = inside, after(inside)
        if abs(inside) > last:
            return math.inf, outside
    return inside, outside


def bisect(holds: Condition, inside: float, outside: float, middle: Middle) -> float:
    """Return a point next to an edge of `holds`, on the side where it was found to hold.

    The condition is known to hold at `inside` and not at `outside`; neither is tried, and either
    may be the larger. `middle` is `arithmetic`, `geometric`, `halvings` or `whole`, and says when
    to stop.
    """
    while (between := middle(inside, outside)) is not None:
        if holds(between):
            inside = between
        else:
            outside = between
    return inside


def next_to_root(
    excess: Callable[[float], float], inside: float, outside: float, relative: float
) -> float:
    """Return a point at which `excess` ≤ 0, next to one at which it is not.

    Both points are positive, and `excess` is ≤ 0 at `inside`. It may be ``inf``. If it is ≤ 0 at
    `outside`, too, that is the answer. Takes fewer steps than `bisect` where the excess is smooth:
    inverse quadratic interpolation of logarithms, guarded by halving (Chandrupatla 1997). An excess
    that is itself a logarithm, of a cost over its target, is the smoothest.
    """
    last, first = _Tried.at(excess, outside), _Tried.at(excess, inside)
    if last.holds:
        return outside
    third, share = first, last.excess / (last.excess - first.excess)
    share = share if 0.0 < share < 1.0 else 0.5
    while abs(last.log - first.log) > relative:
        tried = _Tried.at(excess, math.exp(last.log + share * (first.log - last.log)))
        if tried.holds == last.holds:
            third = last
        else:
            third, first = first, last
        last = tried
        least = min(0.5, 0.5 * relative / max(abs(last.log - first.log), relative))
        share = min(max(_interpolated(last, first, third), least), 1.0 - least)
    return last.x if last.holds else first.x


def log_ratio(value: float, target: float) -> float:
    """Return log(value/target) for `next_to_root`: positive whenever the value exceeds the target.

    It is the difference where the ratio is 0, infinite, or so close to 1 that it rounds to 1.
    """
    ratio, difference = value / target, value - target
    return math.log(ratio) or difference if 0.0 < ratio < math.inf else difference


class _Tried(NamedTuple):
    x: float
    log: float
    excess: float

    @classmethod
    def at(cls, excess: Callable[[float], float], x: float) -> _Tried:
        return cls(x, math.log(x), excess(x))

    @property
    def holds(self) -> bool:
        return self.excess <= 0.0


def _interpolated(last: _Tried, first: _Tried, third: _Tried) -> float:
    """Return the share of the way from `last` to `first`: half of it where a curve may mislead."""
    xi = (last.log - first.log) / (third.log - first.log)
    phi = (last.excess - first.excess) / (third.excess - first.excess)
    if not (phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi):  # also for excesses that are infinite
        return 0.5
    a, b, c = first.excess, last.excess, third.excess
    slope = (third.log - last.log) / (first.log - last.log)
    return b / (a - b) * c / (a - c) + slope * b / (c - b) * a / (c - a)


def arithmetic(relative: float = 0.0) -> Middle:
    """Return the rule that halves until the gap is `relative` to the larger end; 0: all digits."""

    def middle(a: float, b: float) -> float | None:
        between = 0.5 * (a + b)
        is_done = abs(a - b) <= relative * max(abs(a), abs(b)) or between in (a, b)
        return None if is_done else between

    return middle


def halvings(n: int) -> Middle:
    """Return the rule that halves `n` times, for one search."""
    left = iter(range(n))

    def middle(a: float, b: float) -> float | None:
        return None if next(left, None) is None else 0.5 * (a + b)

    return middle


def geometric(relative: float) -> Middle:
    """Return the rule that halves logarithms of positive numbers, until the ends are that close."""

    def middle(a: float, b: float) -> float | None:
        is_done = abs(a - b) <= relative * max(a, b)
        return None if is_done else math.sqrt(a) * math.sqrt(b)

    return middle


def whole(a: float, b: float) -> int | None:
    """Return an integer halfway between two, or None if they are neighbors."""
    return int(a + b) // 2 if abs(a - b) > 1 else None


def minimize_from_grid(
    value: Callable[[float], float], grid: np.ndarray, values: np.ndarray, xatol: float = 1e-5
) -> tuple[float, float]:
    """Return (x, value): the best point of a rising grid, or a better one between its neighbors.

    `values` are the function on the grid, and `xatol` is the absolute error of x. The value is the
    least one only if the function is unimodal around the best point of the grid. So a caller may
    rest a guarantee on the value at x, but not on its being the least.
    """
    best = int(np.argmin(values))
    around = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(value, bounds=around, method="bounded", options={"xatol": xatol})
    points = (float(grid[best]), float(values[best])), (float(found.x), float(found.fun))
    return min(points, key=lambda point: point[1])
