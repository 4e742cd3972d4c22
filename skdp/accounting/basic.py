"""Basic composition: ε and δ add."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting.base import Accountant, Leaf

__all__ = ["BasicAccountant"]

_POINTS = 400
_BISECTIONS = 80
_ROUNDING = 1.0 + 1e-14


@dataclass(frozen=True)
class BasicAccountant(Accountant):
    r"""Σ k_i·ε_i at Σ k_i·δ_i, for k_i releases of leaf i.

    A leaf with a curve is (ε_i(δ_i), δ_i)-DP for every δ_i. The split of δ: all releases of one
    leaf get the same δ_i; between leaves either the same for all, or the Lagrangian rule, each
    leaf at the ε_i that minimises ε_i + λ·δ_i(ε_i), with the least λ that δ can pay for, scaled
    up to use δ completely. The cheaper of the two counts. Any split is valid; on curves ε(δ) that
    are convex the second one is the best.

    Notes
    -----
    **Guarantee.** Dwork, Kenthapadi, McSherry, Mironov and Naor 2006; Dwork and Roth 2014,
    Theorem B.1. Also for releases chosen as one goes (Rogers, Roth, Ullman and Vadhan 2016).

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent, SelfComposedEvent
    >>> event = SelfComposedEvent(GaussianEvent(20.0), 10)
    >>> round(BasicAccountant().epsilon(event, 1e-5), 3)
    3.969
    """

    def _epsilon(self, leaves: tuple[Leaf, ...], delta: float) -> float:
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


def _total(leaves: tuple[Leaf, ...], deltas: list[float]) -> float:
    costs = (leaf.count * leaf.epsilon(d) for leaf, d in zip(leaves, deltas, strict=True))
    return math.fsum(costs) * _ROUNDING


def _lagrangian(leaves: tuple[Leaf, ...], delta: float) -> list[float]:
    """Return δ_i a release with Σ k_i·δ_i ≤ δ."""
    counts = np.array([leaf.count for leaf in leaves], dtype=float)
    grids = [_grid(leaf, delta) for leaf in leaves]
    tables = [(grid, leaf.delta(grid)) for leaf, grid in zip(leaves, grids, strict=True)]
    low, high = -50.0, 750.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        paid = counts @ _choices(tables, math.exp(middle * 0.9)) <= delta
        low, high = (low, middle) if paid else (middle, high)
    chosen = _choices(tables, math.exp(high * 0.9))
    total = float(counts @ chosen)
    scale = delta / total / _ROUNDING if total > 0.0 else 0.0
    return [float(d) * min(scale, 1e300) for d in chosen]


def _grid(leaf: Leaf, delta: float) -> np.ndarray:
    end = min(leaf.pure, leaf.epsilon(max(1e-3 * delta / leaf.count, leaf.floor)), 650.0)
    return np.append(0.0, np.geomspace(1e-4 * end, end, _POINTS)) if end else np.zeros(1)


def _choices(tables: list[tuple[np.ndarray, np.ndarray]], price: float) -> np.ndarray:
    return np.array([delta[np.argmin(grid + price * delta)] for grid, delta in tables])
