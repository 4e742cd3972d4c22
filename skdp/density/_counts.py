"""Exact counts of the levels of columns, beside the label of each row.

A record has a mass of at most 1 in each table: one row, or shares of the rows of a person. A table
is therefore moved by at most 1 in l1 if a record is added, and by 2 if one is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from skdp.data.columns import column_name
from skdp.data.encoding import Encoding
from skdp.data.exact_sums import STEP_BITS, Sums, counted
from skdp.data.records import Records
from skdp.features.base import TableFacts
from skdp.support.types import MatrixLike

# No guarantee rests on it. As many levels as this are never merged, as categories are not.
_FEW_NUMBERS = 32


@dataclass(frozen=True, eq=False)
class Levels:
    """*Public* levels of each column, the same for every table.

    A number is in one of equal bins between its bounds, on its scale. Bins of whole numbers begin
    at whole numbers, and each contains at least one. With ``missing="indicator"`` each column has
    one more level, for missing values and for categories that are not listed. Otherwise both raise
    ValueError.
    """

    facts: TableFacts
    edges: Mapping[int, np.ndarray]  # of the bins of each column of numbers, in its units
    encoding: Encoding | None = None  # how a schema made these columns of those of the user's table

    @classmethod
    def of(cls, facts: TableFacts, n_bins: int) -> Levels:
        """Return levels of encoded rows; as many bins for all numbers, unless fewer are enough."""
        places = np.linspace(0.0, 1.0, n_bins + 1)
        edges = {j: facts.values_at(j, places) for j in facts.numbers.tolist()}
        whole = cls(facts, edges, facts.encoding).whole
        edges |= {j: _whole(edges[j]) for j in whole}
        return cls(replace(facts, encoding=None), edges, facts.encoding)

    @cached_property
    def whole(self) -> list[int]:
        """The columns of whole numbers."""
        return [] if self.encoding is None else self.encoding.whole

    @property
    def nominal(self) -> set[int]:
        """The columns whose levels have no order."""
        return {*self.facts.categories} - {*(self.encoding.levels if self.encoding else ())}

    @property
    def complete(self) -> list[int]:
        """The columns whose last level is empty, because a schema says that no value is missing."""
        return self.encoding.complete if self.encoding and self.facts.has_missing else []

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.n_known(j) + self.facts.has_missing for j in range(self.facts.n_columns))

    def n_known(self, j: int) -> int:
        """Return the number of levels of a column without the one for missing values."""
        return self.edges[j].size - 1 if j in self.edges else self.facts.categories[j].size

    def merged(self, least: Mapping[int, float]) -> Levels:
        """Return levels in which bins are merged by two while at least so many are left."""
        return replace(self, edges={j: self._merged(j, least[j]) for j in self.edges})

    def _merged(self, j: int, least: float) -> np.ndarray:
        edges, is_whole = self.edges[j], j in self.whole
        if is_whole and edges[-1] - edges[0] <= _FEW_NUMBERS:
            return edges
        while (edges.size % 2 or is_whole) and edges.size // 2 >= least:
            edges = np.unique([*edges[::2], edges[-1]])
        return edges

    def merge(self, merged: Levels, j: int) -> np.ndarray:
        """Return the merged level of each level of a column."""
        if j not in self.edges:
            return np.arange(self.sizes[j])
        bins = np.searchsorted(merged.edges[j], self.edges[j][:-1], side="right") - 1
        return np.append(bins, [merged.n_known(j)] * self.facts.has_missing).astype(int)

    def codes(self, X: MatrixLike) -> np.ndarray:
        """Return the level of each value, of shape (n_samples, n_columns)."""
        coded = self.facts.coded(X, self.facts.names)
        codes = np.empty(coded.shape, np.min_scalar_type(max(self.sizes)), order="F")
        for rows in _blocks(len(coded)):
            self._write(coded[rows], codes[rows])
        return codes

    def _write(self, coded: np.ndarray, codes: np.ndarray) -> None:
        """Write the level of each value of some coded rows."""
        for j, place in zip(self.edges, self.facts.place(coded), strict=True):
            n_bins = self.n_known(j)
            if j in self.whole:
                bins = np.searchsorted(self.edges[j], coded[:, j], side="right") - 1
            else:
                bins = np.floor(place * n_bins)
            codes[:, j] = np.where(np.isnan(place), n_bins, np.clip(bins, 0, n_bins - 1))
        for j in self.facts.categories:
            codes[:, j] = np.where(coded[:, j] >= 0.0, coded[:, j], self.n_known(j))
            if not self.facts.has_missing and (codes[:, j] == self.n_known(j)).any():
                raise ValueError(
                    f"column {column_name(self.facts.names, j)!r} has values that are not in its "
                    "categories. Use missing='indicator' to count them as missing."
                )

    def log_widths(self, codes: np.ndarray) -> np.ndarray:
        """Return the logarithm of the volume of each row's bins; 0 without numbers."""
        total = np.zeros(len(codes))
        for j, edges in self.edges.items():
            widths = np.append(np.log(np.diff(edges)), [0.0] * self.facts.has_missing)
            total += widths[codes[:, j]]
        return total

    def values(self, codes: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Return columns of a table with these levels: numbers are uniform in their bins."""
        found = [self._values(j, codes[:, j], rng) for j in range(self.facts.n_columns)]
        return found if self.encoding is None else self.encoding.decoded(found, self.edges, rng)

    def _values(self, j: int, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        is_missing = codes == self.n_known(j)
        known = np.minimum(codes, self.n_known(j) - 1)
        if j in self.facts.categories:
            values = self.facts.categories[j][known]
            if is_missing.any():
                values = values.astype(object)
                values[is_missing] = None
            return values
        low, high = self.edges[j][known], self.edges[j][known + 1]
        numbers = low + rng.random(len(codes)) * (high - low)
        return np.where(is_missing, np.nan, np.floor(numbers) if j in self.whole else numbers)


def _whole(edges: np.ndarray) -> np.ndarray:
    """Return edges at whole numbers, of one bin for each number where bins would be narrower."""
    low, high = np.ceil(edges[0]), np.floor(edges[-1]) + 1.0
    if high - low < edges.size:
        return np.arange(low, high + 1.0)
    return np.unique(np.clip(np.append(np.ceil(edges[:-1]), high), low, high))


def as_matrix(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return columns as one array, of objects unless all hold numbers."""
    plain = len({column.dtype.kind == "b" for column in columns}) == 1
    plain &= all(column.dtype.kind in "biuf" for column in columns)
    return np.stack([column if plain else column.astype(object) for column in columns], axis=1)


Pair = tuple[int, int]

MOST_LABELS = 16
"""Largest number of groups of the levels of a numeric target."""


@dataclass(frozen=True, eq=False)
class TreeFacts:
    """*Public* facts about a table."""

    levels: Levels
    n_labels: int  # 1 if there are none; of a numeric target, levels or their groups
    target: int | None = None  # the column of the labels; None if they are apart, or there are none
    library: str | None = None  # "pandas" or "polars", None for an array
    classes: np.ndarray | None = None  # the labels of a classifier

    @property
    def columns(self) -> list[int]:
        """The columns that are nodes of the tree: all but the target."""
        return [j for j in range(self.levels.facts.n_columns) if j != self.target]

    @property
    def has_number(self) -> bool:
        """Whether the target is a number, whose levels are joined to a few labels."""
        return self.target is not None and self.target not in self.levels.facts.categories

    @property
    def most_labels(self) -> int:
        """The largest number of labels in tables with other columns."""
        return min(self.n_labels, MOST_LABELS) if self.has_number else self.n_labels

    @property
    def sizes(self) -> list[int]:
        """The number of levels of each node."""
        return [self.levels.sizes[j] for j in self.columns]


Rows: TypeAlias = Records[TreeFacts]


def as_levels(records: Rows) -> Rows:
    """Return records whose X holds the levels of the nodes, and whose y holds labels."""
    facts, codes = records.facts, records.facts.levels.codes(records.X)
    labels = records.y
    if labels is None:
        labels = np.zeros(len(codes), np.uint8)
        labels = labels if facts.target is None else codes[:, facts.target]
    nodes = codes if len(facts.columns) == codes.shape[1] else codes.T[facts.columns].T
    return replace(records, X=nodes, y=labels)


def target_counts(records: Rows) -> Sums:
    """Return the counts of the levels of a numeric target; of weighted records in steps."""
    return {"target": counted(records.y, records.facts.n_labels, records.steps)}


def relabeled(records: Rows, labels: np.ndarray) -> Rows:
    """Return records with the label of each level of the target in its place."""
    facts = replace(records.facts, n_labels=int(labels.max()) + 1)
    return records.mapped(lambda rows: replace(rows, y=labels[rows.y])).with_facts(facts)


def table_counts(records: Rows) -> Sums:
    """Return the counts of (level, label) of each node; of weighted records in steps."""
    facts, steps, found = records.facts, records.steps, dict[str, Any]()
    for rows in _blocks(len(records.X)):
        own = None if steps is None else steps[rows]
        for i, size in enumerate(facts.sizes):
            cells = records.X[rows, i].astype(np.intp) * facts.n_labels + records.y[rows]
            counts = counted(cells, size * facts.n_labels, own)
            found[str(i)] = found.get(str(i), 0) + counts
    return found


def pair_counts(records: Rows, groups: Sequence[np.ndarray]) -> dict[Pair, np.ndarray]:
    """Return the counts of (group, group, label) of each pair of nodes, in steps of 2^−31."""
    counts = records.total(partial(_pair_counts, groups))
    if not records.is_weighted:  # those of weighted records are in such steps
        counts = {name: count.astype(np.int64) << STEP_BITS for name, count in counts.items()}
    return {(i, j): counts[f"{i},{j}"] for i, j in combinations(range(len(groups)), 2)}


def _pair_counts(groups: Sequence[np.ndarray], records: Rows) -> Sums:
    n_labels, steps, found = records.facts.n_labels, records.steps, dict[str, Any]()
    sizes = [int(group.max()) + 1 for group in groups]
    for rows in _blocks(len(records.X)):
        codes = [group[records.X[rows, i]] for i, group in enumerate(groups)]
        second = [code * n_labels + records.y[rows] for code in codes]
        own = None if steps is None else steps[rows]
        for i, j in combinations(range(len(groups)), 2):
            shape = sizes[i], sizes[j], n_labels
            cells = codes[i] * (sizes[j] * n_labels) + second[j]
            counts = counted(cells, math.prod(shape), own).reshape(shape)
            found[f"{i},{j}"] = found.get(f"{i},{j}", 0) + counts
    return found


_ROWS = 1 << 15  # that are coded and counted at a time; tables of pairs are not much larger


def _blocks(n_rows: int) -> Iterator[slice]:
    """Yield blocks of consecutive rows; there is at least one."""
    for start in range(0, max(n_rows, 1), _ROWS):
        yield slice(start, start + _ROWS)
