"""A distribution over the levels of columns and of a target: cliques given the target's label."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.density._cliques import Cliques
from skdp.density._consistency import ratio
from skdp.density._counts import Pair
from skdp.density._fitted_cliques import fitted_cliques

_Factor = tuple[tuple[int, ...], np.ndarray]
"""Nodes, and a table with an axis for each; −1 is the label."""

_MOST_CELLS = 2**27  # of a table on the way to a marginal: 1 GB
# No guarantee rests on these: found on magic04, Adult, wine quality and simulated tables.
_LEAST = 0.01  # records of each level, so that nothing is impossible
_LEAST_OF_ROW = 0.02  # of each row of a clique, if σ of pairs is large; else (σ/_LARGE)² of it
_LARGE, _SMALLEST_PART = 10.0, 0.01
_EVEN = 1e-3
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class CliqueModel:
    """P(label)·Π P(group of node i | groups of its parents, label)·P(level of i | group, label).

    A label is a value of the target, or a group of values: these have P(value | label), whatever
    the nodes are. Every number is computed from *released* ones.

    Parameters
    ----------
    cliques : Cliques
        The nodes in an order, and the parents of each.
    label : ndarray of shape (n_labels,)
        Probabilities of the labels.
    groups : list of ndarray of shape (n_levels,)
        The group of each level.
    given_parents : list of ndarray of shape (n_labels, *n_groups of the parents, n_groups)
        Probabilities of the groups.
    given_group : list of ndarray of shape (n_labels, n_levels)
        Probabilities of the levels, given their group.
    labels : ndarray of shape (n_values,)
        The label of each value of the target.
    given_label : ndarray of shape (n_values,)
        Probabilities of the values, given their label.
    """

    cliques: Cliques
    label: np.ndarray
    groups: Sequence[np.ndarray]
    given_parents: Sequence[np.ndarray]
    given_group: Sequence[np.ndarray]
    labels: np.ndarray
    given_label: np.ndarray

    @classmethod
    def of(
        cls,
        cliques: Cliques,
        totals: np.ndarray,
        tables: Sequence[np.ndarray],
        groups: Sequence[np.ndarray],
        margins: Sequence[np.ndarray],
        pairs: Mapping[Pair, np.ndarray],
        target: np.ndarray,
        labels: np.ndarray,
        scale: float,
        complete: Collection[int] = (),
    ) -> CliqueModel:
        """Return the distribution of counts: of labels, levels, groups and pairs.

        `target` has the counts of the target's values, and `labels` the label of each. `scale` is
        the standard deviation of the noise of pairs. The last level of `complete` nodes is empty,
        and that of the target if they contain -1.
        """
        counts = fitted_cliques(cliques, margins, pairs, totals)
        within = [_within(table.T, group) for table, group in zip(tables, groups, strict=True)]
        given_label = _within(target[None], labels)[0]
        shares = [ratio(side, totals).T for side in margins]
        least = _LEAST_OF_ROW * min(max((scale / _LARGE) ** 2, _SMALLEST_PART), 1.0)
        given_parents = [_conditional(*both, least) for both in zip(counts, shares, strict=True)]
        label = totals / totals.sum()
        given = [*given_parents, label[None]]  # the target is the last of all
        shares, of = [*within, given_label[None]], [*groups, labels]
        for i in complete:
            given[i], shares[i] = _without_last(given[i], shares[i], of[i])
        return cls(cliques, given[-1][0], groups, given[:-1], shares[:-1], labels, shares[-1][0])

    def log_joint(self, levels: np.ndarray) -> np.ndarray:
        """Return log P(levels, value) of rows of shape (n_rows, n_nodes), for each value."""
        total = np.log(self.label)[:, None] + np.zeros(len(levels))
        grouped = [group[levels[:, i]] for i, group in enumerate(self.groups)]
        for i, (table, within) in enumerate(zip(self.given_parents, self.given_group, strict=True)):
            places = tuple(grouped[k] for k in self.cliques.scope(i))
            total += np.log(table)[:, *places] + np.log(within)[:, levels[:, i]]
        return total.T[:, self.labels] + np.log(self.given_label)

    def sample(
        self, n: int, rng: np.random.Generator, *, evenly: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return n rows of levels, and values of the target; see `_drawn` for `evenly`."""
        labels = _drawn(self.label[None], np.zeros(n, np.intp), rng, evenly)
        groups, levels = np.empty((2, n, len(self.groups)), np.intp)
        for i in self.cliques.order:
            rows, table = labels, self.given_parents[i]
            for k in self.cliques.parents[i]:
                rows = rows * self.given_group_size(k) + groups[:, k]
            groups[:, i] = _drawn(table.reshape(-1, table.shape[-1]), rows, rng, evenly)
            rows = labels * table.shape[-1] + groups[:, i]
            levels[:, i] = _drawn(
                self._levels(i).reshape(-1, self.groups[i].size), rows, rng, evenly
            )
        return levels, _drawn(self._values, labels, rng, evenly)

    def given_group_size(self, i: int) -> int:
        """Return the number of groups of a node."""
        return int(self.given_parents[i].shape[-1])

    def counts(
        self, n: int, simulation: np.random.Generator
    ) -> tuple[list[np.ndarray], dict[Pair, np.ndarray], np.ndarray]:
        """Return counts of n new rows: (level, label) of each node, pairs of groups, and values.

        They have the distribution of counts of rows drawn independently, but take no time for each
        row: counts of a clique given those of its parents are multinomial, and levels given groups.
        """
        labels = simulation.multinomial(n, self.label)
        cliques: dict[int, np.ndarray] = {}
        tables = [np.empty(0)] * len(self.groups)
        for i in self.cliques.order:
            parents = self.cliques.parents[i]
            above = self._margin(cliques, parents) if parents else labels
            cliques[i] = simulation.multinomial(above, self.given_parents[i])
            grouped = self._margin(cliques, (i,))
            tables[i] = _split(grouped, self.given_group[i], self.groups[i], simulation)
        pairs = {(i, j): self._margin(cliques, (i, j)) for i, j in self.cliques.edges}
        values = simulation.multinomial(labels, self._values).sum(axis=0)
        return tables, {edge: np.moveaxis(pair, 0, 2) for edge, pair in pairs.items()}, values

    def _margin(self, cliques: Mapping[int, np.ndarray], nodes: Sequence[int]) -> np.ndarray:
        """Return the counts of labels and some nodes of one clique, in the order given."""
        home = max(nodes, key=self.cliques.order.index)
        scope = self.cliques.scope(home)
        axes = [0, *(1 + scope.index(k) for k in nodes)]
        return np.einsum(cliques[home], [*range(len(scope) + 1)], axes)

    def marginal(self, nodes: Sequence[int], *, by_value: bool) -> np.ndarray:
        """Return the probabilities of the levels of some nodes, and of the values as last axis."""
        factors = list(self._factors(nodes))
        others = {k for axes, _ in factors for k in axes} - {-1, *nodes}
        while others:
            i = min(others, key=lambda i: self._n_cells(_with_node(factors, i)))
            factors = self._without(factors, i)
            others.remove(i)
        table = _product(factors, [-1, *nodes])
        by_label = (self._with_levels(part, nodes, label) for label, part in enumerate(table))
        if by_value:
            return np.stack([*by_label], axis=-1)[..., self.labels] * self.given_label
        return np.asarray(sum(by_label))  # one at a time: there may be many labels

    def _with_levels(self, table: np.ndarray, nodes: Sequence[int], label: int) -> np.ndarray:
        """Return the probabilities of levels and one label from those of groups."""
        for axis, i in enumerate(nodes):
            shares = np.expand_dims(self.given_group[i][label], [*range(1, table.ndim - axis)])
            table = table.take(self.groups[i], axis=axis) * shares
        return table

    def _factors(self, nodes: Sequence[int]) -> Iterator[_Factor]:
        """Yield P(label), and the probabilities of the nodes and of all that they follow from."""
        needed = {*nodes}
        yield (-1,), self.label
        for i in reversed(self.cliques.order):
            if i in needed:
                needed |= {*self.cliques.parents[i]}
                yield (-1, *self.cliques.scope(i)), self.given_parents[i]

    def _without(self, factors: Sequence[_Factor], i: int) -> list[_Factor]:
        """Return factors in which a node is summed out."""
        nodes = sorted(_with_node(factors, i))
        if self._n_cells(nodes) > _MOST_CELLS:
            raise ValueError(
                "The table of these columns would take too much memory on the way. Ask for fewer "
                "columns, or count rows of `sample`."
            )
        nodes.remove(i)
        table = _product([factor for factor in factors if i in factor[0]], nodes)
        return [*(factor for factor in factors if i not in factor[0]), (tuple(nodes), table)]

    def _n_cells(self, nodes: Collection[int]) -> int:
        sizes = (self.label.size if k < 0 else self.cliques.sizes[k] for k in nodes)
        return math.prod(sizes)

    @property
    def value(self) -> np.ndarray:
        """P(value), of shape (n_values,)."""
        return np.asarray(self.label[self.labels] * self.given_label)

    def _levels(self, i: int) -> np.ndarray:
        """P(level | label, group) of a node, of shape (n_labels, n_groups, n_levels)."""
        is_in = self.groups[i] == np.arange(self.given_group_size(i))[:, None]
        return np.where(is_in, self.given_group[i][:, None, :], 0.0)

    @cached_property
    def _values(self) -> np.ndarray:
        """P(value | label), of shape (n_labels, n_values)."""
        is_in = self.labels == np.arange(self.label.size)[:, None]
        return np.where(is_in, self.given_label, 0.0)


def _product(factors: Sequence[_Factor], wanted: Sequence[int]) -> np.ndarray:
    """Return the sum over all other axes of the product of tables."""
    found = sorted({node for nodes, _ in factors for node in nodes})
    given = [[found.index(node) for node in nodes] for nodes, _ in factors]
    operands = [
        part for (_, table), axes in zip(factors, given, strict=True) for part in (table, axes)
    ]
    return np.einsum(*operands, [found.index(node) for node in wanted], optimize=len(factors) > 2)


def _with_node(factors: Sequence[_Factor], i: int) -> set[int]:
    """Return the nodes of all factors of a node."""
    return {k for nodes, _ in factors if i in nodes for k in nodes}


def _conditional(counts: np.ndarray, shares: np.ndarray, least: float) -> np.ndarray:
    """Return the shares along the last axis, of counts of shape (n_labels, *parents, n_groups).

    Rows with few records tend to the shares of the column, of shape (n_labels, n_groups). Even
    shares would multiply the rare groups, because a clique has many such rows.
    """
    shares = (shares + _EVEN) / (1.0 + _EVEN * shares.shape[-1])
    counts = counts + least * shares.reshape(len(shares), *[1] * (counts.ndim - 2), -1)
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


def _within(table: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the share of each level in its group, of counts of shape (n_labels, n_levels)."""
    counts = table + _LEAST / table.shape[1]
    sums = np.zeros((len(table), int(groups.max()) + 1))
    np.add.at(sums.T, groups, counts.T)
    return np.asarray(counts / sums[:, groups])


def _without_last(
    given_parents: np.ndarray, given_group: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of groups, and of levels in them, if the last level is empty.

    It keeps a share that no sample shows, so that its logarithm is finite.
    """
    left = given_group * np.append(np.ones(groups.size - 1), _NOTHING)
    sums = left @ np.eye(int(groups.max()) + 1)[groups]
    given = given_parents * sums.reshape(len(sums), *[1] * (given_parents.ndim - 2), -1)
    return given / given.sum(axis=-1, keepdims=True), left / sums[:, groups]


def _split(
    counts: np.ndarray, shares: np.ndarray, groups: np.ndarray, simulation: np.random.Generator
) -> np.ndarray:
    """Return random counts (level, label) of levels, from the counts (label, group) of groups."""
    table = np.empty(shares.shape[::-1], np.int64)
    for group in range(counts.shape[1]):
        levels = np.flatnonzero(groups == group)
        within = shares[:, levels] / shares[:, levels].sum(axis=1, keepdims=True)
        table[levels] = simulation.multinomial(counts[:, group], within).T
    return table


def _drawn(
    shares: np.ndarray, rows: np.ndarray, rng: np.random.Generator, evenly: bool
) -> np.ndarray:
    """Return a place in each of some rows of a table of probabilities.

    Draws are independent. If they are drawn evenly, each has the same distribution, but draws from
    one row together have nearly its shares: they are those at equally spaced points of the
    cumulative shares, from a random first point on and in random order (systematic sampling).
    """
    points = _even_points(rows, len(shares), rng) if evenly else rng.random(rows.size)
    sums = shares.cumsum(axis=1)
    ends = (sums / sums[:, -1:] + np.arange(len(shares))[:, None]).ravel()
    found = np.searchsorted(ends, rows + points, side="right")
    return np.clip(found - rows * shares.shape[1], 0, shares.shape[1] - 1)


def _even_points(rows: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return numbers in [0, 1) that are equally spaced within each of the rows."""
    order = rng.permutation(rows.size)
    order = order[np.argsort(rows[order], kind="stable")]
    counts = np.bincount(rows, minlength=n_rows)
    place = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    points = np.empty(rows.size)
    points[order] = (place + np.repeat(rng.random(n_rows), counts)) / np.repeat(counts, counts)
    return points
