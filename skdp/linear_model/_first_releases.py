"""Gaussian releases before a fit: a range of targets, ranks of columns, a center of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from skdp._private_fit import ReleaseParameters, warn_paid
from skdp.accounting import gdp_mu
from skdp.accounting.calibration import LEAST_SIGNAL
from skdp.data.columns import column_name
from skdp.data.exact_sums import counted
from skdp.data.records import Facts, Records, Sums
from skdp.design import Center
from skdp.design.base import SumGrid
from skdp.exceptions import IncompatibleSolverError
from skdp.features.additive import AdditiveMap, as_additive
from skdp.features.base import FeatureMap, TableFacts
from skdp.features.combined import MixtureMap
from skdp.features.row_wise import RowWiseMap
from skdp.linear_model._plans import check_gaussian, is_gaussian
from skdp.linear_model._records import LinearFacts, LinearRecords, TargetRange, TaskT, row_sums
from skdp.losses.regression import PoissonLoss, QuantileLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring
from skdp.solvers import Problem
from skdp.solvers._releases import MachineSum, center_sum
from skdp.solvers.base import NoisyGram, RowCount

# A count is a float: up to two sums of steps of 2⁻³¹, a share of all records and two
# differences are rounded by n·2⁻⁵³ each, which is less than this for both neighbors together if
# n < 2²⁹.
_ROUNDED = 2.0**-20
_MOST_COUNTED = 2.0**40
# No guarantee rests on the numbers below.
# Less missed the others of targets with a point mass: zeros, at n·μ = 5000.
_SEARCH_SHARE = 0.02  # of μ²
_SIGNAL = 8.4  # the share is this number over n·μ for few records, as bisection needs so much
_PRIVATE_SHARE = 0.05  # if n is private: with 2 %, n·μ of 100 to 223 had noise of the bounds' width
_OF_SIZE = 0.1  # of the search's μ², unless the size is known
_OF_MEDIAN, _OF_MASS, _OF_SPREAD = 1.0 / 3.0, 1.0 / 9.0, 5.0 / 9.0  # of the rest
_HALVINGS = 14
_CELLS = 2**_HALVINGS  # of the grid, between the bounds
_SHORTENINGS = 5
_RADII = 2**_SHORTENINGS
_SHRINKING = 2.0**-0.4  # from radius to radius; the last of 32 is 3 cells or less
_COARSE = 16.0  # cells of a radius below which a cell's width may be much beside the targets'
_CERTAIN = 2.5  # standard deviations of a count, for few records
_SURE = 3.3  # for many: with 2.5, one in 200 ranges was many times too wide
_LEAST_MASS = 0.3  # of the targets in one cell: those of a normal distribution fill many cells
_MOST_OF_FEW = 0.3  # share of the others outside, if there are too few of them for a certain count
_FEWEST_OTHERS = 4.0  # standard deviations of a count
_FAR = 0.1  # of the width of the bounds: if few targets are beyond it, the bounds may be too wide
_LEAST_OUTSIDE, _MOST_OUTSIDE = 0.005, 0.2  # shares of the targets
_DEVIATIONS = 3.0  # of normal targets, to which the range extends
_NARROW = 1.0 / 3.0  # of the bounds: a range that is not narrower than that is no gain
_SEARCHED = (0.1, 0.9)  # levels whose quantiles are well inside of a range that is found
_WITHOUT_NOISE = 1e9  # μ of a search at epsilon=inf: its counts are off by 1e-8


def plan_search(
    model: BaseEstimator, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
) -> TargetSearch | None:
    """Return the search for a narrower range of the targets, None if it cannot help."""
    loss, relation = model._loss_of(records.facts.task), parameters.neighboring
    keeps_low, (low, high) = isinstance(loss, PoissonLoss), _SEARCHED
    if model.standard_errors:
        return None  # targets beyond a narrower range would be clipped
    if isinstance(loss, QuantileLoss) and not low <= min(loss.levels) <= max(loss.levels) <= high:
        return None  # an extreme quantile may be outside of a range that is found
    if not parameters.is_private:
        return TargetSearch(_WITHOUT_NOISE, records.n_records, relation, keeps_low)
    if not is_gaussian(parameters, records):
        return None  # the costs would not add up to what was asked
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    return TargetSearch.plan(mu, records.facts.n_known, relation, keeps_low)


def is_searchable(parameters: ReleaseParameters, n: int) -> bool:
    """Return whether a narrower range of the targets of `n` records could be found."""
    return TargetSearch.plan(parameters.typical_mu, n, parameters.neighboring) is not None


@dataclass(frozen=True)
class TargetSearch:
    """A median of the targets and a radius around it, by bisection with noisy counts.

    Each count is the number of targets in an interval, minus a public share p of all targets. The
    rows of a record have shares with the sum s ≤ 1. If the rows in the interval have the sum f, the
    record adds f − p·s, which is in [−p, 1 − p]. Adding or removing a record changes a count by at
    most max(p, 1 − p), and replacing it by at most 1. With N(0, Δ²/m²) added, for this change Δ, a
    count is m-Gaussian DP. The next interval depends on noisy counts only, so that the squares add
    up to μ² (Dong, Roth and Su 2022, Corollary 2).

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
        share = (
            _PRIVATE_SHARE
            if n_known is None
            else min(0.5, max(_SEARCH_SHARE, _SIGNAL / (n_known * mu)))
        )
        search = cls(math.sqrt(share) * mu, n_known, relation, keeps_low)
        return search if n_known is None or search.can_find(n_known) else None

    def can_find(self, n: float) -> bool:
        """Return whether the noise is small enough for `n` records."""
        return self._told(_CERTAIN, n) <= _MOST_OUTSIDE

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
        n = RowCount(self.n_known, math.sqrt(_OF_SIZE) * self.mu).estimate(records.size, rng)
        if not self.can_find(n):
            is_enough = n * self.mu >= LEAST_SIGNAL * math.sqrt(_PRIVATE_SHARE)
            return replace(bounds, is_doubtful=is_enough)  # otherwise the model is called noise
        bounds = replace(bounds, is_searched=True)
        middle = self._median(below, rng)
        others = self._others(below, middle, n, rng)
        outside = self._outside_of(others, n)
        if outside is None:
            return replace(bounds, is_doubtful=self._sees_none_far(below, middle, rng))
        radius = self._radius(below, middle, outside, rng)
        reach = _DEVIATIONS / float(ndtri(1.0 - 0.5 * outside / others))
        return replace(_within(bounds, middle, radius * reach), is_doubtful=radius < _COARSE)

    def _told(self, deviations: float, n: float) -> float:
        """Return the share of targets that is so many standard deviations of a count."""
        found = deviations * self._noise(_OF_SPREAD, _SHORTENINGS, 1.0).scale / n
        # for a private n, solves o = found·(1 − o): the noise is 1 − o times as large
        return found if self.relation.count_is_public else found / (1.0 + found)

    def _outside_of(self, others: float, n: float) -> float | None:
        """Return the share o of targets outside of the interval, None if there are too few others.

        `others` is the share of targets that are not in the median's cell.
        """
        if self._told(_CERTAIN, n) <= (most := _MOST_OUTSIDE * others):
            return min(most, max(_LEAST_OUTSIDE, self._told(_SURE, n)))
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
    ) -> float:
        """Return the least radius around a cell, in cells, with nearly all targets."""
        inside = 1.0 - outside
        noisy = _noisy(self._noise(_OF_SPREAD, _SHORTENINGS, inside), _SHORTENINGS, rng)
        radii = max(middle, _CELLS - 1 - middle) * _SHRINKING ** np.arange(_RADII)
        radii, wanted = np.floor(radii).astype(int), inside * below[-1]

        def has_enough(k: int) -> bool:
            first, last = max(middle - radii[k], 0), min(middle + radii[k] + 1, _CELLS)
            return noisy(below[last] - below[first] - wanted) >= 0.0

        chosen = _last(_RADII, has_enough)
        return float(radii[chosen]) + 0.5


def counts_below(bounds: TargetRange, records: Records[Facts]) -> np.ndarray:
    """Return *private* counts of targets below each edge of equal cells between the bounds.

    Weights count as 1. Integers are added, so that each count is rounded once.
    """
    return replace(records, weights=None).counts(partial(_cell_counts, bounds))["below"]


def _cell_counts(bounds: TargetRange, records: Records[Facts]) -> Sums:
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
    found = replace(bounds, low=low, high=high)
    return found if 0.0 < found.half_width < _NARROW * bounds.half_width else bounds


# 1/Σs² for shares s of the squared length: the number of equal columns with this sum. It is 1.0 to
# 2.0 for Adult's numbers, magic04, California, cancer and wine, and 2.9 or more if their
# columns are scaled by ranges. For few columns the limit is lower.
_FEW_COLUMNS, _MUCH = 2.5, 0.2
_OVER_NOISE = 8.0  # of squares over the norm of noise, so that shares of columns are not noise
_FEW_VALUES, _AT_MOST = 0.05, 0.3  # of the rows; in spite of the noise
_STEADY, _SURELY_STEADY = 0.98, 0.9  # squared mean over mean square; in spite of the noise
_NARROW_SQUARE = 0.01  # of the distance from the middle of the bounds over half their width
N_BINS = 128
_MOST_AT_ENDS = 0.02  # of the records in the first or the last bin; likewise
_CERTAIN_BIN = 2.0  # standard deviations of noise below which a bin is empty; likewise
# Of the sensitivity, for persons: counts in steps of 2⁻³¹ are rounded as floats, by n·2⁻⁵³ each.
# That is 2·√D·n·2⁻⁵³ for D counts of two neighbors, less than 2⁻²⁰ for n·√D < 2³².
_ROUNDED_COUNTS = 2.0**-20
_NO_NOISE = 1e-9  # of a count, at epsilon=inf
_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class HistogramRelease:
    """One Gaussian release of a histogram of each of some numeric columns.

    A record has at most one count in each of p histograms. Adding or removing it changes all counts
    by at most √p in l2; replacing it by √(2p). The same holds for a person whose rows share one
    count.
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = True
    n_bins: ClassVar[int]
    share: ClassVar[float]  # of μ²; no guarantee rests on it
    columns: tuple[int, ...]
    mu: float  # Gaussian-DP parameter
    noise: GridGaussian  # in each count

    @classmethod
    def of(cls, parameters: ReleaseParameters, columns: tuple[int, ...]) -> Self:
        """Return the release before a fit with these parameters."""
        if not parameters.is_private:
            return cls(columns=columns, mu=math.inf, noise=GridGaussian.of_scale(_NO_NOISE))
        mu = gdp_mu(parameters.epsilon, parameters.delta)
        return cls.plan(columns, mu, parameters.neighboring)

    @classmethod
    def plan(cls, columns: tuple[int, ...], mu: float, neighboring: Neighboring) -> Self:
        """Return a release with its share of μ²."""
        own = math.sqrt(cls.share) * mu
        noise = histogram_noise(len(columns), cls.n_bins, own, neighboring)
        return cls(columns=columns, mu=own, noise=noise)


@dataclass(frozen=True, kw_only=True)
class RankRelease(HistogramRelease):
    """Ranks of the numbers without bounds; those of the other columns are their places."""

    name: ClassVar[str] = "histograms"
    n_bins: ClassVar[int] = N_BINS
    share: ClassVar[float] = 0.1

    @property
    def scale(self) -> float:
        """Standard deviation of the noise in each count."""
        return self.noise.scale

    def prepared(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> LinearRecords[TaskT]:
        """Release ranks; return the records with a map that uses them."""
        own = list(self.columns)
        counts = histograms(records, N_BINS)
        ranks = np.tile(np.linspace(0.0, 1.0, N_BINS + 1), (len(counts), 1))
        ranks[own] = self.release(counts[own], rng)
        ranked = _ranked(records.facts.feature_map, ranks)
        return records.with_facts(replace(records.facts, feature_map=ranked))

    def release(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Release ranks from *private* counts."""
        noisy = self.noise.release(counts, rng)
        return ranks_of(np.where(noisy < _CERTAIN_BIN * self.scale, 0.0, noisy))


def warn_of_ends(facts: TableFacts) -> None:
    """Name columns with *released* counts at the ends, to which values are clipped."""
    assert facts.ranks is not None, "released for some columns; others are uniform"
    at_end = np.maximum(facts.ranks[:, 1], 1.0 - facts.ranks[:, -2]) > _MOST_AT_ENDS
    if names := [column_name(facts.names, j) for j in facts.numbers[at_end]]:
        warn_paid(
            f"Values of columns {names} reach the ends of the range of bounds='auto', ±1e9, to "
            "which they are clipped. Pass their bounds, or use other units."
        )


def warn_of_columns(
    names: Sequence[Hashable], facts: LinearFacts[TaskT], gram: NoisyGram | None, problem: Problem
) -> None:
    """Warn of columns that tell little, by a *released* center or matrix of the rows."""
    has_intercept, center = problem.intercept_scaling > 0.0, facts.center
    if facts.feature_map is None and center is not None:
        _warn_of_scales(names, center.point**2, center.data_norm**2)
    if gram is None or center is not None:  # of shifted rows
        return
    squares = np.diag(gram.matrix)[: len(gram.matrix) - has_intercept]
    if facts.feature_map is None and squares.sum() > _OVER_NOISE * gram.spectral_noise:
        _warn_of_scales(names, squares, float(squares.sum()))
    feature_map = facts.feature_map
    feature_map = feature_map.additive if isinstance(feature_map, MixtureMap) else feature_map
    if isinstance(feature_map, AdditiveMap):
        _warn_of_values(feature_map, gram)
        if has_intercept and feature_map.linear_share:
            _warn_of_ranges(feature_map, gram)


def _warn_of_scales(names: Sequence[Hashable], squares: np.ndarray, whole: float) -> None:
    """Warn if few columns make up `whole`, the squared length of all rows."""
    shares = np.maximum(squares, 0.0) / whole
    few = min(_FEW_COLUMNS, 0.5 * shares.size + 0.05)  # never for one column
    if few * np.sum(shares**2) > 1.0:
        names = [column_name(names, j) for j in np.flatnonzero(shares > _MUCH).tolist()]
        warn_paid(
            f"Columns {names} make up most of the length of rows, so that the model learns little "
            "from the others. Scale all columns by public bounds, for example with BoundsScaler."
        )


def _warn_of_values(feature_map: AdditiveMap, gram: NoisyGram) -> None:
    """Name columns whose features are 0 but for few rows, by their squares."""
    facts, squares, few = feature_map.facts, np.diag(gram.matrix), []
    whole = _rows_of(feature_map, gram)
    for (j, *_), at in feature_map.spans[: facts.n_inputs]:
        known = squares[at.start : at.stop - facts.has_missing]
        noise = _SURE * gram.noise * math.sqrt(known.size)
        if known.sum() < _FEW_VALUES * whole and known.sum() + noise < _AT_MOST * whole:
            few.append(facts.term_name(j))
    if few:
        warn_paid(
            f"Hardly any value of columns {few} is a number or one of their categories, so that "
            "the model learns nothing from them. Check how their values are written."
        )


def _warn_of_ranges(feature_map: AdditiveMap, gram: NoisyGram) -> None:
    """Name numbers that vary little beside their bounds: near an end, or near the middle."""
    facts, noise = feature_map.facts, _SURE * gram.noise
    lines = np.array([at.start for _, at in feature_map.spans[: facts.numbers.size]], dtype=int)
    squares, ones = np.diag(gram.matrix)[lines].clip(0.0), max(gram.matrix[-1, -1], noise)
    sums = np.abs(gram.matrix[lines, -1])
    steady = sums**2 > _STEADY * squares * ones
    steady &= np.maximum(sums - noise, 0.0) ** 2 > _SURELY_STEADY * (squares + noise) * ones
    most = _NARROW_SQUARE * feature_map.linear_share * _rows_of(feature_map, gram)
    steady |= squares + noise < most
    if names := [facts.term_name(j) for j in facts.numbers[steady].tolist()]:
        warn_paid(
            f"Values of columns {names} vary little beside their bounds, so that the model may "
            "learn little from them. Check units and bounds, or use transformation='log' for "
            "amounts."
        )


def _rows_of(feature_map: AdditiveMap, gram: NoisyGram) -> float:
    """Return about the sum of squares of a feature that is 1 in each row before it is shortened."""
    stop = feature_map.spans[feature_map.facts.n_inputs - 1][1].stop
    return float(np.diag(gram.matrix)[:stop].sum()) / feature_map.typical_square


def _ranked(feature_map: Any, ranks: np.ndarray) -> Any:
    """Return a map whose features read ranks."""
    if isinstance(feature_map, MixtureMap):
        parts = feature_map.additive, feature_map.other
        additive, other = (_ranked(part, ranks) for part in parts)
        return replace(feature_map, additive=additive, other=other)
    return replace(feature_map, facts=replace(feature_map.facts, ranks=ranks))


def map_of(records: LinearRecords[Any]) -> AdditiveMap:
    return as_additive(records.facts.feature_map)


def histogram_noise(
    n_columns: int, n_bins: int, mu: float, neighboring: Neighboring
) -> GridGaussian:
    """Return the noise that makes histograms of columns μ-Gaussian DP; see `HistogramRelease`."""
    sensitivity = math.sqrt(n_columns * neighboring.n_changed) * (1.0 + _ROUNDED_COUNTS)
    return GridGaussian.at(mu, sensitivity, n_columns * n_bins)


def histograms(records: LinearRecords[TaskT], n_bins: int) -> np.ndarray:
    """Return *private* counts of records in bins of each number, (n_numbers, n_bins)."""
    unweighted = replace(records, weights=None)
    feature_map = records.facts.feature_map
    assert isinstance(feature_map, FeatureMap), "features of columns"
    return unweighted.counts(partial(_bin_counts, feature_map.facts, n_bins))["counts"]


def counts_of(
    facts: TableFacts, X: np.ndarray, n_bins: int, shares: np.ndarray | None = None
) -> np.ndarray:
    """Return *private* counts (n_numbers, n_bins); a row counts `shares`, integers, or 1."""
    counts = np.zeros((facts.numbers.size, n_bins), dtype=np.int64)
    for start in range(0, len(X), _ROWS):
        places = facts.place(X[start : start + _ROWS])
        of_rows = None if shares is None else shares[start : start + _ROWS]
        for k, place in enumerate(places):
            known = ~np.isnan(place)
            bins = np.minimum(np.where(known, place, 0.0) * n_bins, n_bins - 1).astype(np.intp)
            counts[k] += counted(bins, n_bins, of_rows, known)
    return counts


def ranks_of(counts: np.ndarray) -> np.ndarray:
    """Return the share below each edge of a bin, for each column. Empty columns are uniform."""
    empty = counts.sum(axis=1) == 0.0
    counts = np.where(empty[:, None], 1.0, counts)
    below = np.cumsum(counts, axis=1)
    return np.column_stack([np.zeros(len(counts)), below / below[:, -1:]])


def plan_ranks(
    model: BaseEstimator, parameters: ReleaseParameters, records: LinearRecords[TaskT]
) -> RankRelease | None:
    """Return the release of ranks of numbers with unknown bounds, None without such numbers."""
    columns = records.facts.searched
    return ranks_release(parameters, records, columns) if columns else None


def ranks_release(
    parameters: ReleaseParameters, records: LinearRecords[TaskT], columns: tuple[int, ...]
) -> RankRelease:
    """Return the release of ranks of some numbers."""
    if parameters.is_private:
        check_gaussian(parameters, records, "bounds='auto' needs", " Otherwise pass bounds.")
    return RankRelease.of(parameters, columns)


def _bin_counts(
    facts: TableFacts, n_bins: int, records: LinearRecords[TaskT]
) -> dict[str, np.ndarray]:
    shares = replace(records, weights=None).steps  # of persons, whose rows share one count
    return {"counts": counts_of(facts, records.X, n_bins, shares)}


# No guarantee rests on these.
_CENTER_SHARE = 0.1  # of μ²
_MOST_NOISE = 0.5  # expected squared length of the noise in a mean of rows of length 1
# n·μ/k for each column, up to which a center gains if a tenth of μ² is spent for it, and if it is
# spent anyway: benchmarks/bench_center.py.
_MOST_OF_CURVES, _MOST_OF_CLASSES, _MOST_OF_TARGETS = (10.0, 50.0), (25.0, 50.0), (100.0, 100.0)
_FEWEST_RECORDS = 10.0

_LEAST_SQUARE = 0.05  # of the radius of rows of length 1
MOST_STRETCH = 1.0 / math.sqrt(_LEAST_SQUARE)
"""Largest stretch of shifted rows, and of their rounding errors, on which a guarantee rests."""

_COUNT_SCALING = 0.5  # of a record in the entry that counts
_SENSITIVITY = {Neighboring.ADD_REMOVE_ONE: math.sqrt(1.25), Neighboring.REPLACE_ONE: 2.0}


@dataclass(frozen=True, kw_only=True)
class CenterRelease:
    """One Gaussian release of (Σ s·ã, Σ s/2), from which a center follows.

    ã is a row clipped to norm 1, in units of `data_norm`, and s its share of a record. The shares
    of a record are not negative and add up to s ≤ 1, so it adds (v, s/2) with |v| ≤ s. Adding or
    removing it changes the release by at most √(1 + 1/4) in l2. Replacing it by one with the share
    t changes the square by at most (s + t)² + (s − t)²/4. This is convex in (s, t), so its maximum
    is at a corner of [0, 1]²: 4 at (1, 1), 5/4 at (0, 1) and (1, 0).
    """

    name: ClassVar[str] = "a mean of the rows"
    exact: bool
    mu: float  # Gaussian-DP parameter
    sums: MachineSum
    data_norm: float
    n_records: int | None  # if the sum of all shares is public
    most_records: float = math.inf  # above which rows stay as they are

    @classmethod
    def plan(
        cls, mu: float, problem: Problem, n_columns: int, n_records: int | None
    ) -> CenterRelease:
        """Return a release with a tenth of μ²."""
        relation = problem.neighboring
        return cls(
            exact=problem.rows_are_exact,
            mu=math.sqrt(_CENTER_SHARE) * mu,
            sums=center_sum(problem, n_columns, _SENSITIVITY[relation]),
            data_norm=problem.data_norm,
            n_records=n_records,
        )

    @cached_property
    def added(self) -> GridGaussian:
        """The noise in each entry."""
        return self.sums.noise(self.mu)

    def noise(self, n_columns: int, n: float) -> float:
        """Return the expected squared length of the noise in the mean of n rows."""
        return n_columns * (self.added.scale / n) ** 2

    def prepared(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> LinearRecords[TaskT]:
        """Release a center; return the records with it."""
        return records.with_facts(replace(records.facts, center=self.release(records, rng)))

    def release(self, records: LinearRecords[TaskT], rng: np.random.Generator) -> Center | None:
        """Release a center of *private* records, None if rows should stay as they are."""
        count, R = _COUNT_SCALING * self.data_norm, self.data_norm
        grid = SumGrid.of(self.sums.largest * R)
        sums = records.total(partial(row_sums, R, count, grid))["sums"]
        return self.center(self.added.release(grid.floats(sums) / R, rng))

    def center(self, noisy: np.ndarray) -> Center | None:
        """Return the center for *released* sums, None for too many records or for noise alone.

        Noise of standard deviation σ in each of d entries of the mean m adds dσ² to |m|² in
        expectation. The center is q·m, with the q that shrinks m by its share of noise. Rows of
        length 1 have the mean squared distance 1 − (|m|² − dσ²) + q²dσ² from it.
        """
        n = self.n_records
        if n is None:
            n = max(_FEWEST_RECORDS, noisy[-1] / _COUNT_SCALING)
        mean = noisy[:-1] / n
        square, noise = float(mean @ mean), self.noise(mean.size, n)
        if n > self.most_records or square <= noise:
            return None
        signal = min(square - noise, 1.0)
        shrinking = signal / square
        radius = math.sqrt(max(1.0 - signal + shrinking**2 * noise, _LEAST_SQUARE))
        R = self.data_norm
        return Center(R * shrinking * mean, R * radius, R)


def plan_center(
    model: BaseEstimator, parameters: ReleaseParameters, records: LinearRecords[TaskT]
) -> CenterRelease | None:
    """Return the release of a center by which rows are shifted, None for rows as they are.

    "auto" takes a center if that may help, and if its noise is not too large.
    """
    if not (model.center and parameters.is_private) or model.standard_errors:
        return None
    if records.facts.rival is not None:  # the other map would need a center of its own
        return None
    facts, relation, is_auto = records.facts, parameters.neighboring, model.center == "auto"
    if is_auto and parameters.delta > 0.0:
        mu = gdp_mu(parameters.epsilon, parameters.delta) / relation.n_changed
        if not _may_gain(facts, mu):
            return None
    problem = model._problem(records, parameters)
    if lacking := _lacking(parameters, records, problem):
        if is_auto:
            return None
        raise IncompatibleSolverError(f"center=True needs {lacking}. Otherwise pass center='auto'.")
    n_records = facts.n_known if relation.count_is_public and records.weights is None else None
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    release = CenterRelease.plan(mu, problem, facts.n_columns, n_records)
    if not is_auto:
        return release
    most = _gains(facts)[1] * relation.n_changed * facts.n_columns / mu
    is_noise = facts.n_known and release.noise(facts.n_columns, facts.n_known) > _MOST_NOISE
    return None if is_noise else replace(release, most_records=most)


def _may_gain(facts: LinearFacts[TaskT], mu: float) -> bool:
    """Return whether a tenth of μ² is well spent on a center; `mu` is μ/k.

    Random features gain nothing, and with many records per column the gain is small. Products of
    columns were not tried.
    Regressions on curves of columns that hardly vary become too rough: R² fell by up to .09.
    """
    feature_map = facts.feature_map
    if isinstance(feature_map, AdditiveMap):
        is_rough = feature_map.linear_share < 1.0 and isinstance(facts.task, TargetRange)
        if feature_map.pairs or is_rough:
            return False
    elif isinstance(feature_map, FeatureMap):
        return False
    return facts.n_known is None or facts.n_known * mu <= _gains(facts)[0] * facts.n_columns


def _gains(facts: LinearFacts[TaskT]) -> tuple[float, float]:
    """Return n·μ/k for each column, up to which a center gains if it costs μ, and if it is paid."""
    feature_map = facts.feature_map
    if isinstance(feature_map, AdditiveMap) and feature_map.linear_share < 1.0:
        return _MOST_OF_CURVES
    return _MOST_OF_TARGETS if isinstance(facts.task, TargetRange) else _MOST_OF_CLASSES


def _lacking(
    parameters: ReleaseParameters, records: LinearRecords[TaskT], problem: Problem
) -> str | None:
    """Return the public condition that a fit to shifted rows does not meet, or None."""
    if not is_gaussian(parameters, records):
        name = type(records.facts.solver).__name__
        return f"delta > 0 and a Gaussian DP solver, such as 'auto', not {name}"
    if problem.intercept_scaling == 0.0:
        return "fit_intercept=True"
    feature_map = records.facts.feature_map
    if isinstance(feature_map, FeatureMap):
        is_sparse = feature_map.is_sparse
    else:
        rows = feature_map.none if isinstance(feature_map, RowWiseMap) else records.X
        is_sparse = sparse.issparse(rows)
    return "dense rows" if is_sparse else None  # a center would fill zeros that are not stored
