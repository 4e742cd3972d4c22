"""Rows of additive features and leaves of trees, whose sums are taken table by table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from skdp.design.base import MemoryDesign
from skdp.design.expanded import ExpandedDesign
from skdp.design.memory import factors_of
from skdp.design.tabulated import TabulatedDesign
from skdp.features.base import FeatureMap
from skdp.features.mixture import MixtureMap
from skdp.features.tabulated import TabulatedMap
from skdp.features.trees import TreeMap

__all__ = ["ForestDesign", "design_kind"]

_BLOCK_ROWS = 1 << 15  # for which it pays to sum over whole tables
_FEWEST_ROWS = 1 << 12  # below, a pass over kept features takes less time


@dataclass(frozen=True, eq=False, repr=False)
class ForestDesign(ExpandedDesign):
    """The linear operator θ ↦ Aθ for rows of tabulated additive features and leaves of trees.

    A score is a sum of numbers looked up by column and by leaf, and a sum of rows comes from
    weighted histograms, as in `TabulatedDesign`. No features are made.

    Parameters
    ----------
    X : object of length n_samples
        *Private.* What the map's `prepare` returned.
    feature_map : MixtureMap
        *Public.* Φ, of a `TabulatedMap` and a `TreeMap`.
    factors : ndarray of shape (n_samples,)
        *Private.* s, from `clip_factors` of the features.
    intercept_scaling : float
        *Public.* Size b₀ of the intercept column; 0 for no intercept.
    targets : ndarray of shape (n_samples,) or None
        *Private.* In the form that the loss takes; None if no loss is evaluated.
    """

    feature_map: MixtureMap

    @classmethod
    def _keeps(cls, feature_map: FeatureMap, n_rows: int) -> bool:
        return n_rows < _FEWEST_ROWS

    @classmethod
    def _factors(cls, rows: Any, feature_map: FeatureMap, norm: float) -> np.ndarray:
        assert isinstance(feature_map, MixtureMap), "see `design_kind`"
        assert isinstance(feature_map.additive, TabulatedMap), "see `design_kind`"
        # The features of the leaves have norm 1. The few operations here are as exact as a sum of
        # the squares of all features, for which `clip_factors` leaves a margin.
        square = np.minimum(feature_map.additive.squares(rows.additive), 1.0)
        share = feature_map.additive_share
        return factors_of(np.sqrt(share * square + (1.0 - share)), feature_map.n_features_out, norm)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        if self.n_samples < _FEWEST_ROWS:
            return self.in_memory().scores(theta)
        end = self._additive.n_features
        z = self._additive.scores(theta[:end])
        of_leaves = np.zeros_like(z)
        for k, trees in enumerate(self._trees.packed):
            of_leaves += _sums(trees.shape, [theta[end:][span] for span in trees.spans]).take(
                self.X.other[:, k], axis=0
            )
        z += (of_leaves.T * self._leaf_factors).T
        if self.intercept_scaling > 0.0:
            z += self.intercept_scaling * theta[-1]
        return z

    def weighted_sum(self, residual: np.ndarray) -> np.ndarray:
        if self.n_samples < _FEWEST_ROWS:
            return self.in_memory().weighted_sum(residual)
        total, end = np.empty((self.n_features, *residual.shape[1:])), self._additive.n_features
        total[:end] = self._additive.weighted_sum(residual)
        of_leaves = total[end:]
        weighted = np.atleast_2d(residual.T * self._leaf_factors)
        for k, trees in enumerate(self._trees.packed):
            numbers = self.X.other[:, k].astype(np.intp)
            sums = [np.bincount(numbers, row, math.prod(trees.shape)) for row in weighted]
            cells = np.stack(sums, axis=-1).reshape(*trees.shape, *residual.shape[1:])
            for own, span in enumerate(trees.spans):
                others = tuple(i for i in range(len(trees.shape)) if i != own)
                of_leaves[span] = cells.sum(axis=others)
        if self.intercept_scaling > 0.0:
            total[-1] = self.intercept_scaling * residual.sum(axis=0)
        return total

    @property
    def _trees(self) -> TreeMap:
        assert isinstance(self.feature_map.other, TreeMap), "see `design_kind`"
        return self.feature_map.other

    @cached_property
    def _additive(self) -> TabulatedDesign:
        """The same rows with their additive features alone."""
        near, places = self.feature_map.additive, self.X.additive
        assert isinstance(near, TabulatedMap), "see `design_kind`"
        lengths = np.sqrt(np.maximum(near.squares(places), 1.0))
        share = math.sqrt(self.feature_map.additive_share)
        return TabulatedDesign(places, near, self.factors * share / lengths)

    @cached_property
    def _leaf_factors(self) -> np.ndarray:
        share = (1.0 - self.feature_map.additive_share) / self._trees.n_trees
        return self.factors * math.sqrt(share)

    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, MemoryDesign]]:
        if most_rows is None:
            yield from self._pieces
        else:
            yield from super().blocks(most_rows)

    @cached_property
    def _pieces(self) -> list[tuple[slice, ExpandedDesign]]:
        """Blocks of rows, kept with their factors because descents read them in each step.

        They are about equally large, so that none of them is much smaller than others.
        """
        ends = np.linspace(0, self.n_samples, 1 + max(1, math.ceil(self.n_samples / _BLOCK_ROWS)))
        rows = [slice(*pair) for pair in pairwise(ends.astype(int).tolist())]
        return [(own, self._of(own)) for own in rows]


def design_kind(feature_map: FeatureMap) -> type[ExpandedDesign]:
    """Return the design that reads the rows of a map fastest.

    Parameters
    ----------
    feature_map : FeatureMap
        *Public.*

    Returns
    -------
    type
        A subclass of `ExpandedDesign`, or the class itself.
    """
    if isinstance(feature_map, TabulatedMap):
        return TabulatedDesign
    if not (isinstance(feature_map, MixtureMap) and isinstance(feature_map.other, TreeMap)):
        return ExpandedDesign
    return ForestDesign if isinstance(feature_map.additive, TabulatedMap) else ExpandedDesign


def _sums(shape: tuple[int, ...], parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of one entry of each part, for all combinations in the order of an array."""
    total = parts[0]
    for part in parts[1:]:
        total = total[:, None] + part[None]
        total = total.reshape(-1, *part.shape[1:])
    assert len(total) == math.prod(shape), "one number for each combination of leaves"
    return total
