"""The rows of a feature map, expanded a few rows at a time, or summed table by table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, Self

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skdp.design.base import ROWS_SUMMED, Design, MemoryDesign, OfBlock, RowNumbers, SumGrid
from skdp.design.memory import ClippedDesign, clip_factors, factors_of
from skdp.design.transformed import CenteredMap
from skdp.features.base import FeatureMap, TabulatedMap
from skdp.features.combined import MixtureMap
from skdp.features.random_maps import PhaseMap, TreeMap

_IN_MEMORY = 1 << 26  # bytes of features that are rather made once than in each pass


@dataclass(frozen=True, eq=False, repr=False)
class ExpandedDesign(MemoryDesign):
    """*Private.* The linear operator θ ↦ Aθ, where row i of A is (s_i·Φ(x_i), b₀).

    The features Φ(x_i) are computed a few rows at a time; one factor per row is kept. Features of
    the first rows are kept too, as many as memory allows, so that no pass takes much longer if
    there are a few more rows.
    """

    X: Any  # *Private.* What the map's `prepare` returned, indexed by rows
    feature_map: FeatureMap  # *Public.* Φ
    factors: np.ndarray  # *Private.* s, from `clip_factors` of the features, of shape (n_samples,)
    intercept_scaling: float = 0.0  # *Public.* Size b₀ of the intercept column; 0 for no intercept
    # *Private.* Of shape (n_samples,), as the loss takes them; None if no loss is evaluated
    targets: Any = None
    kept: Any = None  # *Private.* Features of the first rows; None for no rows

    @classmethod
    def clip(
        cls,
        X: np.ndarray,
        feature_map: FeatureMap,
        data_norm: float,
        intercept_scaling: float = 0.0,
        targets: np.ndarray | None = None,
    ) -> MemoryDesign:
        """Return the design whose rows of features are clipped to `data_norm`.

        It is a `ClippedDesign` if all features take little memory.
        """
        rows = feature_map.prepare(X)
        n, most = len(rows), cls._most_kept(feature_map, len(rows))
        kept = feature_map.whole(rows[:most]) if most else None
        if kept is not None and most >= n:
            return ClippedDesign.clip(kept, data_norm, intercept_scaling, targets)
        factors = cls._factors(rows[most:], feature_map, data_norm)
        if kept is not None:
            factors = np.concatenate([clip_factors(kept, data_norm), factors])
        return cls(rows, feature_map, factors, intercept_scaling, targets, kept)

    @classmethod
    def _most_kept(cls, feature_map: FeatureMap, n_rows: int) -> int:
        """Return of how many rows the features are made once and kept, at most."""
        return _rows_in_memory(feature_map)

    @classmethod
    def _factors(cls, rows: Any, feature_map: FeatureMap, norm: float) -> np.ndarray:
        """Return the factors of prepared rows whose features are not kept."""
        factors = np.empty(len(rows))
        for where, features in feature_map.pieces(rows):
            factors[where] = clip_factors(features, norm)
        return factors

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.feature_map.n_features_out + (self.intercept_scaling > 0.0)

    def row_norms(self) -> np.ndarray:
        return np.concatenate([block.row_norms() for _, block in self._made()])

    def scores(self, theta: np.ndarray) -> np.ndarray:
        scores = np.empty((self.n_samples, *theta.shape[1:]), order="F")
        for rows, block in self.blocks():
            scores[rows] = block.scores(theta)
        return scores

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, *residual.shape[1:]))
        for rows, block in self.blocks():
            total += block.weighted_sum(residual[rows])
        return total

    @property
    def most_entries(self) -> int:
        return self.feature_map.n_entries + (self.intercept_scaling > 0.0)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n_features, self.n_features))
        for rows, block in self._made():
            total += block.gram(weights[rows])
        return total

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        if grid is not None:
            return super().cross_product(grid)
        total = np.zeros((self.n_features, self.n_features))
        step = max(3 * self.n_features, self.feature_map.rows_at_once)  # for fast matrix products
        for start in range(0, self.n_samples, step):
            total += self._of(slice(start, start + step)).in_memory().cross_product()
        return total

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        for rows, block in self._made():
            total += block.gram_diagonal(weights[rows])
        return total

    def squares(self) -> np.ndarray:
        """Return |s_i·Φ(x_i)|², without the intercept and without a margin for rounding."""
        squares = np.empty(self.n_samples)
        for where, features in self.feature_map.pieces(self.X):
            squares[where] = ClippedDesign(features, self.factors[where]).squares()
        return squares

    def take(self, rows: RowNumbers) -> MemoryDesign:
        taken = self._of(rows)
        is_small = taken.n_samples <= _rows_in_memory(self.feature_map)
        return taken.in_memory() if is_small else taken

    def view(self, rows: slice) -> MemoryDesign:
        return self._of(rows)

    def in_memory(self) -> ClippedDesign:
        features = self.kept if self._is_kept else self.feature_map.whole(self.X)
        return ClippedDesign(features, self.factors, self.intercept_scaling, self.targets)

    @property
    def _is_kept(self) -> bool:
        return self.kept is not None and self.kept.shape[0] == self.n_samples

    def _of(self, rows: RowNumbers) -> Self:
        """Return the design of some rows, without their features."""
        targets = None if self.targets is None else self.targets[rows]
        X, factors = _rows(self.X, rows), self.factors[rows]
        # The first rows of a slice; rows by number are made again.
        kept = self.kept[rows] if self.kept is not None and isinstance(rows, slice) else None
        return replace(self, X=X, factors=factors, targets=targets, kept=kept)

    def _made(self) -> Iterator[tuple[slice, MemoryDesign]]:
        """Yield the rows with their features, as many as a cache holds."""
        return self.blocks(self.feature_map.rows_at_once)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        step = most_rows or self.feature_map.rows_at_once
        for start in range(0, max(1, self.n_samples), step):
            rows = slice(start, start + step)
            if step > self.feature_map.rows_at_once:
                yield rows, self.take(rows)
            else:
                yield rows, self._of(rows)._expanded()

    def _expanded(self) -> ClippedDesign:
        """Return the same few rows with their features."""
        features = self.kept if self._is_kept else self.feature_map.expand(self.X)
        return ClippedDesign(features, self.factors, self.intercept_scaling, self.targets)


@dataclass(frozen=True, eq=False, repr=False)
class FreshDesign(Design):
    """*Private.* The rows of an `ExpandedDesign`, with features that are made in each read."""

    X: np.ndarray  # *Private.* The coded table
    feature_map: FeatureMap  # *Public.* Φ
    data_norm: float  # *Public.* To which rows are clipped
    intercept_scaling: float  # *Public.* Size b₀ of the intercept column; 0 for no intercept
    targets: np.ndarray  # *Private.* Of shape (n_samples,), as the loss takes them

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.feature_map.n_features_out + (self.intercept_scaling > 0.0)

    def take(self, rows: RowNumbers) -> MemoryDesign:
        return ClippedDesign.joined([replace(own, X=own.X.copy()) for own in self._made(rows)])

    def parts(self, function: OfBlock[Any], most_rows: int | None = None) -> Iterator[Any]:
        return map(function, self._made(slice(None)))

    def exact_total(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        rows = np.arange(self.n_samples) if rows is None else rows
        starts = range(0, max(1, rows.size), ROWS_SUMMED)
        several = (self._made(rows[start : start + ROWS_SUMMED]) for start in starts)
        return reduce(add, (grid.integers(reduce(add, map(function, own))) for own in several))

    def _made(self, rows: RowNumbers) -> Iterator[ClippedDesign]:
        X, targets, norm = _rows(self.X, rows), self.targets[rows], self.data_norm
        read, is_short = self.feature_map, norm >= 1.0
        is_short &= isinstance(read, MixtureMap) and read.is_looked_up
        for own, features in read.made(X):
            if is_short:  # norms are 1 at most, up to rounding errors as in `ForestDesign`
                factors = factors_of(np.ones(len(targets[own])), self.n_features, norm)
            else:
                factors = clip_factors(features, norm)
            yield ClippedDesign(features, factors, self.intercept_scaling, targets[own])


def expanded_scores(
    X: np.ndarray, feature_map: FeatureMap, data_norm: float, coef: np.ndarray
) -> np.ndarray:
    """Return Φ(x_i)·coef for rows of features that are clipped to `data_norm`.

    Waves have the phases of the fit, whose coefficients these are.
    """
    feature_map = feature_map.for_scores()
    scores = np.empty((len(X), coef.shape[1]))
    for where, features in feature_map.made(X):
        scores[where] = safe_sparse_dot(features, coef, dense_output=True)
        scores[where] *= clip_factors(features, data_norm)[:, None]
    return scores


def _rows_in_memory(feature_map: FeatureMap) -> int:
    """Number of rows whose features fit into 64 MB, or into 3 GB if they take long to compute.

    The number of rows may be private. Features are the same numbers, kept or not.
    """
    return _IN_MEMORY * feature_map.cost // (8 * max(feature_map.n_entries, 1))


def _rows(X: Any, rows: RowNumbers) -> Any:
    if isinstance(X, np.ndarray) and isinstance(rows, np.ndarray) and X.flags.c_contiguous:
        return X.take(rows, axis=0)
    return X[rows]


_BLOCK_ROWS = 1 << 16  # for which it pays to multiply whole tables
_FEWEST_ROWS = 1 << 12  # below, a pass over kept features takes less time


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedDesign(ExpandedDesign):
    """*Private.* The operator θ ↦ Aθ for rows (s_i·Φ(x_i), b₀) whose features stand in tables.

    A score is the sum of one number per column, looked up in the product of its table with its
    coefficients. A sum of rows comes from one weighted histogram per column. No features are made.
    """

    # *Public.* Φ, whose `prepare` makes X, the places in the tables, of shape (n_samples, n_blocks)
    feature_map: TabulatedMap

    @classmethod
    def _most_kept(cls, feature_map: FeatureMap, n_rows: int) -> int:
        return n_rows if n_rows <= _rows_in_memory(feature_map) else 0

    def squares(self) -> np.ndarray:
        return self.feature_map.squares(self.X) * self.factors**2

    def scores(self, theta: np.ndarray) -> np.ndarray:
        if self.n_samples < _FEWEST_ROWS:
            return self.in_memory().scores(theta)
        z = np.zeros((self.n_samples, *theta.shape[1:]), order="F")
        for k, (_, span) in enumerate(self.feature_map.spans):
            z += (self.feature_map.tables[k] @ theta[span]).take(self.X[:, k], axis=0)
        z.T[...] *= self.factors
        if self.intercept_scaling > 0.0:
            z += self.intercept_scaling * theta[-1]
        return z

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        if self.n_samples < _FEWEST_ROWS:
            return self.in_memory().weighted_sum(residual)
        total = np.empty((self.n_features, *residual.shape[1:]))
        weighted = np.atleast_2d(residual.T * self.factors)
        for k, (_, span) in enumerate(self.feature_map.spans):
            table, places = self.feature_map.tables[k], self.X[:, k].astype(np.intp)
            sums = [np.bincount(places, row, table.shape[0]) for row in weighted]
            total[span] = (np.stack(sums) @ table).T.reshape(total[span].shape)
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * residual.sum(axis=0)
        return total

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        if most_rows is not None:
            yield from super().blocks(most_rows)
            return
        for start in range(0, max(1, self.n_samples), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            yield rows, self._of(rows)


_FOREST_ROWS = 1 << 15  # for which it pays to sum over whole tables


@dataclass(frozen=True, eq=False, repr=False)
class ForestDesign(ExpandedDesign):
    """*Private.* The operator θ ↦ Aθ for rows of tabulated features, and leaves of trees or waves.

    A score is a sum of numbers looked up by column and by leaf, or phases of two waves, and a sum
    of rows comes from weighted histograms, as in `TabulatedDesign`. Features of few rows are made
    once instead, but not for exact sums, whose bits do not depend on where rows are.
    """

    feature_map: MixtureMap  # *Public.* Φ, of a `TabulatedMap` and a `TreeMap` or `PhaseMap`
    is_part: bool = False  # of the rows of a larger design, or of exact sums

    @classmethod
    def _most_kept(cls, feature_map: FeatureMap, n_rows: int) -> int:
        return 0

    @classmethod
    def _factors(cls, rows: Any, feature_map: FeatureMap, norm: float) -> np.ndarray:
        assert isinstance(feature_map, MixtureMap), "see `design_kind`"
        assert isinstance(feature_map.additive, TabulatedMap), "see `design_kind`"
        # Leaves and waves have norm 1. The few operations here are as exact as a sum of the squares
        # of all features, for which `clip_factors` leaves a margin.
        square = np.minimum(feature_map.additive.squares(rows.additive), 1.0)
        share = feature_map.additive_share
        return factors_of(np.sqrt(share * square + (1.0 - share)), feature_map.n_features_out, norm)

    @cached_property
    def _whole(self) -> ClippedDesign | None:
        """All features of few rows, for which a pass then takes less time; None for more rows."""
        few = not (self.is_part or self.feature_map.is_sparse)
        few = few and self.n_samples <= _rows_in_memory(self.feature_map)
        return super().in_memory() if few or self.n_samples < _FEWEST_ROWS else None

    def in_memory(self) -> ClippedDesign:
        return super().in_memory() if self._whole is None else self._whole

    def take(self, rows: RowNumbers) -> MemoryDesign:
        return super().take(rows) if self._whole is None else self._whole.take(rows)

    def view(self, rows: slice) -> MemoryDesign:
        return replace(self._of(rows), is_part=True)

    def exact_sum(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        if rows is None and not self.is_part and self.n_samples <= ROWS_SUMMED:
            return self._summed[0].exact_sum(function, grid)
        return super().exact_sum(function, grid, rows)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        if self._whole is not None:
            return self._whole.scores(theta)
        end = self._additive.n_features
        z = self._additive.scores(theta[:end])
        of_others = np.zeros_like(z)
        own = theta[end : self.feature_map.n_features_out]
        for k, table in enumerate(self._others.tables(own)):
            of_others += table.take(self.X.other[:, k], axis=0)
        z += (of_others.T * self._other_factors).T
        if self.intercept_scaling > 0.0:
            z += self.intercept_scaling * theta[-1]
        return z

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        if self._whole is not None:
            return self._whole.weighted_sum(residual)
        total, end = np.empty((self.n_features, *residual.shape[1:])), self._additive.n_features
        total[:end] = self._additive.weighted_sum(residual)
        weighted = np.atleast_2d(residual.T * self._other_factors)
        cells = []
        for k, size in enumerate(self._others.sizes):
            numbers = self.X.other[:, k].astype(np.intp)
            sums = np.array([np.bincount(numbers, row, size) for row in weighted])
            cells.append(sums.T.reshape(size, *residual.shape[1:]))
        total[end : self.feature_map.n_features_out] = self._others.sums(cells)
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * residual.sum(axis=0)
        return total

    @property
    def _others(self) -> TreeMap | PhaseMap:
        assert isinstance(self.feature_map.other, (TreeMap, PhaseMap)), "the map is for fits"
        return self.feature_map.other

    @cached_property
    def _additive(self) -> TabulatedDesign:
        """The same rows with their additive features alone."""
        near, places = self.feature_map.additive, self.X.additive
        assert isinstance(near, TabulatedMap), "see `design_kind`"
        lengths = np.sqrt(np.maximum(near.squares(places), 1.0))
        share = math.sqrt(self.feature_map.additive_share)
        return TabulatedDesign(places, near, self.factors * share / lengths)

    @property
    def _other_factors(self) -> np.ndarray:
        share = (1.0 - self.feature_map.additive_share) / self._others.n_parts
        return self.factors * math.sqrt(share)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        if self._whole is not None:
            yield from self._whole.blocks(most_rows)
        elif most_rows is None:
            yield from self._pieces
        else:
            yield from super().blocks(most_rows)

    @cached_property
    def _pieces(self) -> list[tuple[slice, MemoryDesign]]:
        """Blocks of rows, kept with their factors because descents read them in each step.

        They are about equally large, so that none of them is much smaller than others.
        """
        ends = np.linspace(0, self.n_samples, 1 + max(1, math.ceil(self.n_samples / _FOREST_ROWS)))
        rows = [slice(*pair) for pair in pairwise(ends.astype(int).tolist())]
        return [(own, self.view(own)) for own in rows]


@dataclass(frozen=True, eq=False, repr=False)
class ShiftedDesign(MemoryDesign):
    """*Private.* Rows (f_i·(ã_i − m), b₀) for clipped rows ã of another design, whose zeros stay.

    The center m is never subtracted from a row: scores are f·(ã·θ − m·θ), and sums of rows are
    Σ f·r·ã − m·Σ f·r. Their rounding errors are relative to |ã| + |m| instead of |ã − m|;
    `Problem.parts` and `Problem.clips` allow for that.
    """

    inner: MemoryDesign  # *Private.* The rows ã, without an intercept
    point: np.ndarray  # *Released.* m, of shape (n_features,) without the intercept
    factors: np.ndarray  # *Private.* f, of shape (n_samples,)
    norms: np.ndarray  # *Private.* Upper bounds of |f·(ã − m)|
    intercept_scaling: float
    targets: Any = None

    @classmethod
    def clip(
        cls,
        X: Any,
        feature_map: CenteredMap,
        data_norm: float,
        intercept_scaling: float = 0.0,
        targets: np.ndarray | None = None,
    ) -> ShiftedDesign:
        """Return the design of features clipped to `data_norm`, shifted, and clipped again."""
        read, center = feature_map.inner, feature_map.center
        assert read is not None, "see `design_kind`"
        inner, m = design_kind(read).clip(X, read, data_norm), center.point
        squares = inner.squares() - 2.0 * inner.scores(m) + _product(m, m)
        # |ã| and |m| are at most R. So a square of a row with k entries is off by (2R)²·γ for
        # k + 20 roundings, and a norm beyond R by half of that, times t² for the stretch t.
        units, t = read.n_entries + 20, center.stretch
        norms = t * np.sqrt(np.maximum(squares, 0.0))
        most = np.hypot(norms, t * 2.0 * data_norm * math.sqrt(units * 2.0**-53))
        factors = factors_of(norms, math.ceil(2.0 * t * t) * units, data_norm)
        return cls(inner, m, factors * t, most * factors, intercept_scaling, targets)

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    @property
    def n_features(self) -> int:
        return self.point.size + (self.intercept_scaling > 0.0)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        own = theta[: self.point.size]
        z = self.inner.scores(own) - _product(self.point, own)
        z.T[...] *= self.factors
        return z + self.intercept_scaling * theta[-1] if self.intercept_scaling > 0.0 else z

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        total, weighted = (
            np.empty((self.n_features, *residual.shape[1:])),
            residual.T * self.factors,
        )
        sums = np.multiply.outer(self.point, weighted.sum(axis=-1))
        total[: self.point.size] = self.inner.weighted_sum(weighted.T) - sums
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * residual.sum(axis=0)
        return total

    def cross_product(self, grid: SumGrid | None = None) -> np.ndarray:
        if grid is not None:
            return super().cross_product(grid)
        rows, d = self.inner.in_memory(), self.point.size
        scaled = replace(rows, factors=rows.factors * self.factors).cross_product()
        weights, total = self.factors**2, np.empty((self.n_features, self.n_features))
        mixed = np.outer(self.inner.weighted_sum(weights), self.point)
        mixed -= 0.5 * weights.sum() * np.outer(self.point, self.point)
        total[:d, :d] = scaled - mixed - mixed.T
        if self.intercept_scaling > 0.0:
            total[d] = self.intercept_scaling * self.weighted_sum(np.ones(self.n_samples))
            total[:d, d] = total[d, :d]
        return total

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self.in_memory().gram(weights)

    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        return self.in_memory().gram_diagonal(weights)

    def row_norms(self) -> np.ndarray:
        return np.hypot(self.norms, self.intercept_scaling) * (1.0 + 2.0**-50)

    def take(self, rows: RowNumbers) -> ShiftedDesign:
        return self._with(self.inner.take(rows), rows)

    def view(self, rows: slice) -> ShiftedDesign:
        return self._with(self.inner.view(rows), rows)

    def _with(self, inner: MemoryDesign, rows: RowNumbers) -> ShiftedDesign:
        targets = None if self.targets is None else self.targets[rows]
        factors, norms = self.factors[rows], self.norms[rows]
        return replace(self, inner=inner, factors=factors, norms=norms, targets=targets)

    def in_memory(self) -> ClippedDesign:
        rows = self.inner.in_memory()._dense() - self.point
        return ClippedDesign(rows, self.factors, self.intercept_scaling, self.targets)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        for rows, block in self.inner.blocks(most_rows):
            yield rows, self._with(block, rows)


def _product(point: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return m·θ, rounded twice however long m is."""
    products = (point * theta.T).reshape(-1, point.size)
    return np.reshape([math.fsum(row) for row in products.tolist()], theta.shape[1:])


def design_kind(feature_map: FeatureMap) -> Any:
    """Return the design that reads the rows of a map fastest, a class with a method `clip`."""
    if isinstance(feature_map, CenteredMap):
        # The center is then subtracted from sums of rows instead of rows.
        keeps_zeros = feature_map.inner is not None and feature_map.inner.is_sparse
        return ShiftedDesign if keeps_zeros else ExpandedDesign
    if isinstance(feature_map, TabulatedMap):
        return TabulatedDesign
    if isinstance(feature_map, MixtureMap) and isinstance(feature_map.additive, TabulatedMap):
        return ForestDesign
    return ExpandedDesign
