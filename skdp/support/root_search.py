"""Searches in one variable: where a condition begins to hold, and where a function is least.

A condition is *monotone* if it holds on one side of some edge and not on the other. The `inside`
that `first_to_hold` and `bisect` return was tried and found to hold, whether or not the condition
is monotone: callers rest guarantees on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

__all__ = [
    "arithmetic",
    "bisect",
    "first_to_hold",
    "geometric",
    "halvings",
    "minimize_from_grid",
    "whole",
]

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
