"""A private search for the range of the targets within their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from skdp.data.exact_sums import counted
from skdp.data.records import Facts, Records, Sums
from skdp.linear_model._records import LinearRecords
from skdp.linear_model._target_scale import TargetRange
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring
from skdp.solvers.base import RowCount

# A count is a float: up to two sums of steps of 2⁻³¹, a share of all records and two
# differences are rounded by n·2⁻⁵³ each, which is less than this for both neighbors together if
# n < 2²⁹.
_ROUNDED = 2.0**-20
_MOST_COUNTED = 2.0**40
# No guarantee rests on the numbers below.
_SHARE = 0.02  # of μ²; less missed the others of targets with a point mass (zeros, at n·μ = 5000)
_SIGNAL = 8.4  # the share is this number over n·μ for few records, as bisection needs so much
_OF_SIZE = 0.1  # of the search's μ², unless the size is known
_OF_MEDIAN, _OF_MASS, _OF_SPREAD = 1.0 / 3.0, 1.0 / 9.0, 5.0 / 9.0  # of the rest
_HALVINGS = 14
_CELLS = 2**_HALVINGS  # of the grid, between the bounds
_SHORTENINGS = 5
_RADII = 2**_SHORTENINGS
_SHRINKING = 2.0**-0.4  # from radius to radius; the last of 32 is 3 cells or less
_CERTAIN = 2.5  # standard deviations of a count
_LEAST_MASS = 0.3  # of the targets in one cell: those of a normal distribution fill many cells
_MOST_OF_FEW = 0.3  # share of the others outside, if there are too few of them for a certain count
_FEWEST_OTHERS = 4.0  # standard deviations of a count
_FAR = 0.1  # of the width of the bounds: if few targets are beyond it, the bounds may be too wide
_LEAST_OUTSIDE, _MOST_OUTSIDE = 0.005, 0.2  # shares of the targets
_DEVIATIONS = 3.0  # of normal targets, to which the range extends
_NARROW = 1.0 / 3.0  # of the bounds: a range that is not narrower than that is no gain


@dataclass(frozen=True)
class TargetSearch:
    """A median of the targets and a radius around it, by bisection with noisy counts.

    Each count is the number of targets in an interval, minus a public share p of all targets. A
    record's rows share one count s ≤ 1, of which f are in the interval, so it adds f − p·s. This is
    a number in [−p, 1 − p]. Adding or removing a record changes a count by at most max(p, 1 − p),
    and replacing it by at most 1. With N(0, Δ²/m²) added, for this change Δ, a count is m-Gaussian
    DP. The next interval depends on noisy counts only, so that the squares add up to μ² (Dong, Roth
    and Su 2022, Corollary 2).

    Up to a fifth of the targets may be outside of the radius. The normal distribution then says how
    far they reach. Where most targets have one value, as counts and amounts do, that fifth could be
    all others. So the targets in the median's cell are counted, and the rule is applied to others.
    """

    mu: float  # Gaussian-DP parameter of all counts together
    n_known: int | None  # number of records if it is public or guessed, otherwise it is estimated
    relation: Neighboring
    keeps_low: bool = False  # whether the range begins at the low bound
    name: ClassVar[str] = "a range of the targets"
    exact: ClassVar[bool] = True

    @classmethod
    def plan(
        cls, mu: float, n_known: int | None, relation: Neighboring, keeps_low: bool = False
    ) -> TargetSearch | None:
        """Return a search with a small share of μ², or None if n·μ is known to be too small."""
        share = _SHARE if n_known is None else min(0.5, max(_SHARE, _SIGNAL / (n_known * mu)))
        search = cls(math.sqrt(share) * mu, n_known, relation, keeps_low)
        return search if n_known is None or search.can_find(n_known) else None

    def can_find(self, n: float) -> bool:
        """Return whether the noise is small enough for `n` records."""
        return self._outside(n) <= _MOST_OUTSIDE

    def prepared(
        self, records: LinearRecords[TargetRange], rng: np.random.Generator
    ) -> LinearRecords[TargetRange]:
        """Release a range; return the records with it as their task."""
        bounds = records.facts.task
        found = self.release(bounds, records, rng)
        task = replace(found, low=bounds.low) if self.keeps_low else found
        return records.with_facts(replace(records.facts, task=task))

    def release(
        self, bounds: TargetRange, records: Records[Facts], rng: np.random.Generator
    ) -> TargetRange:
        """Release a range within the bounds, or the bounds if none is found, from y."""
        below = counts_below(bounds, records)
        n = RowCount(self.n_known, math.sqrt(_OF_SIZE) * self.mu).release(records, rng)
        if not self.can_find(n):
            return bounds
        middle = self._median(below, rng)
        others = self._others(below, middle, n, rng)
        outside = self._outside_of(others, n)
        if outside is None:
            return replace(bounds, is_doubtful=self._sees_none_far(below, middle, rng))
        radius = self._radius(below, middle, outside, rng)
        reach = _DEVIATIONS / float(ndtri(1.0 - 0.5 * outside / others))
        return bounds if radius is None else _within(bounds, middle, radius * reach)

    def _outside(self, n: float) -> float:
        """Return the share o of targets outside of the interval that the noise can tell."""
        found = _CERTAIN * self._noise(_OF_SPREAD, _SHORTENINGS, 1.0).scale / n
        if not self.relation.count_is_public:
            found /= 1.0 + found  # solves o = found·(1 − o): the noise is 1 − o times as large
        return max(_LEAST_OUTSIDE, found)

    def _outside_of(self, others: float, n: float) -> float | None:
        """Return this share if so many targets are not in the median's cell, None for too few."""
        if (outside := self._outside(n)) <= _MOST_OUTSIDE * others:
            return outside
        noise = self._noise(_OF_SPREAD, _SHORTENINGS, 1.0).scale
        return _MOST_OF_FEW * others if others * n >= _FEWEST_OTHERS * noise else None

    def _others(self, below: np.ndarray, middle: int, n: float, rng: np.random.Generator) -> float:
        """Release the share of targets that are not in the median's cell.

        It is 1 unless a point mass is certain, so that noise does not change the rule of others.
        """
        noise = self._noise(_OF_MASS, 1, 0.0)
        inside = _noisy(noise, 1, rng)(below[middle + 1] - below[middle]) / n
        is_mass = inside >= max(_LEAST_MASS, _CERTAIN * noise.scale / n)
        return max(0.0, 1.0 - inside) if is_mass else 1.0

    def _sees_none_far(self, below: np.ndarray, middle: int, rng: np.random.Generator) -> bool:
        """Release whether few targets are far from a cell, by a count instead of a radius."""
        noise, far = self._noise(_OF_SPREAD, 1, 0.0), int(_FAR * _CELLS)
        first, last = max(middle - far, 0), min(middle + far + 1, _CELLS)
        beyond = _noisy(noise, 1, rng)(below[-1] - (below[last] - below[first]))
        return beyond < _CERTAIN * noise.scale

    def _noise(self, share: float, n_counts: int, p: float) -> GridGaussian:
        """Return the noise of `n_counts` counts less a share p; all cost a share of the μ² left."""
        left = 1.0 if self.n_known is not None else 1.0 - _OF_SIZE
        mu = self.mu * math.sqrt(left * share / n_counts)
        between = 1.0 if self.relation.count_is_public else max(p, 1.0 - p)
        return GridGaussian.at(mu, between + _ROUNDED, 1, _MOST_COUNTED)

    def _median(self, below: np.ndarray, rng: np.random.Generator) -> int:
        """Return the cell of the median, from *private* counts below each edge."""
        half = 0.5 * below[-1]
        noisy = _noisy(self._noise(_OF_MEDIAN, _HALVINGS, 0.5), _HALVINGS, rng)
        return _last(_CELLS, lambda cell: noisy(below[cell] - half) < 0.0)

    def _radius(
        self, below: np.ndarray, middle: int, outside: float, rng: np.random.Generator
    ) -> float | None:
        """Return the least radius around a cell with nearly all targets, None below the least."""
        inside = 1.0 - outside
        noisy = _noisy(self._noise(_OF_SPREAD, _SHORTENINGS, inside), _SHORTENINGS, rng)
        radii = max(middle, _CELLS - 1 - middle) * _SHRINKING ** np.arange(_RADII)
        radii, wanted = np.floor(radii).astype(int), inside * below[-1]

        def has_enough(k: int) -> bool:
            first, last = max(middle - radii[k], 0), min(middle + radii[k] + 1, _CELLS)
            return noisy(below[last] - below[first] - wanted) >= 0.0

        chosen = _last(_RADII, has_enough)
        return None if chosen == _RADII - 1 else float(radii[chosen]) + 0.5


def counts_below(bounds: TargetRange, records: Records[Facts]) -> np.ndarray:
    """Return *private* counts of targets below each edge of equal cells between the bounds.

    Weights count as 1. Integers are added, so that each count is rounded once.
    """
    return replace(records, weights=None).counts(partial(_counts, bounds))["below"]


def _counts(bounds: TargetRange, records: Records[Facts]) -> Sums:
    cells = np.floor((bounds.encode(records.y) + 1.0) * (0.5 * _CELLS)).astype(np.intp)
    shares = replace(records, weights=None).steps
    counts = counted(np.minimum(cells, _CELLS - 1), _CELLS, shares)
    return {"below": np.concatenate([[0], np.cumsum(counts)])}


def _noisy(
    release: GridGaussian, n_counts: int, rng: np.random.Generator
) -> Callable[[float], float]:
    """Return a function that releases up to `n_counts` counts, each with noise of its own."""
    noise = release.stream(1, n_counts, rng)
    return lambda count: float(release.add(np.array([count]), next(noise))[0])


def _last(size: int, holds: Callable[[int], bool]) -> int:
    """Return the last number below a power of two with a property, by bisection; 0 counts as one.

    Numbers with the property come before those without it.
    """
    first, beyond = 0, size
    while beyond - first > 1:
        middle = (first + beyond) // 2
        first, beyond = (middle, beyond) if holds(middle) else (first, middle)
    return first


def _within(bounds: TargetRange, middle: int, radius: float) -> TargetRange:
    """Return the range around a cell, with a radius in cells, unless it is hardly narrower."""
    ends = np.clip((middle + 0.5 + np.array([-radius, radius])) / _CELLS, 0.0, 1.0)
    low, high = (bounds.low + (bounds.high - bounds.low) * ends).tolist()
    found = TargetRange(low, high)
    return found if 0.0 < found.half_width < _NARROW * bounds.half_width else bounds
