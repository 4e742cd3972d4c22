"""Quantiles, chosen from a public grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import STEP_BITS, Sums, counted
from skdp.data.records import Records
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import Event, PrivacyGuarantee
from skdp.statistics._grid import Grid, grids_of
from skdp.statistics._keys import Keys, axes_of
from skdp.statistics._loss_ranges import Neighbors, Ranges, composed
from skdp.statistics._margin import Margin
from skdp.statistics._moments import BoundedStatistic, Facts
from skdp.statistics._rank import Rank
from skdp.statistics._result import Labels, Numbers, Statistic, risk_of
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike

__all__ = ["Quantile", "quantile"]

Counts = Sequence[Sequence[np.ndarray]] | np.ndarray
_MOST_EPSILON = 300.0  # of choices: they have no noise then, and no Gaussian cover beyond is known
_ROUNDING = 1.0 + 2.0**-18  # of a utility, by 12·2^−23 at most: see `_loss_ranges`; M ≥ ½


@dataclass(frozen=True, eq=False, repr=False)
class Quantile(Statistic):
    """Released quantiles.

    Parameters
    ----------
    value : float or ndarray
        *Released.* Of shape (n_groups, n_probabilities, n_columns), without the axes that were not
        requested.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _choice : ExponentialMechanism
        *Public.* The mechanism of each choice.
    _level : float or None
        *Public.* The level of the intervals.
    _interval, _cell : tuple of float or ndarray
        *Released*, together with the quantiles.
    _n_points : int
        *Public.* Number of points of the grid.
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    _choice: ExponentialMechanism = field(kw_only=True)
    _level: float | None = field(kw_only=True)
    _interval: tuple[Numbers, Numbers] = field(kw_only=True)
    _cell: tuple[Numbers, Numbers] = field(kw_only=True)
    _n_points: int = field(kw_only=True)

    def _text(self) -> list[str]:
        value = np.array2string(np.asarray(self.value), precision=6)
        return [f"{value}, within {self.rank_error():.3g} rows of the rank"]

    def rank_error(self, level: float = 0.95) -> float:
        """Return a bound of the error in rank, as a number of rows.

        With probability `level`, over the noise, changing that many rows makes a number in the
        `cell` of `value` a quantile of the data. This tail bound of the exponential mechanism holds
        for all data.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* For each quantile by itself.

        Returns
        -------
        float
            *Public.*
        """
        log_tail = math.log(self._n_points / risk_of(level))
        return 2.0 * self._choice.sensitivity * log_tail / self._choice.epsilon

    def cell(self) -> tuple[Any, Any]:
        """Return the ends of the cells of the grid whose numbers were rounded to each `value`.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.
        """
        return self._cell

    def interval(
        self, level: float | None = None, *, simultaneous: bool = False
    ) -> tuple[Any, Any]:
        if self._level is None:
            raise ValueError(
                "no intervals were released with these quantiles. Call quantile with level=0.95."
            )
        if level not in (None, self._level) or (simultaneous and np.size(self.value) > 1):
            raise ValueError(
                f"only separate intervals at level {self._level:g} were released with these "
                "quantiles."
            )
        return self._interval

    def _columns(
        self, level: float | None = None, simultaneous: bool = False
    ) -> dict[str, list[float]]:
        if self._level is not None:
            self.interval(level, simultaneous=simultaneous)  # raises for another level
        numbers = (self.value, *self._interval)
        estimate, lower, upper = (np.ravel(one).tolist() for one in numbers)
        levels = [math.nan if self._level is None else self._level] * len(estimate)
        return {"estimate": estimate, "lower": lower, "upper": upper, "level": levels}

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        return self._interval


def quantile(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    q: ArrayLike,
    bounds: Bounds,
    level: float | None = None,
    sampling: bool = False,
    ties: bool = True,
    missing: str = "skip",
    by: VectorLike | None = None,
    keys: ArrayLike | None = None,
    groups: VectorLike | None = None,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Quantile:
    """Choose quantiles of each column from a public grid, privately.

    The grid has 2^14 equal cells between the bounds, and finer ones near 0, so that bounds may be
    much wider than the values. A `TableSchema` with a logarithmic scale or integers has a grid of
    its own. Values outside the bounds are clipped, and missing values are left out. The ends of an
    interval are quantiles of a lower and a higher rank. Their distance in rank covers the noise
    and, with `sampling`, the sampling error.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    q : float or array-like
        *Public.* Probabilities in [0, 1].
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    level : float in (0, 1) or None, default None
        *Public.* Probability that an interval contains its number, approximately; ``None`` for no
        intervals. With ``ties=False`` it is lower if values repeat, or if n is private and small
        (some hundreds at ε = 0.1). The ends of an interval of a quantile are two more quantiles,
        which share ε with it.
    sampling : bool, default False
        *Public.* Whether the intervals are for the population that the rows are a sample of.
    ties : bool, default True
        *Public.* Whether values may repeat, as ages, counts and rounded amounts do. Then `level` is
        guaranteed. ``False`` is for measurements that hardly repeat: intervals are about a quarter
        as wide, but hold less often if values do repeat.
    missing : {"skip", "middle"}, default "skip"
        *Public.* Whether missing values are left out, or count as the middle of the bounds.
    by : str, array-like of shape (n_rows,), default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list or None, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    Quantile
        Its `value` has the quantiles of a column in the order of `q`.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The exponential mechanism with the utility −max(#{x < t} − q·n, q·n − #{x ≤ t},
    0) of a grid point t, for n values that are not missing, rounded to the grid. One record changes
    it by at most 1 under ``replace_one``, also if n changes, and by max(q, 1 − q) under
    ``add_remove_one`` (Smith 2011, for intervals instead of a grid). The ends of intervals have the
    rank q·n ± m(n). If n is private, the largest slope of the public function m adds to the
    sensitivity. The outermost grid point stands for all ranks beyond.

    The choices in all groups are one release of bounded range, also for persons whose rows are in
    several groups. Under ``add_remove_one`` several quantiles of a column share a range as well.
    Columns are composed. Proofs: *Quantiles* in the documentation.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import quantile
    >>> ages = np.arange(1000) % 90
    >>> median = quantile(ages, epsilon=1.0, q=0.5, bounds=(0, 100), random_state=0)
    >>> abs(median.value - 44) < 3, round(median.rank_error())
    (True, 25)
    """
    return QuantileStatistic(
        bounds, q, level, sampling, ties, missing=missing, by=by, keys=keys
    )._release((x,), groups, epsilon, delta, neighboring, budget, random_state)


@dataclass(frozen=True)
class QuantilePlan:
    """Choices by the exponential mechanism for the ranks of each column, with equal noise.

    `ranges` has the lengths, in rows, of intervals in which one record moves the utilities of
    choices that are charged together, and the number of intervals of each length.
    """

    choice: ExponentialMechanism
    ranges: Ranges
    ranks: tuple[tuple[Rank, ...], ...]

    theorem = "exponential mechanism, composition"
    exact = True

    @property
    def event(self) -> Event:
        """The event of all choices together."""
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
        farthest *= _ROUNDING
        choice = ExponentialMechanism(sensitivity=farthest, epsilon=2.0 * farthest * cost.unit)
        return QuantilePlan(choice, cost.ranges, ranks)

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
        """Return the margin of dense values only if it ends within a public number of rows."""
        if scale is None:
            return None
        assert self.level is not None
        risk, facts = risk_of(self.level), {"sampling": self.sampling}
        near = Margin.of(q, risk, scale, n_rows=n_rows, n_points=None, **facts)
        beyond = n_rows is not None and near(n_rows) > min(q, 1.0 - q) * n_rows
        if not (self.ties or beyond):
            return near
        return Margin.of(q, risk, scale, n_rows=n_rows, n_points=n_points, **facts)

    def values(self, chosen: np.ndarray, grids: Sequence[Grid]) -> np.ndarray:
        """Return the values at chosen grid points, the ends of their cells, and of intervals.

        The shape is (3 or 5, ..., n_probabilities, n_columns). The larger value of a column is for
        the larger probability. Intervals end with cells, because values were rounded to the grid.
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
        return found


@dataclass(eq=False)
class QuantileStatistic(BoundedStatistic[QuantilePlan, np.ndarray]):
    """The release of `quantile`."""

    q: ArrayLike
    level: float | None = None
    sampling: bool = False
    ties: bool = True

    released_as = "statistics.quantile"

    def _is_gaussian(self) -> bool:
        return True  # the ε of each choice is computed as a Gaussian budget counts it

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, *, groups: VectorLike | None = None
    ) -> Records[Facts]:
        self._ranks()
        return super()._check_data(parameters, x, groups=groups)

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> QuantilePlan:
        facts, n_changed = records.facts, parameters.neighboring.n_changed
        neighbors = Neighbors(n_changed, facts.n_groups or 1, records.is_weighted)
        accountant = "gdp" if parameters.counts_gaussians else "pld"
        target, grids = (parameters.epsilon, parameters.delta), grids_of(facts.bounds)
        return self._ranks().planned(*target, accountant, neighbors, facts.n_rows, grids)

    def _read(
        self, plan: QuantilePlan, records: Records[Facts], rng: np.random.Generator
    ) -> np.ndarray:
        """Return the chosen grid points, of shape (n_groups, n_ranks, n_columns)."""
        facts, grids = records.facts, grids_of(records.facts.bounds)
        filling = facts.bounds.middle if self.missing == "middle" else None
        cells = records.total(partial(cell_counts, grids, facts.keys, filling))["cells"]
        return choose_all(plan, of_grids(cells, grids), rng, records.is_weighted)

    def _publish(
        self,
        plan: QuantilePlan,
        records: Records[Facts],
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> Quantile:
        ranks, facts = self._ranks(), records.facts
        grids = grids_of(facts.bounds)
        values = ranks.values(released, grids)
        value, least, most, *ends = (self._shaped(one, facts) for one in values)
        low, high = ends or (value * np.nan, value * np.nan)
        groups, columns = axes_of(facts.keys), ("column", facts.columns.labels)
        return Quantile(
            value,
            guarantee,
            _choice=plan.choice,
            _level=ranks.level,
            _interval=(low, high),
            _cell=(least, most),
            _n_points=most_points(grids),
            _labels=Labels((*groups, ("quantile", ranks.q), columns), facts.columns.library),
        )

    def _shaped(self, values: np.ndarray, facts: Facts) -> Numbers:
        """Return values of shape (n_groups, n_probabilities, n_columns) without needless axes."""
        values = values[0] if facts.keys is None else values
        values = values if np.ndim(self.q) else values[..., 0, :]
        return facts.shaped(values)

    def _ranks(self) -> Ranks:
        return Ranks.check(self.q, self.level, self.sampling, self.ties)


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
            own = None if weights is None else weights[some]
            found = counted(places[some], counts[:, j].size, own)
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
