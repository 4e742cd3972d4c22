"""The public grid from which the quantiles of a column are chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp.data.column_facts import ColumnBounds

# No guarantee rests on these: they set the precision of quantiles.
_CELLS = 2**14  # equal ones between the bounds, or on the scale of a schema
_RATIO = 0.01  # distance of small points, as a share of the points
_SMALLEST = 2.0**-24  # of the largest bound: still smaller values share few points


@dataclass(frozen=True, eq=False)
class Grid:
    """Increasing points, and the ends of the cell of values that are rounded to each."""

    points: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, *, exact: bool) -> Grid:
        """Return a grid with halfway ends, or one for values that are points."""
        if exact:
            return cls(points, points, points)
        middles = points[:-1] + 0.5 * np.diff(points)
        return cls(points, np.append(points[0], middles), np.append(middles, points[-1]))

    def places(self, values: np.ndarray) -> np.ndarray:
        """Return the nearest point of each value, by number; the last one for NaN."""
        middles = self.points[:-1] + 0.5 * np.diff(self.points)
        return np.searchsorted(middles, values)


def grids_of(bounds: ColumnBounds) -> list[Grid]:
    """Return a grid for each column."""
    sides = zip(bounds.low.tolist(), bounds.high.tolist(), strict=True)
    scales = bounds.scales or ((math.inf, False),) * bounds.low.size
    return [_grid(*ends, *scale) for ends, scale in zip(sides, scales, strict=True)]


@lru_cache(maxsize=128)
def _grid(low: float, high: float, unit: float, whole: bool) -> Grid:
    """Return points from `low` to `high`.

    Points have equal distances on a logarithmic scale with sign, if it has a finite `unit`.
    Otherwise cells are equal. Where those are wide compared with the values, near 0, points at a
    constant ratio are added. If values are `whole`, points are integers, besides the ends.
    """
    exact = whole and high - low <= _CELLS
    if exact:
        points = np.arange(math.ceil(low), math.floor(high) + 1.0)
    elif unit < math.inf:
        points = _from_log(np.linspace(_to_log(low, unit), _to_log(high, unit), _CELLS + 1), unit)
    else:
        points = np.append(np.linspace(low, high, _CELLS + 1), _near_zero(low, high))
    points = np.rint(points) if whole else points
    inner = points[(points > low) & (points < high)]
    return Grid.of(np.unique(np.append(inner, (low, high))), exact=exact)


def _near_zero(low: float, high: float) -> np.ndarray:
    """Return points at a constant ratio, as far as equal cells are wider."""
    nearest, farthest = max(low, -high, 0.0), (high - low) / _CELLS / _RATIO
    if nearest >= farthest:
        return np.empty(0)
    unit = max(-low, high) * _SMALLEST
    sizes = _from_log(np.arange(0.0, _to_log(farthest, unit), _RATIO), unit)
    return np.append(-sizes, sizes)


def _to_log(value: float, unit: float) -> float:
    return math.copysign(math.log1p(abs(value) / unit), value)


def _from_log(logs: np.ndarray, unit: float) -> np.ndarray:
    return np.asarray(np.sign(logs) * unit * np.expm1(np.abs(logs)))
