"""Exact counts of the levels of columns, beside the label of each row.

A record has a mass of at most 1 in each table: one row, or shares of the rows of a person. A table
is therefore moved by at most 1 in l1 if a record is added, and by 2 if one is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

import numpy as np

from skdp.data.exact_sums import STEP_BITS, Sums, counted
from skdp.data.records import Records
from skdp.density._levels import Levels

Pair = tuple[int, int]

MOST_LABELS = 16
"""Largest number of groups of the levels of a numeric target."""


@dataclass(frozen=True, eq=False)
class TreeFacts:
    """*Public* facts about a table.

    Parameters
    ----------
    levels : Levels
    n_labels : int
        Number of labels, 1 if there are none. Of a numeric target, that of its levels, and after
        `relabeled` of their groups.
    target : int or None
        The column that holds the labels; None if they are apart, or if there are none.
    library : {"pandas", "polars"} or None
        The library of the frame that the records came in, None for an array.
    classes : ndarray of shape (n_labels,) or None
        The labels of a classifier.
    """

    levels: Levels
    n_labels: int
    target: int | None = None
    library: str | None = None
    classes: np.ndarray | None = None

    @property
    def columns(self) -> list[int]:
        """The columns that are nodes of the tree: all but the target."""
        return [j for j in range(self.levels.n_columns) if j != self.target]

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
        labels = np.zeros(len(codes), int) if facts.target is None else codes[:, facts.target]
    return replace(records, X=np.ascontiguousarray(codes[:, facts.columns].T).T, y=labels)


def target_counts(records: Rows) -> Sums:
    """Return the counts of the levels of a numeric target; of weighted records in steps."""
    return {"target": counted(records.y, records.facts.n_labels, records.steps)}


def relabeled(records: Rows, labels: np.ndarray) -> Rows:
    """Return records with the label of each level of the target in its place."""
    facts = replace(records.facts, n_labels=int(labels.max()) + 1)
    return records.mapped(partial(_relabeled, labels)).with_facts(facts)


def _relabeled(labels: np.ndarray, records: Rows) -> Rows:
    return replace(records, y=labels[records.y])


def table_counts(records: Rows) -> Sums:
    """Return the counts of (level, label) of each node; of weighted records in steps."""
    facts = records.facts
    return {
        str(i): counted(
            records.X[:, i].astype(np.intp) * facts.n_labels + records.y,
            size * facts.n_labels,
            records.steps,
        )
        for i, size in enumerate(facts.sizes)
    }


def pair_counts(records: Rows, groups: Sequence[np.ndarray]) -> dict[Pair, np.ndarray]:
    """Return the counts of (group, group, label) of each pair of nodes, in steps of 2^−31."""
    counts = records.total(partial(_pair_counts, groups))
    sizes = [int(group.max()) + 1 for group in groups]
    return {
        (i, j): in_steps(records, counts[f"{i},{j}"]).reshape(sizes[i], sizes[j], -1)
        for i, j in combinations(range(len(groups)), 2)
    }


def _pair_counts(groups: Sequence[np.ndarray], records: Rows) -> Sums:
    n_labels, steps = records.facts.n_labels, records.steps
    codes = [group[records.X[:, i]] for i, group in enumerate(groups)]
    sizes = [int(group.max()) + 1 for group in groups]
    second = [code * n_labels + records.y for code in codes]
    return {
        f"{i},{j}": counted(
            codes[i] * (sizes[j] * n_labels) + second[j], sizes[i] * sizes[j] * n_labels, steps
        )
        for i, j in combinations(range(len(groups)), 2)
    }


def in_steps(records: Rows, counts: np.ndarray) -> np.ndarray:
    """Return counts in steps of 2^−31, which those of weighted records are already."""
    return counts if records.is_weighted else counts.astype(np.int64) << STEP_BITS
