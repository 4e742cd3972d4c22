"""A distribution over the levels of columns and of a target: a tree given the target's label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.density._counts import Pair

__all__ = ["TreeModel"]

_LEAST = 0.01  # records of each level and each pair of groups, so that nothing is impossible


@dataclass(frozen=True, eq=False)
class TreeModel:
    """P(label)·Π P(group of node i | group of its parent, label)·P(level of i | group, label).

    A label is a value of the target, or a group of values: these have P(value | label), whatever
    the nodes are. Every number is computed from *released* ones.

    Parameters
    ----------
    label : ndarray of shape (n_labels,)
        Probabilities of the labels.
    parents : list of int
        The parent of each node, −1 for the first, which is the root.
    order : list of int
        The nodes, each after its parent.
    groups : list of ndarray of shape (n_levels,)
        The group of each level.
    given_parent : list of ndarray of shape (n_labels, n_groups of the parent, n_groups)
        Probabilities of the groups; of the root with one group of the parent.
    given_group : list of ndarray of shape (n_labels, n_levels)
        Probabilities of the levels, given their group.
    labels : ndarray of shape (n_values,)
        The label of each value of the target.
    given_label : ndarray of shape (n_values,)
        Probabilities of the values, given their label.
    """

    label: np.ndarray
    parents: Sequence[int]
    order: Sequence[int]
    groups: Sequence[np.ndarray]
    given_parent: Sequence[np.ndarray]
    given_group: Sequence[np.ndarray]
    labels: np.ndarray
    given_label: np.ndarray

    @classmethod
    def of(
        cls,
        totals: np.ndarray,
        tables: Sequence[np.ndarray],
        groups: Sequence[np.ndarray],
        margins: Sequence[np.ndarray],
        pairs: Mapping[Pair, np.ndarray],
        target: np.ndarray,
        labels: np.ndarray,
    ) -> TreeModel:
        """Return the distribution of consistent counts: of labels, levels, groups and pairs.

        `target` has the counts of the target's values, and `labels` the label of each.
        """
        parents, order = _rooted(len(tables), list(pairs))
        both = {**pairs, **{(j, i): pair.swapaxes(0, 1) for (i, j), pair in pairs.items()}}
        counts = [
            both[parent, i] if parent >= 0 else margins[i][None] for i, parent in enumerate(parents)
        ]
        given_parent = [_conditional(np.moveaxis(table, 2, 0)) for table in counts]
        within = [_within(table.T, group) for table, group in zip(tables, groups, strict=True)]
        given_label = _within(target[None], labels)[0]
        label = totals / totals.sum()
        return cls(label, parents, order, groups, given_parent, within, labels, given_label)

    @cached_property
    def _tables(self) -> list[np.ndarray]:
        """log P(level, group | group of the parent, label), of (n_labels, n_parent, n_levels)."""
        return [
            np.log(groups[:, :, group]) + np.log(levels)[:, None, :]
            for groups, levels, group in zip(
                self.given_parent, self.given_group, self.groups, strict=True
            )
        ]

    def log_joint(self, levels: np.ndarray) -> np.ndarray:
        """Return log P(levels, value) of rows of shape (n_rows, n_nodes), for each value."""
        total = np.log(self.label)[:, None] + np.zeros(len(levels))
        for i, (parent, table) in enumerate(zip(self.parents, self._tables, strict=True)):
            above = 0 if parent < 0 else self.groups[parent][levels[:, parent]]
            total += table[:, above, levels[:, i]]
        return total.T[:, self.labels] + np.log(self.given_label)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return n rows of levels, and values of the target."""
        labels = rng.choice(self.label.size, size=n, p=self.label)
        levels = np.empty((n, len(self.parents)), np.intp)
        for i in self.order:
            parent, table = self.parents[i], np.exp(self._tables[i])
            above = 0 if parent < 0 else self.groups[parent][levels[:, parent]]
            rows = labels * table.shape[1] + above
            levels[:, i] = _drawn(table.reshape(-1, table.shape[2]), rows, rng)
        return levels, _drawn(self._values, labels, rng)

    def counts(
        self, n: int, simulation: np.random.Generator
    ) -> tuple[list[np.ndarray], dict[Pair, np.ndarray], np.ndarray]:
        """Return counts of n new rows: (level, label) of each node, pairs of groups, and values.

        They have the distribution of counts of `sample`, but take no time for each row: given the
        counts of the groups of a parent, those of pairs are multinomial, and levels given groups.
        """
        labels = simulation.multinomial(n, self.label)
        grouped: dict[int, np.ndarray] = {-1: labels[:, None]}
        tables, pairs = [np.empty(0)] * len(self.parents), {}
        for i in self.order:
            parent = self.parents[i]
            pair = simulation.multinomial(grouped[parent], self.given_parent[i])
            grouped[i] = pair.sum(axis=1)
            tables[i] = _split(grouped[i], self.given_group[i], self.groups[i], simulation)
            pairs[parent, i] = np.moveaxis(pair, 0, 2)
            pairs[i, parent] = pairs[parent, i].swapaxes(0, 1)
        return tables, pairs, simulation.multinomial(labels, self._values).sum(axis=0)

    def marginal(self, nodes: Sequence[int], *, by_value: bool) -> np.ndarray:
        """Return the probabilities of the levels of some nodes, and of the values as last axis.

        Sums over the other nodes are taken from the leaves to the root.
        """
        table, found = self._message(0, frozenset(nodes))
        table = table[:, 0] * self.label[:, None]
        shape = [self.groups[i].size for i in found]
        table = (table if by_value else table.sum(axis=0, keepdims=True)).reshape(-1, *shape)
        table = table.transpose(*(1 + found.index(i) for i in nodes), 0)
        return table[..., self.labels] * self.given_label if by_value else table[..., 0]

    def _message(self, i: int, kept: frozenset[int]) -> tuple[np.ndarray, list[int]]:
        """Return P(kept levels at and below i | group of the parent, label), and the kept nodes.

        The table has the shape (n_labels, n_groups of the parent, product of the kept levels).
        """
        n_labels, _, n_groups = self.given_parent[i].shape
        below, found = np.ones((n_labels, n_groups, 1)), []
        for child in self._children[i]:
            other, more = self._message(child, kept)
            below = np.einsum("ygr,ygs->ygrs", below, other).reshape(n_labels, n_groups, -1)
            found += more
        if i in kept:
            is_in = self.groups[i] == np.arange(n_groups)[:, None]
            own = np.where(is_in, self.given_group[i][:, None, :], 0.0)
            below = np.einsum("ygl,ygr->yglr", own, below).reshape(n_labels, n_groups, -1)
            found = [i, *found]
        return np.einsum("yag,ygr->yar", self.given_parent[i], below), found

    @property
    def value(self) -> np.ndarray:
        """P(value), of shape (n_values,)."""
        return np.asarray(self.label[self.labels] * self.given_label)

    @cached_property
    def _values(self) -> np.ndarray:
        """P(value | label), of shape (n_labels, n_values)."""
        is_in = self.labels == np.arange(self.label.size)[:, None]
        return np.where(is_in, self.given_label, 0.0)

    @cached_property
    def _children(self) -> list[list[int]]:
        nodes = range(len(self.parents))
        return [[k for k in nodes if self.parents[k] == i] for i in nodes]


def _rooted(n_nodes: int, edges: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Return the parents of the nodes of a tree with root 0, and an order from the root."""
    parents, order = [-1] * n_nodes, [0]
    for i in order:
        for edge in edges:
            if i in edge and (other := sum(edge) - i) != parents[i]:
                parents[other] = i
                order.append(other)
    return parents, order


def _conditional(counts: np.ndarray) -> np.ndarray:
    """Return the shares along the last axis."""
    counts = counts + _LEAST / counts.shape[-1]
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


def _within(table: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the share of each level in its group, of counts of shape (n_labels, n_levels)."""
    counts = table + _LEAST / table.shape[1]
    sums = np.zeros((len(table), int(groups.max()) + 1))
    np.add.at(sums.T, groups, counts.T)
    return np.asarray(counts / sums[:, groups])


def _split(
    counts: np.ndarray,
    shares: np.ndarray,
    groups: np.ndarray,
    simulation: np.random.Generator,
) -> np.ndarray:
    """Return random counts (level, label) of levels, from the counts (label, group) of groups."""
    table = np.empty(shares.shape[::-1], np.int64)
    for group in range(counts.shape[1]):
        levels = np.flatnonzero(groups == group)
        within = shares[:, levels] / shares[:, levels].sum(axis=1, keepdims=True)
        table[levels] = simulation.multinomial(counts[:, group], within).T
    return table


def _drawn(shares: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a place in each of some rows of a table of probabilities."""
    sums = shares.cumsum(axis=1)
    ends = (sums / sums[:, -1:] + np.arange(len(shares))[:, None]).ravel()
    found = np.searchsorted(ends, rows + rng.random(rows.size), side="right")
    return np.clip(found - rows * shares.shape[1], 0, shares.shape[1] - 1)
