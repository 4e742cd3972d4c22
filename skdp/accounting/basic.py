"""Basic composition: ε and δ add."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting.base import Accountant, EventCount
from skdp.support.root_search import arithmetic, bisect
from skdp.support.rounding import FORMULA, up

__all__ = ["BasicAccountant"]

_POINTS = 400
_SMALLEST, _LARGEST = -50.0, 750.0  # of the logarithm of a Lagrange multiplier, over 0.9
_ROUNDING = up(1.0, FORMULA)


@dataclass(frozen=True)
class BasicAccountant(Accountant):
    r"""Basic composition: Σ k_i·ε_i at Σ k_i·δ_i, for k_i releases of leaf i.

    A leaf with a curve is (ε_i(δ_i), δ_i)-DP for every δ_i, and any split of δ is valid. The better
    of two splits counts: equal ones, and the Lagrangian rule (see *Basic composition* in the user
    guide).

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Notes
    -----
    **Guarantee.** Dwork, Kenthapadi, McSherry, Mironov and Naor 2006; Dwork and Roth 2014,
    Theorem B.1. Also for adaptively chosen releases (Rogers, Roth, Ullman and Vadhan 2016).

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent, SelfComposedEvent
    >>> event = SelfComposedEvent(GaussianEvent(20.0), 10)
    >>> round(BasicAccountant().epsilon(event, 1e-5), 3)
    3.969
    """

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        if delta == 0.0:
            return _total(leaves, [0.0] * len(leaves))
        floors = [leaf.floor for leaf in leaves]
        left = delta - math.fsum(leaf.count * f for leaf, f in zip(leaves, floors, strict=True))
        if left < 0.0:
            return math.inf
        releases = sum(leaf.count for leaf in leaves)
        equal = _total(leaves, [f + left / releases / _ROUNDING for f in floors])
        if len(leaves) == 1 or math.isinf(equal):
            return equal
        return min(equal, _total(leaves, _lagrangian(leaves, delta)))


def _total(leaves: tuple[EventCount, ...], deltas: list[float]) -> float:
    costs = (leaf.count * leaf.epsilon(d) for leaf, d in zip(leaves, deltas, strict=True))
    return math.fsum(costs) * _ROUNDING


def _lagrangian(leaves: tuple[EventCount, ...], delta: float) -> list[float]:
    """Return the δ_i of one release, with Σ k_i·δ_i ≤ δ.

    Each leaf is at the ε_i that minimizes ε_i + λ·δ_i(ε_i), with the least λ that δ allows; then
    the δ_i are scaled up to use δ completely. This is the best split if all ε(δ) are convex.
    """
    counts = np.array([leaf.count for leaf in leaves], dtype=float)
    grids = [_grid(leaf, delta) for leaf in leaves]
    tables = [(grid, leaf.delta(grid)) for leaf, grid in zip(leaves, grids, strict=True)]

    def is_enough(log_multiplier: float) -> bool:
        return bool(counts @ _choices(tables, math.exp(log_multiplier * 0.9)) <= delta)

    least = bisect(is_enough, _LARGEST, _SMALLEST, arithmetic())
    chosen = _choices(tables, math.exp(least * 0.9))
    total = float(counts @ chosen)
    scale = delta / total / _ROUNDING if total > 0.0 else 0.0
    return [float(d) * min(scale, 1e300) for d in chosen]


def _grid(leaf: EventCount, delta: float) -> np.ndarray:
    end = min(leaf.pure, leaf.epsilon(max(1e-3 * delta / leaf.count, leaf.floor)), 650.0)
    return np.append(0.0, np.geomspace(1e-4 * end, end, _POINTS)) if end else np.zeros(1)


def _choices(tables: list[tuple[np.ndarray, np.ndarray]], multiplier: float) -> np.ndarray:
    return np.array([delta[np.argmin(grid + multiplier * delta)] for grid, delta in tables])
