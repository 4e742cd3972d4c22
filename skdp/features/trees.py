"""Leaves of totally random trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from skdp.features.base import FeatureMap
from skdp.features.table import TableFacts
from skdp.support.validation import check_count

__all__ = ["TreeMap"]

_DEEPEST = 16  # leaves of 100 trees are then 6 million features
_ROWS = 2048  # whose ways through the trees are followed at a time


@dataclass(frozen=True, eq=False)
class _Forest:
    """Splits of T complete trees, each array of shape (T, nodes), nodes in the order of a heap.

    Which column is asked, numbers first; above which u a row goes right; and, of shape (T, nodes,
    places), at which places of a category, of which the last one is the missing one.
    """

    column: np.ndarray
    threshold: np.ndarray
    to_the_right: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeMap(FeatureMap):
    """The leaf that a row falls into, 1/√T in each of T complete trees of depths of their own.

    A node asks for a column, all of them equally likely: whether a number is above a threshold
    that is uniform in the node's cell, or whether a category is in a random subset. A missing
    value goes to a random side; a category that is not known goes left.

    Parameters
    ----------
    facts : TableFacts
        *Public.* What the columns are.
    n_trees : int
        *Public.* T.
    depths : tuple (least, most)
        *Public.* Between which the trees' depths are, each as often as the others.
    feature_seed : int
        *Public.* From which trees follow.
    """

    facts: TableFacts
    n_trees: int = 100
    depths: tuple[int, int] = (8, 8)
    feature_seed: int = 0

    @classmethod
    def of(
        cls, facts: TableFacts, *, n_trees: Any = 100, depth: Any = 8, feature_seed: Any = 0
    ) -> TreeMap:
        """Return what the parameters of an estimator say, checked."""
        return cls(
            facts=facts,
            n_trees=check_count("n_trees", n_trees),
            depths=_depths(depth),
            feature_seed=check_count("feature_seed", feature_seed, low=0),
        )

    @property
    def n_features_out(self) -> int:
        return int((1 << self._depth).sum())

    @property
    def n_entries(self) -> int:
        return self.n_trees

    @property
    def is_sparse(self) -> bool:
        return True

    @cached_property
    def _depth(self) -> np.ndarray:
        """Depth of each tree."""
        least, most = self.depths
        return least + np.arange(self.n_trees) % (most - least + 1)

    @cached_property
    def _forest(self) -> _Forest:
        rng, facts = np.random.default_rng(self.feature_seed), self.facts
        p, shape = len(facts.numbers), (self.n_trees, (1 << self.depths[1]) - 1)
        column = rng.integers(facts.n_columns, size=shape)
        places = 1 + max([facts.categories[j].size for j in facts.categories], default=0)
        threshold = _thresholds(column, p, self.depths[1], rng)
        return _Forest(column, threshold, rng.random((*shape, places)) < 0.5)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the number of the leaf of each row in each tree.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_columns)
            *Private.* As `TableFacts.coded` returns it.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            *Private.* Small integers.
        """
        leaves = np.empty((len(X), self.n_trees), np.uint8 if self.depths[1] <= 8 else np.uint32)
        for start in range(0, len(X), _ROWS):
            leaves[start : start + _ROWS] = self._leaves(X[start : start + _ROWS])
        return leaves

    def _leaves(self, rows: np.ndarray) -> np.ndarray:
        forest = self._forest
        u, codes = self._questions(rows)
        of_row = np.arange(len(rows))
        leaves = np.empty((len(rows), self.n_trees), dtype=np.intp)
        for tree, depth in enumerate(self._depth):
            node = np.zeros(len(rows), dtype=np.intp)
            column, threshold = forest.column[tree], forest.threshold[tree]
            for _ in range(depth):
                asked = column[node]
                right = u[asked, of_row] > threshold[node]
                if codes is not None:
                    code = codes[asked, of_row]
                    right |= (code >= 0) & forest.to_the_right[tree][node, code]
                node = 2 * node + 1 + right
            leaves[:, tree] = node - ((1 << depth) - 1)
        return leaves

    def _questions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return u, −inf where there is none, and places of categories or missing values, or −1."""
        numbers, p = self.facts.unit_interval(rows), len(self.facts.numbers)
        u = np.full((self.facts.n_columns, len(rows)), -np.inf)
        unknown = np.isnan(numbers)
        u[:p] = np.where(unknown, -np.inf, numbers)
        if not (self.facts.categories or unknown.any()):
            return u, None
        codes = np.full(u.shape, -1)
        codes[:p][unknown] = self._forest.to_the_right.shape[2] - 1
        for k, j in enumerate(self.facts.categories, start=p):
            place = self._forest.to_the_right.shape[2] - 1
            codes[k] = np.where(np.isnan(rows[:, j]), place, rows[:, j])
        return u, codes

    def expand(self, rows: np.ndarray) -> Any:
        n, T = rows.shape
        leaves = 1 << self._depth
        columns = (rows + (leaves.cumsum() - leaves)).astype(np.int32)
        entries = np.full(n * T, 1.0 / math.sqrt(T))
        starts = np.arange(0, n * T + 1, T)
        return sparse.csr_matrix(
            (entries, columns.ravel(), starts), shape=(n, self.n_features_out), copy=False
        )

    def names(self, columns: Sequence[Any]) -> list[str]:
        return [
            f"tree{t}_leaf{leaf}"
            for t, depth in enumerate(self._depth)
            for leaf in range(1 << depth)
        ]


def _depths(depth: Any) -> tuple[int, int]:
    """Return the least and the greatest depth."""
    pair = depth if isinstance(depth, (tuple, list)) and len(depth) == 2 else (depth, depth)
    least, most = (check_count("depth", side) for side in pair)
    if not least <= most <= _DEEPEST:
        raise ValueError(
            f"depth must be at most {_DEEPEST}, or a pair (least, most) of such, got {depth!r}."
        )
    return least, most


def _thresholds(column: np.ndarray, p: int, depth: int, rng: np.random.Generator) -> np.ndarray:
    """Return for each node a number uniform in its cell along its column; 0 for categories."""
    threshold, size = np.zeros(column.shape), max(p, 1)
    low = np.zeros((len(column), 1, size))
    high = np.ones_like(low)
    for level in range(depth):
        nodes = slice((1 << level) - 1, (2 << level) - 1)
        asked, numeric = np.minimum(column[:, nodes], size - 1)[:, :, None], column[:, nodes] < p
        a, b = (np.take_along_axis(side, asked, 2)[:, :, 0] for side in (low, high))
        cut = rng.uniform(a, b)
        threshold[:, nodes] = np.where(numeric, cut, 0.0)
        low, high = np.repeat(low, 2, axis=1), np.repeat(high, 2, axis=1)
        np.put_along_axis(high[:, 0::2], asked, np.where(numeric, cut, b)[:, :, None], 2)
        np.put_along_axis(low[:, 1::2], asked, np.where(numeric, cut, a)[:, :, None], 2)
    return threshold
