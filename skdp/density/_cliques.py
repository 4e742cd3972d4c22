"""Cliques of columns that depend on each other directly, and an order in which columns follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skdp.density._counts import Pair

MOST_COLUMNS = 64
"""Most columns whose pairs may close circles: the bits of a mask. More columns are a tree."""
_MOST_CELLS = 2**19  # of a clique with the labels: 4 MB


@dataclass(frozen=True)
class Cliques:
    """Nodes in an order such that each depends on some earlier ones, its parents.

    The parents of a node all depend on each other, so a node and its parents are a clique. The last
    of the parents therefore has all others as parents: its clique is next to that of the node.

    Parameters
    ----------
    sizes : tuple of int
        The number of values of each node, at least 2: one of a single value takes an axis too.
    n_labels : int
        The number of labels, on which all nodes depend.
    edges : tuple of pairs of int
        Pairs of nodes that depend on each other. They connect all nodes.
    order : tuple of int
        The nodes.
    parents : tuple of tuple of int
        The parents of each node, in this order.
    """

    sizes: tuple[int, ...]
    n_labels: int
    edges: tuple[Pair, ...]
    order: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, sizes: Sequence[int], n_labels: int, edges: Sequence[Pair]) -> Cliques:
        """Return cliques that contain all edges.

        Nodes are taken out one at a time, the one with the smallest clique first (a greedy
        triangulation). The order is the reverse of this.
        """
        near, order = _neighbors(len(sizes), edges), []
        left, costs = set(range(len(sizes))), _at_least_two(sizes)
        while left:
            i = min(left, key=lambda i: math.prod(costs[j] for j in (i, *near[i])))
            order.append(i)
            left.remove(i)
            _take_out(near, i)
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
    def n_cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(self._cells)

    @property
    def are_small(self) -> bool:
        """Whether no clique is larger than `admits` allows."""
        return max(self._cells) <= _MOST_CELLS

    @property
    def _cells(self) -> list[int]:
        """The number of cells of the clique of each node, with the labels."""
        nodes = range(len(self.sizes))
        return [self.n_labels * math.prod(self.sizes[j] for j in self.scope(i)) for i in nodes]

    def scope(self, i: int) -> tuple[int, ...]:
        """Return the clique of a node: its parents and the node."""
        return (*self.parents[i], i)

    def home(self, pair: Pair) -> int:
        """Return the later one of two neighbors, whose clique has both."""
        return max(pair, key=self.order.index)

    def children(self, i: int) -> list[int]:
        """Return the nodes whose last parent is i."""
        return [k for k in self.order if self.parents[k][-1:] == (i,)]

    def admits(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Return which of the pairs can be one more edge without too large a clique.

        All pairs are tried at once, in the order that the edges so far have. Bit j of a mask is the
        node j.
        """
        one, log_sizes = np.uint64(1), np.log(self.sizes)
        near = np.zeros((len(self.sizes), len(pairs)), np.uint64)
        for (i, j), of_pair in [(e, slice(None)) for e in self.edges] + [
            (pair, slice(k, k + 1)) for k, pair in enumerate(pairs)
        ]:
            near[i, of_pair] |= one << np.uint64(j)
            near[j, of_pair] |= one << np.uint64(i)
        largest = np.zeros(len(pairs))
        for place in range(len(self.order) - 1, -1, -1):
            i, left = self.order[place], self.order[:place]
            parents, cells = near[i], np.full(len(pairs), log_sizes[i])
            for j in left:
                is_parent = (parents >> np.uint64(j)) & one
                near[j] |= is_parent * parents
                cells += is_parent * log_sizes[j]
            largest = np.maximum(largest, cells)
        return largest <= math.log(_MOST_CELLS / self.n_labels)

    def with_edge(self, pair: Pair) -> Cliques:
        """Return cliques that contain one more edge, in this order or in a better one."""
        given = self.sizes, self.n_labels, (*self.edges, pair)
        found = Cliques.in_order(*given, self.order), Cliques.of(*given)
        return min(found, key=lambda cliques: (not cliques.are_small, cliques.n_cells))


def _at_least_two(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes that bound how many nodes, and so axes, a small clique has."""
    return tuple(max(size, 2) for size in sizes)


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
