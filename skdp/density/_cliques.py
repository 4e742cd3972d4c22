"""Cliques of columns that depend on each other directly, and the distribution of their levels.

Released tables are made consistent: they get equal margins and no negative counts. A distribution
over the levels of columns and of a target follows from them. All of it is post-processing of
released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.density._counts import Pair

MOST_COLUMNS = 64
"""Most columns whose pairs may close circles: the bits of a mask. More columns are a tree."""
_MOST_CELLS = 2**19  # of a clique with the labels: 4 MB
_MOST_IN_ALL = 2**23  # of all cliques: chosen by the densities of benchmarks/bench_speed.py


@dataclass(frozen=True)
class Cliques:
    """Nodes in an order such that each depends on some earlier ones, its parents.

    The parents of a node all depend on each other, so a node and its parents are a clique. The last
    of the parents therefore has all others as parents: its clique is next to that of the node.
    """

    sizes: tuple[int, ...]  # numbers of values, at least 2: one of a single value takes an axis too
    n_labels: int  # on which all nodes depend
    edges: tuple[Pair, ...]  # pairs of nodes that depend on each other; they connect all nodes
    order: tuple[int, ...]  # of the nodes
    parents: tuple[tuple[int, ...], ...]  # of each node, in this order

    @classmethod
    def of(cls, sizes: Sequence[int], n_labels: int, edges: Sequence[Pair]) -> Cliques:
        """Return cliques that contain all edges.

        Nodes are taken out one at a time, the one with the smallest clique first (a greedy
        triangulation). The order is the reverse of this.
        """
        near, order, wide = _neighbors(len(sizes), edges), [], _at_least_two(sizes)
        costs = {i: wide[i] * math.prod(wide[j] for j in near[i]) for i in range(len(sizes))}
        while costs:
            i = min(costs, key=costs.__getitem__)
            order.append(i)
            del costs[i]
            for j in _take_out(near, i):
                costs[j] = wide[j] * math.prod(wide[k] for k in near[j])
        return cls.in_order(sizes, n_labels, edges, order[::-1])

    @classmethod
    def in_order(
        cls, sizes: Sequence[int], n_labels: int, edges: Sequence[Pair], order: Sequence[int]
    ) -> Cliques:
        """Return cliques in this order that contain all edges, and no more nodes than it needs."""
        near = _neighbors(len(sizes), edges)
        parents: list[tuple[int, ...]] = [()] * len(sizes)
        for i in reversed(order):
            parents[i] = tuple(sorted(_take_out(near, i), key=order.index))
        return cls(_at_least_two(sizes), n_labels, tuple(edges), tuple(order), tuple(parents))

    @property
    def cells(self) -> list[int]:
        """The number of cells of the clique of each node, with the labels."""
        nodes = range(len(self.sizes))
        return [self.n_labels * math.prod(self.sizes[j] for j in self.scope(i)) for i in nodes]

    def scope(self, i: int) -> tuple[int, ...]:
        """Return the clique of a node: its parents and the node."""
        return (*self.parents[i], i)

    def axes(self, i: int, nodes: Sequence[int]) -> list[int]:
        """Return the axes of the label and of some nodes, in a table of the clique of node i."""
        scope = self.scope(i)
        return [0, *(1 + scope.index(k) for k in nodes)]

    def home(self, nodes: Sequence[int]) -> int:
        """Return the last one of some neighbors, whose clique has all of them."""
        return max(nodes, key=self.order.index)

    def children(self, i: int) -> list[int]:
        """Return the nodes whose last parent is i."""
        return [k for k in self.order if self.parents[k][-1:] == (i,)]

    def admits(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Return which of the pairs can be one more edge without too large cliques.

        All pairs are tried at once, in the order that the edges so far have. A node that is taken
        out leaves its parents to the last of them. So a pair changes few cliques, and only they are
        counted again.
        """
        order, p = [*self.order], len(self.order)
        places, sizes = np.argsort(order), np.array(self.sizes)[order]
        # Bit p − 1 − k of a mask is the node at place k, so the lowest bit is the last parent.
        bits = np.uint64(1) << np.arange(p, dtype=np.uint64)[::-1]
        before = [sum(int(bits[places[j]]) for j in self.parents[i]) for i in order]
        near = np.repeat(np.array(before, np.uint64)[:, None], len(pairs), axis=1)
        low, high = np.sort(places[np.array(pairs, int).reshape(-1, 2)]).T
        near[high, np.arange(len(pairs))] |= bits[low]
        cells, products = np.array(self.cells, float)[order], _products(sizes[::-1])
        largest, total = (np.full(len(pairs), x) for x in (cells.max(), cells.sum()))
        for place in range(p - 1, 0, -1):
            changed = np.flatnonzero(near[place] != np.uint64(before[place]))
            parents = near[place, changed]
            wider = self.n_labels * sizes[place] * _cells_of(products, parents)
            largest[changed] = np.maximum(largest[changed], wider)
            total[changed] += wider - cells[place]
            last = parents & -parents
            near[p - np.frexp(last.astype(float))[1], changed] |= parents ^ last
        return np.asarray((largest <= _MOST_CELLS) & (total <= _MOST_IN_ALL))

    def with_edge(self, pair: Pair) -> Cliques:
        """Return cliques that contain one more edge, in this order or in a better one."""
        given = self.sizes, self.n_labels, (*self.edges, pair)
        found = Cliques.in_order(*given, self.order), Cliques.of(*given)
        return min(found, key=lambda one: (max(one.cells) > _MOST_CELLS, sum(one.cells)))


def _at_least_two(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes that bound how many nodes, and so axes, a small clique has."""
    return tuple(max(size, 2) for size in sizes)


def _products(sizes: np.ndarray) -> list[np.ndarray]:
    """Return for each eight nodes the products of the sizes in every byte of a mask."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    parts = [sizes[start : start + 8].astype(float) for start in range(0, len(sizes), 8)]
    return [np.where(bits[:, : part.size], part, 1.0).prod(axis=1) for part in parts]


def _cells_of(products: Sequence[np.ndarray], masks: np.ndarray) -> np.ndarray:
    """Return the product of the sizes in each mask; exact below 2^53."""
    bytes_of = [(masks >> np.uint64(8 * k)) & np.uint64(255) for k in range(len(products))]
    parts = [table[byte] for table, byte in zip(products, bytes_of, strict=True)]
    return np.asarray(np.prod(parts, axis=0))


def _neighbors(n_nodes: int, edges: Sequence[Pair]) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(n_nodes)]
    for i, j in edges:
        near[i].add(j)
        near[j].add(i)
    return near


def _take_out(near: list[set[int]], i: int) -> set[int]:
    """Remove a node from the graph, connect its neighbors, and return them."""
    for j in near[i]:
        near[j] = (near[j] | near[i]) - {i, j}
    return near[i]


# No guarantee rests on these: they shape the estimates.
_LEAST_TOTAL = 1.0  # records of a label
_LEAST_SHARE = 0.02  # of the count of a cell, in units of the count without an interaction
_MOST_HELD = 1.5  # of total/n_groups: records of a group of several levels
_DIGITS = 6  # of shares that count as equal: weighted records are rounded
_ROUNDS = (
    10  # of fitting margins in turn; more change little, and noisy tables do not agree exactly
)


def known_counts(noisy: np.ndarray) -> np.ndarray:
    """Return the nearest counts without negative ones, whose sum is the same, but at least 1."""
    return with_sums(noisy[:, None], np.maximum(noisy[:, None].sum(axis=0), 1.0))[:, 0]


def label_counts(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """Return unbiased counts of labels from tables (n_levels, n_labels), and the sum of weights.

    The sums of a table with k levels have k times the variance of a cell, so tables are weighted by
    1/k.
    """
    weights = np.array([1.0 / len(table) for table in tables])
    sums = np.stack([table.sum(axis=0) for table in tables])
    return weights @ sums / weights.sum(), weights.sum()


def label_totals(tables: Sequence[np.ndarray], n_known: float | None) -> np.ndarray:
    """Return the number of records of each label, at least 1.

    A public number of records is the sum of the totals: adjusted as in naive Bayes.
    """
    totals, _ = label_counts(tables)
    if n_known is None:
        return np.asarray(np.maximum(totals, _LEAST_TOTAL))
    totals = np.maximum(totals - (totals.sum() - n_known) / totals.size, _LEAST_TOTAL)
    return np.asarray(totals * (n_known / totals.sum()))


def with_sums(table: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the nearest table without negative numbers whose columns have the sums `totals`.

    It is max(x − t, 0) with one t for each column (the projection on a simplex). So small counts,
    mostly noise, become 0.
    """
    falling = -np.sort(-table, axis=0)
    excess = (np.cumsum(falling, axis=0) - totals) / np.arange(1, len(table) + 1)[:, None]
    last = np.maximum((falling > excess).sum(axis=0) - 1, 0)
    shift = excess[last, np.arange(totals.size)]
    return np.maximum(table - shift, 0.0)


def groups_of(table: np.ndarray, n_groups: int, *, ordered: bool) -> np.ndarray:
    """Return the group of each level, such that groups have about total/n_groups records.

    A level with more records is a group by itself. Levels of numbers stay in their order.
    Categories are ordered by the share of the last label, so that categories which are alike for a
    prediction share a group. There are at most 2·n_groups + 1 groups, because two groups in a row
    have at least total/n_groups records.
    """
    counts = table.sum(axis=1)
    order = np.arange(len(table))
    if not ordered and table.shape[1] > 1:
        shares = table[:, -1] / np.maximum(counts, _LEAST_TOTAL)
        order = np.argsort(shares.round(_DIGITS), kind="stable")
    least = counts.sum() / n_groups * (1.0 - 10.0**-_DIGITS)
    groups, current, held = np.empty(len(table), int), -1, math.inf
    for level in order:
        count = counts[level]
        if max(count, held) >= least or held + count > _MOST_HELD * least:
            current, held = current + 1, 0.0
        groups[level], held = current, held + count
    return groups


def summed(counts: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the sums of rows by group; of integers exactly."""
    sums = np.zeros((int(groups.max()) + 1, *counts.shape[1:]), counts.dtype)
    np.add.at(sums, groups, counts)
    return sums


def independent(one: np.ndarray, other: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the counts of pairs of groups if both are independent given the label."""
    return one[:, None, :] * other[None, :, :] / totals


def margins(
    tables: Sequence[np.ndarray],
    groups: Sequence[np.ndarray],
    pairs: Mapping[Pair, np.ndarray],
    totals: np.ndarray,
    scales: tuple[float, float],
) -> list[np.ndarray]:
    """Return the counts of the groups of each node, from its own table and those of its edges.

    Estimates are weighted by the inverse of their variances: of a group of k levels k·σ², and of
    the margin of a pair σ² for each cell that is added up. `scales` are σ of tables and of pairs.
    """
    found = []
    for i, (table, group) in enumerate(zip(tables, groups, strict=True)):
        weight = 1.0 / (scales[0] ** 2 * np.bincount(group).astype(float)[:, None])
        total, sum_of_weights = weight * summed(table, group), weight
        for (first, second), pair in pairs.items():
            if i in (first, second):
                axis = 1 if i == first else 0
                weight = 1.0 / (scales[1] ** 2 * pair.shape[axis])
                total, sum_of_weights = total + weight * pair.sum(axis), sum_of_weights + weight
        found.append(with_sums(total / sum_of_weights, totals))
    return found


def fitted_pair(
    pair: np.ndarray, one: np.ndarray, other: np.ndarray, totals: np.ndarray, scale: float
) -> np.ndarray:
    """Return the counts of a pair of nodes with the margins `one` and `other`.

    The released counts get the margins by the least change. What they have beside independence is
    reduced to its few strong components, and the margins are then fitted in turn.
    """
    pair = pair + (one - pair.sum(axis=1))[:, None, :] / pair.shape[1]
    pair = pair + (other - pair.sum(axis=0))[None] / pair.shape[0]
    q = independent(one, other, totals)
    pair = np.maximum(q + _strong_part(pair - q, scale), _LEAST_SHARE * q)
    for _ in range(_ROUNDS):
        pair *= ratio(one, pair.sum(axis=1))[:, None, :]
        pair *= ratio(other, pair.sum(axis=0))[None]
    return pair


def _strong_part(rest: np.ndarray, scale: float) -> np.ndarray:
    """Return the projection of a table on the components of each axis that exceed the noise.

    The singular values of an (m, n) matrix of noise are at most about σ(√m + √n). Columns that
    depend on each other smoothly have few components above it, far fewer than a pair has cells.
    """
    first, second = (_projector(np.moveaxis(rest, axis, 0), scale) for axis in (0, 1))
    return np.einsum("ij,jky,kl->ily", first, rest, second, optimize=True)


def _projector(table: np.ndarray, scale: float) -> np.ndarray:
    """Return the projection of the first axis on its components that exceed the noise."""
    matrix = table.reshape(len(table), -1)
    components, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = components[:, sizes > scale * sum(map(math.sqrt, matrix.shape))]
    return np.asarray(kept @ kept.T)


def level_counts(
    table: np.ndarray, group: np.ndarray, margin: np.ndarray, scale: float
) -> np.ndarray:
    """Return the counts of (level, label), shrunk toward one distribution within each group.

    So levels of one group differ for a prediction only as far as the counts exceed the noise. A
    group without a count in its own table may have one by its pairs: its levels share it evenly.
    """
    every = with_sums(table.sum(axis=1, keepdims=True), margin.sum(keepdims=True)[0])
    sums, sizes = summed(every, group)[group], np.bincount(group)[group, None]
    share = np.where(sums > 0.0, ratio(every, sums), 1.0 / sizes)
    return _shrunk(table, margin[group] * share, scale)


def _shrunk(table: np.ndarray, q: np.ndarray, scale: float) -> np.ndarray:
    """Return q and a part of what a released table has beside it, its share of the variance.

    That is τ·q/(τ·q + σ²), with τ as observed in all cells, and σ² for the noise.
    """
    rest, variance = table - q, scale**2
    tau = max(float((rest**2 - variance).sum() / max(q.sum(), 1e-300)), 0.0)
    return np.maximum(q + tau * q / (tau * q + variance) * rest, _LEAST_SHARE * q)


def ratio(wanted: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Divide, with 0 where nothing was found."""
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0.0)


def fitted_cliques(
    cliques: Cliques,
    margins: Sequence[np.ndarray],
    pairs: Mapping[Pair, np.ndarray],
    totals: np.ndarray,
) -> list[np.ndarray]:
    """Return the counts of the clique of each node, of shape (n_labels, *parents, node).

    Nodes start as independent given the label. Then the tables of pairs, of shape (n_values,
    n_values, n_labels), are fitted in turn (iterative proportional fitting), which leads to the
    distribution of the largest entropy with these margins. Each round walks along the tree of
    cliques, and takes what changed to the next clique. A tree of pairs needs one round.
    """
    tables = [_independent(cliques, i, margins, totals) for i in range(len(margins))]
    fit = _Fit(cliques, tables, pairs)
    is_tree = all(len(parents) < 2 for parents in cliques.parents)
    for _ in range(1 if is_tree else _ROUNDS):
        fit.walk()
    return tables


def _independent(
    cliques: Cliques, i: int, margins: Sequence[np.ndarray], totals: np.ndarray
) -> np.ndarray:
    """Return the counts of a clique of nodes that are independent given the label."""
    table = totals
    for k in cliques.scope(i):
        table = table[..., None] * _placed((margins[k] / totals).T, [0, table.ndim], table.ndim + 1)
    return table


def _placed(table: np.ndarray, axes: Sequence[int], n_axes: int) -> np.ndarray:
    """Return a table whose axes are some of `n_axes` axes, in their order."""
    return np.expand_dims(table, [axis for axis in range(n_axes) if axis not in axes])


class _Fit:
    """Tables of cliques, which are changed in place. Axis 0 is the label."""

    def __init__(
        self, cliques: Cliques, tables: list[np.ndarray], pairs: Mapping[Pair, np.ndarray]
    ) -> None:
        self.cliques, self.tables = cliques, tables
        self.pairs: list[list[tuple[Pair, np.ndarray]]] = [[] for _ in tables]
        for (i, j), table in pairs.items():
            if (home := cliques.home((i, j))) == i:
                i, j, table = j, i, table.swapaxes(0, 1)
            self.pairs[home].append(((i, j), np.moveaxis(table, 2, 0)))

    def walk(self) -> None:
        """Fit the clique of each node, from the first one down the tree and back.

        There may be more nodes in a line than Python allows calls within calls.
        """
        ahead = [(self.cliques.order[0], True)]
        while ahead:
            i, is_new = ahead.pop()
            shared = self.cliques.parents[i]
            if not is_new:
                self._set_margin(shared[-1], shared, self._margin(i, shared))
                continue
            if shared:
                self._set_margin(i, shared, self._margin(shared[-1], shared))
                ahead.append((i, False))
            for pair, wanted in self.pairs[i]:
                self._set_margin(i, pair, wanted)
            ahead += [(child, True) for child in reversed(self.cliques.children(i))]

    def _margin(self, i: int, nodes: Sequence[int]) -> np.ndarray:
        """Return the counts of the label and of some nodes of a clique, in their order."""
        axes = self.cliques.axes(i, nodes)
        return self.tables[i].sum(axis=tuple({*range(self.tables[i].ndim)} - {*axes}))

    def _set_margin(self, i: int, nodes: Sequence[int], wanted: np.ndarray) -> None:
        change = ratio(wanted, self._margin(i, nodes))
        self.tables[i] *= _placed(change, self.cliques.axes(i, nodes), self.tables[i].ndim)


_Factor = tuple[tuple[int, ...], np.ndarray]
"""Nodes, and a table with an axis for each; −1 is the label."""

_MOST_ON_THE_WAY = 2**27  # of a table on the way to a marginal: 1 GB
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
    """

    cliques: Cliques  # the nodes in an order, and the parents of each
    label: np.ndarray  # P(label)
    groups: Sequence[np.ndarray]  # the group of each level
    given_parents: Sequence[np.ndarray]  # P(group): (n_labels, *groups of parents, n_groups)
    given_group: Sequence[np.ndarray]  # P(level): (n_labels, n_levels)
    labels: np.ndarray  # the label of each value of the target
    given_label: np.ndarray  # P(value)

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
                rows = rows * self.given_parents[k].shape[-1] + groups[:, k]
            groups[:, i] = _drawn(table.reshape(-1, table.shape[-1]), rows, rng, evenly)
            rows = labels * table.shape[-1] + groups[:, i]
            of_levels = _by_group(self.given_group[i], self.groups[i])
            levels[:, i] = _drawn(of_levels.reshape(-1, self.groups[i].size), rows, rng, evenly)
        return levels, _drawn(self._values, labels, rng, evenly)

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
        home = self.cliques.home(nodes)
        table = cliques[home]
        return np.einsum(table, [*range(table.ndim)], self.cliques.axes(home, nodes))

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
        if self._n_cells(nodes) > _MOST_ON_THE_WAY:
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

    @cached_property
    def _values(self) -> np.ndarray:
        """P(value | label), of shape (n_labels, n_values)."""
        return _by_group(self.given_label[None], self.labels)[0]


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
    return np.asarray(counts / summed(counts.T, groups).T[:, groups])


def _by_group(shares: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return shares (n_labels, n_levels) as (n_labels, n_groups, n_levels), 0 in other groups."""
    is_in = groups == np.arange(int(groups.max()) + 1)[:, None]
    return np.where(is_in, shares[:, None, :], 0.0)


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
