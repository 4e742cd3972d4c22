"""Choices of quantiles from a public grid: their ranks, and the noise that they cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from skdp.accounting import calibrate
from skdp.accounting.base import ACCOUNTANTS, Accountant
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import STEP_BITS, Sums, counted
from skdp.data.records import Records
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import ComposedEvent, Event, SelfComposedEvent
from skdp.privacy.noise_events import BoundedRangeEvent
from skdp.statistics._results import Keys, risk_of
from skdp.support.safe_numbers import ROOT, down

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


_FEWEST = 100  # rows, below which the margin is constant: its slope there would cost privacy
_KNOTS = tuple(np.geomspace(_FEWEST, 2.0**31, 50).tolist())
_FARTHEST = 9.0  # standard deviations, within which normal noise is integrated


@dataclass(frozen=True)
class Margin:
    """A public, piecewise linear function from the number of rows to a number of rows.

    It is constant below the first knot and above the last one.
    """

    knots: tuple[float, ...]
    rows: tuple[float, ...]

    def __call__(self, n_rows: float) -> float:
        return float(np.interp(n_rows, self.knots, self.rows))

    @property
    def slope(self) -> float:
        """The largest change of the margin with one row."""
        if len(self.knots) == 1:
            return 0.0
        return float(np.max(np.abs(np.diff(self.rows)) / np.diff(self.knots)))


@lru_cache(maxsize=256)
def _margins(
    risk: float, scale: float, variance: float, knots: tuple[float, ...], n_points: int | None
) -> tuple[float, ...]:
    """Return the margin for each number of rows at which one end misses with this probability.

    `n_points` is the number of grid points, None for dense values.
    """
    deviations = np.sqrt(variance * np.array(knots))
    low = np.zeros(len(knots))
    high = scale * math.log((n_points or 1) / risk) + _FARTHEST * deviations
    for _ in range(50):
        middle = 0.5 * (low + high)
        misses = _miss(middle, scale, deviations, n_points) > risk
        low, high = np.where(misses, middle, low), np.where(misses, high, middle)
    return tuple(high.tolist())


def _miss(
    margins: np.ndarray, scale: float, deviations: np.ndarray, n_points: int | None
) -> np.ndarray:
    """Return P(Z + L > m and Z + L' > 0), for normal Z and noise L and L' of two choices.

    An end of an interval is the farther one of the choices with and without a margin. They have
    independent noise, and share the error Z of the sample.
    """
    z, weights = _normal_nodes()
    moved = deviations[:, None] * z
    ends = _beyond((margins[:, None] - moved) / scale, n_points)
    both = ends * _beyond(-moved / scale, n_points)
    return np.asarray(both @ weights)


@lru_cache(maxsize=1)
def _normal_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of means over a standard normal number."""
    nodes, weights = leggauss(200)
    z = _FARTHEST * nodes
    return z, _FARTHEST * weights * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def _beyond(t: np.ndarray, n_points: int | None) -> np.ndarray:
    """Return the probability that a choice exceeds its rank by t, in units of its scale.

    For dense values it is P(L > t) of standard Laplace noise; else at most e^(−t) times the number
    of grid points.
    """
    if n_points is not None:
        return np.asarray(np.exp(np.minimum(math.log(n_points) - t, 0.0)))
    half = 0.5 * np.exp(-np.abs(t))
    return np.where(t > 0.0, half, 1.0 - half)


@dataclass(frozen=True)
class Rank:
    """A public function of the number n of rows: q·n, or q·n plus or minus a margin."""

    q: float
    margin: Margin | None = None
    side: int = 0

    def of(self, n_rows: float) -> float:
        moved = 0.0 if self.margin is None else self.side * self.margin(n_rows)
        return self.q * n_rows + moved

    @property
    def sensitivity(self) -> float:
        """The largest change of a point's utility if a row is added or removed."""
        return max(self.q, 1.0 - self.q) + self._slope

    def range(self, *, above: bool) -> float:
        """Return the range of the changes of all utilities if a row is added or removed.

        Let s be the slope of the margin. A row above the quantile moves the utilities of points
        below itself by at most q + s, and the utilities of other points by at most
        max(q, 1 − q) + s in the other direction. For a row below the quantile, exchange q and
        1 − q.
        """
        near = self.q if above else 1.0 - self.q
        return near + self._slope + self.sensitivity

    @property
    def _slope(self) -> float:
        return 0.0 if self.margin is None else self.margin.slope


Counts = Sequence[Sequence[np.ndarray]] | np.ndarray
_MOST_EPSILON = 300.0  # of choices: they have no noise then, and no Gaussian cover beyond is known
_SAFE = down(1.0, ROOT)  # factor of ε: the search for a share of ε stops 1e-11 from the target

# A utility has six roundings of numbers below 2^31, with errors of 2^−23 each: of the number of
# rows, q times it, the margin, their sum, #{x < t} and the difference. So the change of a utility
# by a record has an error of 12·2^−23, and the range over the candidates of 24·2^−23 = ¾·2^−18. Two
# steps of the grid, of 2^−30 each, fit into the rest. Every range below is at least 1, so that a
# factor covers all errors.
_ROUNDING = 2.0**-18

Ranges = tuple[tuple[float, int], ...]
"""Lengths of intervals that contain sums of changes of utilities, and the number of each."""


@dataclass(frozen=True)
class Cost:
    """The noise of a release of quantiles, and the ranges that it is charged for.

    `unit` is the change of log probability, in nats, by one row of utility. The release composes
    choices of bounded `ranges`, in rows.
    """

    unit: float
    ranges: Ranges


@dataclass(frozen=True)
class Neighbors:
    """*Public* differences between two neighboring data sets.

    `n_changed` is 1 if a record is added or removed, 2 if it is replaced. `n_groups` is 1 without
    keys. If `in_parts`, a record is a person whose rows may be in several groups.
    """

    n_changed: int
    n_groups: int
    in_parts: bool

    def cost(
        self, columns: Sequence[Sequence[Rank]], epsilon: float, delta: float, accountant: str
    ) -> Cost:
        """Return the least noise for which the choices of all columns are (ε, δ)-DP."""
        kinds = zip(*(self._column(tuple(ranks)) for ranks in columns), strict=True)
        n_touched = self.n_groups if self.in_parts else min(self.n_changed, self.n_groups)
        rounded = 1.0 + n_touched * _ROUNDING
        counts = (Counter(rounded * x for own in kind for x in own) for kind in kinds)
        candidates = dict.fromkeys(tuple(sorted(n.items(), reverse=True)) for n in counts)
        return _least_noise(tuple(candidates), epsilon, delta, accountant)

    def _column(self, ranks: tuple[Rank, ...]) -> list[tuple[float, ...]]:
        """Return lists of ranges. Each list alone bounds the choices of a column.

        Proofs: *Quantiles* in the documentation.
        """
        own = tuple(2.0 * rank.sensitivity for rank in ranks)
        split, total = _one_row(ranks)
        if self.n_changed == 1:
            return [own if self.in_parts else split, (total,)]
        within = tuple(max(2.0, x) for x in own)
        if self.n_groups == 1:
            return [within]
        joint = [tuple(2.0 * x for x in own), (2.0 * total,)]
        if not self.in_parts:  # the row stays in its group, or changes groups
            return [_largest([(2.0,) * len(ranks), split + split]), *joint]
        few = self.n_groups < 4  # then the squares 4·K may add up to less than (4M)²
        return [within * self.n_groups, *joint] if few else joint


def composed(ranges: Ranges, unit: float) -> Event:
    """Return the event of choices with these ranges."""
    events = [SelfComposedEvent(BoundedRangeEvent(x * unit), n) for x, n in ranges]
    return events[0] if len(events) == 1 else ComposedEvent(tuple(events))


def _one_row(ranks: tuple[Rank, ...]) -> tuple[tuple[float, ...], float]:
    """Return sorted ranges of the ranks for a row that is added or removed, and their sum.

    A row above the quantile of one rank is above that of each lower rank.
    """
    split: tuple[float, ...] = ()
    total = 0.0
    for kind in dict.fromkeys((rank.margin, rank.side) for rank in ranks):
        # The order of ranks with the same margin does not depend on the number of rows.
        same = [rank for rank in ranks if (rank.margin, rank.side) == kind]
        family = sorted(same, key=lambda rank: rank.q)
        cases = [
            tuple(rank.range(above=i < j) for i, rank in enumerate(family))
            for j in range(len(family) + 1)
        ]
        split += _largest(cases)
        total += max(math.fsum(case) for case in cases)
    return split, total


def _largest(cases: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the entrywise maximum of lists that are sorted and padded with zeros."""
    size = max(map(len, cases))
    filled = [sorted(case, reverse=True) + [0.0] * (size - len(case)) for case in cases]
    return tuple(map(max, zip(*filled, strict=True)))


@lru_cache(maxsize=128)
def _least_noise(
    candidates: tuple[Ranges, ...], epsilon: float, delta: float, accountant: str
) -> Cost:
    """Return the candidate with the largest unit; of equal ones the first."""
    if not delta:
        sums = {ranges: math.fsum(x * n for x, n in ranges) for ranges in candidates}
        best = min(sums, key=lambda ranges: sums[ranges])
        return Cost(epsilon / sums[best] * _SAFE, best)
    by, cost = ACCOUNTANTS[accountant](), None
    for ranges in candidates:
        # A gain below 0.1 % is not worth a search.
        if cost is None or by.epsilon(composed(ranges, 1.001 * cost.unit), delta) < epsilon:
            cost = Cost(_unit(ranges, epsilon, delta, by), ranges)
    assert cost is not None
    return cost


def _unit(ranges: Ranges, epsilon: float, delta: float, accountant: Accountant) -> float:
    total, largest = math.fsum(x * n for x, n in ranges), ranges[0][0]
    low, high = 1e-3 * epsilon / total, 2.0 * epsilon / largest
    event = partial(composed, ranges)
    unit = calibrate(event, epsilon, delta, low=low, high=high, accountant=accountant)
    return _SAFE * float(unit)


@dataclass(frozen=True)
class QuantilePlan:
    """Choices by the exponential mechanism for the ranks of each column, with equal noise.

    `ranges` has the lengths, in rows, of intervals in which one record moves the utilities of
    choices that are charged together, and the number of intervals of each length.
    """

    choice: ExponentialMechanism
    ranges: Ranges
    ranks: tuple[tuple[Rank, ...], ...]
    n_points: int = 1  # of the largest grid, for `rank_error`

    theorem = "exponential mechanism, composition"
    exact = True

    def rank_error(self, risk: float, share: float = 1.0) -> float:
        """Return the bound of `Quantile.rank_error`, for a `share` of the grid."""
        log_tail = math.log(share * self.n_points / risk)
        return 2.0 * self.choice.sensitivity * log_tail / self.choice.epsilon

    def hides_ranks(self, n: float) -> bool:
        """Return whether half of n rows may be on the wrong side of a median."""
        return self.rank_error(0.05, 0.01) >= 0.5 * n

    @property
    def event(self) -> Event:
        farthest_apart = 2.0 * self.choice.sensitivity  # the range that one choice is charged for
        return composed(self.ranges, self.choice.event.epsilon / farthest_apart)


@dataclass(frozen=True)
class Ranks:
    """Public settings: probabilities, and how their intervals are chosen."""

    q: tuple[float, ...]
    level: float | None
    sampling: bool
    ties: bool

    @classmethod
    def check(
        cls, q: ArrayLike, level: float | None, sampling: bool = False, ties: bool = True
    ) -> Ranks:
        """Return the settings, or raise ValueError."""
        probabilities = np.atleast_1d(np.asarray(q, dtype=float))
        inside = (probabilities >= 0.0) & (probabilities <= 1.0)
        if probabilities.ndim != 1 or not probabilities.size or not inside.all():
            raise ValueError(f"q must be a probability in [0, 1], or several, got {q!r}.")
        if level is not None:
            risk_of(level)
        if not isinstance(sampling, bool):
            raise ValueError(f"sampling must be True or False, got {sampling!r}.")
        if not isinstance(ties, bool):
            raise ValueError(f"ties must be True or False, got {ties!r}.")
        return cls(tuple(probabilities.tolist()), level, sampling, ties)

    def planned(
        self,
        epsilon: float,
        delta: float,
        accountant: str,
        neighbors: Neighbors,
        n_rows: int | None,
        grids: Sequence[Grid],
    ) -> QuantilePlan:
        """Return choices that are (ε, δ)-DP together; `n_rows` is None if it is private."""
        epsilon = min(epsilon, _MOST_EPSILON)
        n_points = most_points(grids)
        ranks = (self._ranks(None, n_rows, n_points),) * len(grids)
        for _ in range(2):  # slopes of margins widen the noise, which widens the margins a little
            scale = 1.0 / neighbors.cost(ranks, epsilon, delta, accountant).unit
            ranks = (self._ranks(scale, n_rows, n_points),) * len(grids)
        cost = neighbors.cost(ranks, epsilon, delta, accountant)
        farthest = max(rank.sensitivity for own in ranks for rank in own)
        if neighbors.n_changed == 2:  # within a group a row moves #{x < t} by 1
            farthest = max(1.0, farthest)
        farthest *= 1.0 + _ROUNDING  # M ≥ ½
        choice = ExponentialMechanism(sensitivity=farthest, epsilon=2.0 * farthest * cost.unit)
        return QuantilePlan(choice, cost.ranges, ranks, n_points)

    def _ranks(self, scale: float | None, n_rows: int | None, n_points: int) -> tuple[Rank, ...]:
        """Return the ranks of all quantiles, then of the lower and the upper ends.

        Ranks have no margins if the scale of the noise is None.
        """
        middle = [Rank(p) for p in self.q]
        if self.level is None:
            return tuple(middle)
        margins = [self._margin(p, scale, n_rows, n_points) for p in self.q]
        ends = [Rank(p, m, side) for side in (-1, 1) for p, m in zip(self.q, margins, strict=True)]
        return (*middle, *ends)

    def _margin(
        self, q: float, scale: float | None, n_rows: int | None, n_points: int
    ) -> Margin | None:
        """Return the margin for an interval that misses with probability of about 1 − `level`.

        That of dense values is taken only if it ends within a public number of rows.
        """
        if scale is None:
            return None
        assert self.level is not None
        # With sampling, ranks of the population's quantile miss by about N(0, n·q·(1 − q)).
        knots = _KNOTS if n_rows is None and self.sampling else (float(n_rows or 1),)
        variance = q * (1.0 - q) if self.sampling else 0.0
        margins = partial(_margins, 0.5 * risk_of(self.level), scale, variance, knots)
        near = Margin(knots, margins(None))
        beyond = n_rows is not None and near(n_rows) > min(q, 1.0 - q) * n_rows
        return near if not (self.ties or beyond) else Margin(knots, margins(n_points))

    def values(
        self, chosen: np.ndarray, grids: Sequence[Grid], *, is_noise: bool = False
    ) -> np.ndarray:
        """Return the values at chosen grid points, the ends of their cells, and of intervals.

        The shape is (3 or 5, ..., n_probabilities, n_columns). The larger value of a column is for
        the larger probability. Intervals end with cells, because values were rounded to the grid.
        With intervals, estimates are nan if all `is_noise`, by public facts, or if an interval has
        all values.
        """
        order = np.argsort(np.argsort(self.q))
        places = chosen.reshape(*chosen.shape[:-2], -1, len(self.q), chosen.shape[-1])
        places = np.sort(places, axis=-2)[..., order, :]
        middle, *ends = np.moveaxis(places, -3, 0)
        sides = [middle] * 3
        if ends:
            sides += [np.minimum(ends[0], middle), np.maximum(ends[1], middle)]
        found = np.empty((len(sides), *middle.shape))
        for j, grid in enumerate(grids):
            for k, side in enumerate(sides):  # values, and the low and high ends of two kinds
                points = (grid.points, grid.low, grid.high, grid.low, grid.high)[k]
                found[k, ..., j] = points[side[..., j]]
            if ends:  # an interval of all possible values has no estimate
                low, high = found[3:, ..., j]
                found[:3, ..., j][:, (low <= grid.low[0]) & (high >= grid.high[-1])] = np.nan
        if ends and is_noise:
            found[:3] = np.nan
        return found


def cell_counts(
    grids: Sequence[Grid], keys: Keys | None, filling: np.ndarray | None, records: Records[Any]
) -> Sums:
    """Return *private* counts of values at each grid point: (n_groups, n_columns, n_points).

    Missing values count as `filling`, a number for each column, or not at all if it is None.
    Weights count in steps.
    """
    codes = None if keys is None else keys.codes(records) + 1
    n_groups, n_points, start = 1 if keys is None else keys.n_groups, most_points(grids), 0
    counts = np.zeros((n_groups + 1, len(grids), n_points), dtype=np.int64)
    for rows, _, weights in records.chunks():
        known = ~np.isnan(rows)
        filled = rows if filling is None else np.where(known, rows, filling)
        groups = np.ones(len(rows), int) if codes is None else codes[start : start + len(rows)]
        for j, grid in enumerate(grids):
            places = groups * n_points + grid.places(filled[:, j])
            some = known[:, j] if filling is None else slice(None)
            found = counted(places, counts[:, j].size, weights, some)
            counts[:, j] += found.reshape(n_groups + 1, -1)
        start += len(rows)
    return {"cells": counts[1:]}


def of_grids(cells: np.ndarray, grids: Sequence[Grid]) -> list[list[np.ndarray]]:
    """Return the counts of each group and column at the points of its grid."""
    sizes = [grid.points.size for grid in grids]
    return [[one[:size] for one, size in zip(own, sizes, strict=True)] for own in cells]


def most_points(grids: Sequence[Grid]) -> int:
    """Return the number of points of the largest grid."""
    return max(grid.points.size for grid in grids)


def choose_all(
    plan: QuantilePlan, counts: Counts, rng: np.random.Generator, in_steps: bool
) -> np.ndarray:
    """Return a grid point for each group, rank and column, from *private* counts.

    Counts of persons are in steps, which are added up as they are.
    """
    unit = math.ldexp(1.0, -STEP_BITS) if in_steps else 1.0
    choices = [
        [
            [_choose(*one, unit, plan.choice, rng) for one in zip(group, ranks, strict=True)]
            for ranks in zip(*plan.ranks, strict=True)
        ]
        for group in counts
    ]
    return np.array(choices)


def _choose(
    counts: np.ndarray,
    rank: Rank,
    unit: float,
    choice: ExponentialMechanism,
    rng: np.random.Generator,
) -> int:
    """Return a grid point, from the *private* counts at each, in this unit."""
    at_most = np.cumsum(counts)
    below, at_most = (at_most - counts) * unit, at_most * unit
    wanted = rank.of(at_most[-1])
    if rank.side < 0:  # the lowest point stands for all ranks below
        below[0] = -math.inf
    elif rank.side > 0:
        at_most[-1] = math.inf
    miss = np.maximum(below - wanted, wanted - at_most)
    return choice.release(-np.maximum(miss, 0.0), rng)
